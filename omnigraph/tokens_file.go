package omnigraph

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.k6.io/k6/v2/lib/fsext"
)

const takesTokensFile = "the path of a JSON file: an object of tokens by actor, as a rig's tokens.json, or a list of tokens" // #nosec G101 -- says what the option takes

// readTokensFile fills in the tokens of the file that the option tokensFile names. It reads through k6's own file
// system, as open() does, so that an archive carries the file.
func (c *client) readTokensFile() error {
	s := &c.settings
	if s.tokensFile == "" {
		return nil
	}
	problem := func(format string, args ...any) error {
		return &optionError{where: c.where, name: "tokensFile", reason: fmt.Sprintf(format, args...)}
	}
	if len(s.tokens) > 0 {
		return problem("can't be combined with token; give one of them")
	}
	env := c.mi.vu.InitEnv()
	if c.mi.vu.State() != nil || env == nil {
		return problem("reads a file, which works in the init context only; make the client there")
	}
	files := env.FileSystems["file"]
	if files == nil {
		return problem("can't be read: this k6 gives no access to files")
	}
	data, err := fsext.ReadFile(files, env.GetAbsFilePath(s.tokensFile))
	if err != nil {
		return problem("can't be read: %s", err)
	}
	if s.tokens, err = parseTokens(data); err != nil {
		return problem("got %q, which %s; it takes %s", s.tokensFile, err, takesTokensFile)
	}
	return nil
}

// parseTokens reads a tokens file: an object of tokens by actor, which come in the order of the actors' names, or a
// list of tokens. No error quotes a token.
func parseTokens(data []byte) ([]string, error) {
	var tokens []string
	if body := bytes.TrimSpace(data); len(body) > 0 && body[0] == '{' {
		byActor := map[string]string{}
		if err := json.Unmarshal(body, &byActor); err != nil {
			return nil, errors.New("holds no JSON object of texts")
		}
		for _, actor := range slices.Sorted(maps.Keys(byActor)) {
			tokens = append(tokens, byActor[actor])
		}
	} else if err := json.Unmarshal(data, &tokens); err != nil {
		return nil, errors.New("holds no JSON object or list of texts")
	}
	if len(tokens) == 0 {
		return nil, errors.New("holds no token")
	}
	for i, token := range tokens {
		if token == "" || strings.ContainsAny(token, "\x00\r\n") {
			return nil, fmt.Errorf("has a token at position %d that is empty or of several lines", i+1)
		}
	}
	return tokens, nil
}
