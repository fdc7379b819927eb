package robust

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
	"github.com/mitodl/xk6-omnigraph/rig/rigtest"
)

// answering reads one request of each connection to its end, answers with raw bytes, and closes. It gives the server's
// address.
func answering(t *testing.T, answer string) string {
	t.Helper()
	return "http://" + eachConnection(t, func(conn net.Conn) {
		if request, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			_, _ = io.Copy(io.Discard, request.Body)
			_, _ = io.WriteString(conn, answer)
		}
		_ = conn.Close()
	})
}

// ok is a success with a body.
func ok(body string) string {
	return "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n" + body
}

// Whoever answers on the port, it is the same failure over both transports.
func TestAnAnswerThatIsNotOmnigraphsIsTheSameOverBothTransports(t *testing.T) {
	t.Parallel()
	binaries := rigtest.Binaries(t)
	if binaries.Emulator != "" {
		t.Skip("the words are the real CLI's")
	}
	const good = `{"query_name":"q","target":{"branch":"main","snapshot":null},"row_count":1,"columns":["x"],"rows":[{"x":`
	for name, test := range map[string]struct {
		answer string
		kind   wire.ErrorKind
		status float64 // where both transports tell it
	}{
		"another protocol":              {answer: "SSH-2.0-OpenSSH_9\r\n", kind: wire.KindProtocol},
		"zero bytes":                    {answer: "\x00\xff\xfe\r\n\r\n", kind: wire.KindProtocol},
		"a document without a head":     {answer: good + `1}]}`, kind: wire.KindProtocol},
		"another version":               {answer: "HTTP/3.7 200 OK\r\nContent-Length: 2\r\n\r\n{}", kind: wire.KindProtocol},
		"a status that is no number":    {answer: "HTTP/1.1 abc OK\r\n\r\n", kind: wire.KindProtocol},
		"a status of four digits":       {answer: "HTTP/1.1 2000 OK\r\n\r\n", kind: wire.KindProtocol},
		"a header without a colon":      {answer: "HTTP/1.1 200 OK\r\nnothing\r\n\r\n", kind: wire.KindProtocol},
		"a header with a space":         {answer: "HTTP/1.1 200 OK\r\nX Y: 1\r\n\r\n", kind: wire.KindProtocol},
		"a length that is no number":    {answer: "HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\n{}", kind: wire.KindProtocol},
		"two lengths":                   {answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", kind: wire.KindProtocol},
		"a chunk without a size":        {answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n", kind: wire.KindProtocol},
		"a chunk without an end":        {answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}XX", kind: wire.KindProtocol},
		"a body that is cut off":        {answer: "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{}", kind: wire.KindProtocol},
		"an encoding that it is not in": {answer: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Encoding: gzip\r\n\r\n{}", kind: wire.KindProtocol},
		"a switch of protocols":         {answer: "HTTP/1.1 101 Switching Protocols\r\n\r\n", kind: wire.KindProtocol},
		"a switch to another protocol":  {answer: "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n", kind: wire.KindProtocol},
		"a status without a name":       {answer: "HTTP/1.1 599 Unheard of\r\nContent-Length: 0\r\n\r\n", kind: wire.KindInternal, status: 599},
		"a status of no class":          {answer: "HTTP/1.1 600 Unheard of\r\nContent-Length: 0\r\n\r\n", kind: wire.KindInternal, status: 600},
		"nothing at all":                {answer: "", kind: wire.KindConnect},
		"an array":                      {answer: ok(`[]`), kind: wire.KindProtocol},
		"a string":                      {answer: ok(`"x"`), kind: wire.KindProtocol},
		"a page of HTML":                {answer: ok(`<html>`), kind: wire.KindProtocol},
		"no colon":                      {answer: ok(`{"query_name" 1}`), kind: wire.KindProtocol},
		"no comma":                      {answer: ok(`{"query_name":"q" "target":1}`), kind: wire.KindProtocol},
		"a comma too many":              {answer: ok(`{"query_name":"q",}`), kind: wire.KindProtocol},
		"an unknown escape":             {answer: ok(`{"query_name":"\x"}`), kind: wire.KindProtocol},
		"a minus":                       {answer: ok(`{"query_name":-}`), kind: wire.KindProtocol},
		"a control character":           {answer: ok("{\"query_name\":\"\x01\"}"), kind: wire.KindProtocol},
		"half a character":              {answer: ok(`{"query_name":"\udc00"}`), kind: wire.KindProtocol},
		"half a character before text":  {answer: ok(`{"query_name":"\ud800x"}`), kind: wire.KindProtocol},
		"a field twice":                 {answer: ok(`{"query_name":"q","query_name":"q"}`), kind: wire.KindProtocol},
		"a count below 0":               {answer: ok(`{"query_name":"q","target":{"branch":"main","snapshot":null},"row_count":-1,"columns":[],"rows":[]}`), kind: wire.KindProtocol},
		"a count that is none":          {answer: ok(`{"query_name":"q","target":{"branch":"main","snapshot":null},"row_count":1.5,"columns":[],"rows":[]}`), kind: wire.KindProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVU(t)
			v.js(`const where = { graph: "g", token: "stub-token", timeout: "60s", retry: false }, address = %q;
				const viaHTTP = new HTTPClient({ url: address, ...where }), viaCLI = new CLIClient({ server: address, bin: %q, ...where });`,
				answering(t, test.answer), binaries.CLI)
			v.enter()
			for op, write := range map[string]bool{
				`.query("query q() { match { $p: Project } return { $p.slug } }")`:       false,
				`.mutate("query add() { insert Project { slug: \"k\", name: \"k\" } }")`: true,
			} {
				for _, client := range []string{"viaHTTP", "viaCLI"} {
					r := v.object(client + op)
					problem, _ := r["error"].(map[string]any)
					t.Logf("%s %s", client, problem["message"])
					assert.Equal(t, string(test.kind), problem["kind"], "%s%s", client, op)
					assert.Equal(t, test.kind.Retryable(), problem["retryable"], "%s%s", client, op)
					assert.Equal(t, write, problem["indeterminate"], "%s%s", client, op)
					if test.status != 0 {
						assert.Equal(t, test.status, problem["status"], "%s%s", client, op)
					}
				}
			}
		})
	}
}
