package dataset

import (
	"fmt"
	"time"
)

// Purposes of the streams. Their numbers are part of the builder's algorithm.
const (
	purposeMemory = 1 + iota
	purposeRelations
	purposeHubs
)

// epoch is the first memory's created_at; each later one is a minute younger.
var epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

var kinds = [4]string{"decision", "fact", "task", "note"}

// words make titles and bodies: plain ASCII, so that payload bytes are characters and JSON escapes nothing.
var words = [...]string{
	"agenda", "archive", "audit", "branch", "budget", "bylaw", "case", "chair", "charter", "claim", "commit",
	"council", "deadline", "delegate", "draft", "edge", "evidence", "finding", "forum", "graph", "index",
	"ledger", "margin", "measure", "member", "memo", "minutes", "motion", "notice", "owner", "panel", "plan",
	"policy", "project", "proposal", "quorum", "record", "report", "review", "risk", "schedule", "scope",
	"session", "source", "summary", "table", "term", "topic", "treaty", "update", "vote", "witness",
}

// Memory is one Memory node, under the schema's property names.
type Memory struct {
	Slug       string `json:"slug"`
	Title      string `json:"title"`
	Body       string `json:"body"`
	Kind       string `json:"kind"`
	Project    string `json:"project"`
	Importance int    `json:"importance"`
	CreatedAt  string `json:"created_at"`
}

// MemoryKey is the key of the memory with index i, from 0: mem-0001 is the first.
func MemoryKey(i int) string { return fmt.Sprintf("mem-%04d", i+1) }

// ProjectKey is the key of the project with index i, from 0: prj-01 is the first.
func ProjectKey(i int) string { return fmt.Sprintf("prj-%02d", i+1) }

// Memory makes the memory with index i, from 0. It depends on the seed and the shape but not on Rows, so that
// indexes from Rows on give further rows of the same kind, for single-row commits on top of the dataset.
func (p Params) Memory(i int) Memory {
	s := newStream(p.Seed, purposeMemory, uint64(i)) // #nosec G115 -- an index, not negative
	m := Memory{
		Slug:       MemoryKey(i),
		Kind:       p.kind(s),
		Project:    ProjectKey(int(s.below(uint64(p.Projects)))), // #nosec G115 -- below Projects, which is an int
		Importance: 1 + int(s.below(5)),                          // #nosec G115 -- below 5
		CreatedAt:  epoch.Add(time.Duration(i) * time.Minute).Format(time.RFC3339),
	}
	m.Title = fmt.Sprintf("%s %s %s %d", word(s), word(s), word(s), i+1)
	m.Body = text(s, p.PayloadBytes)

	return m
}

func (p Params) kind(s *stream) string {
	v := int(s.below(uint64(p.Mix.total()))) // #nosec G115 -- validated: total is small and positive

	for i, w := range p.Mix.weights() {
		if v < w {
			return kinds[i]
		}

		v -= w
	}

	return kinds[len(kinds)-1]
}

func word(s *stream) string { return words[s.below(uint64(len(words)))] }

// text makes exactly n bytes of words.
func text(s *stream, n int) string {
	b := make([]byte, 0, n+16)

	for len(b) < n {
		if len(b) > 0 {
			b = append(b, ' ')
		}

		b = append(b, word(s)...)
	}

	return string(b[:n])
}
