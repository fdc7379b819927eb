package recorder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// maxRecordBytes bounds what Read takes into memory, after decompression: a real record is about a megabyte.
const maxRecordBytes = 256 << 20

// zstdMagic begins every zstd frame.
var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd} //nolint:gochecknoglobals // a constant that Go can't declare as one

// Write writes the record as one file that is either whole or not there: a temporary file beside it, synced, then
// renamed. Missing folders are made. A name that ends in .zst is compressed with zstd.
func (rec *Record) Write(path string) error {
	data, err := rec.Encode()
	if err != nil {
		return fmt.Errorf("write record %s: %w", path, err)
	}
	if strings.HasSuffix(path, ".zst") {
		w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return fmt.Errorf("write record %s: %w", path, err)
		}
		data = w.EncodeAll(data, nil)
	}
	if err := writeFile(path, data); err != nil {
		return fmt.Errorf("write record %s: %w", path, err)
	}
	return nil
}

// Encode gives the record as indented JSON, with a line end.
func (rec *Record) Encode() ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(rec); err != nil {
		return nil, fmt.Errorf("encode record: %w", err)
	}
	return compactNumbers(buf.Bytes()), nil
}

// compactNumbers puts the elements of arrays of scalars on one line: the raw values are most of a record, and one
// line for each would double its size.
func compactNumbers(data []byte) []byte {
	var out bytes.Buffer
	out.Grow(len(data))
	lines := bytes.Split(data, []byte("\n"))
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if !bytes.HasSuffix(line, []byte("[")) || i+1 >= len(lines) || !isScalar(lines[i+1]) {
			out.Write(line)
			if i+1 < len(lines) {
				out.WriteByte('\n')
			}
			continue
		}
		out.Write(line)
		for i++; isScalar(lines[i]); i++ {
			out.Write(bytes.TrimSpace(lines[i]))
		}
		out.Write(bytes.TrimSpace(lines[i]))
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// isScalar tells whether a line of indented JSON is a number or literal element of an array; strings are left alone.
func isScalar(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 0 && (line[0] >= '0' && line[0] <= '9' || line[0] == '-' || line[0] == 't' || line[0] == 'f' || line[0] == 'n')
}

// writeFile replaces path by data in one step.
func writeFile(path string, data []byte) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	if err = os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes a rename last. Not every file system can sync a folder; the record is there all the same.
func syncDir(dir string) error {
	d, err := os.Open(dir) // #nosec G304 -- the folder of a path that the user gave
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	_ = d.Sync()
	return d.Close()
}

// Read reads a record, compressed or not, or the partial file of a run that was killed: that one has the verdict
// invalid and the reason "killed".
func Read(path string) (*Record, error) {
	f, err := os.Open(path) // #nosec G304 -- the user names the record to read
	if err != nil {
		return nil, fmt.Errorf("read record: %w", err)
	}
	rec, err := Decode(f)
	if closeErr := f.Close(); err == nil && closeErr != nil {
		err = closeErr
	}
	if err != nil {
		return nil, fmt.Errorf("read record %s: %w", path, err)
	}
	return rec, nil
}

// Decode reads a record or a partial file, plain or compressed with zstd.
func Decode(r io.Reader) (*Record, error) {
	data, err := readBounded(r)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(data, zstdMagic) {
		z, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxRecordBytes))
		if err != nil {
			return nil, fmt.Errorf("decompress: %w", err)
		}
		data, err = readBounded(z)
		z.Close()
		if err != nil {
			return nil, fmt.Errorf("decompress: %w", err)
		}
	}
	if isPartial(data) {
		return decodePartial(data)
	}
	var rec Record
	if err := json.Unmarshal(data, &rec); err != nil {
		return nil, fmt.Errorf("it is not a run record: %w", err)
	}
	if err := noNulls(data, reflect.TypeFor[Record]()); err != nil {
		return nil, fmt.Errorf("it is not a run record: %w", err)
	}
	if err := rec.check(); err != nil {
		return nil, err
	}
	return &rec, nil
}

func readBounded(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxRecordBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxRecordBytes {
		return nil, fmt.Errorf("it is larger than %d MB, which no run record is", maxRecordBytes>>20)
	}
	return data, nil
}

// check refuses what is JSON but no record that this version understands, and closes the gaps that would surprise a
// reader: lists are never nil.
func (rec *Record) check() error {
	if rec.Schema != Schema {
		return fmt.Errorf("it is not a run record of this version: its schema is %q, expected %q", rec.Schema, Schema)
	}
	switch rec.Verdict {
	case Valid, Directional, Invalid:
	default:
		return fmt.Errorf("it has the verdict %q; valid, directional and invalid are known", rec.Verdict)
	}
	for i := range rec.Cells {
		if _, err := rec.Cells[i].Sample(); err != nil {
			return fmt.Errorf("cell %d: %w", i, err)
		}
	}
	rec.Limits = rec.Limits.withDefaults()
	rec.fillLists()
	return nil
}
