package rig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// taken is what omnigraph-server 0.8.0 prints when its port is taken (the backtrace shortened).
const taken = "2026-08-01T13:37:03.323412Z  INFO omnigraph_server: loaded bearer token source\n" +
	"Error: \n" +
	"   0: \x1b[91mAddress already in use (os error 98)\x1b[0m\n" +
	"\n" +
	"Location:\n" +
	"   \x1b[35m/home/build/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/omnigraph-server-0.8.0/src/lib.rs\x1b[0m:\x1b[35m1041\x1b[0m\n" +
	"\n" +
	"  ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ BACKTRACE ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━\n" +
	"   1: \x1b[91m__libc_start_call_main\x1b[0m\x1b[90m<unknown>\x1b[0m\n"

func TestTheTailOfALogIsReadable(t *testing.T) {
	lines := tail([]byte(taken))
	text := strings.Join(lines, "\n")

	for _, bad := range []string{"\x1b", "BACKTRACE", "libc_start", ".cargo", "\n\n"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q is in\n%s", bad, text)
		}
	}

	if !strings.Contains(text, "/src/omnigraph-server-0.8.0/src/lib.rs:1041") {
		t.Errorf("the location is missing in\n%s", text)
	}

	if got := lastMessage(lines); got != "Address already in use (os error 98)" {
		t.Errorf("message %q", got)
	}
}

func TestLastMessage(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"nothing":       {nil, ""},
		"plain":         {[]string{"one", "  two  "}, "two"},
		"report":        {[]string{"x", "Error: ", "   0: first cause", "   1: second", "Location:"}, "first cause"},
		"several lines": {[]string{"   0: not ready:", "        [code] why", "Location:"}, "not ready: [code] why"},
	} {
		if got := lastMessage(c.lines); got != c.want {
			t.Errorf("%s: %q, wanted %q", name, got, c.want)
		}
	}
}

func TestOnlyTheEndOfALongLogIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte(strings.Repeat("filler filler\n", 50_000)+"the end\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	lines := fileTail(path)
	if len(lines) != tailLines || lines[len(lines)-1] != "the end" || lines[0] != "filler filler" {
		t.Errorf("%d lines, %q", len(lines), lines)
	}

	if lines := fileTail(path + "x"); lines != nil {
		t.Errorf("an absent file has lines: %q", lines)
	}
}

func FuzzTail(f *testing.F) {
	f.Add(taken)
	f.Add("\x1b]0;title\x07text\x1b[")
	f.Add("\x00\r\n\x7f")

	f.Fuzz(func(t *testing.T, out string) {
		lines := tail([]byte(out))
		if len(lines) > tailLines {
			t.Errorf("%d lines", len(lines))
		}

		for _, line := range lines {
			for _, r := range line {
				if unicode.IsControl(r) && r < 0x80 && r != '\t' {
					t.Errorf("control character %q in %q", r, line)
				}
			}
		}

		if strings.Contains(lastMessage(lines), "\n") {
			t.Error("the message has two lines")
		}
	})
}
