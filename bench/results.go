package main

import (
	"encoding/json"
	"fmt"
	"io"
)

// results are all rounds' figures: reads per second of the three ways.
type results struct {
	Rounds  int       `json:"rounds"`
	Clients int       `json:"clients"`
	Reads   int       `json:"reads_an_iteration"`
	Module  []float64 `json:"module_reads_per_s"`
	K6HTTP  []float64 `json:"k6_http_reads_per_s"`
	Raw     []float64 `json:"raw_reads_per_s"`
	CLI     *pairs    `json:"cli_pairs,omitempty"`
}

// pairs are milliseconds of CLI calls, pair by pair.
type pairs struct {
	Module []float64 `json:"module_ms"`
	Raw    []float64 `json:"raw_ms"`
}

func (r *results) print(w io.Writer, asJSON bool) error {
	if asJSON {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	if len(r.Raw) > 0 {
		fmt.Fprintf(w, "\npoint reads/s against one stub, %d clients, medians of %d interleaved rounds\n", r.Clients, r.Rounds)
		fmt.Fprintf(w, "  (a) module      %8.0f\n  (b) k6/http     %8.0f\n  (c) raw loop    %8.0f\n", median(r.Module), median(r.K6HTTP), median(r.Raw))
		fmt.Fprintf(w, "  a/c %.2f   a/b %.2f   b/c %.2f   (medians of the rounds' ratios)\n",
			median(ratios(r.Module, r.Raw)), median(ratios(r.Module, r.K6HTTP)), median(ratios(r.K6HTTP, r.Raw)))
	}
	if r.CLI != nil {
		fmt.Fprintf(w, "\nCLI point read, %d interleaved pairs, p50: module %.2f ms, raw os/exec %.2f ms\n  (d) module/raw %.3f (median of the pairs' ratios)\n",
			len(r.CLI.Raw), median(r.CLI.Module), median(r.CLI.Raw), median(ratios(r.CLI.Module, r.CLI.Raw)))
	}
	return nil
}
