package rig

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
)

// The actors of a rig. Writers beyond the first are act-load-2, act-load-3 and so on.
const (
	// ActorWriter may do everything: read, write, branch, invoke stored queries, list graphs.
	ActorWriter = "act-load"
	// ActorReader may read, but neither write nor invoke stored queries.
	ActorReader = "act-reader"
	// ActorOutsider has a valid token and no permission.
	ActorOutsider = "act-outsider"
)

// maxWriters bounds the number of writing actors.
const maxWriters = 1000

// Tokens are the bearer tokens by actor. They belong in an Authorization header or in an environment, never in
// an argument, a log or a report.
type Tokens map[string]string

// writers gives the names of n writing actors.
func writers(n int) []string {
	names := []string{ActorWriter}
	for i := 2; i <= n; i++ {
		names = append(names, ActorWriter+"-"+strconv.Itoa(i))
	}

	return names
}

func newTokens(actors []string) (Tokens, error) {
	tokens := Tokens{}

	for _, actor := range actors {
		b := make([]byte, 24)
		if _, err := rand.Read(b); err != nil {
			return nil, fmt.Errorf("make a token for %s: %w", actor, err)
		}

		tokens[actor] = hex.EncodeToString(b)
	}

	return tokens, nil
}

// Tokens reads the rig's tokens.
func (r *Rig) Tokens() (Tokens, error) {
	data, err := os.ReadFile(r.TokensFile())
	if err != nil {
		return nil, fmt.Errorf("read the rig's tokens: %w", err)
	}

	var tokens Tokens
	if err := json.Unmarshal(data, &tokens); err != nil {
		return nil, fmt.Errorf("read the rig's tokens: %s: %w", r.TokensFile(), err)
	}

	if tokens[ActorWriter] == "" {
		return nil, fmt.Errorf("%s has no token for %s", r.TokensFile(), ActorWriter)
	}

	return tokens, nil
}
