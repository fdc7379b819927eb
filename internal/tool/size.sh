#!/usr/bin/env bash
# Fails if the extension adds more than 10 MB to a k6 binary, built as xk6 builds it. The embedded host links less than
# the real k6 does, so what both need counts here although it would be there anyway: the figure is an upper bound.
set -euo pipefail
cd "$(dirname "$0")/../.."
limit=10000000
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export CGO_ENABLED=0
go build -trimpath -ldflags='-s -w' -o "$dir/bare" ./internal/tool/barek6
go build -trimpath -ldflags='-s -w' -o "$dir/k6" ./cmd/k6
bare=$(stat -c %s "$dir/bare" 2>/dev/null || stat -f %z "$dir/bare")
full=$(stat -c %s "$dir/k6" 2>/dev/null || stat -f %z "$dir/k6")
added=$((full - bare))
echo "k6 $bare bytes, with the extension $full: $added added, $limit allowed"
[ "$added" -le "$limit" ]
