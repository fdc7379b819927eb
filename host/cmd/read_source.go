package cmd

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"

	"go.k6.io/k6/v2/cmd/state"
	"go.k6.io/k6/v2/internal/loader"
	"go.k6.io/k6/v2/lib/fsext"
)

// readSource reads what the command's argument names: a path, a file:// or https:// URL, or - for standard
// input. The file systems are those that the script may read.
func readSource(
	ctx context.Context, gs *state.GlobalState, argument string,
) (*loader.Source, map[string]fsext.Fs, error) {
	pwd, err := gs.Getwd()
	if err != nil {
		return nil, nil, fmt.Errorf("could not find out the working directory: %w", err)
	}
	files := map[string]fsext.Fs{"file": gs.FS, "https": fsext.NewMemMapFs()}
	if argument == "-" {
		data, err := io.ReadAll(gs.Stdin)
		if err != nil {
			return nil, nil, fmt.Errorf("could not read the script from standard input: %w", err)
		}
		return &loader.Source{URL: loader.StdinURL(), PWD: loader.DirURL(pwd), Data: data}, files, nil
	}
	u := loader.FileURL(fsext.Abs(pwd, argument))
	if strings.Contains(argument, "://") {
		if u, err = url.Parse(argument); err != nil {
			return nil, nil, fmt.Errorf("the script's URL: %w", err)
		}
	}
	data, err := loader.Load(ctx, files, u, argument)
	if err != nil {
		return nil, nil, err
	}
	return &loader.Source{URL: u, PWD: loader.Dir(u), Data: data}, files, nil
}
