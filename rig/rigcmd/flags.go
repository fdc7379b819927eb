package rigcmd

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/mitodl/xk6-omnigraph/rig"
	"github.com/mitodl/xk6-omnigraph/rig/dataset"
)

// datasetFlags are the dataset's parameters on a command line.
type datasetFlags struct {
	set    *pflag.FlagSet
	params dataset.Params
	mix    string
}

func addDatasetFlags(set *pflag.FlagSet) *datasetFlags {
	d := dataset.Default()
	f := &datasetFlags{set: set, params: d}

	set.Uint64Var(&f.params.Seed, "seed", d.Seed, "seed of the dataset")
	set.IntVar(&f.params.Rows, "rows", d.Rows, "memories")
	set.IntVar(&f.params.Projects, "projects", d.Projects, "projects")
	set.Float64Var(&f.params.RelationsPerRow, "relations", d.RelationsPerRow, "relations per memory, on average")
	set.Float64Var(&f.params.Exponent, "exponent", d.Exponent, "exponent of the relations' power law; 0 is uniform")
	set.IntVar(&f.params.PayloadBytes, "payload", d.PayloadBytes, "length of a memory's body in bytes")
	set.StringVar(&f.mix, "mix", d.Mix.String(), "weights of the kinds of memory")

	return f
}

// over gives base with the flags that were given in place of its own parameters.
func (f *datasetFlags) over(base dataset.Params) (dataset.Params, error) {
	given := func(name string) bool { return f.set.Changed(name) }

	if given("seed") {
		base.Seed = f.params.Seed
	}

	if given("rows") {
		base.Rows = f.params.Rows
	}

	if given("projects") {
		base.Projects = f.params.Projects
	}

	if given("relations") {
		base.RelationsPerRow = f.params.RelationsPerRow
	}

	if given("exponent") {
		base.Exponent = f.params.Exponent
	}

	if given("payload") {
		base.PayloadBytes = f.params.PayloadBytes
	}

	if given("mix") {
		mix, err := dataset.ParseMix(f.mix)
		if err != nil {
			return base, &usageError{err}
		}

		base.Mix = mix
	}

	if err := base.Validate(); err != nil {
		return base, &usageError{err}
	}

	return base, nil
}

// bootFlags say how to boot and seed.
type bootFlags struct {
	dataset *datasetFlags
	search  rig.Search
	up      rig.UpOptions
}

func addBootFlags(set *pflag.FlagSet) *bootFlags {
	f := &bootFlags{dataset: addDatasetFlags(set)}

	set.StringVar(&f.search.CLI, "bin", "", "the omnigraph command line (else OMNIGRAPH_BIN, else PATH)")
	set.StringVar(&f.search.Server, "server-bin", "", "omnigraph-server (else OMNIGRAPH_SERVER_BIN, else PATH)")
	set.BoolVar(&f.search.Emulator, "emulator", false, "use omnigraph-emulator even if real binaries are there")
	set.IntVar(&f.up.Port, "port", 0, "port on 127.0.0.1; 0 takes the last one again, or any that is free")
	set.DurationVar(&f.up.BootTimeout, "boot-timeout", 0, "how long the server may take to answer (default 30s)")
	set.IntVar(&f.up.Fragments, "fragments", 0, "single-row commits to make after the boot")
	set.BoolVar(&f.up.Optimize, "optimize", false, "compact the store at the end")
	set.BoolVar(&f.up.Reseed, "reseed", false, "load the dataset again, which undoes all writes")

	return f
}

// check refuses what is out of range, before anything is looked for or made.
func (f *bootFlags) check() error {
	if f.dataset.set.Changed("boot-timeout") && f.up.BootTimeout == 0 {
		return &usageError{errors.New("boot-timeout must be above 0")}
	}

	return f.up.Validate()
}
