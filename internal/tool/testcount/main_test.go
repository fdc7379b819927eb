package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestEventsAreCounted(t *testing.T) {
	t.Parallel()
	const events = `{"Action":"start","Package":"p"}
{"Action":"output","Package":"p","Test":"A","Output":"fine\n"}
{"Action":"pass","Package":"p","Test":"A"}
{"Action":"output","Package":"p","Test":"B","Output":"why it failed\n"}
{"Action":"fail","Package":"p","Test":"B"}
{"Action":"skip","Package":"p","Test":"C"}
{"Action":"fail","Package":"p"}
{"Action":"output","Package":"q","Test":"D","Output":"panic: oops\n"}
{"Action":"fail","Package":"q"}
not JSON
`
	var out bytes.Buffer
	got := read(strings.NewReader(events), &out)
	assert.Equal(t, counts{passed: 1, failed: 2, skipped: 1}, got, "a package that fails without a failed test counts once")
	assert.Contains(t, out.String(), "why it failed")
	assert.Contains(t, out.String(), "panic: oops")
	assert.Contains(t, out.String(), "not JSON")
	assert.NotContains(t, out.String(), "fine")
}
