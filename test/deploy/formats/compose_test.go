package formats

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/distribution/reference"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
)

// needed are the variables without which compose refuses to start.
var needed = []string{
	"OMNIGRAPH_SERVER_IMAGE=registry.example/omnigraph-server@" + digest,
	"PROMETHEUS_IMAGE=prom/prometheus@" + digest,
	"GRAFANA_IMAGE=grafana/grafana@" + digest,
}

func project(t *testing.T, env ...string) (*types.Project, error) {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{root + "/deploy/compose.yaml"}, cli.WithEnv(env), cli.WithProfiles([]string{"load"}), cli.WithInterpolation(true))
	if err != nil {
		t.Fatal(err)
	}
	return options.LoadProject(t.Context())
}

func TestComposeReadsTheProject(t *testing.T) {
	p, err := project(t, needed...)
	if err != nil {
		t.Fatal(err)
	}
	if names := p.ServiceNames(); !slices.Equal(names, []string{"grafana", "k6", "prometheus", "server"}) {
		t.Errorf("the services are %v", names)
	}
	made := []string{"rig", "results"} // by the steps in deploy/README.md, and by runs
	for name, s := range p.Services {
		if name != "k6" {
			ref, err := reference.ParseNormalizedNamed(s.Image)
			if _, ok := ref.(reference.Digested); err != nil || !ok {
				t.Errorf("%s: the image %s is not pinned (%v)", name, s.Image, err)
			}
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s is open to other machines on port %s", name, port.Published)
			}
		}
		for _, v := range s.Volumes {
			if v.Type == types.VolumeTypeBind && !slices.Contains(made, filepath.Base(v.Source)) {
				if _, err := os.Stat(v.Source); err != nil {
					t.Errorf("%s mounts %s: %v", name, v.Source, err)
				}
				if !v.ReadOnly {
					t.Errorf("%s may write to %s", name, v.Source)
				}
			}
		}
	}
	build := p.Services["k6"].Build
	i := readImage(t)
	if _, err := os.Stat(filepath.Join(build.Context, build.Dockerfile)); err != nil {
		t.Error(err)
	}
	for arg := range build.Args {
		if !slices.ContainsFunc(i.args, func(c instructions.ArgCommand) bool { return c.Args[0].Key == arg }) {
			t.Errorf("the Dockerfile has no ARG %s before its first stage", arg)
		}
	}
}

func TestComposeNamesTheImageThatIsMissing(t *testing.T) {
	for n, variable := range needed {
		name, _, _ := strings.Cut(variable, "=")
		_, err := project(t, slices.Delete(slices.Clone(needed), n, n+1)...)
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

// TestTheServicesFitTogether holds the addresses and paths that one service says of another.
func TestTheServicesFitTogether(t *testing.T) {
	p, err := project(t, needed...)
	if err != nil {
		t.Fatal(err)
	}
	k6, server, prometheus := p.Services["k6"], p.Services["server"], p.Services["prometheus"]
	env := func(name string) string {
		if v := k6.Environment[name]; v != nil {
			return *v
		}
		return ""
	}
	if !slices.Contains(prometheus.Command, "--web.enable-remote-write-receiver") || !slices.Contains(prometheus.Command, "--enable-feature=native-histograms") {
		t.Errorf("prometheus takes no samples, or no native histograms: %v", prometheus.Command)
	}
	if env("K6_PROMETHEUS_RW_SERVER_URL") != "http://prometheus:9090/api/v1/write" || env("OMNIGRAPH_URI") != "http://server:8080" {
		t.Errorf("k6 writes to %s and asks %s", env("K6_PROMETHEUS_RW_SERVER_URL"), env("OMNIGRAPH_URI"))
	}
	if !slices.Contains(server.Command, "0.0.0.0:8080") {
		t.Errorf("the server listens elsewhere: %v", server.Command)
	}
	// The CLI works on the store that the server serves: both see it at one place, as one user.
	if server.User == "" || server.User != k6.User {
		t.Errorf("server and k6 are the users %q and %q", server.User, k6.User)
	}
	if !strings.HasPrefix(env("OMNIGRAPH_STORE"), env("OMNIGRAPH_RIG")+"/") || !slices.Contains(server.Command, env("OMNIGRAPH_RIG")) {
		t.Errorf("the store is %s, the rig %s, the server has %v", env("OMNIGRAPH_STORE"), env("OMNIGRAPH_RIG"), server.Command)
	}
	for _, s := range []types.ServiceConfig{k6, server} {
		if !slices.ContainsFunc(s.Volumes, func(v types.ServiceVolumeConfig) bool { return v.Target == env("OMNIGRAPH_RIG") }) {
			t.Errorf("%s has no %s", s.Name, env("OMNIGRAPH_RIG"))
		}
	}
	for _, other := range []string{"server", "prometheus"} {
		if _, ok := k6.DependsOn[other]; !ok {
			t.Errorf("k6 starts without %s", other)
		}
	}
}
