package graph

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
)

// A store is a directory with the schema and a log. The log starts with logMagic; behind it stand records of
// a length, a CRC-32C and a payload. A commit is acknowledged once its record is written (and, with
// Options.Sync, flushed). A process that dies while writing leaves a record that is short or does not match
// its checksum at the very end: the next writer cuts it off. Damage anywhere else is an error.

const (
	logName    = "emulator.log"
	lockName   = "emulator.lock"
	schemaName = "_schema.pg"
	logMagic   = "OGEMU\x00\x01\n"
	headerSize = 8
	// maxRecord bounds what a damaged length can make a reader allocate.
	maxRecord = 1 << 30
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type logFile struct {
	path   string
	file   *os.File
	guard  *os.File
	offset atomic.Int64
}

func openLog(dir string) (*logFile, error) {
	l := &logFile{path: filepath.Join(dir, logName)}
	var err error
	if l.file, err = os.OpenFile(l.path, os.O_RDWR, 0); err != nil {
		return nil, fmt.Errorf("open the store's log: %w", err)
	}
	if l.guard, err = os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600); err != nil { // #nosec G304 -- the caller names the store
		return nil, errors.Join(fmt.Errorf("open the store's lock: %w", err), l.file.Close())
	}
	magic := make([]byte, len(logMagic))
	if _, err := l.file.ReadAt(magic, 0); err != nil || string(magic) != logMagic {
		return nil, errors.Join(fmt.Errorf("%s is no log of an emulator store", l.path), l.close())
	}
	l.offset.Store(int64(len(logMagic)))
	return l, nil
}

func (l *logFile) close() error { return errors.Join(l.file.Close(), l.guard.Close()) }

func (l *logFile) lock() error {
	if err := lockFile(l.guard); err != nil {
		return fmt.Errorf("lock the store: %w", err)
	}
	return nil
}

func (l *logFile) unlock() { unlockFile(l.guard) }

// grew reports whether the log has records that this process has not read.
func (l *logFile) grew() bool {
	info, err := l.file.Stat()
	return err == nil && info.Size() > l.offset.Load()
}

// append writes one record. The caller holds the lock and has read everything before it.
func (l *logFile) append(payload []byte, sync bool) error {
	buf := make([]byte, headerSize, headerSize+len(payload))
	binary.LittleEndian.PutUint32(buf, uint32(len(payload))) // #nosec G115 -- bounded by maxRecord
	binary.LittleEndian.PutUint32(buf[4:], crc32.Checksum(payload, castagnoli))
	if len(payload) > maxRecord {
		return fmt.Errorf("write %s: a commit of %d bytes is too large", l.path, len(payload))
	}
	buf = append(buf, payload...)
	at := l.offset.Load()
	if _, err := l.file.WriteAt(buf, at); err != nil {
		return fmt.Errorf("write %s: %w", l.path, err)
	}
	if sync {
		if err := l.file.Sync(); err != nil {
			return fmt.Errorf("flush %s: %w", l.path, err)
		}
	}
	l.offset.Store(at + int64(len(buf)))
	return nil
}

// errTorn marks an unfinished record at the end of the log.
var errTorn = errors.New("unfinished record")

// next reads the record at the offset; io.EOF where there is none.
func (l *logFile) next() ([]byte, error) {
	at := l.offset.Load()
	info, err := l.file.Stat()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", l.path, err)
	}
	left := info.Size() - at
	if left <= 0 {
		return nil, io.EOF
	}
	if left < headerSize {
		return nil, errTorn
	}
	var header [headerSize]byte
	if _, err := l.file.ReadAt(header[:], at); err != nil {
		return nil, fmt.Errorf("read %s: %w", l.path, err)
	}
	size := int64(binary.LittleEndian.Uint32(header[:]))
	if size > left-headerSize {
		return nil, errTorn
	}
	payload := make([]byte, size)
	if _, err := l.file.ReadAt(payload, at+headerSize); err != nil {
		return nil, fmt.Errorf("read %s: %w", l.path, err)
	}
	if crc32.Checksum(payload, castagnoli) != binary.LittleEndian.Uint32(header[4:]) {
		if size == left-headerSize {
			return nil, errTorn
		}
		return nil, fmt.Errorf("%s is damaged at byte %d", l.path, at)
	}
	if size == 0 {
		return nil, fmt.Errorf("%s has an empty record at byte %d", l.path, at)
	}
	l.offset.Store(at + headerSize + size)
	return payload, nil
}

// cut removes an unfinished record.
func (l *logFile) cut() error {
	if err := l.file.Truncate(l.offset.Load()); err != nil {
		return fmt.Errorf("cut off the unfinished end of %s: %w", l.path, err)
	}
	return nil
}

// catchUp applies the records that other processes appended. The caller holds the commit lock; exclusive says
// that it also holds the store's lock and may remove an unfinished record.
func (g *Graph) catchUp(exclusive bool) error {
	for {
		payload, err := g.log.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errTorn):
			if exclusive {
				return g.log.cut()
			}
			return nil
		case err != nil:
			return err
		}
		if err := g.replay(payload); err != nil {
			return fmt.Errorf("replay %s: %w", g.log.path, err)
		}
	}
}

// Exclusive locks a file against other processes; the returned function unlocks it.
func Exclusive(f *os.File) (func(), error) {
	if err := lockFile(f); err != nil {
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return func() { unlockFile(f) }, nil
}
