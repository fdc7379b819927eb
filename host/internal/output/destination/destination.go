// Package destination opens what a file output writes to: a file, a compressed file, or standard output.
package destination

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"

	"go.k6.io/k6/v2/lib/fsext"
)

// Destination is a buffered writer. It is not safe for concurrent use.
type Destination struct {
	*bufio.Writer

	zip  *gzip.Writer // nil unless the file is compressed
	file io.Closer    // nil for standard output
}

const bufferSize = 64 << 10

// IsStdOut says whether the name means standard output.
func IsStdOut(name string) bool { return name == "" || name == "-" }

// Open creates the named file, truncating one that exists; ".gz" at the end compresses. "" and "-" are stdOut.
func Open(fs fsext.Fs, name string, stdOut io.Writer) (*Destination, error) {
	if IsStdOut(name) {
		return &Destination{Writer: bufio.NewWriterSize(stdOut, bufferSize)}, nil
	}
	file, err := fs.Create(name)
	if err != nil {
		return nil, fmt.Errorf("creating the output file: %w", err)
	}
	if !strings.HasSuffix(name, ".gz") {
		return &Destination{Writer: bufio.NewWriterSize(file, bufferSize), file: file}, nil
	}
	zip := gzip.NewWriter(file)
	return &Destination{Writer: bufio.NewWriterSize(zip, bufferSize), zip: zip, file: file}, nil
}

// Close flushes, and closes what Open opened.
func (d *Destination) Close() error {
	errs := []error{d.Flush()}
	if d.zip != nil {
		errs = append(errs, d.zip.Close())
	}
	if d.file != nil {
		errs = append(errs, d.file.Close())
	}
	return errors.Join(errs...)
}
