package recorder

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// A partial file is NDJSON: a header line, then a line for each cell and comparison. It is replaced as a whole with
// each flush, so that it holds at most what a record holds; a line that is broken all the same is where reading ends.
type partialLine struct {
	Partial string      `json:"partial,omitempty"` // Schema, in the header
	Record  *Record     `json:"record,omitempty"`  // the header: a record without cells and pairs
	Cell    *CellRecord `json:"cell,omitempty"`
	Pair    *PairRecord `json:"pair,omitempty"`
}

func (r *Recorder) flushLoop(ctx context.Context) {
	ticker := time.NewTicker(r.cfg.FlushEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := r.Flush(); err != nil {
				r.warn("flush", err)
			}
		}
	}
}

// Flush writes the values so far to the partial file; without a path it does nothing.
func (r *Recorder) Flush() error {
	path := r.partialPath()
	if path == "" {
		return nil
	}
	rec, err := r.collect() // reading computes the rest: a flush must cost the run as little as it can
	if err != nil {
		return err
	}
	data, err := encodePartial(rec)
	if err != nil {
		return err
	}
	if err := writeFile(path, data); err != nil {
		return fmt.Errorf("write partial file %s: %w", path, err)
	}
	r.flushed.Store(true)
	return nil
}

// Flushed tells whether the partial file holds values of this run.
func (r *Recorder) Flushed() bool { return r.flushed.Load() }

func encodePartial(rec *Record) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	head := *rec
	head.Cells, head.Pairs = nil, nil
	err := enc.Encode(partialLine{Partial: Schema, Record: &head})
	for i := range rec.Cells {
		err = errors.Join(err, enc.Encode(partialLine{Cell: &rec.Cells[i]}))
	}
	for i := range rec.Pairs {
		err = errors.Join(err, enc.Encode(partialLine{Pair: &rec.Pairs[i]}))
	}
	if err != nil {
		return nil, fmt.Errorf("encode partial file: %w", err)
	}
	return buf.Bytes(), nil
}

// isPartial tells a partial file from a record by its first member.
func isPartial(data []byte) bool { return bytes.HasPrefix(data, []byte(`{"partial":`)) }

func decodePartial(data []byte) (*Record, error) {
	var rec *Record
	for line := range bytes.Lines(data) {
		var l partialLine
		if err := json.Unmarshal(line, &l); err != nil {
			if rec == nil {
				return nil, fmt.Errorf("its header line is broken: %w", err)
			}
			break
		}
		switch {
		case l.Record != nil && rec == nil:
			rec = l.Record
			rec.Cells, rec.Pairs = []CellRecord{}, []PairRecord{}
		case rec == nil:
			return nil, errors.New("it does not begin with a header line")
		case l.Cell != nil:
			if _, err := l.Cell.Sample(); err == nil {
				rec.Cells = append(rec.Cells, *l.Cell)
			}
		case l.Pair != nil:
			rec.Pairs = append(rec.Pairs, *l.Pair)
		}
	}
	if rec == nil {
		return nil, errors.New("it is empty")
	}
	rec.Invocation.Partial = true
	rec.Verdict = Invalid
	if err := rec.check(); err != nil {
		return nil, err
	}
	if err := rec.compute(); err != nil {
		return nil, err
	}
	return rec, nil
}

func (r *Recorder) removePartial() error {
	path := r.partialPath()
	if path == "" {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove partial file: %w", err)
	}
	return nil
}

// warn passes a problem on once for each kind.
func (r *Recorder) warn(kind string, err error) {
	r.mu.Lock()
	first := !r.warned[kind]
	r.warned[kind] = true
	r.mu.Unlock()
	if first && r.cfg.Warn != nil {
		r.cfg.Warn(err)
	}
}
