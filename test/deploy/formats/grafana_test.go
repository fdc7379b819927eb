package formats

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// What Grafana provisions data sources and dashboards from, as its documentation describes the files. Grafana itself is
// not at hand as a library under a licence that this project takes.
type (
	datasources struct {
		APIVersion  int `json:"apiVersion"`
		Datasources []struct {
			Name      string `json:"name"`
			UID       string `json:"uid"`
			Type      string `json:"type"`
			Access    string `json:"access"`
			URL       string `json:"url"`
			IsDefault bool   `json:"isDefault"`
			JSONData  struct {
				TimeInterval string `json:"timeInterval"`
			} `json:"jsonData"`
		} `json:"datasources"`
	}
	providers struct {
		APIVersion int `json:"apiVersion"`
		Providers  []struct {
			Name    string `json:"name"`
			Folder  string `json:"folder"`
			Type    string `json:"type"`
			Options struct {
				Path string `json:"path"`
			} `json:"options"`
		} `json:"providers"`
	}
)

func provisioned(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(root + "/deploy/grafana/provisioning/" + file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func TestGrafanaFindsPrometheusAndTheDashboards(t *testing.T) {
	p, err := project(t, needed...)
	if err != nil {
		t.Fatal(err)
	}
	var sources datasources
	provisioned(t, "datasources/prometheus.yaml", &sources)
	if s := sources.Datasources; sources.APIVersion != 1 || len(s) != 1 || s[0].Type != "prometheus" || s[0].URL != "http://prometheus:9090" || s[0].Access != "proxy" {
		t.Errorf("the data source is %+v", sources)
	}
	var from providers
	provisioned(t, "dashboards/omnigraph.yaml", &from)
	if len(from.Providers) != 1 || from.Providers[0].Type != "file" {
		t.Fatalf("the provider is %+v", from)
	}
	volumes := p.Services["grafana"].Volumes
	folder := ""
	for _, v := range volumes {
		if v.Target == from.Providers[0].Options.Path {
			folder = v.Source
		}
	}
	if folder == "" {
		t.Fatalf("nothing is mounted at %s: %v", from.Providers[0].Options.Path, volumes)
	}
	// Grafana takes every JSON file below the folder for a dashboard.
	var uids []string
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".json") {
			return err
		}
		data, err := os.ReadFile(path) // #nosec G304 G122 -- the repository's own dashboards
		if err != nil {
			return err
		}
		var board struct {
			UID, Title    string
			SchemaVersion int
			Panels        []struct{ ID int }
		}
		if err := json.NewDecoder(bytes.NewReader(data)).Decode(&board); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if board.UID == "" || len(board.UID) > 40 || board.Title == "" || board.SchemaVersion == 0 || len(board.Panels) == 0 {
			t.Errorf("%s is no dashboard: uid %q, title %q, schema %d, %d panels", path, board.UID, board.Title, board.SchemaVersion, len(board.Panels))
		}
		if slices.Contains(uids, board.UID) {
			t.Errorf("two dashboards have the uid %s", board.UID)
		}
		uids = append(uids, board.UID)
		return nil
	})
	if err != nil || len(uids) != 2 {
		t.Errorf("the dashboards are %v (%v)", uids, err)
	}
}
