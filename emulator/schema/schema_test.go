package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/emulator/schema"
)

const good = `
// comment
node A @description("x") {
  k: String @key @index
  l: [I32]?
  e: enum(b, a)?
  u: String @unique
  @index(l)
}
node B { v: F64 }
edge E: A -> B @card(0..2) { since: Date? }
edge F: A -> A
`

func TestParse(t *testing.T) {
	t.Parallel()
	s, err := schema.Parse(good)
	require.NoError(t, err)
	a := s.Node("A")
	require.Equal(t, 0, a.Key)
	require.Equal(t, []string{"a", "b"}, a.Props[2].Type.Enum)
	require.Equal(t, "[I32]?", a.Props[1].Type.String())
	require.True(t, a.Props[3].Unique)
	require.Equal(t, -1, s.Node("B").Key)
	e := s.Edge("E")
	require.Equal(t, 2, e.MaxOut)
	require.Equal(t, "e", e.TraversalName())
	require.Equal(t, -1, s.Edge("F").MaxOut)
}

func TestParseNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"nod A {}":                "parse error:  --> 1:1\n  |\n1 | nod A {}\n  | ^---\n  |\n  = expected schema_file",
		"node a {}":               "parse error:  --> 1:6\n  |\n1 | node a {}\n  |      ^---\n  |\n  = expected type_name",
		"node A {\n  k: Nope\n}":  "parse error:  --> 2:6\n  |\n2 |   k: Nope\n  |      ^---\n  |\n  = expected core_type",
		"node A {\n  k String\n}": "parse error:  --> 2:3\n  |\n2 |   k String\n  |   ^---\n  |\n  = expected prop_decl or body_constraint",
		"node A { k: String @key j: String @key }":        "parse error: node type A has multiple @key constraints; only one is supported",
		"node A { k: String? @key }":                      "parse error: @key property A.k cannot be nullable",
		"node A { k: [String] @key }":                     "parse error: @key is not supported on list property A.k",
		"node A { x: enum(a, a) }":                        "parse error: enum type cannot include duplicate values",
		"node A {} node A {}":                             "catalog error: duplicate node type: A",
		"edge E: A -> B":                                  "catalog error: edge E references unknown source type: A",
		"node A {} edge E: A -> B":                        "catalog error: edge E references unknown target type: B",
		"interface I { k: String }":                       "parse error: the emulator lacks interfaces; use a real omnigraph server for this schema",
		"node A { v: Vector(3) }":                         "parse error: the emulator lacks the type Vector; use a real omnigraph server for this schema",
		"node A { k: I32 @range(k, 0..3) }":               "parse error: the emulator lacks @range; use a real omnigraph server for this schema",
		"node A { k: String j: String\n @unique(k, j) }":  "parse error: the emulator lacks @unique over several properties; use a real omnigraph server for this schema",
		"node A { k: String } edge E: A -> A @card(2..1)": "parse error: expected cardinality bounds (min..max) in @card of edge E",
	} {
		_, err := schema.Parse(text)
		require.EqualError(t, err, want, text)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(good)
	f.Add("node A { k: String @key")
	f.Add("edge E: A -> A @card(0..")
	f.Add("node A { @x(((")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := schema.Parse(text)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("a mistake without words")
			}
			return
		}
		for _, n := range s.Nodes {
			if n.Key >= len(n.Props) {
				t.Fatalf("key %d of %d properties", n.Key, len(n.Props))
			}
		}
		for _, e := range s.Edges {
			if s.Node(e.From) == nil || s.Node(e.To) == nil {
				t.Fatalf("edge %s ends nowhere", e.Name)
			}
		}
	})
}
