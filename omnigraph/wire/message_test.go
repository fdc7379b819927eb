package wire

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestCleanMessage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in, want string
		secrets        []string
	}{
		{name: "plain", in: "graph 'nope' not found", want: "graph 'nope' not found"},
		{name: "white space around", in: " \n a \t", want: "a"},
		{name: "line breaks and tabs inside stay", in: "a\n\tb", want: "a\n\tb"},
		{name: "colours", in: "\x1b[31;1mred\x1b[0m \x1b[38;5;9mx\x1b[m", want: "red x"},
		{name: "title of a terminal", in: "\x1b]0;evil\x07a\x1b]8;;http://x\x1b\\b", want: "ab"},
		{name: "control characters", in: "a\x00b\x08c\x7fd\u0085e\rf", want: "abcdef"},
		{name: "invalid UTF-8", in: "a\xff\xfeb", want: "a�b"},
		{name: "other scripts", in: "äöü 漢字 🦀", want: "äöü 漢字 🦀"},
		{name: "build path", in: "at /home/b/.cargo/registry/src/index.crates.io-1949cf8c/lance-7.0.0/src/x.rs:1:2", want: "at /src/lance-7.0.0/src/x.rs:1:2"},
		{name: "secret", in: "token abc-def is bad: abc-def", secrets: []string{"", "abc-def"}, want: "token [redacted] is bad: [redacted]"},
		{name: "bearer scheme", in: "Authorization: Bearer eyJhbGciOi.J9-_x", want: "Authorization: Bearer [redacted]"},
		{name: "bearer scheme in upper case", in: "BEARER=abcdefghijkl", want: "BEARER [redacted]"},
		{name: "server's own words", in: "missing bearer token", want: "missing bearer token"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, CleanMessage(test.in, test.secrets...))
		})
	}
}

func TestCleanMessageOfAGreatDeal(t *testing.T) {
	t.Parallel()
	for _, in := range []string{strings.Repeat("x", 1<<20), strings.Repeat("é", 1<<20), strings.Repeat("🦀", 1<<20)} {
		got := CleanMessage(in)
		require.LessOrEqual(t, len(got), maxMessageBytes+len(" …"))
		require.True(t, strings.HasSuffix(got, " …"))
		require.True(t, utf8.ValidString(got))
	}
}

func TestCleanMessageCutsNoSecretInHalf(t *testing.T) {
	t.Parallel()
	const secret = "s3cret-s3cret-s3cret"
	// Wherever the cut falls, no part of the secret longer than a few characters may stay at the end.
	for shift := range 2 * len(secret) {
		for _, size := range []int{maxMessageBytes, 4 * maxMessageBytes} {
			in := strings.Repeat("x", size-shift) + secret + strings.Repeat("y", size)
			require.NotContains(t, CleanMessage(in, secret), secret[:8], "shift %d, size %d", shift, size)
			// What is stripped afterwards brings the first cut into what stays.
			in = strings.Repeat("\x00", size-shift) + secret + strings.Repeat("y", size)
			require.NotContains(t, CleanMessage(in, secret), secret[:8], "shift %d, size %d", shift, size)
		}
	}
}

func FuzzCleanMessage(f *testing.F) {
	f.Add("a\x1b[31mb", "secret")
	f.Add("\x1b]0;", "x")
	f.Add("Bearer abcdefgh /x/.cargo/registry/src/a/b", "abc")
	f.Add(strings.Repeat("é", 3000), "é")
	f.Fuzz(func(t *testing.T, in, secret string) {
		got := CleanMessage(in, secret)
		switch {
		case !utf8.ValidString(got):
			t.Fatalf("invalid UTF-8 in %q", got)
		case len(got) > maxMessageBytes+len(" …"):
			t.Fatalf("%d bytes", len(got))
		case strings.ContainsAny(got, "\x1b\x00\r\x7f"):
			t.Fatalf("control characters in %q", got)
		case len(secret) >= 8 && !strings.Contains("[redacted] …", secret) && strings.Contains(got, secret):
			t.Fatalf("secret in %q", got)
		}
	})
}
