// Command generate writes the Grafana dashboards: one model, told in the terms of each way in which k6 writes trends
// to Prometheus. Run it in its own folder: go run .
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// target is the folder with the dashboards, seen from this module's.
const target = ".."

func main() {
	if err := write(target); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// write generates every edition into dir, which holds metrics.txt.
func write(dir string) error {
	list, err := readMetrics(filepath.Join(dir, metricsFile))
	if err != nil {
		return err
	}
	for _, e := range editions(list) {
		data, err := render(e)
		if err != nil {
			return fmt.Errorf("dashboard %s: %w", e.file, err)
		}
		if err := os.WriteFile(filepath.Join(dir, e.file), data, 0o644); err != nil { // #nosec G306 -- Grafana reads it as another user
			return err
		}
	}
	return nil
}
