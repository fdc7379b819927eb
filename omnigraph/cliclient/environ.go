package cliclient

import (
	"maps"
	"slices"
	"strings"
)

const (
	envToken = "OMNIGRAPH_BEARER_TOKEN" // #nosec G101 -- the variable's name, not its value
	envHome  = "OMNIGRAPH_HOME"
)

// envEmulatorAdmin opens an emulated server's faults to whoever knows it; a CLI has no use for it.
const envEmulatorAdmin = "OMNIGRAPH_EMULATOR_ADMIN_TOKEN" // #nosec G101 -- the variable's name, not its value

// inherited are the variables that a CLI process gets from this one, by name; inheritedPrefixes adds families.
// Everything else stays out, above all OMNIGRAPH_* (an address, a profile or a token that the script did not name) and
// whatever secrets a CI job holds.
var inherited = map[string]bool{
	// Where programs and files are.
	"PATH": true, "HOME": true, "TMPDIR": true, "TMP": true, "TEMP": true,
	// Language and time.
	"LANG": true, "LANGUAGE": true, "TZ": true,
	// Certificates and proxies, in both spellings that are in use.
	"SSL_CERT_FILE": true, "SSL_CERT_DIR": true,
	"HTTP_PROXY": true, "HTTPS_PROXY": true, "ALL_PROXY": true, "NO_PROXY": true,
	"http_proxy": true, "https_proxy": true, "all_proxy": true, "no_proxy": true,
	// The CLI's own log level.
	"RUST_LOG": true,
	// What a program on Windows can't do without.
	"SYSTEMROOT": true, "SystemRoot": true, "USERPROFILE": true, "PATHEXT": true,
}

// InheritedEnv lists the variables that a CLI process inherits, for the documentation; a name that ends with * is a
// family. AWS_* is inherited only for an s3:// store.
func InheritedEnv() []string {
	names := slices.Collect(maps.Keys(inherited))
	for _, prefix := range inheritedPrefixes("s3://") {
		names = append(names, prefix+"*")
	}
	slices.Sort(names)
	return names
}

// inheritedPrefixes are families of variables: the locale, what steers the emulator where that stands in for the CLI
// (no other program reads it), and for s3:// stores the credentials.
func inheritedPrefixes(store string) []string {
	prefixes := []string{"LC_", "OMNIGRAPH_EMULATOR_"}
	if strings.HasPrefix(strings.ToLower(store), "s3://") {
		prefixes = append(prefixes, "AWS_")
	}
	return prefixes
}

// environment is what every process of a client gets; OMNIGRAPH_HOME is added for each call unless it is set here.
func (c *Config) environment(from []string) []string {
	prefixes := inheritedPrefixes(c.Store)
	env := make([]string, 0, 16+len(c.Env))
	for _, entry := range from {
		name, _, ok := strings.Cut(entry, "=")
		if !ok || name == "" {
			continue
		}
		if _, overridden := c.Env[name]; overridden {
			continue
		}
		keep := inherited[name] || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
		if _, reserved := reservedEnv[name]; keep && !reserved && name != envEmulatorAdmin {
			env = append(env, entry)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		env = append(env, name+"="+c.Env[name])
	}
	if c.Token != "" {
		env = append(env, envToken+"="+c.Token)
	}
	if c.Home != "" {
		env = append(env, envHome+"="+c.Home)
	}
	return slices.Clip(env)
}

// secrets are the values that no message may show.
func (c *Config) secrets() []string {
	const shortest = 6 // A shorter value would mask ordinary words.
	var secrets []string
	if c.Token != "" {
		secrets = append(secrets, c.Token)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		upper := strings.ToUpper(name)
		isSecret := slices.ContainsFunc([]string{"TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"}, func(w string) bool {
			return strings.Contains(upper, w)
		})
		if isSecret && len(c.Env[name]) >= shortest {
			secrets = append(secrets, c.Env[name])
		}
	}
	return secrets
}
