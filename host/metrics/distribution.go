package metrics

import (
	"encoding/binary"
	"math"
	"slices"
)

// distribution keeps values exactly, in little memory: a long test has more values than fit as float64s.
//
// New values wait in a list. When that is long enough they are merged into blocks, in which each distinct value is
// stored as the difference to the one before it, with its number of occurrences. Times are whole nanoseconds, so
// such a difference takes a byte or two, however many digits the value has.
type distribution struct {
	blocks  []block
	entries int      // distinct values in the blocks
	space   keySpace // of the keys in the blocks
	pending []float64
	sorted  bool // whether pending is
	nans    int  // values that are no numbers; they count as the greatest
}

// block is a stretch of the sorted values.
type block struct {
	first uint64 // the key of its first value
	count int    // of its values
	data  []byte // per distinct value: uvarint(difference·2 + more), and uvarint(occurrences − 2) if more is 1
}

const (
	blockEntries  = 512
	minPending    = 4096 // values that wait at least until they are merged
	pendingFactor = 4    // entries per waiting value: bounds the cost of merging to a constant per value
)

func (d *distribution) add(v float64) {
	if math.IsNaN(v) {
		d.nans++
		return
	}
	d.pending = append(d.pending, v)
	d.sorted = false
	if len(d.pending) >= max(minPending, d.entries/pendingFactor) {
		d.merge()
	}
}

func (d *distribution) sort() {
	if !d.sorted {
		slices.Sort(d.pending)
		d.sorted = true
	}
}

// at returns the value of a rank, from 0; the rank must be less than the number of values.
func (d *distribution) at(rank int) float64 {
	d.sort()
	from := 0
	for i := range d.blocks {
		to := len(d.pending)
		if i+1 < len(d.blocks) {
			next := d.space.value(d.blocks[i+1].first)
			offset, _ := slices.BinarySearch(d.pending[from:], next)
			to = from + offset
		}
		if count := d.blocks[i].count + to - from; rank >= count {
			rank -= count
			from = to
			continue
		}
		return d.atWithin(&d.blocks[i], d.pending[from:to], rank)
	}
	if rank < len(d.pending) && len(d.blocks) == 0 {
		return d.pending[rank]
	}
	return math.NaN() // among the values that are no numbers
}

// atWithin returns the value of a rank in the union of a block and some sorted values.
func (d *distribution) atWithin(b *block, waiting []float64, rank int) float64 {
	for r := b.reader(); r.next(); {
		value := d.space.value(r.key)
		for len(waiting) > 0 && waiting[0] < value {
			if rank == 0 {
				return waiting[0]
			}
			rank--
			waiting = waiting[1:]
		}
		if rank < r.count {
			return value
		}
		rank -= r.count
	}
	return waiting[rank]
}

// merge moves the waiting values into the blocks.
func (d *distribution) merge() {
	space := d.space
	if space == nanoseconds && slices.ContainsFunc(d.pending, func(v float64) bool { return !isWholeNanoseconds(v) }) {
		space = floatBits
	}
	waiting := make([]uint64, len(d.pending))
	for i, v := range d.pending {
		waiting[i] = space.key(v)
	}
	waiting = sortKeys(waiting)

	w := blockWriter{blocks: make([]block, 0, len(d.blocks)+len(d.pending)/blockEntries+1)}
	for i := range d.blocks {
		for r := d.blocks[i].reader(); r.next(); {
			key := r.key
			if space != d.space {
				key = space.key(d.space.value(key))
			}
			for len(waiting) > 0 && waiting[0] <= key {
				w.add(waiting[0], 1)
				waiting = waiting[1:]
			}
			w.add(key, r.count)
		}
	}
	for _, key := range waiting {
		w.add(key, 1)
	}
	d.blocks, d.entries, d.space = w.finish(), w.entries, space
	d.pending = d.pending[:0]
}

// keySpace is how values are numbered so that the order stays.
type keySpace uint8

const (
	nanoseconds keySpace = iota // of values that are whole numbers of 10⁻⁶, as milliseconds of durations are
	floatBits                   // of all others
)

const perMillisecond = 1e6

// isWholeNanoseconds says whether the value survives the conversion to nanoseconds and back.
func isWholeNanoseconds(v float64) bool {
	const limit = 1 << 53 / perMillisecond // beyond, not every whole number is a float64
	return v >= 0 && v <= limit && math.Round(v*perMillisecond)/perMillisecond == v
}

func (k keySpace) key(v float64) uint64 {
	if k == nanoseconds {
		return uint64(math.Round(v * perMillisecond))
	}
	// The bits of floats are in order, from zero up; with the sign bit set, from zero down.
	bits := math.Float64bits(v)
	if bits>>63 == 1 {
		return ^bits
	}
	return bits | 1<<63
}

func (k keySpace) value(key uint64) float64 {
	if k == nanoseconds {
		return float64(key) / perMillisecond
	}
	if key>>63 == 1 {
		return math.Float64frombits(key &^ (1 << 63))
	}
	return math.Float64frombits(^key)
}

// blockReader walks through the distinct values of a block.
type blockReader struct {
	data  []byte
	key   uint64
	count int
}

func (b *block) reader() blockReader { return blockReader{data: b.data, key: b.first} }

func (r *blockReader) next() bool {
	if len(r.data) == 0 {
		return false
	}
	head, n := binary.Uvarint(r.data)
	r.data = r.data[n:]
	r.key += head >> 1
	r.count = 1
	if head&1 == 1 {
		more, n := binary.Uvarint(r.data)
		r.data = r.data[n:]
		r.count = int(more) + 2 // #nosec -- written from an int
	}
	return true
}

// blockWriter makes blocks from keys in ascending order; a key may come repeatedly.
type blockWriter struct {
	blocks  []block
	entries int

	open    block // the block at work; its data is buf
	buf     []byte
	inOpen  int    // distinct values in it
	lastKey uint64 // the latest one written to it
	key     uint64 // the one at work
	count   int    // 0 means that there is none
}

func (w *blockWriter) add(key uint64, count int) {
	if w.count > 0 && w.key == key {
		w.count += count
		return
	}
	w.write()
	w.key, w.count = key, count
}

func (w *blockWriter) write() {
	if w.count == 0 {
		return
	}
	// A difference of 2⁶³ or more has no room for the flag: the next block starts with the whole key.
	if w.inOpen == blockEntries || (w.inOpen > 0 && (w.key-w.lastKey)>>63 == 1) {
		w.close()
	}
	if w.inOpen == 0 {
		w.open = block{first: w.key}
		w.lastKey = w.key
	}
	head := (w.key - w.lastKey) << 1
	if w.count == 1 {
		w.buf = binary.AppendUvarint(w.buf, head)
	} else {
		w.buf = binary.AppendUvarint(w.buf, head|1)
		w.buf = binary.AppendUvarint(w.buf, uint64(w.count-2)) // #nosec -- at least 2 here
	}
	w.open.count += w.count
	w.lastKey = w.key
	w.inOpen++
	w.entries++
}

func (w *blockWriter) close() {
	if w.inOpen == 0 {
		return
	}
	w.open.data = slices.Clone(w.buf)
	w.blocks = append(w.blocks, w.open)
	w.buf, w.inOpen = w.buf[:0], 0
}

func (w *blockWriter) finish() []block {
	w.write()
	w.close()
	return w.blocks
}
