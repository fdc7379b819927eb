package cluster_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/emulator/cluster"
)

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
}

func config(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"cluster.yaml": "version: 1\nmetadata:\n  name: c\ngraphs:\n  g:\n    schema: g.pg\n    queries: queries/\npolicies:\n  p:\n    file: p.yaml\n    applies_to: [g]\n",
		"g.pg":         "node A {\n  k: String @key\n}\n",
		"queries/a.gq": "query all() { match { $a: A } return { $a.k } }\nquery add($k: String) { insert A { k: $k } }\n",
		"p.yaml":       "version: 1\ngroups: {w: [me]}\nrules: [{id: all, allow: {actors: {group: w}, actions: [read], branch_scope: any}}]\n",
	})
	return dir
}

func TestAClusterIsValidatedImportedAndApplied(t *testing.T) {
	t.Parallel()
	dir := config(t)
	v := cluster.Validate(dir)
	require.True(t, v.OK, v.Diagnostics)
	require.Len(t, v.Resources, 5)
	require.Contains(t, v.ResourceDigests, "query.g.add")

	_, err := cluster.Ready(dir)
	require.ErrorContains(t, err, "cluster_state_missing")
	early, err := cluster.Converge(dir, "me")
	require.NoError(t, err)
	require.False(t, early.OK)
	require.Equal(t, "state_missing", early.Diagnostics[0].Code)

	imported, err := cluster.Bootstrap(dir, time.Now())
	require.NoError(t, err)
	require.True(t, imported.OK)
	_, err = cluster.Ready(dir)
	require.ErrorContains(t, err, "cluster_not_applied")
	twice, err := cluster.Bootstrap(dir, time.Now())
	require.NoError(t, err)
	require.False(t, twice.OK)

	applied, err := cluster.Converge(dir, "me")
	require.NoError(t, err)
	require.True(t, applied.Converged)
	require.Equal(t, 5, applied.AppliedCount)
	again, err := cluster.Converge(dir, "me")
	require.NoError(t, err)
	require.True(t, again.Converged)
	require.Zero(t, again.AppliedCount)
	require.False(t, again.StateWritten)

	c, err := cluster.Ready(dir)
	require.NoError(t, err)
	require.Len(t, c.Queries["g"], 2)
	require.Len(t, c.PolicySet("g"), 1)
	require.Empty(t, c.PolicySet("cluster"))
	require.DirExists(t, c.GraphDir("g"))

	// Queries and policies may change; a schema may not.
	write(t, dir, map[string]string{"queries/b.gq": "query one() { match { $a: A } return { $a.k } limit 1 }"})
	changed, err := cluster.Converge(dir, "me")
	require.NoError(t, err)
	require.Equal(t, 1, changed.AppliedCount)
	write(t, dir, map[string]string{"g.pg": "node A {\n  k: String @key\n  more: String?\n}\n"})
	_, err = cluster.Converge(dir, "me")
	require.ErrorContains(t, err, "does not migrate schemas")
}

func TestDiagnosticsNameWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		files map[string]string
		code  string
	}{
		"no yaml":        {map[string]string{"cluster.yaml": "x: ["}, "invalid_cluster_yaml"},
		"unknown field":  {map[string]string{"cluster.yaml": "version: 1\nnope: 1"}, "invalid_cluster_yaml"},
		"version":        {map[string]string{"cluster.yaml": "version: 2"}, "invalid_cluster_yaml"},
		"schema syntax":  {map[string]string{"g.pg": "nod"}, "schema_parse_error"},
		"schema types":   {map[string]string{"g.pg": "edge E: A -> B"}, "schema_catalog_error"},
		"query syntax":   {map[string]string{"queries/a.gq": "garbage"}, "query_parse_error"},
		"query types":    {map[string]string{"queries/a.gq": "query q() { match { $a: B } return { $a.k } }"}, "query_typecheck_error"},
		"policy":         {map[string]string{"p.yaml": "version: 9"}, "policy_parse_error"},
		"policy's graph": {map[string]string{"cluster.yaml": "version: 1\npolicies:\n  p:\n    file: p.yaml\n    applies_to: [nope]\n"}, "policy_target_unknown"},
		"no schema file": {map[string]string{"cluster.yaml": "version: 1\ngraphs:\n  g:\n    schema: nope.pg\n"}, "schema_file_not_found"},
		"no query file":  {map[string]string{"cluster.yaml": "version: 1\ngraphs:\n  g:\n    schema: g.pg\n    queries: nope/\n"}, "query_file_not_found"},
		"no policy file": {map[string]string{"cluster.yaml": "version: 1\npolicies:\n  p:\n    file: nope.yaml\n"}, "policy_file_not_found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := config(t)
			write(t, dir, tt.files)
			v := cluster.Validate(dir)
			require.False(t, v.OK)
			require.Equal(t, tt.code, v.Diagnostics[0].Code, v.Diagnostics)
		})
	}
	v := cluster.Validate(filepath.Join(t.TempDir(), "nope"))
	require.Equal(t, "config_dir_not_found", v.Diagnostics[0].Code)
}
