package cmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/internal/archive"
	"go.k6.io/k6/v2/internal/build"
)

func newArchiveCommand(gs *state.GlobalState) *cobra.Command {
	flags := &testFlags{}
	path := "archive.tar"
	cmd := &cobra.Command{
		Use:   "archive SCRIPT",
		Short: "Put a script and all that it loads into one file",
		Long:  "Run the init code of a script and write it, the files that it loaded and its options to an archive,\nwhich `k6 run` takes in place of a script.",
		Args:  exactlyOneScript,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := loadTest(cmd.Context(), gs, args[0], flags)
			if err != nil {
				return err
			}
			return errors.Join(writeArchive(gs, t, flags, path), t.close())
		},
	}
	flags.addTo(cmd, optionFlags(&flags.config.Options), runtimeFlags(&flags.runtime, &flags.features, false))
	cmd.Flags().StringVarP(&path, "archive-out", "O", path, "the archive's file name")
	return cmd
}

func writeArchive(gs *state.GlobalState, t *test, flags *testFlags, path string) error {
	if _, err := settleConfig(gs, t, flags); err != nil {
		return err
	}
	// What is stored is not derived yet: the shortcuts have to stay what a later command line can override.
	c, err := consolidate(gs, t, flags.config)
	if err != nil {
		return err
	}
	a := archive.New(build.Version)
	a.Options = c.Options
	a.FilenameURL, a.PwdURL = t.source.URL, t.source.PWD
	a.Data = t.source.Data
	a.Env = t.pre.RuntimeOptions.Env
	a.Filesystems = t.bundle.LoadedFiles()
	a.Dependencies = dependencies(t.bundle.Imported())
	file, err := gs.FS.Create(path)
	if err != nil {
		return fmt.Errorf("could not create the archive: %w", err)
	}
	if err := errors.Join(archive.Write(file, a), file.Close()); err != nil {
		return fmt.Errorf("could not write the archive %s: %w", path, err)
	}
	return nil
}

// dependencies are what runs the script needs: k6 and the extensions that it imports, each in any version.
func dependencies(imported []string) map[string]string {
	needed := map[string]string{"k6": "*"}
	for _, name := range imported {
		if strings.HasPrefix(name, "k6/x/") {
			needed[name] = "*"
		}
	}
	return needed
}
