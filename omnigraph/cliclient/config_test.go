package cliclient

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNewNamesTheWrongField(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		config Config
		want   string // the beginning of the error; empty is none
	}{
		{"ok/nothing", Config{}, ""},
		{"ok/server", Config{Server: "HTTPS://og.example:8080/base"}, ""},
		{"ok/stores", Config{Store: `C:\graphs\g.omni`}, ""},
		{"ok/s3", Config{Store: "s3://bucket/g.omni", Server: "http://127.0.0.1:1"}, ""},
		{"err/blank bin", Config{Bin: " "}, `bin: got " ", takes the path`},
		{"err/bin with NUL", Config{Bin: "a\x00b"}, "bin: got"},
		{"err/server without a scheme", Config{Server: "localhost:8080"}, `server: got "localhost:8080", takes an http:// or https:// address`},
		{"err/server of another scheme", Config{Server: "ftp://h"}, "server: got"},
		{"err/server without a host", Config{Server: "http://"}, "server: got"},
		{"err/server with a user", Config{Server: "http://u:secret@h"}, "server: got an address with a user"},
		{"err/broken server", Config{Server: "http://u:secret@h:port"}, `server: got "http://…@h:port"`},
		{"err/blank store", Config{Store: " "}, "store: got"},
		{"err/store over HTTP", Config{Store: "http://h/g"}, "store: got"},
		{"err/token of two lines", Config{Token: "secret\nsecret"}, "token: got a value with a line break"},
		{"err/home with NUL", Config{Home: "\x00"}, "home: got"},
		{"err/negative limit", Config{MaxOutputBytes: -1}, "maxOutputBytes: got -1, takes"},
		{"err/argument with NUL", Config{Args: []string{"a", "\x00"}}, "args[1]: got 1 bytes"},
		{"err/argument too long", Config{Args: []string{strings.Repeat("x", maxArgBytes+1)}}, "args[0]: got 100001 bytes"},
		{"err/token in an argument", Config{Token: "secret", Args: []string{"--token=secret"}}, "args[0]: contains the token"},
		{"err/name of a variable", Config{Env: map[string]string{"A=B": ""}}, `env: got the name "A=B"`},
		{"err/value of a variable", Config{Env: map[string]string{"A": "\x00"}}, "env.A: got a value with NUL"},
		{"err/token as a variable", Config{Env: map[string]string{envToken: "secret"}}, "env.OMNIGRAPH_BEARER_TOKEN: this variable is set by the client; use the option `token`"},
		{"err/home as a variable", Config{Env: map[string]string{envHome: "x"}}, "env.OMNIGRAPH_HOME: this variable is set by the client; use the option `home`"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, err := New(test.config)
			if test.want == "" {
				require.NoError(t, err)
				require.NotNil(t, c)
				return
			}
			require.ErrorContains(t, err, test.want)
			require.True(t, strings.HasPrefix(err.Error(), test.want), err.Error())
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

func TestServerAddressAsTheCLITakesIt(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"HTTP://Host:80/":     "http://Host:80",
		"https://h/base/path": "https://h/base/path",
		"http://h//":          "http://h",
		"":                    "",
	} {
		require.Equal(t, want, clientFor(t, Config{Server: given}).config.Server)
	}
}
