// Package formats reads what deploy/ ships with the programs' own parsers, which are too many modules for the
// extension's go.mod: the Dockerfile as BuildKit does, the compose file as docker compose does.
package formats
