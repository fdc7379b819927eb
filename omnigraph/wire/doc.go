// Package wire knows omnigraph's protocol and nothing else: operations, how each travels over HTTP, what the
// answers of both transports mean, and the closed list of error kinds.
//
// Everything here is a pure function of its arguments. The package performs no I/O and does not know k6; the two
// transports (httpclient and cliclient) build on it, and so does the JS module.
package wire
