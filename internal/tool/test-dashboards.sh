#!/usr/bin/env bash
# Tests the dashboards and their rules: on a Prometheus that bin/k6 fills, and with promtool. Installs Debian's package
# prometheus where there is none, and adds the counts to the file given.
set -uo pipefail
cd "$(dirname "$0")/../.."
counts=${1:-}
if [ -n "$counts" ]; then counts=$(realpath "$counts"); fi

if ! command -v prometheus >/dev/null || ! command -v promtool >/dev/null; then
	command -v apt-get >/dev/null || { echo "test-dashboards: prometheus and promtool are not there; install them" >&2; exit 1; }
	sudo=
	if [ "$(id -u)" != 0 ]; then sudo=sudo; fi
	# The package would start a service of its own; the tests start what they need themselves.
	{ $sudo apt-get -o Acquire::Retries=3 update && $sudo env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -o Acquire::Retries=3 -o DPkg::Lock::Timeout=120 install -y --no-install-recommends prometheus; } >/dev/null ||
		{ echo "test-dashboards: prometheus can't be installed" >&2; exit 1; }
fi

# The compose file's configuration, with the place of the rules as it is here.
config=$(mktemp)
sed "s#/etc/prometheus/rules#$PWD/dashboards/rules#" deploy/prometheus.yml >"$config"
trap 'rm -f "$config"' EXIT
passed=0 failed=0
for check in "check config $config" 'check rules dashboards/rules/omnigraph.rules.yml' 'test rules dashboards/rules/omnigraph.rules.test.yml'; do
	# shellcheck disable=SC2086 # words
	if promtool $check; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL  promtool $check"; fi
done
echo "$passed passed, $failed failed"
if [ -n "$counts" ]; then echo "$passed $failed 0" >>"$counts"; fi

tool=$(mktemp -d)
trap 'rm -rf "$tool" "$config"' EXIT
go build -o "$tool/testcount" ./internal/tool/testcount || exit 1
export K6="$PWD/bin/k6" PROMETHEUS
PROMETHEUS=$(command -v prometheus)
# shellcheck disable=SC2016 # the inner shell's
bin/k6 x omnigraph rig run --rows 200 -- bash -c '
	cd dashboards/generate && export GOWORK= &&
		"$0" -counts "$1" -- go test -json -count=1 -timeout 5m ./...' "$tool/testcount" "$counts" || failed=$((failed + 1))
[ "$failed" -eq 0 ]
