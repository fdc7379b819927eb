package wire

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAnExportIsTakenApartHoweverItArrives(t *testing.T) {
	t.Parallel()
	const export = "{\"type\":\"Memory\",\"data\":{\"slug\":\"a\"}}\n\n{\"edge\":\"RelatesTo\"}\r\n{\"type\":\"Memory\"}"
	for _, chunk := range []int{1, 2, 7, 1000} {
		var rows []string
		l := &Lines{Each: func(row string) error { rows = append(rows, row); return nil }}
		for rest := export; rest != ""; {
			n := min(chunk, len(rest))
			_, err := l.Write([]byte(rest[:n]))
			require.NoError(t, err)
			rest = rest[n:]
		}
		s, problem := l.Finish(&Operation{Op: OpExport})
		require.Nil(t, problem)
		assert.Equal(t, 3, s.RowCount)
		assert.Equal(t, []string{`{"type":"Memory","data":{"slug":"a"}}`, `{"edge":"RelatesTo"}`, `{"type":"Memory"}`}, rows)
	}
}

func TestAnExportEndsAtTheFirstLineThatIsNoRow(t *testing.T) {
	t.Parallel()
	for _, export := range []string{"{\"a\":1}\n[1]\n", "{\"a\":1}\n{\"a\"", "{\"a\":1}\noops\n{\"b\":2}\n"} {
		l := &Lines{}
		_, _ = l.Write([]byte(export))
		_, problem := l.Finish(&Operation{Op: OpExport})
		require.NotNil(t, problem, export)
		assert.Equal(t, KindProtocol, problem.Kind)
		assert.Contains(t, problem.Message, "line 2")
	}
	for export, message := range map[string]string{
		"{\"type\":\"A\"}\n{\"error\":\"no more\",\"code\":\"internal\"}\n": "says success and carries an error: no more",
		"{\"error\":\"none at all\"}":                                       "none at all",
	} {
		var rows []string
		l := &Lines{Each: func(row string) error { rows = append(rows, row); return nil }}
		_, _ = l.Write([]byte(export))
		_, problem := l.Finish(&Operation{Op: OpExport})
		require.NotNil(t, problem, export)
		assert.Equal(t, KindProtocol, problem.Kind)
		assert.Contains(t, problem.Message, message)
		assert.NotContains(t, strings.Join(rows, "\n"), "error")
	}
	l := &Lines{}
	_, _ = l.Write([]byte("{\"type\":\"A\",\"data\":{\"error\":\"a field\"},\"error\":\"x\"}\n"))
	require.NoError(t, l.Failed(), "a row names its type")

	stop := errors.New("enough")
	l = &Lines{Each: func(string) error { return stop }}
	_, err := l.Write([]byte("{}\n{}\n"))
	require.ErrorIs(t, err, stop)
	require.ErrorIs(t, l.Failed(), stop)

	long := &Lines{}
	_, err = long.Write([]byte(strings.Repeat("x", maxLineBytes+1)))
	require.ErrorContains(t, err, "longer")
}

func FuzzLines(f *testing.F) {
	f.Add("{}\n{\"a\":1}\n", 3)
	f.Add("\n\n{", 1)
	f.Fuzz(func(t *testing.T, export string, chunk int) {
		if chunk < 1 || chunk > 1000 {
			return
		}
		l := &Lines{}
		for rest := []byte(export); len(rest) > 0; {
			n := min(chunk, len(rest))
			if _, err := l.Write(rest[:n]); err != nil {
				break
			}
			rest = rest[n:]
		}
		got, problem := l.Finish(&Operation{Op: OpExport})
		want, otherwise := ParseSuccess(&Operation{Op: OpExport}, export)
		if (problem == nil) != (otherwise == nil) || problem == nil && got.RowCount != want.RowCount {
			t.Fatalf("%+v %v, all at once %+v %v", got, problem, want.RowCount, otherwise)
		}
	})
}
