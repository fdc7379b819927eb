package cliclient

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// The defaults of a [Config].
const (
	DefaultBin            = "omnigraph"
	DefaultMaxOutputBytes = 64 << 20
)

// Config says which CLI a client starts and what it talks to. The zero value of a field means "not given".
type Config struct {
	// Bin is the CLI's path, or a name to look for in PATH; by default "omnigraph".
	Bin string
	// Server is the server's http:// or https:// address. Store is a graph's own storage: a path, file:// or s3://.
	// With both, optimize, cleanup and repair use the store and everything else the server. With neither, every
	// operation but version fails.
	Server, Store string
	// Token is the bearer token. It reaches the process in its environment only and is masked in messages.
	Token string
	// Home is the CLI's configuration folder. By default it is an empty private folder, made for each call, so that
	// a user's configuration can't leak into a measurement.
	Home string
	// Args are further arguments for every operation but version, after the client's own.
	Args []string
	// Env are further environment variables, which win over the inherited ones.
	Env map[string]string
	// Slots limits how many processes run at once; clients may share it. Nil is no limit.
	Slots *Slots
	// Catalog is what is known of stored queries; clients may share it. Nil is one of its own.
	Catalog *Catalog
	// MaxOutputBytes bounds what a process may print before it is killed; by default [DefaultMaxOutputBytes].
	MaxOutputBytes int64
}

// maxArgBytes bounds one argument: Linux takes 128 KiB (MAX_ARG_STRLEN), and what is long travels in a file.
const maxArgBytes = 100_000

// reservedEnv are variables with an option of their own.
var reservedEnv = map[string]string{envToken: "token", envHome: "home"}

func (c *Config) validate() error {
	if c.Bin != "" && strings.TrimSpace(c.Bin) == "" || hasNUL(c.Bin) {
		return fmt.Errorf("bin: got %q, takes the path of the omnigraph CLI or a name to look for in PATH", c.Bin)
	}
	if err := validateServer(c.Server); err != nil {
		return err
	}
	if c.Store != "" && (strings.TrimSpace(c.Store) == "" || hasNUL(c.Store)) {
		return fmt.Errorf("store: got %q, takes a path or a file:// or s3:// address", c.Store)
	}
	if scheme, _, ok := strings.Cut(strings.ToLower(c.Store), "://"); ok && (scheme == "http" || scheme == "https") {
		return fmt.Errorf("store: got %q, takes a path or a file:// or s3:// address; a server's address goes into `server`", c.Store)
	}
	if strings.ContainsAny(c.Token, "\x00\r\n") {
		return fmt.Errorf("token: got a value with a line break or NUL in it, takes one line of text")
	}
	if hasNUL(c.Home) {
		return fmt.Errorf("home: got %q, takes the path of a folder", c.Home)
	}
	if c.MaxOutputBytes < 0 {
		return fmt.Errorf("maxOutputBytes: got %d, takes a number of bytes above 0", c.MaxOutputBytes)
	}
	for i, arg := range c.Args {
		switch {
		case hasNUL(arg) || len(arg) > maxArgBytes:
			return fmt.Errorf("args[%d]: got %d bytes, takes at most %d without NUL", i, len(arg), maxArgBytes)
		case c.Token != "" && strings.Contains(arg, c.Token):
			return fmt.Errorf("args[%d]: contains the token, which other users could read in the process list; it goes into `token` alone", i)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("env: got the name %q, takes names without = and NUL", name)
		}
		if hasNUL(c.Env[name]) {
			return fmt.Errorf("env.%s: got a value with NUL in it, takes text", name)
		}
		if option, ok := reservedEnv[name]; ok {
			return fmt.Errorf("env.%s: this variable is set by the client; use the option `%s`", name, option)
		}
	}
	return nil
}

// normalServer is the address as the CLI takes it: it knows schemes in lower case only and adds the path by itself.
func normalServer(server string) string {
	scheme, rest, ok := strings.Cut(server, "://")
	if !ok {
		return server
	}
	return strings.ToLower(scheme) + "://" + strings.TrimRight(rest, "/")
}

func validateServer(server string) error {
	if server == "" {
		return nil
	}
	u, err := url.Parse(server)
	if err != nil || !slices.Contains([]string{"http", "https"}, strings.ToLower(u.Scheme)) || u.Host == "" {
		return fmt.Errorf("server: got %q, takes an http:// or https:// address", safeAddress(server))
	}
	if u.User != nil {
		return fmt.Errorf("server: got an address with a user in it, which other users could read in the process list; use `token`")
	}
	return nil
}

// safeAddress leaves out what stands before an @, which may be a password.
func safeAddress(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		scheme, rest = "", address
	} else {
		scheme += "://"
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		rest = "…" + rest[i:]
	}
	return scheme + rest
}

func hasNUL(s string) bool { return strings.IndexByte(s, 0) >= 0 }
