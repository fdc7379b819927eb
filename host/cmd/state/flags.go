package state

import (
	"path/filepath"
	"strconv"
	"strings"
)

// GlobalFlags are the flags that every command knows.
type GlobalFlags struct {
	ConfigFilePath          string
	Quiet, NoColor          bool
	Address                 string
	ProfilingEnabled        bool
	LogOutput               string
	SecretSource            []string
	LogFormat               string
	Verbose                 bool
	AutoExtensionResolution bool
	BuildServiceURL         string
	BinaryCache             string
	DependenciesManifest    string
}

// GetDefaultFlags are the values without environment and command line: homeDir is the user's configuration
// folder, cacheDir the one for caches.
func GetDefaultFlags(homeDir, cacheDir string) GlobalFlags {
	return GlobalFlags{
		ConfigFilePath:          filepath.Join(homeDir, "k6", "config.json"),
		LogOutput:               "stderr",
		AutoExtensionResolution: true,
		BinaryCache:             filepath.Join(cacheDir, "k6", "builds"),
	}
}

// flagsFromEnvironment lays the K6_ variables over the defaults. An unreadable boolean counts as not given;
// NO_COLOR counts whatever its value.
func flagsFromEnvironment(flags GlobalFlags, env map[string]string) GlobalFlags {
	text := func(name string, to *string) {
		if value, ok := env[name]; ok && value != "" {
			*to = value
		}
	}
	boolean := func(name string, to *bool) {
		if value, err := strconv.ParseBool(env[name]); err == nil {
			*to = value
		}
	}
	text("K6_CONFIG", &flags.ConfigFilePath)
	text("K6_LOG_OUTPUT", &flags.LogOutput)
	text("K6_LOG_FORMAT", &flags.LogFormat)
	text("K6_ADDRESS", &flags.Address)
	text("K6_BUILD_SERVICE_URL", &flags.BuildServiceURL)
	text("K6_BINARY_CACHE", &flags.BinaryCache)
	text("K6_DEPENDENCIES_MANIFEST", &flags.DependenciesManifest)
	boolean("K6_PROFILING_ENABLED", &flags.ProfilingEnabled)
	boolean("K6_AUTO_EXTENSION_RESOLUTION", &flags.AutoExtensionResolution)
	if env["K6_NO_COLOR"] != "" {
		flags.NoColor = true
	}
	if _, ok := env["NO_COLOR"]; ok {
		flags.NoColor = true
	}
	if source := env["K6_SECRET_SOURCE"]; source != "" {
		flags.SecretSource = []string{source}
	}
	return flags
}

// BuildEnvMap turns lines KEY=VALUE, as os.Environ gives them, into a map.
func BuildEnvMap(environ []string) map[string]string {
	env := make(map[string]string, len(environ))
	for _, kv := range environ {
		key, value := ParseEnvKeyValue(kv)
		env[key] = value
	}
	return env
}

// ParseEnvKeyValue splits KEY=VALUE at the first equals sign; without one the value is empty.
func ParseEnvKeyValue(kv string) (string, string) {
	key, value, _ := strings.Cut(kv, "=")
	return key, value
}
