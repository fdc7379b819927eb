// Package dataset makes the council graph's rows: the same parameters give the same bytes, on every machine,
// so that two runs can say whether they measured the same data.
//
// A dataset is projects, memories that belong to them, and relations between memories whose targets follow a
// power law: a few memories are related to by many, most by none. It is written as the NDJSON that
// `omnigraph load` and POST /graphs/G/load take.
package dataset
