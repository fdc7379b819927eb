package cmd

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/ext"
	"go.k6.io/k6/v2/internal/build"
)

// versionText is what `k6 version` prints: the version and the extensions that are linked in.
func versionText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "k6 v%s (embedded host, %s, %s/%s)\n", build.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if extensions := ext.GetAll(); len(extensions) > 0 {
		b.WriteString("Extensions:\n")
		for _, e := range extensions {
			fmt.Fprintf(&b, "  %s %s, %s [%s]\n", e.Path, e.Version, e.Name, e.Type)
		}
	}
	return b.String()
}

// versionJSON is the same for programs.
func versionJSON() ([]byte, error) {
	type extension struct {
		Module  string `json:"module"`
		Version string `json:"version"`
		Type    string `json:"type"`
		Name    string `json:"name"`
	}
	details := struct {
		Version    string      `json:"version"`
		GoVersion  string      `json:"go_version"`
		GoOS       string      `json:"go_os"`
		GoArch     string      `json:"go_arch"`
		Extensions []extension `json:"extensions,omitempty"`
	}{Version: "v" + build.Version, GoVersion: runtime.Version(), GoOS: runtime.GOOS, GoArch: runtime.GOARCH}
	for _, e := range ext.GetAll() {
		details.Extensions = append(details.Extensions, extension{e.Path, e.Version, e.Type.String(), e.Name})
	}
	return json.Marshal(details)
}

func newVersionCommand(gs *state.GlobalState) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the version and the extensions",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if !asJSON {
				_, err := fmt.Fprint(gs.Stdout, versionText())
				return err
			}
			data, err := versionJSON()
			if err != nil {
				return fmt.Errorf("version as JSON: %w", err)
			}
			_, err = fmt.Fprintf(gs.Stdout, "%s\n", data)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
