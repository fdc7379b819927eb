package rigcmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mitodl/xk6-omnigraph/rig"
)

func (c Config) envCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "env DIR",
		Short: "Print export lines for a running rig, for a shell's eval; they hold a token",
		Args:  oneDir,
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := rig.Open(args[0])
			if err != nil {
				return err
			}

			s, err := r.Server()
			if err != nil {
				return err
			}

			env, err := s.Environment()
			if err != nil {
				return err
			}

			for _, entry := range env {
				name, value, _ := strings.Cut(entry, "=")
				if _, err := fmt.Fprintf(c.Stdout, "export %s=%s\n", name, quote(value)); err != nil {
					return err
				}
			}

			return nil
		},
	}
}

// quote makes one word of a shell out of any value.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
