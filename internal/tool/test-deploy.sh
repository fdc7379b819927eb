#!/usr/bin/env bash
# Tests deploy/ with what reads it elsewhere: the parsers of BuildKit, compose and Kubernetes, and buildah, which builds
# the image and runs it. Adds the counts to the file given.
set -uo pipefail
cd "$(dirname "$0")/../.."
counts=${1:-}
if [ -n "$counts" ]; then counts=$(realpath "$counts"); fi

tool=$(mktemp -d)
trap 'rm -rf "$tool"' EXIT
go build -o "$tool/testcount" ./internal/tool/testcount || exit 1
failed=0
(cd test/deploy/formats && GOWORK= "$tool/testcount" -counts "$counts" -- go test -json -timeout 5m ./...) || failed=1
internal/tool/test-image.sh "$counts" || failed=1
[ "$failed" -eq 0 ]
