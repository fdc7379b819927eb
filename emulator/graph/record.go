package graph

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mitodl/xk6-omnigraph/emulator/schema"
)

// The kinds of records in a log.
const (
	recordInit byte = iota + 1
	recordCommit
	recordCreateBranch
	recordDeleteBranch
	recordCleanup
)

type encoder struct{ buf []byte }

func (e *encoder) num(n uint64) { e.buf = binary.AppendUvarint(e.buf, n) }
func (e *encoder) str(s string) { e.num(uint64(len(s))); e.buf = append(e.buf, s...) }
func (e *encoder) byte(b byte)  { e.buf = append(e.buf, b) }
func (e *encoder) flag(b bool)  { e.byte(byte(b2i(b))) } // #nosec G115 -- 0 or 1
func (e *encoder) val(v Value) {
	e.byte(byte(v.kind))
	switch v.kind {
	case kindNull:
	case kindString, kindList:
		e.str(v.text)
	default:
		e.num(v.num)
	}
}

func (e *encoder) commit(c *Commit) {
	e.str(c.ID)
	e.num(c.Version)
	e.str(c.MergedParent)
	e.str(c.Actor)
	e.num(uint64(c.CreatedAt.UnixMicro())) // #nosec G115 -- after 1970
}

func encodeInit(c *Commit) []byte {
	e := &encoder{buf: []byte{recordInit}}
	e.commit(c)
	return e.buf
}

func encodeCommit(c *Commit, branchName string, ch *change) []byte {
	e := &encoder{buf: []byte{recordCommit}}
	e.commit(c)
	e.str(branchName)
	e.str(ch.adopt)
	e.flag(ch.fold)
	tables := make([]int, 0, len(ch.tables))
	for i := range ch.tables {
		tables = append(tables, i)
	}
	slices.Sort(tables)
	e.num(uint64(len(tables)))
	for _, i := range tables {
		t := ch.tables[i]
		e.num(uint64(i)) // #nosec G115 -- an index
		e.flag(t.clear)
		e.num(uint64(len(t.remove)))
		for _, seq := range t.remove {
			e.num(seq)
		}
		e.num(uint64(len(t.insert)))
		for _, r := range t.insert {
			e.str(r.id)
			for _, v := range r.vals {
				e.val(v)
			}
		}
	}
	return e.buf
}

func encodeBranch(kind byte, name, from string) []byte {
	e := &encoder{buf: []byte{kind}}
	e.str(name)
	e.str(from)
	return e.buf
}

func encodeCleanup(keep int) []byte {
	e := &encoder{buf: []byte{recordCleanup}}
	e.num(uint64(max(keep, 0))) // #nosec G115 -- not negative
	return e.buf
}

var errShort = errors.New("record is too short")

// decoder reads what encoder wrote; the first mistake sticks in err.
type decoder struct {
	buf []byte
	err error
}

func (d *decoder) num() uint64 {
	n, size := binary.Uvarint(d.buf)
	if size <= 0 {
		d.err = errShort
		return 0
	}
	d.buf = d.buf[size:]
	return n
}

func (d *decoder) str() string {
	n := d.num()
	if d.err != nil || n > uint64(len(d.buf)) {
		d.err = errShort
		return ""
	}
	s := string(d.buf[:n])
	d.buf = d.buf[n:]
	return s
}

func (d *decoder) byte() byte {
	if len(d.buf) == 0 {
		d.err = errShort
		return 0
	}
	b := d.buf[0]
	d.buf = d.buf[1:]
	return b
}

// count reads a length of things that take at least one byte each.
func (d *decoder) count() int {
	n := d.num()
	if n > uint64(len(d.buf)) {
		d.err = errShort
		return 0
	}
	return int(n) // #nosec G115 -- bounded by the buffer
}

func (d *decoder) val() Value {
	v := Value{kind: valueKind(d.byte())}
	switch v.kind {
	case kindNull:
	case kindString, kindList:
		v.text = d.str()
	default:
		v.num = d.num()
	}
	return v
}

func (d *decoder) commit() *Commit {
	return &Commit{
		ID: d.str(), Version: d.num(), MergedParent: d.str(), Actor: d.str(),
		CreatedAt: time.UnixMicro(int64(d.num())), // #nosec G115 -- written by us
	}
}

// replay applies one record to the graph in memory.
func (g *Graph) replay(payload []byte) error {
	d := &decoder{buf: payload}
	switch kind := d.byte(); kind {
	case recordInit:
		c := d.commit()
		if d.err != nil {
			return d.err
		}
		c.state = g.initCommit().state
		g.publish(c, &branch{name: MainBranch})
		return nil
	case recordCommit:
		return g.replayCommit(d)
	case recordCreateBranch:
		name, from := d.str(), d.str()
		if d.err != nil {
			return d.err
		}
		return g.fork(name, from)
	case recordDeleteBranch:
		name := d.str()
		if d.err != nil {
			return d.err
		}
		g.dropBranch(name)
		return nil
	case recordCleanup:
		keep := d.count()
		if d.err != nil && !errors.Is(d.err, errShort) {
			return d.err
		}
		g.forgetStates(keep)
		return nil
	default:
		return fmt.Errorf("unknown record kind %d", kind)
	}
}

func (g *Graph) replayCommit(d *decoder) error {
	c := d.commit()
	name := d.str()
	ch := &change{adopt: d.str(), fold: d.byte() != 0}
	for range d.count() {
		i := int(d.num()) // #nosec G115 -- checked below
		if d.err != nil || i < 0 || i >= len(g.specs) {
			return errors.Join(fmt.Errorf("commit %s names a table that the schema lacks", c.ID), d.err)
		}
		g.replayTable(d, i, ch.table(i))
		if d.err != nil {
			return d.err
		}
	}
	if d.err != nil {
		return d.err
	}
	b, err := g.branch(name)
	if err != nil {
		return err
	}
	if c.state, err = g.apply(b.head.state, ch, name); err != nil {
		return err
	}
	c.Parent, c.folded = b.head.ID, ch.fold
	if name != MainBranch {
		c.Branch = name
	}
	g.publish(c, b)
	return nil
}

func (g *Graph) replayTable(d *decoder, i int, t *tableChange) {
	spec := &g.specs[i]
	t.clear = d.byte() != 0
	for range d.count() {
		t.remove = append(t.remove, d.num())
	}
	width := len(spec.props)
	if spec.edge != nil {
		width += 2
	}
	n := d.count()
	t.insert = make([]newRow, 0, n)
	for range n {
		r := newRow{id: d.str(), vals: make([]Value, width)}
		for j := range r.vals {
			r.vals[j] = d.val()
			if j < len(spec.props) {
				r.vals[j] = share(&spec.props[j], spec, j, r.id, r.vals[j])
			}
		}
		if d.err != nil {
			return
		}
		t.insert = append(t.insert, r)
	}
}

// share replaces a text that exists elsewhere: an enum's value by the schema's, a key by the row's id.
func share(p *schema.Property, spec *tableSpec, j int, id string, v Value) Value {
	if v.kind != kindString {
		return v
	}
	if p.Type.Enum != nil {
		if k, ok := slices.BinarySearch(p.Type.Enum, v.text); ok {
			v.text = p.Type.Enum[k]
		}
		return v
	}
	if spec.node != nil && spec.node.Key == j && strings.Compare(v.text, id) == 0 {
		v.text = id
	}
	return v
}
