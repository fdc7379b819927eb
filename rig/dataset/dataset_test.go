package dataset_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mitodl/xk6-omnigraph/rig/dataset"
)

type line struct {
	Type, Edge, From, To string
	Data                 struct {
		Slug, Body, Kind, Project string
		Importance                int
		Weight                    float64
	}
}

func write(t *testing.T, p dataset.Params) ([]byte, dataset.Identity) {
	t.Helper()

	var b bytes.Buffer

	id, err := p.Write(&b)
	if err != nil {
		t.Fatal(err)
	}

	return b.Bytes(), id
}

func parse(t *testing.T, data []byte) []line {
	t.Helper()

	var lines []line

	sc := bufio.NewScanner(bytes.NewReader(data))
	sc.Buffer(nil, 2<<20)

	for sc.Scan() {
		var l line
		if err := json.Unmarshal(sc.Bytes(), &l); err != nil {
			t.Fatalf("%s: %v", sc.Bytes(), err)
		}

		lines = append(lines, l)
	}

	return lines
}

// The digests were made once with this builder: who changes the bytes has to change dataset.Builder too.
func TestTheBytesOfABuilderNeverChange(t *testing.T) {
	if dataset.Builder != "council/1" {
		t.Fatalf("the builder is %s now: make new digests", dataset.Builder)
	}

	other := dataset.Params{
		Seed: 7, Rows: 40, Projects: 3, RelationsPerRow: 1.5, Exponent: 0.5, PayloadBytes: 17,
		Mix: dataset.Mix{Fact: 1, Note: 3},
	}

	for name, c := range map[string]struct {
		params dataset.Params
		want   string
	}{
		"default": {dataset.Default(), "a1eb6faf23f177b6a56c8c877d152298fc450373e6396d9198e6542e25fcf093"},
		"other":   {other, "fb98bbceff9007e409dba0e641736ab24c7146b7a57118cab9646563c48d0efd"},
	} {
		id, err := c.params.Identity()
		if err != nil {
			t.Fatal(err)
		}

		if id.SHA256 != c.want {
			t.Errorf("%s: sha256 %s, was %s", name, id.SHA256, c.want)
		}
	}
}

func TestSameParametersSameBytes(t *testing.T) {
	a, idA := write(t, dataset.Default())
	b, idB := write(t, dataset.Default())

	if !bytes.Equal(a, b) || idA != idB {
		t.Fatal("two writes differ")
	}

	if int64(len(a)) != idA.Bytes {
		t.Errorf("identity says %d bytes, there are %d", idA.Bytes, len(a))
	}
}

func TestEachParameterChangesTheBytes(t *testing.T) {
	_, base := write(t, dataset.Default())

	for name, change := range map[string]func(*dataset.Params){
		"seed":      func(p *dataset.Params) { p.Seed++ },
		"rows":      func(p *dataset.Params) { p.Rows++ },
		"projects":  func(p *dataset.Params) { p.Projects++ },
		"relations": func(p *dataset.Params) { p.RelationsPerRow = 3 },
		"exponent":  func(p *dataset.Params) { p.Exponent = 2 },
		"payload":   func(p *dataset.Params) { p.PayloadBytes++ },
		"mix":       func(p *dataset.Params) { p.Mix.Note = 7 },
	} {
		p := dataset.Default()
		change(&p)

		if _, id := write(t, p); id.SHA256 == base.SHA256 {
			t.Errorf("%s: same bytes", name)
		} else if id.String() == base.String() {
			t.Errorf("%s: same text %s", name, id)
		}
	}
}

func TestEveryEdgeIsDistinctAndHasItsNodes(t *testing.T) {
	for name, p := range map[string]dataset.Params{
		"default":  dataset.Default(),
		"no rows":  {Seed: 1, Projects: 1, RelationsPerRow: 2, Mix: dataset.Mix{Fact: 1}},
		"one row":  {Seed: 1, Rows: 1, Projects: 1, RelationsPerRow: 2, Exponent: 1, Mix: dataset.Mix{Fact: 1}},
		"complete": {Seed: 1, Rows: 9, Projects: 2, RelationsPerRow: 8, Exponent: 3, Mix: dataset.Mix{Fact: 1}},
		"asked for more than there are": {
			Seed: 1, Rows: 4, Projects: 2, RelationsPerRow: 50, Exponent: 1, Mix: dataset.Mix{Fact: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			data, id := write(t, p)
			nodes := map[string]string{}
			edges := map[line]bool{}
			count := map[string]int{}

			for _, l := range parse(t, data) {
				count[l.Type+l.Edge]++

				switch {
				case l.Type != "":
					if nodes[l.Data.Slug] != "" {
						t.Fatalf("key %s twice", l.Data.Slug)
					}

					nodes[l.Data.Slug] = l.Type

					if l.Type == "Memory" && len(l.Data.Body) != p.PayloadBytes {
						t.Fatalf("body of %d bytes, wanted %d", len(l.Data.Body), p.PayloadBytes)
					}
				default:
					key := line{Edge: l.Edge, From: l.From, To: l.To}
					if edges[key] {
						t.Fatalf("edge twice: %v", key)
					}

					edges[key] = true

					if l.From == l.To || nodes[l.From] != "Memory" || nodes[l.To] == "" {
						t.Fatalf("bad edge %v", key)
					}
				}
			}

			if count["Memory"] != p.Rows || count["BelongsTo"] != p.Rows || count["Project"] != p.Projects ||
				count["RelatesTo"] != id.Relations || id.Relations != p.Relations() {
				t.Errorf("counts %v for %v", count, p)
			}
		})
	}
}

func TestAMemoryDoesNotDependOnTheNumberOfRows(t *testing.T) {
	small, large := dataset.Default(), dataset.Default()
	large.Rows = 5000

	for _, i := range []int{0, 1, 912, 913, 4999} {
		if small.Memory(i) != large.Memory(i) {
			t.Errorf("memory %d differs", i)
		}
	}

	if got := small.Memory(0).Slug; got != "mem-0001" {
		t.Errorf("the first key is %s", got)
	}
}

// The k-th most related memory of n has about n_1 * k^-exponent relations: the slope of log count over log rank,
// by least squares over the first ranks, is minus the exponent.
func TestRelationsFollowThePowerLaw(t *testing.T) {
	p := dataset.Default()
	p.Rows, p.RelationsPerRow, p.PayloadBytes = 4000, 5, 1

	for _, exponent := range []float64{0.6, 1.1} {
		p.Exponent = exponent
		data, _ := write(t, p)
		in := map[string]int{}

		for _, l := range parse(t, data) {
			if l.Edge == "RelatesTo" {
				in[l.To]++
			}
		}

		var counts []int
		for _, n := range in {
			counts = append(counts, n)
		}

		slices.SortFunc(counts, func(a, b int) int { return b - a })

		var n, sx, sy, sxx, sxy float64

		// From rank 3 on: the first hubs are so popular that distinct pairs run out.
		for k := 3; k <= 60; k++ {
			x, y := math.Log(float64(k)), math.Log(float64(counts[k-1]))
			n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
		}

		slope := (n*sxy - sx*sy) / (n*sxx - sx*sx)
		if math.Abs(slope+exponent) > 0.15 {
			t.Errorf("exponent %v: slope %.3f", exponent, slope)
		}
	}
}

func TestKindsFollowTheMix(t *testing.T) {
	p := dataset.Default()
	p.Mix = dataset.Mix{Decision: 1, Fact: 6, Note: 3}

	const n = 20_000

	got := map[string]float64{}
	for i := range n {
		got[p.Memory(i).Kind]++
	}

	for kind, want := range map[string]float64{"decision": 0.1, "fact": 0.6, "task": 0, "note": 0.3} {
		// Four standard errors of a share.
		if tolerance := 4 * math.Sqrt(want*(1-want)/n); math.Abs(got[kind]/n-want) > tolerance {
			t.Errorf("%s: share %.4f, wanted %.4f", kind, got[kind]/n, want)
		}
	}
}

func TestBadParametersAreNamed(t *testing.T) {
	for want, change := range map[string]func(*dataset.Params){
		"rows":      func(p *dataset.Params) { p.Rows = -1 },
		"projects":  func(p *dataset.Params) { p.Projects = 0 },
		"payload":   func(p *dataset.Params) { p.PayloadBytes = dataset.MaxPayloadBytes + 1 },
		"relations": func(p *dataset.Params) { p.RelationsPerRow = math.NaN() },
		"exponent":  func(p *dataset.Params) { p.Exponent = math.Inf(1) },
		"mix":       func(p *dataset.Params) { p.Mix = dataset.Mix{} },
	} {
		p := dataset.Default()
		change(&p)

		if _, err := p.Identity(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", want, err)
		}
	}
}

type brokenWriter struct{}

var errBroken = errors.New("disk full")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestAWriteErrorIsReturned(t *testing.T) {
	if _, err := dataset.Default().Write(brokenWriter{}); !errors.Is(err, errBroken) {
		t.Errorf("error %v", err)
	}
}

func TestParseMix(t *testing.T) {
	for text, want := range map[string]dataset.Mix{
		"fact:1":                          {Fact: 1},
		"decision:1,fact:2,task:3,note:4": {Decision: 1, Fact: 2, Task: 3, Note: 4},
		" note:2, decision:0 ":            {Note: 2},
	} {
		if got, err := dataset.ParseMix(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}

	for _, text := range []string{"", "fact", "fact:", "fact:x", "fact:0", "fact:-1", "fact:1,fact:2", "memo:1", "fact:1,"} {
		if got, err := dataset.ParseMix(text); err == nil {
			t.Errorf("%q: accepted as %v", text, got)
		}
	}
}

func FuzzParseMix(f *testing.F) {
	f.Add("decision:2,fact:5,task:2,note:1")
	f.Add("fact:1")
	f.Add(":,:")

	f.Fuzz(func(t *testing.T, text string) {
		m, err := dataset.ParseMix(text)
		if err != nil {
			return
		}

		if again, err := dataset.ParseMix(m.String()); err != nil || again != m {
			t.Errorf("%q: %v reads back as %v, %v", text, m, again, err)
		}
	})
}
