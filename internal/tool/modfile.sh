#!/usr/bin/env bash
# Runs a module command of go (`get …`, `mod tidy`) on a copy of go.mod in which k6 is replaced by host/,
# and copies the result back without the replacement. Run on go.mod itself, these commands would ask a
# registry for k6, workspace or not.
set -euo pipefail
cd "$(dirname "$0")/../.."
exec 9>.git/modfile.lock 2>/dev/null && flock 9 || true

export GONOPROXY=go.k6.io GONOSUMDB=go.k6.io GOVCS=go.k6.io:off GOWORK=off
trap 'rm -f dev.mod dev.sum' EXIT
cp go.mod dev.mod
if [ -f go.sum ]; then cp go.sum dev.sum; else : >dev.sum; fi
go mod edit -replace go.k6.io/k6/v2=./host dev.mod
if [ "$1" = mod ]; then
	go mod "${@:2}" -modfile=dev.mod
else
	go "$1" -modfile=dev.mod "${@:2}"
fi
go mod edit -dropreplace go.k6.io/k6/v2 dev.mod
# A version asked for that is older than what k6's dependencies need makes go get drop k6 itself.
if ! grep -q 'go.k6.io/k6/v2 v2.2.0' dev.mod; then
	echo "modfile.sh: this would drop the requirement on k6 v2.2.0; ask for a newer version of the module" >&2
	exit 1
fi
cp dev.mod go.mod
if [ -s dev.sum ]; then cp dev.sum go.sum; fi
