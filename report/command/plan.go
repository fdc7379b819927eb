package command

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/mitodl/xk6-omnigraph/report"
)

func planCommand(to IO) *cobra.Command {
	var f form
	var opts report.PlanOptions
	cmd := &cobra.Command{
		Use:   "plan RECORD... --rate R --slo-p95 MS",
		Short: "Plan servers, VUs, writers, rows per commit and the optimize cadence from run records",
		Long: "Plans what a load takes, each figure with its interval and with what limits it. Give it the records of the\n" +
			"scenarios that tell: capacity (servers), writers, batch-writes (rows per commit), fragmentation (cadence).",
		Example: "  k6 x omnigraph plan results/capacity/record.json --rate 200 --slo-p95 50\n" +
			"  k6 x omnigraph plan results/*/record.json --rate 200 --slo-p95 50 --write-rows 20",
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			records, err := readAll(to, args)
			if err != nil {
				return err
			}
			p, err := report.MakePlan(records, opts)
			if err != nil {
				return err
			}
			return f.write(to, p.Document(), func(w io.Writer) error { return writeJSON(w, p) })
		},
	}
	f.flags(cmd)
	cmd.Flags().Float64Var(&opts.Rate, "rate", 0, "reads per second to plan for")
	cmd.Flags().Float64Var(&opts.SLOP95MS, "slo-p95", 0, "objective for the reads' p95 in milliseconds")
	cmd.Flags().Float64Var(&opts.WriteRows, "write-rows", 0, "rows to write per second")
	cmd.Flags().StringVar(&opts.Query, "query", "", "read to plan with (default: the one measured most)")
	cmd.Flags().StringVar(&opts.Transport, "transport", "", "http or cli (default http)")
	return prepared(cmd, to)
}
