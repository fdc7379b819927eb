package omnigraph

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mitodl/xk6-omnigraph/recorder"
	"github.com/mitodl/xk6-omnigraph/report"
)

// save writes the record and the reports. An error tells what of the run is on disk all the same.
func (r *recording) save() error {
	rec, err := r.build()
	if err != nil {
		return r.lost(err)
	}
	if r.config.keepsEarlier(rec) {
		if !r.recorder.Flushed() {
			r.recorder.SetPartialPath("") // if there is one it is an earlier run's, and all that is left of that
		}
		if err := rec.Write(r.config.path(emptyFile)); err != nil {
			return fmt.Errorf("this run measured nothing and leaves no record; that of an earlier run stays in %s: %w", r.config.path(recordFile), err)
		}
		r.warn(errors.New(r.config.keeps()))
		return nil
	}
	if err := rec.Write(r.config.path(recordFile)); err != nil {
		return r.lost(err)
	}
	if err := os.Remove(r.config.path(emptyFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.warn(fmt.Errorf("the record of an earlier run that measured nothing could not be removed: %w", err))
	}
	files, err := reports(rec)
	for _, f := range files {
		err = errors.Join(err, writeWhole(r.config.path(f.name), f.data))
	}
	if err != nil {
		record := r.config.path(recordFile)
		return fmt.Errorf("the record of this run is whole, in %s, but not every report could be written (`k6 x omnigraph report -o FILE %s` makes one): %w", record, record, err)
	}
	return nil
}

// keepsEarlier tells whether the folder's record stays: it is an earlier run's that measured something, and this run
// measured nothing. A setup() that fails, say, is no reason to lose results.
func (c *recordConfig) keepsEarlier(rec *recorder.Record) bool {
	if !rec.Empty() {
		return false
	}
	earlier, err := recorder.Read(c.path(recordFile))
	return err == nil && !earlier.Invocation.Partial && !earlier.Empty()
}

func (c *recordConfig) keeps() string {
	return fmt.Sprintf("this run measured nothing: the record of an earlier run stays in %s, that of this run is %s", c.path(recordFile), c.path(emptyFile))
}

// lost says what is on disk of a run whose record could not be written. The partial file stays: it is all that is left.
func (r *recording) lost(err error) error {
	partial := r.config.path(partialFile)
	var left string
	switch flushing := r.recorder.Flush(); {
	case flushing == nil:
		left = partial + " holds what was measured"
	case r.recorder.Flushed():
		left = partial + " holds what was measured until a few seconds before the end"
	default:
		left = "nothing of this run is on disk"
	}
	r.recorder.SetPartialPath("")
	if info, statErr := os.Stat(r.config.path(recordFile)); statErr == nil && info.Mode().IsRegular() {
		left += ", and " + r.config.path(recordFile) + " is an earlier run's"
	}
	return fmt.Errorf("the record of this run could not be written; %s: %w", left, err)
}

// reportData is a report as it goes to a file.
type reportData struct {
	name string
	data []byte
}

func reports(rec *recorder.Record) ([]reportData, error) {
	doc := report.Build(rec)
	var markdown, page bytes.Buffer
	if err := doc.Markdown(&markdown); err != nil {
		return nil, fmt.Errorf("markdown report: %w", err)
	}
	if err := doc.HTML(&page); err != nil {
		return nil, fmt.Errorf("html report: %w", err)
	}
	return []reportData{{markdownFile, markdown.Bytes()}, {htmlFile, page.Bytes()}}, nil
}

// rehearse finds out, when the test is over and k6 has not decided yet how to exit, whether the folder takes what will
// be written at k6's end: by then a failure changes nothing any more.
func (r *recording) rehearse() {
	r.mu.Lock()
	wanted, config := r.wanted(), r.config
	spare := r.spare
	if wanted {
		r.spare = nil
	}
	r.mu.Unlock()
	if !wanted {
		return
	}
	closeAll(spare)
	defer func() {
		again := spareFiles()
		r.mu.Lock()
		r.spare = again
		r.mu.Unlock()
	}()
	if err := r.writeProbe(config.dir); err != nil {
		err = fmt.Errorf("the results of this run can't be written to %s: %w", config.dir, err)
		r.mu.Lock()
		r.doubtful = err
		r.mu.Unlock()
		r.fail(err)
	}
}

// writeProbe writes as much as the record and its reports take, and removes it.
func (r *recording) writeProbe(dir string) error {
	rec, err := r.build()
	if err != nil {
		return err
	}
	record, err := rec.Encode()
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	files, err := reports(rec)
	if err != nil {
		return err
	}
	probe, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return fmt.Errorf("try folder: %w", err)
	}
	_, err = probe.Write(record)
	for _, f := range files {
		if err == nil {
			_, err = probe.Write(f.data)
		}
	}
	return errors.Join(err, probe.Close(), os.Remove(probe.Name()))
}

// writeWhole replaces a file at once, so that no reader sees half of it. If it can't, it removes what is there: a report
// beside a record of another run would be taken for its own.
func writeWhole(path string, data []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), ".report-*")
	if err == nil {
		defer os.Remove(temporary.Name()) //nolint:errcheck // gone already after the rename
		if _, err = temporary.Write(data); err == nil {
			err = temporary.Chmod(0o644)
		}
		if closing := temporary.Close(); err == nil {
			err = closing
		}
		if err == nil {
			err = os.Rename(temporary.Name(), path)
		}
	}
	if err != nil {
		_ = os.Remove(path)
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
