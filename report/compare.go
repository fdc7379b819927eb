package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mitodl/xk6-omnigraph/analysis"
	"github.com/mitodl/xk6-omnigraph/recorder"
)

// CompareOptions say how two records are compared.
type CompareOptions struct {
	// Varies names the identity fields that the comparison is about, such as "server"; a difference in any other makes
	// it invalid.
	Varies []string
	// Floor and Margin replace the records' own; negative values stand for "as recorded".
	Floor, Margin float64
}

// Comparison is what two records say about each other: run A is the reference, run B the one in question.
type Comparison struct {
	Verdict  recorder.Verdict  `json:"verdict"`
	Reasons  []recorder.Reason `json:"reasons"`
	A        string            `json:"a"`
	B        string            `json:"b"`
	Varies   []string          `json:"varies"`
	Floor    float64           `json:"noise_floor"`
	FloorSet bool              `json:"noise_floor_known"`
	Margin   float64           `json:"margin"`
	Cells    []ComparedCell    `json:"cells"`
	// OnlyA and OnlyB are cells that the other record lacks: they stand outside any total.
	OnlyA []string `json:"only_a"`
	OnlyB []string `json:"only_b"`

	banner string
	facts  []Fact
}

// ComparedCell is one cell in both records. Changes are relative to A: 0.1 means that B is 10 % slower.
type ComparedCell struct {
	Cell     string             `json:"cell"`
	NA       uint64             `json:"n_a"`
	NB       uint64             `json:"n_b"`
	P50A     *float64           `json:"p50_a_ms"`
	P50B     *float64           `json:"p50_b_ms"`
	Change   *float64           `json:"p50_change"`
	ChangeCI *analysis.Interval `json:"p50_change_ci"`
	P95      *float64           `json:"p95_change"`
	P95CI    *analysis.Interval `json:"p95_change_ci"`
	P        *float64           `json:"p"` // rank test, after Holm's correction
	FailedA  uint64             `json:"failed_a"`
	FailedB  uint64             `json:"failed_b"`
	// Verdict is "slower", "faster", "no detected effect", "too few samples" or "not judged".
	Verdict string `json:"verdict"`
	Note    string `json:"note,omitempty"`
}

// The verdicts on a compared cell.
const (
	CellSlower    = "slower"
	CellFaster    = "faster"
	CellNoEffect  = "no detected effect"
	CellFew       = "too few samples"
	CellNotJudged = "not judged"
)

// Compare compares two records cell by cell.
func Compare(a, b *recorder.Record, opts CompareOptions) (*Comparison, error) {
	for _, name := range opts.Varies {
		if !slices.Contains(recorder.IdentityFields(), name) {
			return nil, fmt.Errorf("there is no identity field %q; there are %s", name, strings.Join(recorder.IdentityFields(), ", "))
		}
	}
	c := &Comparison{
		A: a.Invocation.ID, B: b.Invocation.ID, Varies: opts.Varies, Reasons: []recorder.Reason{},
		Floor: math.Max(a.Limits.NoiseFloor, b.Limits.NoiseFloor), Margin: math.Max(a.Limits.Margin, b.Limits.Margin),
		Cells: []ComparedCell{}, OnlyA: []string{}, OnlyB: []string{}, banner: firstOf(bannerOf(a), bannerOf(b)),
	}
	if opts.Floor >= 0 {
		c.Floor = opts.Floor
	}
	if opts.Margin >= 0 {
		c.Margin = opts.Margin
	}
	c.FloorSet = c.Floor > 0
	c.judge(a, b)
	if err := c.compareCells(a, b); err != nil {
		return nil, err
	}
	c.facts = comparedFacts(a, b)
	return c, nil
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// judge finds how far the comparison may be trusted.
func (c *Comparison) judge(a, b *recorder.Record) {
	c.Verdict = recorder.Valid
	if diff := recorder.IdentityDiff(a, b, c.Varies...); len(diff) > 0 {
		c.Verdict = recorder.Invalid
		c.Reasons = append(c.Reasons, recorder.Reason{
			Code: "identity_mismatch",
			Text: "the two runs differ in " + strings.Join(diff, "; ") + ": name what is compared with --varies, or measure both alike",
		})
	}
	for _, side := range []struct {
		name string
		rec  *recorder.Record
	}{{"A", a}, {"B", b}} {
		for _, r := range side.rec.Reasons {
			class := recorder.ClassOf(r.Code)
			if class == recorder.ClassNamed {
				continue
			}
			c.Reasons = append(c.Reasons, recorder.Reason{Code: r.Code, Text: side.name + ": " + r.Text})
		}
		switch {
		case side.rec.Verdict == recorder.Invalid:
			c.Verdict = recorder.Invalid
		case side.rec.Verdict == recorder.Directional && c.Verdict == recorder.Valid:
			c.Verdict = recorder.Directional
		}
	}
}

func (c *Comparison) compareCells(a, b *recorder.Record) error {
	inB := map[recorder.CellKey]*recorder.CellRecord{}
	for i := range b.Cells {
		if cell := &b.Cells[i]; cell.Measured() && !cell.Maintenance() {
			inB[cell.Key()] = cell
		}
	}
	var sides []analysis.Sides
	for i := range a.Cells {
		ca := &a.Cells[i]
		if !ca.Measured() || ca.Maintenance() {
			continue
		}
		cb := inB[ca.Key()]
		if cb == nil {
			c.OnlyA = append(c.OnlyA, ca.Label())
			continue
		}
		delete(inB, ca.Key())
		sa, errA := ca.Sample()
		sb, errB := cb.Sample()
		if errA != nil || errB != nil {
			return fmt.Errorf("cell %s: %w", ca.Label(), firstError(errA, errB))
		}
		sides = append(sides, analysis.Sides{A: sa, B: sb})
		c.Cells = append(c.Cells, ComparedCell{
			Cell: ca.Label(), NA: ca.N, NB: cb.N, P50A: ca.P50, P50B: cb.P50, FailedA: ca.Failed, FailedB: cb.Failed,
		})
	}
	for i := range b.Cells {
		if cell := &b.Cells[i]; inB[cell.Key()] == cell {
			c.OnlyB = append(c.OnlyB, cell.Label())
		}
	}
	for i, r := range analysis.CompareCells(sides, c.Floor, c.Margin, analysis.DefaultBootstrap()) {
		cell := &c.Cells[i]
		cell.Change, cell.ChangeCI = r.P50.Value, r.P50.CI
		cell.P95, cell.P95CI = r.P95.Value, r.P95.CI
		cell.P, cell.Note = r.P, r.Note
		cell.Verdict = cellVerdict(r.Verdict)
		if cell.Verdict == CellNoEffect {
			cell.Note = c.wouldTell(cell)
		}
		if c.Verdict == recorder.Invalid {
			cell.Verdict = CellNotJudged
		}
	}
	return nil
}

// wouldTell says how many samples an effect as small as the threshold takes, where the interval is wider than that: its
// width falls with the root of the samples. It is empty where "no detected effect" means that there is none to speak of.
func (c *Comparison) wouldTell(cell *ComparedCell) string {
	threshold := c.Floor + c.Margin
	if cell.ChangeCI == nil || threshold <= 0 {
		return ""
	}
	half := (cell.ChangeCI[1] - cell.ChangeCI[0]) / 2
	if half <= threshold {
		return ""
	}
	needed := float64(min(cell.NA, cell.NB)) * (half / threshold) * (half / threshold)
	digits := math.Pow(10, math.Max(0, math.Floor(math.Log10(needed))-1))
	return fmt.Sprintf("at this spread a change of %s takes about %s samples a side to show", percent(threshold), count(int64(math.Ceil(needed/digits)*digits)))
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func cellVerdict(v analysis.Verdict) string {
	switch v {
	case analysis.Slower:
		return CellSlower
	case analysis.Faster:
		return CellFaster
	case analysis.NoEffect:
		return CellNoEffect
	default:
		return CellFew
	}
}

// Count is how many cells have a verdict.
func (c *Comparison) Count(verdict string) int {
	n := 0
	for _, cell := range c.Cells {
		if cell.Verdict == verdict {
			n++
		}
	}
	return n
}

func comparedFacts(a, b *recorder.Record) []Fact {
	other := b.Identity()
	var out []Fact
	for i, f := range a.Identity() {
		switch {
		case f.Value == "" && other[i].Value == "":
		case f.Value == other[i].Value:
			out = append(out, Fact{f.Name, f.Value})
		default:
			out = append(out, Fact{f.Name, fmt.Sprintf("A: %s; B: %s", unknownIfEmpty(f.Value), unknownIfEmpty(other[i].Value))})
		}
	}
	return out
}

func unknownIfEmpty(s string) string {
	if s == "" {
		return "not known"
	}
	return s
}

// Document is the comparison as a report.
func (c *Comparison) Document() *Document {
	d := &Document{
		Title: fmt.Sprintf("omnigraph load comparison: %s against %s", c.B, c.A), Banner: c.banner,
		Verdict: c.Verdict, Reasons: c.Reasons, Facts: c.facts,
	}
	slower, faster := c.Count(CellSlower), c.Count(CellFaster)
	switch {
	case c.Verdict == recorder.Invalid:
		d.Meaning = "Invalid: the two runs can't be compared; the figures stand here without a judgment."
	case slower == 0 && faster == 0 && c.Count(CellNoEffect) > 0:
		d.Meaning = fmt.Sprintf("No detected effect in any of %s.", counted(c.Count(CellNoEffect), "cell"))
	case len(c.Cells) == 0:
		d.Meaning = "The two runs have no cell in common."
	default:
		d.Meaning = fmt.Sprintf("B is slower in %d and faster in %d of %s.", slower, faster, counted(len(c.Cells), "cell"))
	}
	if c.Verdict == recorder.Directional {
		d.Meaning += " Directional: quote no absolute figure."
	}
	if !c.FloorSet && c.Verdict != recorder.Invalid {
		d.Findings = append(d.Findings, Finding{
			Text: "No A/A noise floor is recorded, so only the margin guards against drift between the two runs.",
			Next: "Run scripts/noise-floor.js in the same session.",
		})
	}
	t := Table{
		Caption: fmt.Sprintf("p50 of each cell; an effect counts above floor %s + margin %s, p below %g after Holm",
			percent(c.Floor), percent(c.Margin), analysis.Significance),
		Header: []string{"cell", "A, ms", "B, ms", "p50 change", "p95 change", "p", "n A / B", "verdict"},
	}
	for _, cell := range c.Cells {
		t.Rows = append(t.Rows, []string{
			cell.Cell, msOr(cell.P50A), msOr(cell.P50B), changeCI(cell.Change, cell.ChangeCI), changeCI(cell.P95, cell.P95CI),
			pValue(cell.P), fmt.Sprintf("%s / %s", comparedCount(cell.NA, cell.FailedA), comparedCount(cell.NB, cell.FailedB)), cell.Verdict,
		})
	}
	s := Section{Title: "Cells", Tables: []Table{t}}
	for _, cell := range c.Cells {
		if cell.Note != "" {
			s.Notes = append(s.Notes, cell.Cell+": "+cell.Note+".")
		}
	}
	for _, name := range c.OnlyA {
		s.Notes = append(s.Notes, "Only in A: "+name+".")
	}
	for _, name := range c.OnlyB {
		s.Notes = append(s.Notes, "Only in B: "+name+".")
	}
	d.Sections = []Section{s}
	return d
}

func comparedCount(n, failed uint64) string {
	if failed > 0 {
		return fmt.Sprintf("%s + %s failed", count(n), count(failed))
	}
	return count(n)
}

func changeCI(v *float64, ci *analysis.Interval) string {
	if v == nil {
		return none
	}
	if ci == nil {
		return fmt.Sprintf("%+.1f %%", *v*100)
	}
	return fmt.Sprintf("%+.1f %% [%+.1f, %+.1f]", *v*100, ci[0]*100, ci[1]*100)
}
