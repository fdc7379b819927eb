package rigcmd

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mitodl/xk6-omnigraph/rig"
)

func (c Config) upCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "up DIR",
		Short: "Boot the rig's server and leave it running; prints its address",
		Long: `Boot the rig's server, seed it and leave it running for ` + "`rig down`" + ` to stop. Its address goes to stdout.

If the server is up already, --fragments and --optimize act on that one.`,
		Args: oneDir,
	}
	flags := addBootFlags(cmd.Flags())

	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r, err := rig.Open(args[0])
		if err != nil {
			return err
		}

		up, err := c.upOptions(flags)
		if err != nil {
			return err
		}

		params, err := flags.dataset.over(r.Dataset().Params)
		if err != nil {
			return err
		}

		up.Dataset = &params
		up.Detach = true

		ctx, done := c.interruptible(cmd.Context())
		defer done()

		s, err := r.Up(ctx, up)
		if err != nil {
			return c.explain(ctx, err)
		}

		_, err = fmt.Fprintln(c.Stdout, s.URL)

		return err
	}

	return cmd
}

// upOptions finds the binaries and completes the flags.
func (c Config) upOptions(flags *bootFlags) (rig.UpOptions, error) {
	if err := flags.check(); err != nil {
		return rig.UpOptions{}, err
	}

	search := flags.search
	search.Env, search.Executable = c.Env, c.Executable

	binaries, err := rig.Find(search)
	if err != nil {
		return rig.UpOptions{}, err
	}

	up := flags.up
	up.Binaries, up.Env, up.Log = binaries, c.Env, c.Stderr

	return up, nil
}

func (c Config) statusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status DIR",
		Short: "Say whether the rig's server is up; exit code 3 if not",
		Args:  oneDir,
	}
	asJSON := cmd.Flags().Bool("json", false, "print JSON")

	cmd.RunE = func(_ *cobra.Command, args []string) error {
		r, err := rig.Open(args[0])
		if err != nil {
			return err
		}

		st, err := r.Status()
		if err != nil {
			return err
		}

		if *asJSON {
			enc := json.NewEncoder(c.Stdout)
			enc.SetIndent("", "  ")

			err = enc.Encode(st)
		} else {
			err = c.printStatus(st)
		}

		if err == nil && !st.Running {
			err = &downError{dir: st.Dir}
		}

		return err
	}

	return cmd
}

func (c Config) printStatus(st rig.Status) error {
	server := "not running"

	if st.Running {
		server = fmt.Sprintf("%s, version %s, process %d", st.URL, st.Version, st.PID)
		if st.Emulated {
			server += ", emulated"
		}
	}

	data := st.Dataset
	if !st.Loaded {
		data += " (not loaded yet)"
	}

	_, err := fmt.Fprintf(c.Stdout, "rig        %s\nserver     %s\ndataset    %s\nfragments  %d single-row commits\nstore      %s\n",
		st.Dir, server, data, st.Fragments, st.Store)

	return err
}

// downError is the status of a rig without a server.
type downError struct{ dir string }

func (e *downError) Error() string { return fmt.Sprintf("the rig %s is not running", e.dir) }

// ExitCode is 3, as the service managers have it.
func (*downError) ExitCode() int { return rig.ExitNotRunning }

func (e *downError) Unwrap() error { return rig.ErrNotRunning }

func (c Config) downCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "down DIR",
		Short: "Stop the rig's server; the store stays",
		Args:  oneDir,
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := rig.Open(args[0])
			if err != nil {
				return err
			}

			if err := r.Down(); err != nil {
				return err
			}

			fmt.Fprintf(c.Stderr, "stopped the rig %s\n", r.Dir())

			return nil
		},
	}
}
