package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/mitodl/xk6-omnigraph/emulator/cli"
	"github.com/mitodl/xk6-omnigraph/emulator/cluster"
	"github.com/mitodl/xk6-omnigraph/emulator/costmodel"
	"github.com/mitodl/xk6-omnigraph/emulator/demo"
	"github.com/mitodl/xk6-omnigraph/emulator/faults"
	"github.com/mitodl/xk6-omnigraph/emulator/graph"
	"github.com/mitodl/xk6-omnigraph/emulator/policy"
	"github.com/mitodl/xk6-omnigraph/emulator/server"
)

// envAdmin is the token of the admin routes.
const envAdmin = "OMNIGRAPH_EMULATOR_ADMIN_TOKEN"

// settings are what both ways of serving have in common.
type settings struct {
	bind       string
	api        string
	profile    string
	faults     string
	admin      string
	tokens     map[string]string
	generation graph.Generation
	// stores are the directories of the graphs that are on disk.
	stores []string
	// announce prints the address in one machine-readable line.
	announce bool
}

// serve is `omnigraph-emulator serve`.
func serve(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	rig := fs.String("rig", "", "a rig's directory: cluster.yaml, its files and tokens.json")
	demoGraph := fs.Bool("demo", false, "a small seeded council graph in memory")
	s := settings{announce: true}
	fs.StringVar(&s.bind, "bind", "127.0.0.1:0", "address to listen on")
	fs.StringVar(&s.api, "api", os.Getenv(cli.EnvAPI), "API generation: 0.8, 0.10 or 0.13")
	fs.StringVar(&s.profile, "profile", os.Getenv(cli.EnvProfile), "cost model: none, spike or a file")
	fs.StringVar(&s.faults, "faults", os.Getenv(cli.EnvFaults), "fault file")
	fs.StringVar(&s.admin, "admin-token", os.Getenv(envAdmin), "token of the admin routes; empty closes them")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if (*rig == "") == !*demoGraph || fs.NArg() > 0 {
		return errors.New("serve takes either --rig DIR or --demo")
	}
	var err error
	if s.generation, err = cli.Generation(s.api); err != nil {
		return err
	}
	if *demoGraph {
		graphs, clusterPolicy, err := demo.Open(ctx, graph.Options{Generation: s.generation})
		if err != nil {
			return err
		}
		s.tokens = map[string]string{}
		for actor, token := range demo.Tokens {
			s.tokens[token] = actor
		}
		return s.run(ctx, graphs, clusterPolicy)
	}
	if s.tokens, err = server.ReadTokens(filepath.Join(*rig, "tokens.json")); err != nil {
		return err
	}
	if err := prepare(*rig); err != nil {
		return err
	}
	return s.serveCluster(ctx, *rig)
}

// prepare imports and applies a rig that nobody has applied yet.
func prepare(dir string) error {
	if _, err := cluster.Ready(dir); err == nil {
		return nil
	}
	imported, err := cluster.Bootstrap(dir, time.Now())
	if err != nil {
		return err
	}
	for _, d := range imported.Diagnostics {
		if d.Severity == "error" && d.Code != "state_already_exists" {
			return fmt.Errorf("%s: %s: %s", dir, d.Path, d.Message)
		}
	}
	applied, err := cluster.Converge(dir, "")
	if err != nil {
		return err
	}
	for _, d := range applied.Diagnostics {
		return fmt.Errorf("%s: %s: %s", dir, d.Path, d.Message)
	}
	return nil
}

// dropIn is the emulator called as omnigraph-server.
func dropIn(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("omnigraph-server", flag.ContinueOnError)
	dir := fs.String("cluster", "", "cluster directory")
	open := fs.Bool("unauthenticated", os.Getenv("OMNIGRAPH_UNAUTHENTICATED") == "1", "run without bearer tokens")
	fs.Bool("require-all-graphs", false, "fail when a graph does not open, as the emulator always does")
	version := fs.Bool("version", false, "print the version")
	s := settings{
		profile: os.Getenv(cli.EnvProfile), faults: os.Getenv(cli.EnvFaults), admin: os.Getenv(envAdmin),
	}
	fs.StringVar(&s.bind, "bind", "127.0.0.1:8080", "address to listen on")
	if err := fs.Parse(args); err != nil {
		return err
	}
	var err error
	if s.generation, err = cli.Generation(os.Getenv(cli.EnvAPI)); err != nil {
		return err
	}
	if *version {
		fmt.Println("omnigraph-server", server.Version(s.generation))
		return nil
	}
	// 0.8 tells nobody where it listens; newer servers do.
	s.announce = s.generation >= graph.V010
	if *dir == "" {
		return errors.New("omnigraph-server boots from a cluster: pass --cluster <dir>")
	}
	if path := os.Getenv("OMNIGRAPH_SERVER_BEARER_TOKENS_FILE"); path != "" {
		if s.tokens, err = server.ReadTokens(path); err != nil {
			return err
		}
	}
	if len(s.tokens) == 0 && !*open {
		return errors.New("policy file is configured but no bearer tokens — every request would 401 because no token can ever match; set OMNIGRAPH_SERVER_BEARER_TOKENS_FILE or pass --unauthenticated")
	}
	return s.serveCluster(ctx, *dir)
}

func (s *settings) serveCluster(ctx context.Context, dir string) (err error) {
	graphs, config, err := server.OpenCluster(dir, graph.Options{Generation: s.generation, Sync: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.CloseAll(graphs)) }()
	for name := range graphs {
		s.stores = append(s.stores, config.GraphDir(name))
	}
	return s.run(ctx, graphs, config.PolicySet("cluster"))
}

// limit reads a positive number from the environment; 0 where it is not set.
func limit(name string) (int64, error) {
	text := os.Getenv(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s is %q, want a positive number", name, text)
	}
	return n, nil
}

func (s *settings) run(ctx context.Context, graphs map[string]*server.Graph, clusterPolicy policy.Set) error {
	opts := server.Options{Generation: s.generation, Tokens: s.tokens, ClusterPolicy: clusterPolicy, AdminToken: s.admin}
	inflight, err := limit("OMNIGRAPH_PER_ACTOR_INFLIGHT_MAX")
	if err != nil {
		return err
	}
	opts.MaxInflight = int(inflight)
	if opts.MaxInflightBytes, err = limit("OMNIGRAPH_PER_ACTOR_BYTES_MAX"); err != nil {
		return err
	}
	if opts.Cost, err = costmodel.Load(s.profile); err != nil {
		return err
	}
	for _, dir := range s.stores {
		if err := costmodel.Leave(dir, opts.Cost); err != nil {
			return err
		}
	}
	plan := faults.Plan{}
	if s.faults != "" {
		if plan, err = faults.ReadFile(s.faults, server.RouteNames()); err != nil {
			return err
		}
	}
	if s.faults != "" || s.admin != "" {
		opts.Faults = faults.New(plan, nil)
	}
	runner, err := server.Listen(ctx, s.bind)
	if err != nil {
		return err
	}
	opts.Restart = runner.Restart
	if opts.Cost != nil {
		fmt.Fprintln(os.Stderr, costmodel.Label(opts.Cost.Name))
	}
	if s.announce {
		fmt.Printf("OMNIGRAPH_LISTEN_ADDR=%s\n", runner.Addr())
	} else {
		fmt.Printf("%s  INFO omnigraph_server: serving omnigraph bind=%s mode=\"cluster\" graph_count=%d emulator=true\n",
			time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"), runner.Addr(), len(graphs))
	}
	return runner.Serve(ctx, server.New(graphs, opts))
}
