// Package report says what a run record means: verdict first, then findings with their next action, then the tables
// and plots that they rest on.
//
// Every report is a pure function of its records: [Build], [Compare] and [Plan] make a [Document], and the document
// renders itself as a terminal text, Markdown, self-contained HTML or JSON. The package knows nothing of k6.
package report
