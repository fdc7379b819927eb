package graph

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mitodl/xk6-omnigraph/emulator/jsondoc"
)

// exportChunk is how much is buffered between writes.
const exportChunk = 32 << 10

func (g *Graph) export(w io.Writer, st *state, types, tableKeys []string) error {
	for _, name := range types {
		if g.nodeTable(name) < 0 && g.edgeTable(name) < 0 {
			return badRequest("unknown type '%s'", name)
		}
	}
	for _, key := range tableKeys {
		if g.tableByKey(key) < 0 {
			return badRequest("unknown table '%s'", key)
		}
	}
	order := make([]int, 0, len(g.specs))
	for i := range g.specs {
		s := &g.specs[i]
		if len(types)+len(tableKeys) > 0 && !slices.Contains(types, s.name) && !slices.Contains(tableKeys, s.key) {
			continue
		}
		order = append(order, i)
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(g.specs[a].key, g.specs[b].key) })
	buf := make([]byte, 0, exportChunk+4096)
	for _, i := range order {
		var rows []*row
		st.tables[i].rows.Each(func(r *row) bool {
			rows = append(rows, r)
			return true
		})
		slices.SortStableFunc(rows, func(a, b *row) int { return strings.Compare(a.id, b.id) })
		for _, r := range rows {
			buf = g.specs[i].appendRecord(buf, r)
			if len(buf) < exportChunk {
				continue
			}
			if _, err := w.Write(buf); err != nil {
				return err
			}
			buf = buf[:0]
		}
	}
	_, err := w.Write(buf)
	return err
}

// appendRecord appends a row as a line that a load reads again, its properties by name behind the id.
func (s *tableSpec) appendRecord(dst []byte, r *row) []byte {
	if s.edge != nil {
		dst = append(append(append(dst, `{"edge":"`...), s.name...), `","from":`...)
		dst = append(jsondoc.AppendString(dst, r.source()), `,"to":`...)
		dst = append(jsondoc.AppendString(dst, r.target()), `,"data":{"id":`...)
	} else {
		dst = append(append(append(dst, `{"type":"`...), s.name...), `","data":{"id":`...)
	}
	dst = jsondoc.AppendString(dst, r.id)
	order := make([]int, len(s.props))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(s.props[a].Name, s.props[b].Name) })
	for _, i := range order {
		dst = append(dst, ',')
		dst = append(jsondoc.AppendString(dst, s.props[i].Name), ':')
		dst = r.vals[i].appendExport(dst)
	}
	return append(dst, '}', '}', '\n')
}

// appendExport appends a value as an export writes it: a date as its number of days since 1970, date and time without
// a zone and without empty fractions.
func (v Value) appendExport(dst []byte) []byte {
	switch v.kind {
	case kindDate:
		return strconv.AppendInt(dst, v.int(), 10)
	case kindDateTime:
	default:
		return v.appendJSON(dst)
	}
	layout := "T15:04:05"
	if v.int()%1000 != 0 {
		layout += ".000"
	}
	t := time.UnixMilli(v.int()).UTC()
	dst = appendDate(append(dst, '"'), t)
	dst = t.AppendFormat(dst, layout)
	return append(dst, '"')
}
