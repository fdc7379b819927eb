package omnigraph

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime/debug"
)

// modulePath and k6Path are the modules whose versions identify a measurement.
const (
	modulePath = "github.com/mitodl/xk6-omnigraph"
	k6Path     = "go.k6.io/k6/v2"
)

// versions gives those of k6 and of the extension as this binary was built.
func versions() (k6, extension string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", ""
	}
	find := func(path string) string {
		if info.Main.Path == path {
			return info.Main.Version
		}
		for _, d := range info.Deps {
			if d.Path == path {
				if d.Replace != nil {
					return d.Version + " (replaced)"
				}
				if d.Version == "(devel)" && path == k6Path {
					return "embedded host"
				}
				return d.Version
			}
		}
		return ""
	}
	return find(k6Path), find(modulePath)
}

// scriptPath finds the main script: the argument of this process that names an existing file below the folder that k6
// resolves against. k6 does not tell modules which script they are in.
func (mi *instance) scriptPath() string {
	for _, arg := range os.Args[1:] {
		switch filepath.Ext(arg) {
		case ".js", ".ts", ".mjs", ".tar":
			if info, err := os.Stat(arg); err == nil && info.Mode().IsRegular() { // #nosec G703 -- an argument of this process
				return arg
			}
		}
	}
	return ""
}

// fileDigest is the SHA-256 of a file in hex, or empty where it can't be read.
func fileDigest(path string) string {
	if path == "" {
		return ""
	}
	data, err := os.ReadFile(path) // #nosec G304 -- the script that this process runs
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
