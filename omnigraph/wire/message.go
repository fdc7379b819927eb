package wire

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxMessageBytes bounds an error's message: enough for every message of omnigraph, too little for a page of HTML or a
// binary answer to flood a log.
const maxMessageBytes = 4 << 10

var ansiSequence = regexp.MustCompile("\x1b(?:\\[[0-9;?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[@-Z\\\\-_])")

// bearerWords match a token that some server or proxy quotes back with its scheme.
var bearerWords = regexp.MustCompile(`(?i)\bbearer[ :=]+[A-Za-z0-9._~+/=-]{8,}`)

// buildPath matches the source paths of the CLI's build, which error reports quote.
var buildPath = regexp.MustCompile(`(?:/[^\s/]+)*/\.cargo/registry/src/[^/\s]+/`)

// CleanMessage makes a message of a server or process fit for logs: ANSI sequences and control characters go (line
// breaks and tabs stay), invalid UTF-8 is replaced, the secrets given are masked, and what is too long is cut.
func CleanMessage(s string, secrets ...string) string {
	if limit := 4 * maxMessageBytes; len(s) > limit {
		// The cut may fall into a secret, of which no part may stay: what is whole is masked first, and then as much
		// is dropped from the end as a part of one can have.
		longest := 0
		for _, secret := range secrets {
			longest = max(longest, len(secret))
		}
		s = Redact(s[:min(len(s), limit+longest)], secrets...)
		s = s[:max(len(s)-longest, 0)]
	}
	s = ansiSequence.ReplaceAllString(s, "")
	s = strings.ToValidUTF8(s, "�")
	s = strings.Map(func(r rune) rune {
		if (r < 0x20 && r != '\n' && r != '\t') || (r >= 0x7f && r < 0xa0) {
			return -1
		}
		return r
	}, s)
	s = buildPath.ReplaceAllString(s, "/src/")
	// A secret that is half a character leaves the other half.
	s = strings.ToValidUTF8(Redact(s, secrets...), "�")
	s = strings.TrimSpace(s)
	if len(s) > maxMessageBytes {
		cut := maxMessageBytes
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + " …"
	}
	return s
}

// Redact masks every occurrence of the secrets and of anything that follows the word Bearer.
func Redact(s string, secrets ...string) string {
	for _, secret := range secrets {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, "[redacted]")
		}
	}
	if strings.Contains(s, "earer") || strings.Contains(s, "EARER") {
		s = bearerWords.ReplaceAllStringFunc(s, func(m string) string {
			// "bearer token" is the server's own word, not a secret.
			if strings.HasSuffix(strings.ToLower(m), " token") {
				return m
			}
			return m[:len("bearer")] + " [redacted]"
		})
	}
	return s
}
