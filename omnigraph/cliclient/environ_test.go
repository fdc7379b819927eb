package cliclient

import (
	"slices"
	"strings"
	"testing"

	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
	"github.com/stretchr/testify/require"
)

func TestEnvironmentIsAnAllowList(t *testing.T) {
	t.Parallel()
	from := []string{
		"PATH=/bin", "HOME=/h", "LANG=C", "LC_ALL=C", "LC_CTYPE=C", "TMPDIR=/t", "SSL_CERT_FILE=/c", "SSL_CERT_DIR=/d",
		"HTTP_PROXY=p", "https_proxy=p", "NO_PROXY=localhost", "RUST_LOG=warn", "TZ=UTC",
		"OMNIGRAPH_EMULATOR_FAULTS=/f.json", "OMNIGRAPH_EMULATOR_PROFILE=spike",
		"OMNIGRAPH_EMULATOR_ADMIN_TOKEN=a", "OMNIGRAPH_EMULATED=1", "OMNIGRAPH_BEARER_TOKEN=inherited", "OMNIGRAPH_HOME=/user", "OMNIGRAPH_PROFILE=prod", "OMNIGRAPH_URI=x",
		"AWS_SECRET_ACCESS_KEY=s", "K6_CLOUD_TOKEN=c", "LD_PRELOAD=/x.so", "CI_JOB_TOKEN=j", "=weird", "weird",
	}
	kept := func(c Config) []string { return c.environment(from) }

	require.Equal(t, slices.Concat(from[:15]), kept(Config{}))
	require.Equal(t, append(slices.Concat(from[:15]), envToken+"=t", envHome+"=/mine"), kept(Config{Token: "t", Home: "/mine"}))
	require.Contains(t, kept(Config{Store: "S3://bucket/g.omni"}), "AWS_SECRET_ACCESS_KEY=s")

	own := kept(Config{Env: map[string]string{"PATH": "/mine", "NEW": "1"}})
	require.Contains(t, own, "PATH=/mine")
	require.NotContains(t, own, "PATH=/bin")
	require.Contains(t, own, "NEW=1")
}

func TestProcessGetsAnEmptyHomeAndNoInput(t *testing.T) {
	t.Setenv("OMNIGRAPH_HOME", "/home/somebody/.omnigraph")
	t.Setenv("OMNIGRAPH_PROFILE", "production")
	c := fake(t, "mirror")
	r := seenBy(t, c, pointRead())
	require.Equal(t, `"" <nil>`, r.Stdin)
	require.Equal(t, "drwx------", r.HomeMode)
	require.Empty(t, r.HomeList)
	require.True(t, r.Group, "a process group of its own")
	var home string
	for _, entry := range r.Env {
		name, value, _ := strings.Cut(entry, "=")
		require.NotEqual(t, "OMNIGRAPH_PROFILE", name)
		if name == envHome {
			home = value
		}
	}
	require.Contains(t, r.Env, envToken+"=token-of-the-test")
	require.NotContains(t, strings.Join(r.Args, " "), "token-of-the-test")
	require.NotEmpty(t, home)
	require.NoDirExists(t, home, "removed afterwards")

	again := seenBy(t, c, pointRead())
	require.NotEqual(t, r.Env, again.Env, "each call has a folder of its own")

	dir := t.TempDir()
	r = seenBy(t, fake(t, "mirror", func(c *Config) { c.Home = dir }), pointRead())
	require.Contains(t, r.Env, envHome+"="+dir)
	require.DirExists(t, dir)
}

func TestSecretsOfTheEnvironmentAreMasked(t *testing.T) {
	t.Parallel()
	c := fake(t, "report", withArg("1 the proxy said hunter-two-hunter"), withEnv("PROXY_PASSWORD", "hunter-two-hunter"))
	out := c.Do(t.Context(), pointRead())
	require.Equal(t, wire.KindCLIExit, out.Err.Kind)
	require.Contains(t, out.Err.Message, "the proxy said [redacted]")
}

func TestInheritedEnvIsSortedAndNamesFamilies(t *testing.T) {
	t.Parallel()
	names := InheritedEnv()
	require.True(t, slices.IsSorted(names))
	require.Contains(t, names, "LC_*")
	require.Contains(t, names, "AWS_*")
	require.Contains(t, names, "PATH")
	for _, name := range names {
		require.False(t, strings.HasPrefix(name, "OMNIGRAPH_") && name != "OMNIGRAPH_EMULATOR_*", name)
	}
}
