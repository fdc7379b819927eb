package dataset

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// Identity says which data a run measured. Equal identities are equal bytes.
type Identity struct {
	// Builder is the algorithm's name and version.
	Builder string `json:"builder"`
	Params
	// Relations is the number of RelatesTo edges.
	Relations int `json:"relations"`
	// Bytes is the length of the NDJSON.
	Bytes int64 `json:"bytes"`
	// SHA256 is the digest of the NDJSON, in hex.
	SHA256 string `json:"sha256"`
}

// String is the canonical text of the parameters with the digest's first 12 digits.
func (id Identity) String() string {
	if len(id.SHA256) < 12 {
		return id.Params.String()
	}

	return id.Params.String() + " sha256=" + id.SHA256[:12]
}

// Identity makes the dataset into nothing to learn its digest. A million rows take a few seconds.
func (p Params) Identity() (Identity, error) { return p.Write(io.Discard) }

type nodeLine struct {
	Type string `json:"type"`
	Data any    `json:"data"`
}

type edgeLine struct {
	Edge string         `json:"edge"`
	From string         `json:"from"`
	To   string         `json:"to"`
	Data map[string]any `json:"data"`
}

type projectData struct {
	Slug string `json:"slug"`
	Name string `json:"name"`
}

// Write writes the dataset to w as NDJSON, one object a line: projects, memories, their BelongsTo edges, then
// the RelatesTo edges. It returns the identity of what it wrote.
func (p Params) Write(w io.Writer) (Identity, error) {
	if err := p.Validate(); err != nil {
		return Identity{}, err
	}

	sum := sha256.New()
	count := &counter{w: io.MultiWriter(w, sum)}
	buf := bufio.NewWriterSize(count, 1<<16)

	if err := p.encode(json.NewEncoder(buf)); err != nil {
		return Identity{}, fmt.Errorf("dataset: write: %w", err)
	}

	if err := buf.Flush(); err != nil {
		return Identity{}, fmt.Errorf("dataset: write: %w", err)
	}

	return Identity{
		Builder:   Builder,
		Params:    p,
		Relations: p.Relations(),
		Bytes:     count.n,
		SHA256:    hex.EncodeToString(sum.Sum(nil)),
	}, nil
}

func (p Params) encode(enc *json.Encoder) error {
	for i := range p.Projects {
		data := projectData{Slug: ProjectKey(i), Name: "Project " + strconv.Itoa(i+1)}
		if err := enc.Encode(nodeLine{Type: "Project", Data: data}); err != nil {
			return err
		}
	}

	projects := make([]string, p.Rows)

	for i := range p.Rows {
		m := p.Memory(i)
		projects[i] = m.Project

		if err := enc.Encode(nodeLine{Type: "Memory", Data: m}); err != nil {
			return err
		}
	}

	empty := map[string]any{}

	for i, project := range projects {
		line := edgeLine{Edge: "BelongsTo", From: MemoryKey(i), To: project, Data: empty}
		if err := enc.Encode(line); err != nil {
			return err
		}
	}

	// The strength of a relation falls with its place in the list: any spread will do, as long as it is fixed.
	for i, r := range p.relations() {
		weight := float64(100-i%100) / 100
		line := edgeLine{
			Edge: "RelatesTo", From: MemoryKey(r.from), To: MemoryKey(r.to),
			Data: map[string]any{"weight": weight},
		}

		if err := enc.Encode(line); err != nil {
			return err
		}
	}

	return nil
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)

	return n, err
}
