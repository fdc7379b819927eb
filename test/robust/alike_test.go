package robust

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/rig/rigtest"
)

// The CLI prints the server's words without their status: what they mean has to be the same all the same.
func TestARefusalIsTheSameOverBothTransports(t *testing.T) {
	t.Parallel()
	server := rigtest.Start(t)
	v := newVU(t)
	v.js(`const where = { graph: "council", token: %q, timeout: "60s", checkParams: false };
		const viaHTTP = new HTTPClient({ url: %q, ...where }), viaCLI = new CLIClient({ server: %[2]q, bin: %q, ...where });`,
		server.Token, server.URL, server.Bin)
	v.enter()
	for name, code := range map[string]string{
		"two rows of one key in a load": `.load([{ type: "Project", data: { slug: "u", name: "a" } }, { type: "Project", data: { slug: "u", name: "b" } }])`,
		"a row without its key":         `.load([{ type: "Project", data: { name: "a" } }])`,
		"a row of an unknown type":      `.load([{ type: "Nothing", data: { slug: "u" } }])`,
		"a row with a wrong value":      `.load([{ type: "Project", data: { slug: "u", name: 7 } }])`,
		"an insert without its key":     `.mutate("query add() { insert Project { name: \"a\" } }")`,
		"an update of the key":          `.mutate("query set() { update Project set { slug: \"z\" } where slug = \"a\" }")`,
		"an update of an unknown type":  `.mutate("query set() { update Nothing set { slug: \"z\" } where slug = \"a\" }")`,
		"a wrong literal":               `.mutate("query add() { insert Project { slug: \"u\", name: 7 } }")`,
		"a mutation that reads":         `.mutate("query q() { match { $p: Project } return { $p.slug } }")`,
		"a missing parameter":           `.mutate("query add($s: String) { insert Project { slug: $s, name: \"a\" } }", {})`,
		"an unknown property":           `.query("query q() { match { $p: Project } return { $p.nope } }")`,
		"an order by nothing returned":  `.query("query q() { match { $p: Project } return { $p.slug } order { $x asc } }")`,
		"an unbound variable":           `.query("query q() { match { $p: Project } return { $x.slug } }")`,
		"no query":                      `.query("query q() {")`,
		"a branch onto itself":          `.mergeBranch("main", { target: "main" })`,
		"a graph that is a step":        `.query("query q() { match { $p: Project } return { $p.slug } }", {}, { graph: ".." })`,
		"a graph that is a step, read":  `.schema({ graph: "." })`,
		"a graph with a path":           `.query("query q() { match { $p: Project } return { $p.slug } }", {}, { graph: "a/../council" })`,
		"a graph with a query":          `.query("query q() { match { $p: Project } return { $p.slug } }", {}, { graph: "council?a=b" })`,
		"a stored query that is a step": `.invoke("..")`,
		"a branch that is a step":       `.deleteBranch("..")`,
		"a branch and a snapshot":       `.query("query q() { match { $p: Project } return { $p.slug } }", {}, { branch: "main", snapshot: "01M8PAREQMG3R0MFM1HTK7M3V1" })`,
		"a branch and one, by name":     `.invoke("get_memory", { slug: "mem-0001" }, { branch: "main", snapshot: "01M8PAREQMG3R0MFM1HTK7M3V1" })`,
		"rows that are no text":         `.load(new Uint8Array([123, 125, 10, 255]).buffer)`,
		"parameters that are too deep":  `.invoke("get_memory", { slug: JSON.parse("[".repeat(200) + "]".repeat(200)) })`,
		"parameters that are deep":      `.invoke("get_memory", { slug: JSON.parse("[".repeat(126) + "]".repeat(126)) })`,
	} {
		t.Run(name, func(t *testing.T) {
			http, cli := v.object("viaHTTP"+code), v.object("viaCLI"+code)
			require.Equal(t, false, http["ok"])
			require.Equal(t, false, cli["ok"])
			one, _ := http["error"].(map[string]any)
			other, _ := cli["error"].(map[string]any)
			t.Logf("HTTP: %s: %s\nCLI: %s: %s", one["kind"], one["message"], other["kind"], other["message"])
			assert.Equal(t, one["kind"], other["kind"], other["message"])
			assert.Equal(t, one["indeterminate"], other["indeterminate"], other["message"])
			assert.Equal(t, one["retryable"], other["retryable"], other["message"])
		})
	}
}
