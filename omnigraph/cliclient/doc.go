// Package cliclient carries omnigraph's operations over the omnigraph CLI, one process per call, as a user's shell
// would, but with every process bounded in time, output and lifetime.
//
// No shell is involved. Each process gets its own process group, which is killed as a whole before its leader is
// reaped, so that the group's id can't belong to anybody else by then; on Linux the kernel also kills the process when
// this one dies. A process that the CLI has started itself, which omnigraph's never does, is beyond the kernel's reach
// then, and outlives a k6 that is killed or gets a second signal before it could answer the first. A process's standard input is the null device and its environment an allow-list. The package knows neither k6
// nor JavaScript.
package cliclient
