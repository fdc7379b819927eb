package recorder

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// CellKey names one cell: all operations that are alike and may be pooled into one distribution. Its fields are
// names and levels that the script chose; nothing in it grows with the data.
type CellKey struct {
	Scenario  string
	Variant   string // the variant's name in compare(), else ""
	Transport string // "http" or "cli"
	Op        string // "query", "mutate", "version", …
	Query     string // the name given to the operation, never its text
	Workers   int    // of levels(): the concurrency of a closed model; 0 if not known
	Rate      float64
	Phase     string // "warmup" and "measure" as levels() sets them, else ""
}

// Outcome says how an operation ended: [OK], [Canceled], or [Failed] with its error kind.
type Outcome string

const (
	// OK is the outcome of an operation that succeeded.
	OK Outcome = ""
	// Canceled is the outcome of an operation cut off by the end of its iteration.
	Canceled Outcome = "canceled"
)

// Failed is the outcome of an operation that failed with the given error kind. An empty kind counts as "unknown".
// The kind "canceled" is the same as [Canceled].
func Failed(kind string) Outcome {
	if kind == "" {
		return "unknown"
	}
	return Outcome(kind)
}

// Part is one stage of an operation's wall time. The parts of one operation and its residual add up to its wall
// time.
type Part uint8

// The parts, in the order in which an operation goes through them.
const (
	PartQueued  Part = iota // waiting on the generator's side
	PartSpawn               // fork and exec until the process runs
	PartCLI                 // the CLI's own CPU work
	PartConnect             // DNS, TCP and TLS
	PartSend                // writing the request
	PartWait                // from the last request byte to the first response byte
	PartReceive             // reading the response
	PartDecode              // making rows of it
	partCount
)

// String gives the part's name as it stands in a record.
func (p Part) String() string {
	for i, name := range [partCount]string{"queued", "spawn", "cli", "connect", "send", "wait", "receive", "decode"} {
		if i == int(p) {
			return name
		}
	}
	return "unknown"
}

// Parts are the durations of one operation's parts, by [Part]; what is not known stays 0 and goes to the residual.
type Parts [partCount]time.Duration

// Cell records the operations of one [CellKey]. All methods are safe for concurrent use and, once a cell has seen
// the magnitude and error kind before, allocate nothing.
type Cell struct {
	key   CellKey
	clock func() time.Duration // since the start of the run
	bound int

	ok       histogram
	attempt  histogram
	failed   atomic.Uint64
	canceled atomic.Uint64
	attempts atomic.Uint64
	retries  atomic.Uint64
	rows     atomic.Uint64
	nodes    atomic.Uint64
	edges    atomic.Uint64
	first    atomic.Int64 // start of the earliest operation, ns since the start of the run, plus 1; 0: none yet
	last     atomic.Int64 // end of the latest, same unit

	mu     sync.Mutex
	errors map[string]uint64
	// messages are the first few distinct messages of each error kind.
	messages map[string][]string
	raw      []rawValue // reservoir of successes
	parts    [partCount]moments
	whole    moments // wall time of the operations that have parts
}

// rawValue is one success: when it ended, since the start of the run, and how long it took.
type rawValue struct {
	at   time.Duration
	took time.Duration
}

// moments are what a mean and its interval need: count, sum, and sum of squares, in seconds.
type moments struct {
	n        uint64
	sum, sq2 float64
}

func (m *moments) add(d time.Duration) {
	s := d.Seconds()
	m.n++
	m.sum += s
	m.sq2 += s * s
}

// Key gives the key under which the cell was looked up.
func (c *Cell) Key() CellKey { return c.key }

// Record counts one operation that has just ended, with its duration as the caller waited for it. Durations of
// operations that did not succeed stay out of the percentiles.
func (c *Cell) Record(d time.Duration, outcome Outcome) {
	if d < 0 {
		d = 0
	}
	now := c.clock()
	c.span(now-d, now)
	switch outcome {
	case OK:
		c.ok.record(d)
		c.keep(rawValue{at: now, took: d})
	case Canceled:
		c.canceled.Add(1)
	default:
		c.failed.Add(1)
		c.mu.Lock()
		c.errors[string(outcome)]++
		c.mu.Unlock()
	}
}

// maxMessages bounds the messages kept of one error kind, maxMessageBytes each of them.
const (
	maxMessages     = 3
	maxMessageBytes = 400
)

// NoteError keeps a failure's message, which must hold no secret, if it is among the first few distinct ones of its
// kind. Call it beside [Cell.Record].
func (c *Cell) NoteError(kind, message string) {
	if len(message) > maxMessageBytes {
		message = strings.ToValidUTF8(message[:maxMessageBytes], "") + "…"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.messages = addMessage(c.messages, kind, message)
}

func addMessage(messages map[string][]string, kind, message string) map[string][]string {
	if message == "" || len(messages[kind]) >= maxMessages || slices.Contains(messages[kind], message) {
		return messages
	}
	if messages == nil {
		messages = map[string][]string{}
	}
	messages[kind] = append(messages[kind], message)
	return messages
}

// keep adds a success to the reservoir (Vitter's algorithm R): each of the n values so far is in it with the same
// probability.
func (c *Cell) keep(v rawValue) {
	n := c.ok.n.Load()
	slot := n - 1
	bound := uint64(c.bound) // #nosec G115 -- positive
	if n > bound {
		// #nosec G404 -- sampling, nothing secret
		if slot = rand.Uint64N(n); slot >= bound {
			return
		}
	}
	c.mu.Lock()
	if slot < uint64(len(c.raw)) && n > bound {
		c.raw[slot] = v
	} else if len(c.raw) < c.bound {
		c.raw = append(c.raw, v)
	}
	c.mu.Unlock()
}

// span widens the cell's time span. Both bounds only ever move outward, so a lost race is retried.
func (c *Cell) span(from, to time.Duration) {
	start, end := int64(max(from, 0))+1, int64(to)
	for {
		was := c.first.Load()
		if was != 0 && was <= start || c.first.CompareAndSwap(was, start) {
			break
		}
	}
	for {
		was := c.last.Load()
		if was >= end || c.last.CompareAndSwap(was, end) {
			break
		}
	}
}

// RecordAttempt counts the duration of one attempt, without what it waited on the generator's side.
func (c *Cell) RecordAttempt(d time.Duration) { c.attempt.record(d) }

// AddAttempts counts the attempts of an operation; all after the first are retries.
func (c *Cell) AddAttempts(attempts int) {
	if attempts <= 0 {
		return
	}
	c.attempts.Add(uint64(attempts))
	c.retries.Add(uint64(attempts - 1))
}

// AddRows counts rows returned. Only those of queries, stored queries and exports count, as in the metric
// omnigraph_rows: the entries of a listing or of a maintenance step's answer are no rows of the graph.
func (c *Cell) AddRows(n int) {
	switch c.key.Op {
	case "query", "invoke", "export":
	default:
		return
	}
	if n > 0 {
		c.rows.Add(uint64(n))
	}
}

// AddAffected counts nodes and edges written.
func (c *Cell) AddAffected(nodes, edges int) {
	if nodes > 0 {
		c.nodes.Add(uint64(nodes))
	}
	if edges > 0 {
		c.edges.Add(uint64(edges))
	}
}

// RecordParts adds one successful operation's decomposition of its wall time. The residual is what the parts leave
// of wall; it may be negative where the parts' clocks overlap, and is then shown as such.
func (c *Cell) RecordParts(wall time.Duration, parts Parts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.whole.add(wall)
	for i, d := range parts {
		c.parts[i].add(d)
	}
}
