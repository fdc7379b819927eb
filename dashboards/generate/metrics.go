package main

import (
	"fmt"
	"os"
	"strings"
)

// metricsFile is written by a test of the extension from the tables that register its metrics.
const metricsFile = "metrics.txt"

// metric is a metric of k6 or of the extension, without the k6_ that the output puts in front.
type metric struct{ name, kind, contains string }

// metricList finds metrics by name.
type metricList map[string]metric

func readMetrics(file string) (metricList, error) {
	data, err := os.ReadFile(file) // #nosec G304 -- named on the command line
	if err != nil {
		return nil, err
	}
	list := metricList{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Fields(line)
		if len(f) != 3 {
			return nil, fmt.Errorf("%s: the line %q should be a name, a type and contents", file, line)
		}
		list[f[0]] = metric{name: f[0], kind: f[1], contains: f[2]}
	}
	return list, nil
}

// counter names the series of a counter.
func counter(name string) string { return "k6_" + name + "_total" }
