package report

import "github.com/mitodl/xk6-omnigraph/recorder"

// Document is a report before it takes a form.
type Document struct {
	Title string `json:"title"`
	// Banner is what has to be read before any figure, such as that an emulator answered. Empty mostly.
	Banner  string            `json:"banner,omitempty"`
	Verdict recorder.Verdict  `json:"verdict"`
	Meaning string            `json:"meaning"` // of the verdict, one sentence
	Reasons []recorder.Reason `json:"reasons"`
	// Findings are the answers: each one sentence on what was found, with its interval, and what to do next.
	Findings []Finding `json:"findings"`
	Sections []Section `json:"sections"`
	// Facts identify the numbers: versions, machine, data, script.
	Facts []Fact `json:"facts"`
}

// Finding is one answer.
type Finding struct {
	Text string `json:"text"`
	Next string `json:"next,omitempty"`
}

// Section is a part of a report under one heading.
type Section struct {
	Title  string   `json:"title"`
	Text   []string `json:"text,omitempty"`
	Tables []Table  `json:"tables,omitempty"`
	Plots  []Plot   `json:"-"`
	Notes  []string `json:"notes,omitempty"`
}

// Table is a table of text; the first column names the row, the others hold figures.
type Table struct {
	Caption string     `json:"caption"`
	Header  []string   `json:"header"`
	Rows    [][]string `json:"rows"`
	// Detail marks a table that a terminal leaves out, to keep the answer in sight. Summary is what stands there instead.
	Detail  bool   `json:"detail,omitempty"`
	Summary string `json:"-"`
}

// Fact is a name with a value.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}
