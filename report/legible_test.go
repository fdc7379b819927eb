package report

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/recorder"
)

// acting is a text that would clear a terminal, turn the direction of writing, break a line and end a page.
const acting = "a\x1b[2J\x1b]0;x\a\u202eb\u009b31m\x7f\r\n# c\x00"

func hostileRecord(t *testing.T) *recorder.Record {
	t.Helper()
	r, move := clocked()
	r.SetSystem(recorder.System{Server: acting, Backend: acting, Config: map[string]string{acting: acting}})
	r.SetScript(recorder.Script{Path: acting})
	r.SetScenario(recorder.Scenario{Name: acting, Executor: "constant-arrival-rate"})
	r.Event(acting, acting, time.Second)
	r.SetStateBefore(recorder.State{Rows: map[string]int64{acting: 1}})
	r.SetExtra("findings", []any{map[string]any{"text": acting, "next": "[x](javascript:alert(1)) " + acting}})
	r.SetExtra("sections", []any{map[string]any{
		"title": acting, "text": []any{"[x]: javascript:alert(1)", "# heading"}, "notes": []any{"![x](http://example.org)"},
		"tables": []any{map[string]any{"caption": acting, "header": []any{acting}, "rows": []any{[]any{acting}}}},
	}})
	for _, variant := range []string{"a" + acting, "b" + acting} {
		c := r.Cell(recorder.CellKey{Scenario: acting, Variant: variant, Transport: "http", Op: "query", Query: acting})
		for i := range 30 {
			move(time.Millisecond)
			c.Record(time.Duration(i+1)*time.Millisecond, recorder.OK)
		}
		c.Record(time.Millisecond, recorder.Failed(acting))
		c.NoteError(acting, acting)
	}
	rec, err := r.Finish()
	require.NoError(t, err)
	return rec
}

func TestNoTextOfARecordActsOnWhatShowsIt(t *testing.T) {
	t.Parallel()
	rec := hostileRecord(t)
	d := Build(rec)
	same, err := Compare(rec, rec, CompareOptions{Floor: -1, Margin: -1})
	require.NoError(t, err)
	for name, d := range map[string]*Document{"report": d, "comparison": same.Document()} {
		var terminal, markdown, html strings.Builder
		require.NoError(t, d.Terminal(&terminal, TerminalOptions{}))
		require.NoError(t, d.Markdown(&markdown))
		require.NoError(t, d.HTML(&html))
		for form, text := range map[string]string{"terminal": terminal.String(), "markdown": markdown.String(), "html": html.String()} {
			assert.Contains(t, text, "a\ufffd[2J", "%s as %s", name, form)
			at := strings.IndexFunc(text, func(r rune) bool {
				return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
			})
			assert.Negative(t, at, "%s as %s", name, form)
		}
	}
	assert.Contains(t, d.Sections[len(d.Sections)-1].Tables[0].Caption, "generator", "the document itself stays as it is")
}

func TestATextIsNoMarkdown(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	require.NoError(t, Build(hostileRecord(t)).Markdown(&b))
	assert.NotContains(t, b.String(), "[x](")
	assert.NotContains(t, b.String(), "[x]:")
	assert.NotRegexp(t, `(?m)^# heading`, b.String())
	assert.Contains(t, b.String(), `[x\](javascript:alert(1))`)
	for text, want := range map[string]string{
		"[x](y)": `[x\](y)`, "[x]: y": `[x\]: y`, `[x\](y)`: `[x\\\](y)`, "# a": `\# a`, "- a": `\- a`, "-3.0 [-4.0, 2.0]": "-3.0 [-4.0, 2.0]", "1. a": "1. a",
		"+ a": `\+ a`, "[x][y]": "[x][y]", "~~~": `\~~~`, "=== ": `\=== `, "---": `\---`,
	} {
		assert.Equal(t, want, escapeMarkdown(text), text)
	}
}
