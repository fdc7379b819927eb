package docs

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
)

var update = flag.Bool("update", false, "write what the error kinds' table says into docs/troubleshooting.md")

const troubleshooting = "../../docs/troubleshooting.md"

// traits is the paragraph that a kind's section begins with.
func traits(k wire.KindTraits) string {
	retry, outcome := "Repeating it may help.", "Normally a write that ended so was not done."
	if !k.Retryable {
		retry = "Repeating it unchanged does not help."
	}
	if k.Unknown {
		outcome = "Whether a write was done may be unknown: `error.indeterminate` says it."
	}
	seen := "Over HTTP: " + k.HTTP + ". "
	if k.HTTP == "-" {
		seen = ""
	}
	if k.CLI != "-" {
		seen += "Over the CLI: " + k.CLI + ". "
	}
	return k.Meaning + " " + seen + retry + " " + outcome
}

func TestEveryErrorKindHasItsSection(t *testing.T) {
	data, err := os.ReadFile(troubleshooting)
	require.NoError(t, err)
	page := string(data)
	var found []string
	sections := map[string][]string{}
	parts := regexp.MustCompile("(?m)^### `([a-z_]+)`$").FindAllStringSubmatchIndex(page, -1)
	for i, at := range parts {
		end := len(page)
		if i+1 < len(parts) {
			end = parts[i+1][0]
		}
		body := page[at[1]:end]
		if next := strings.Index(body, "\n## "); next >= 0 {
			body = body[:next]
		}
		kind := page[at[2]:at[3]]
		found = append(found, kind)
		sections[kind] = strings.SplitN(strings.TrimSpace(body), "\n\n", 2)
	}
	var kinds []string
	for _, k := range wire.KindTable() {
		kinds = append(kinds, string(k.Kind))
		section := sections[string(k.Kind)]
		if !assert.Len(t, section, 2, "%s has no section, or one without advice", k.Kind) {
			continue
		}
		if *update {
			page = strings.Replace(page, "### `"+string(k.Kind)+"`\n\n"+section[0], "### `"+string(k.Kind)+"`\n\n"+traits(k), 1)
			continue
		}
		assert.Equal(t, traits(k), section[0], "go test ./test/docs -run ErrorKind -update writes it")
	}
	assert.ElementsMatch(t, kinds, found)
	if *update {
		require.NoError(t, os.WriteFile(troubleshooting, []byte(page), 0o600))
	}
}
