package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/emulator/graph"
)

func TestDatesComeInManyForms(t *testing.T) {
	t.Parallel()
	g := seeded(t, graph.Options{})
	for text, want := range map[string][2]string{
		"2026-01-02":                    {"2026-01-02", "2026-01-02T00:00:00.000Z"},
		"2026-1-2":                      {"2026-01-02", "2026-01-02T00:00:00.000Z"},
		"20260102":                      {"2026-01-02", "2026-01-02T00:00:00.000Z"},
		"2026-01-02 03:04:05":           {"2026-01-02", "2026-01-02T03:04:05.000Z"},
		"2026-01-02t030405.5z":          {"2026-01-02", "2026-01-02T03:04:05.500Z"},
		"2026-01-02T01:00:00+02:30":     {"2026-01-01", "2026-01-01T22:30:00.000Z"},
		"2026-01-02T03:04:05 UTC":       {"2026-01-02", "2026-01-02T03:04:05.000Z"},
		"2026-01-02T23:59:60Z":          {"2026-01-02", "2026-01-03T00:00:00.000Z"},
		"1969-12-31T23:59:59.99999999Z": {"1969-12-31", "1969-12-31T23:59:59.999Z"},
		"+12026-01-02":                  {"+12026-01-02", ""},
		"-0001-01-01":                   {"-0001-01-01", ""},
		"2026-02-30":                    {},
		"26-01-02":                      {},
		"2026-01-02T03:04":              {},
		"2026-01-02T24:00:00Z":          {},
		"2026-01-02T03:04:05+24:00":     {},
		"2026-01-02T03:04:05.Z":         {},
		"2026-01-02T03:04:05 Local":     {},
		"２０２６-01-02":                    {},
	} {
		for i, call := range []string{"date", "datetime"} {
			res, err := query(g, `query q() { match { $p: Project { slug: "pa" } } return { `+call+`("`+text+`") as x } }`, "", graph.Target{Branch: graph.MainBranch})
			if want[i] == "" {
				require.ErrorContains(t, err, "literal '"+text+"'", call)
				continue
			}
			require.NoError(t, err, text)
			require.Equal(t, `[{"x":"`+want[i]+`"}]`, string(res.Rows), text)
		}
	}
}

func TestAnOverwriteLeavesNoEdgeWithoutItsNodes(t *testing.T) {
	t.Parallel()
	g := seeded(t, graph.Options{})
	before := count(t, g, "Project")
	_, err := g.Load(t.Context(), `{"type":"Project","data":{"slug":"pb","name":"B"}}`, graph.Overwrite, nil, graph.Write{})
	require.ErrorContains(t, err, "dst 'pa' not found in Project")
	require.Equal(t, before, count(t, g, "Project"))
	_, err = g.Load(t.Context(), `{"type":"Project","data":{"slug":"pb","name":"B"}}{"edge":"belongsto","from":"m3","to":"pb"}`, graph.Overwrite, nil, graph.Write{})
	require.NoError(t, err)
	require.Equal(t, 1, count(t, g, "Project"))
}

func TestALoadNamesTheMistakeThatTheServerFindsFirst(t *testing.T) {
	t.Parallel()
	g := seeded(t, graph.Options{})
	const (
		badEnum   = `{"type":"Memory","data":{"slug":"x","title":"t","body":"b","kind":"nope","project":"p","importance":1,"created_at":"2026-01-01T00:00:00Z"}}` + "\n"
		badValue  = `{"type":"Memory","data":{"slug":"y","title":"t","body":"b","kind":"fact","project":"p","created_at":"2026-01-01T00:00:00Z"}}` + "\n"
		noSource  = `{"edge":"RelatesTo","from":"zz","to":"m1"}` + "\n"
		noMember  = `{"edge":"RelatesTo","to":"m1"}` + "\n"
		notAThing = `{"nope":1}` + "\n"
	)
	for data, want := range map[string]string{
		noSource + badEnum:            "invalid enum value 'nope' for Memory.kind",
		badEnum + badValue:            "non-nullable property 'importance' has null or invalid values",
		badEnum + badValue + noMember: "record 3: edge missing 'from'",
		badEnum + notAThing:           "record 2: expected 'type' or 'edge' field",
		badEnum + "\n x":              "invalid JSON at record 2: expected value at line 3 column 2",
		noSource:                      "src 'zz' not found in Memory",
		`{"type":"Project","data":{"slug":"a","name":"n","id":"b"}}`: "node Project has explicit id 'b' that does not match @key property 'slug' value 'a'",
	} {
		_, err := g.Load(t.Context(), data, graph.Merge, nil, graph.Write{})
		require.ErrorContains(t, err, want, data)
	}
}
