package wire

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Batch is a mutation of one row, taken apart so that it can be repeated for many rows in one query and so one commit.
type Batch struct {
	header     QueryHeader
	statements string
}

// NewBatch takes a mutation source of exactly one query. Another source is an error of kind bad_request.
func NewBatch(source string) (*Batch, *Error) {
	headers, ok := ParseHeaders(source)
	if !ok || len(headers) != 1 {
		return nil, NewError(KindBadRequest, "gq: a batch takes the source of exactly one mutation that this client can read: query NAME($param: Type, …) { statements }")
	}
	if len(headers[0].Params) == 0 {
		return nil, NewError(KindBadRequest, "gq: query %s declares no parameters, so every row would write the same", headers[0].Name)
	}
	open := bodyStart(source)
	body := strings.TrimSpace(source[open:])
	body = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(body, "{"), "}"))
	if body == "" {
		return nil, NewError(KindBadRequest, "gq: query %s has no statements", headers[0].Name)
	}
	return &Batch{header: headers[0], statements: body}, nil
}

// Header is that of the mutation of one row.
func (b *Batch) Header() *QueryHeader { return &b.header }

// Text is the mutation for n rows: the statements n times, each with parameters of its own, whose names end in the
// row's index.
func (b *Batch) Text(n int) string {
	var out strings.Builder
	out.WriteString("query " + b.header.Name + "(")
	for i := range n {
		for j, p := range b.header.Params {
			if i+j > 0 {
				out.WriteString(", ")
			}
			out.WriteString("$" + rowParam(p.Name, i) + ": " + p.Type)
			if p.Optional {
				out.WriteByte('?')
			}
		}
	}
	out.WriteString(") {\n")
	for i := range n {
		writeRow(&out, b.statements, &b.header, i)
		out.WriteByte('\n')
	}
	out.WriteString("}")
	return out.String()
}

func rowParam(name string, row int) string { return name + "_" + strconv.Itoa(row) }

// writeRow copies the statements with each declared parameter renamed for a row; strings and comments stay as they are.
func writeRow(out *strings.Builder, statements string, h *QueryHeader, row int) {
	for i := 0; i < len(statements); {
		n := opaque(statements[i:])
		if n > 0 {
			out.WriteString(statements[i : i+n])
			i += n
			continue
		}
		if statements[i] == '$' {
			name := identifier(statements[i+1:])
			if h.declares(name) {
				out.WriteString("$" + rowParam(name, row))
				i += 1 + len(name)
				continue
			}
		}
		out.WriteByte(statements[i])
		i++
	}
}

func (h *QueryHeader) declares(name string) bool {
	for _, p := range h.Params {
		if p.Name == name {
			return true
		}
	}
	return false
}

// opaque is the length of the string or comment that text begins with, or 0.
func opaque(text string) int {
	switch {
	case strings.HasPrefix(text, "//"), strings.HasPrefix(text, "#"):
		if i := strings.IndexByte(text, '\n'); i >= 0 {
			return i + 1
		}
		return len(text)
	case strings.HasPrefix(text, "/*"):
		if i := strings.Index(text[2:], "*/"); i >= 0 {
			return i + 4
		}
		return len(text)
	case strings.HasPrefix(text, `"`):
		for i := 1; i < len(text); i++ {
			switch text[i] {
			case '\\':
				i++
			case '"':
				return i + 1
			}
		}
		return len(text)
	}
	return 0
}

func identifier(text string) string {
	n := 0
	for n < len(text) {
		r, size := utf8.DecodeRuneInString(text[n:])
		if r != '_' && !unicode.IsLetter(r) && (n == 0 || !unicode.IsDigit(r)) {
			break
		}
		n += size
	}
	return text[:n]
}

// bodyStart finds the brace that opens the body of the first query.
func bodyStart(source string) int {
	for i := 0; i < len(source); {
		if n := opaque(source[i:]); n > 0 {
			i += n
			continue
		}
		if source[i] == '{' {
			return i
		}
		i++
	}
	return len(source)
}

// RowParams appends the members of one row's parameters, renamed for its index, to an object that is being written.
func (b *Batch) RowParams(buf []byte, params []byte, row int) []byte {
	forEachMember(params, func(name, raw string) {
		if len(buf) > 0 {
			buf = append(buf, ',')
		}
		buf = append(buf, '"')
		buf = append(buf, rowParam(name, row)...)
		buf = append(buf, '"', ':')
		buf = append(buf, raw...)
	})
	return buf
}
