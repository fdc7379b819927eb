package rig

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

type diagnostic struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Path     string `json:"path"`
	Message  string `json:"message"`
}

// clusterReport is what the cluster commands print. Their exit code is not enough: ok says it.
type clusterReport struct {
	OK          *bool        `json:"ok"`
	Converged   *bool        `json:"converged"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

// cluster runs one cluster command and turns a refusal into a ClusterError.
func (r *Rig) cluster(ctx context.Context, bin string, env environment, stage string, args ...string) error {
	var report clusterReport

	argv := append([]string{"cluster", stage, "--config", r.dir, "--json"}, args...)
	err := r.cli(ctx, bin, env, &report, argv...)

	switch {
	case ctx.Err() != nil:
		return err
	case report.OK == nil && err != nil:
		return err
	case report.OK == nil:
		return fmt.Errorf("omnigraph cluster %s: the JSON it printed has no ok", stage)
	case *report.OK && err != nil:
		return err
	case *report.OK && (report.Converged == nil || *report.Converged):
		return nil
	}

	refused := &ClusterError{Stage: stage}

	for _, d := range report.Diagnostics {
		if d.Severity == "warning" {
			continue
		}

		refused.Diagnostics = append(refused.Diagnostics, clean(strings.Join(strings.Fields(d.Path+": "+d.Message), " ")))
	}

	return refused
}

// prepare makes the cluster: validated, imported once, applied. All three are repeatable.
func (r *Rig) prepare(ctx context.Context, bin string, env environment) error {
	if err := r.cluster(ctx, bin, env, "validate"); err != nil {
		return err
	}

	if _, err := os.Stat(r.path("__cluster/state.json")); err != nil {
		if err := r.cluster(ctx, bin, env, "import"); err != nil {
			return err
		}
	}

	return r.cluster(ctx, bin, env, "apply", "--as", ActorWriter)
}

// load replaces the graph's content by the dataset, in one commit and so in one fragment a table. The server
// must not be up: it would not see the change as its own.
func (r *Rig) load(ctx context.Context, bin string, env environment) error {
	var report struct {
		Nodes *int `json:"nodes_loaded"`
		// Newer CLIs report like the server.
		Total *int `json:"total_entities"`
	}

	if err := r.cli(ctx, bin, env, &report,
		"load", "--data", r.path(dataFile), "--mode", "overwrite", "--quiet", r.Store(), "--json"); err != nil {
		return fmt.Errorf("load the dataset: %w", err)
	}

	id := r.marker.Dataset
	nodes := id.Rows + id.Projects

	if report.Nodes != nil && *report.Nodes != nodes {
		return fmt.Errorf("load the dataset: %d nodes loaded, the dataset has %d", *report.Nodes, nodes)
	}

	if report.Total != nil && *report.Total != nodes+id.Rows+id.Relations {
		return fmt.Errorf("load the dataset: %d entities loaded, the dataset has %d",
			*report.Total, nodes+id.Rows+id.Relations)
	}

	r.marker.Loaded, r.marker.Fragments = id.SHA256, 0

	return r.save()
}

// Optimized is what one run of `omnigraph optimize` did.
type Optimized struct {
	// Removed and Added are data fragments, over all tables.
	Removed, Added int
	// Took is its wall time.
	Took time.Duration
}

// Optimize compacts the rig's store with the CLI bin, directly, whether or not the server is up. A nil env
// means the process's own.
func (r *Rig) Optimize(ctx context.Context, bin string, env []string) (Optimized, error) {
	var report struct {
		Tables []struct {
			Removed int `json:"fragments_removed"`
			Added   int `json:"fragments_added"`
		} `json:"tables"`
	}

	began := time.Now()

	if err := r.cli(ctx, bin, orProcess(env), &report, "optimize", "--quiet", r.Store(), "--json"); err != nil {
		return Optimized{}, fmt.Errorf("optimize %s: %w", r.Store(), err)
	}

	o := Optimized{Took: time.Since(began)}

	for _, t := range report.Tables {
		o.Removed += t.Removed
		o.Added += t.Added
	}

	if report.Tables == nil {
		return o, fmt.Errorf("optimize %s: the JSON it printed has no tables", r.Store())
	}

	return o, nil
}
