package dataset

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Builder names the algorithm. It changes whenever the bytes made from the same parameters change, so that a
// record tells datasets of different builders apart.
const Builder = "council/1"

// Bounds of the parameters: what fits a laptop's disk and keeps every count in an int32.
const (
	MaxRows         = 10_000_000
	MaxProjects     = 100_000
	MaxPayloadBytes = 1 << 20
	maxRelations    = 50_000_000
	maxExponent     = 8
)

// Mix is the weight of each kind of memory. Only the proportions matter.
type Mix struct {
	Decision int `json:"decision"`
	Fact     int `json:"fact"`
	Task     int `json:"task"`
	Note     int `json:"note"`
}

// String is the form that ParseMix reads.
func (m Mix) String() string {
	return fmt.Sprintf("decision:%d,fact:%d,task:%d,note:%d", m.Decision, m.Fact, m.Task, m.Note)
}

// ParseMix reads "decision:2,fact:5,task:2,note:1". A kind that is left out has weight 0.
func ParseMix(s string) (Mix, error) {
	var m Mix

	seen := map[string]bool{}

	for part := range strings.SplitSeq(s, ",") {
		kind, weight, ok := strings.Cut(strings.TrimSpace(part), ":")
		if !ok {
			return Mix{}, fmt.Errorf("mix %q: %q is not KIND:WEIGHT, for example fact:5", s, part)
		}

		n, err := strconv.Atoi(weight)
		if err != nil {
			return Mix{}, fmt.Errorf("mix %q: weight of %s must be a whole number, got %q", s, kind, weight)
		}

		if seen[kind] {
			return Mix{}, fmt.Errorf("mix %q: %s stands there twice", s, kind)
		}

		seen[kind] = true

		switch kind {
		case "decision":
			m.Decision = n
		case "fact":
			m.Fact = n
		case "task":
			m.Task = n
		case "note":
			m.Note = n
		default:
			return Mix{}, fmt.Errorf("mix %q: unknown kind %q; kinds are decision, fact, task, note", s, kind)
		}
	}

	return m, m.validate()
}

func (m Mix) weights() [4]int { return [4]int{m.Decision, m.Fact, m.Task, m.Note} }

func (m Mix) total() int { return m.Decision + m.Fact + m.Task + m.Note }

func (m Mix) validate() error {
	for _, w := range m.weights() {
		if w < 0 || w > 1_000_000 {
			return fmt.Errorf("mix: weights must be between 0 and 1000000, got %d", w)
		}
	}

	if m.total() == 0 {
		return errors.New("mix: at least one kind needs a weight above 0")
	}

	return nil
}

// Params describes a dataset completely. The zero value is not valid; start from Default.
type Params struct {
	// Seed starts the generator: another seed, other bytes of the same shape.
	Seed uint64 `json:"seed"`
	// Rows is the number of Memory nodes.
	Rows int `json:"rows"`
	// Projects is the number of Project nodes; memories are spread over them evenly at random.
	Projects int `json:"projects"`
	// RelationsPerRow times Rows, rounded, is the number of RelatesTo edges.
	RelationsPerRow float64 `json:"relations_per_row"`
	// Exponent is the power law's: the target of rank k is chosen with a probability proportional to k^-Exponent.
	// 0 is uniform.
	Exponent float64 `json:"exponent"`
	// PayloadBytes is the exact length of each memory's body in bytes.
	PayloadBytes int `json:"payload_bytes"`
	// Mix is how often each kind of memory occurs.
	Mix Mix `json:"mix"`
}

// Default is the dataset of the spike: 913 memories.
func Default() Params {
	return Params{
		Seed:            1,
		Rows:            913,
		Projects:        12,
		RelationsPerRow: 2,
		Exponent:        1.1,
		PayloadBytes:    240,
		Mix:             Mix{Decision: 2, Fact: 5, Task: 2, Note: 1},
	}
}

// Relations is the number of RelatesTo edges. A graph too small for as many distinct pairs has fewer.
func (p Params) Relations() int {
	n := int(math.Round(float64(p.Rows) * p.RelationsPerRow))

	return min(n, p.Rows*max(p.Rows-1, 0))
}

// Validate says which parameter is out of bounds, what it got and what it takes.
func (p Params) Validate() error {
	check := func(name string, got, lo, hi int) error {
		if got < lo || got > hi {
			return fmt.Errorf("dataset: %s must be between %d and %d, got %d", name, lo, hi, got)
		}

		return nil
	}

	if err := check("rows", p.Rows, 0, MaxRows); err != nil {
		return err
	}

	if err := check("projects", p.Projects, 1, MaxProjects); err != nil {
		return err
	}

	if err := check("payload bytes", p.PayloadBytes, 0, MaxPayloadBytes); err != nil {
		return err
	}

	// The negated form also refuses NaN.
	if !(p.RelationsPerRow >= 0 && p.RelationsPerRow*float64(p.Rows) <= maxRelations) {
		return fmt.Errorf("dataset: relations must be 0 or more a row and at most %d altogether, got %v a row",
			maxRelations, p.RelationsPerRow)
	}

	if !(p.Exponent >= 0 && p.Exponent <= maxExponent) {
		return fmt.Errorf("dataset: exponent must be between 0 and %d, got %v", maxExponent, p.Exponent)
	}

	if err := p.Mix.validate(); err != nil {
		return fmt.Errorf("dataset: %w", err)
	}

	return nil
}

// String is the canonical text of the parameters and the builder: equal text, equal bytes.
func (p Params) String() string {
	return fmt.Sprintf("%s seed=%d rows=%d projects=%d relations=%s exponent=%s payload=%d mix=%s",
		Builder, p.Seed, p.Rows, p.Projects,
		strconv.FormatFloat(p.RelationsPerRow, 'g', -1, 64),
		strconv.FormatFloat(p.Exponent, 'g', -1, 64),
		p.PayloadBytes, p.Mix)
}
