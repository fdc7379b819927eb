package cmd

import (
	"fmt"
	"io"
	"path/filepath"

	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/internal/loader"
	"go.k6.io/k6/v2/lib/fsext"
)

// readSource reads what the command's argument names: a file, a URL, or - for standard input. The file systems
// are those that the script may read.
func readSource(gs *state.GlobalState, path string) (*loader.Source, map[string]fsext.Fs, error) {
	pwd, err := gs.Getwd()
	if err != nil {
		return nil, nil, fmt.Errorf("could not find out the working directory: %w", err)
	}
	files := map[string]fsext.Fs{"file": fsext.NewReadOnlyFs(gs.FS), "https": fsext.NewMemMapFs()}
	if path == "-" {
		data, err := io.ReadAll(gs.Stdin)
		if err != nil {
			return nil, nil, fmt.Errorf("could not read the script from standard input: %w", err)
		}
		dir := loader.DirURL(pwd)
		return &loader.Source{URL: loader.StdinURL(dir), PWD: dir, Data: data}, files, nil
	}
	name := fsext.Abs(pwd, path)
	data, err := fsext.ReadFile(files["file"], name)
	if err != nil {
		return nil, nil, fmt.Errorf("The moduleSpecifier %q couldn't be found on local disk. Make sure that you've"+
			" specified the right path to the file.", path)
	}
	return &loader.Source{URL: loader.FileURL(name), PWD: loader.DirURL(filepath.Dir(name)), Data: data}, files, nil
}
