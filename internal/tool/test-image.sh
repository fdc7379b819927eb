#!/usr/bin/env bash
# Builds the image of deploy/Dockerfile and runs it: with Debian's buildah, without a container engine and without a
# registry of images. Two things stand in for what a registry would give: a Debian made by mmdebstrap, and in place of
# the stage that builds the real k6 this repository's bin/k6. Everything else is the Dockerfile as it is.
set -uo pipefail
cd "$(dirname "$0")/../.."
counts=${1:-}

if [ -z "${IN_RIG:-}" ]; then
	IN_RIG=1 exec bin/k6 x omnigraph rig run --rows 50 -- "$0" ${counts:+"$(realpath "$counts")"}
fi

skip() {
	echo "test-image: $1"
	echo "0 passed, 0 failed, 1 skipped"
	if [ -n "$counts" ]; then echo "0 0 1" >>"$counts"; fi
	exit 0
}
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	skip "it needs root on a Debian, for a base image without a registry"
fi
if ! command -v buildah >/dev/null || ! command -v mmdebstrap >/dev/null; then
	{ apt-get -o Acquire::Retries=3 update && env DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 -o DPkg::Lock::Timeout=120 install -y --no-install-recommends buildah mmdebstrap; } >/dev/null ||
		{ echo "test-image: buildah and mmdebstrap can't be installed" >&2; exit 1; }
fi

passed=0 failed=0
# holds NAME COMMAND...: the command has to succeed.
holds() {
	local name=$1 out
	shift
	if out=$("$@" 2>&1); then
		passed=$((passed + 1))
		echo "ok    $name"
	else
		failed=$((failed + 1))
		echo "FAIL  $name"
		printf '%s\n' "$out" | tail -n 40
	fi
}

work=$(mktemp -d)
# Copies of layers instead of mounts: nothing has to be unmounted, whatever ends this.
image() { buildah --storage-driver vfs --root "$work/store" --runroot "$work/run" "$@"; }
trap 'image rm --all >/dev/null 2>&1; rm -rf "$work"' EXIT
export BUILDAH_ISOLATION=chroot

# made NAME FILE PLACE: an image that holds one file, or a tar's contents.
made() {
	local c
	c=$(image from --quiet scratch) && image add --quiet "$c" "$2" "$3" >/dev/null && image commit --quiet "$c" "$1" >/dev/null && image rm "$c" >/dev/null
}

cli=${OMNIGRAPH_BIN:-}
if [ -z "$cli" ] || [ "${OMNIGRAPH_EMULATED:-}" = 1 ]; then
	bin/omnigraph-emulator link "$work/links" >/dev/null
	cli=$(realpath "$work/links/omnigraph")
fi
holds 'a base image' mmdebstrap --quiet --variant=minbase --aptopt='Acquire::Retries "3"' bookworm "$work/base.tar"
holds 'images of the stand-ins' made localhost/debian "$work/base.tar" /
holds 'images of the stand-ins: k6' made localhost/k6 bin/k6 /build/k6
holds 'images of the stand-ins: the CLI' made localhost/omnigraph "$cli" /usr/local/bin/omnigraph

awk '/^FROM golang/ {print "FROM localhost/k6 AS build"; skip = 1; next} /^FROM / {skip = 0} !skip' deploy/Dockerfile |
	sed 's#^FROM debian:.*#FROM localhost/debian#' >"$work/Dockerfile"
cp deploy/Dockerfile.dockerignore "$work/Dockerfile.dockerignore"
holds 'the image builds' image build --quiet --pull-never --network host --build-arg OMNIGRAPH_IMAGE=localhost/omnigraph \
	-f "$work/Dockerfile" --ignorefile deploy/Dockerfile.dockerignore -t localhost/k6-omnigraph .

container=$(image from --quiet --pull-never localhost/k6-omnigraph)
# inside COMMAND: what a shell in the container makes of it.
inside() {
	image run -e OMNIGRAPH_URI="$OMNIGRAPH_URI" -e OMNIGRAPH_URL="$OMNIGRAPH_URI" -e OMNIGRAPH_GRAPH="$OMNIGRAPH_GRAPH" \
		-e OMNIGRAPH_TOKEN="$OMNIGRAPH_TOKEN" -e K6_NO_USAGE_REPORT=true "$container" -- sh -euc "$1"
}
holds 'it is not root' inside '[ "$(id -u):$(id -g)" = 12345:12345 ] && ! touch /usr/local/x 2>/dev/null && touch /results/x && rm /results/x'
holds 'k6 has the extension' inside 'k6 version | grep -q "k6/x/omnigraph \[js\]"'
holds 'the CLI starts' inside '"$OMNIGRAPH_BIN" --version'
holds 'the scripts are there, and no tests' inside 'ls /scripts/mix.js /scripts/lib/target.js /examples/first.js && ! ls /scripts/*.go'
holds 'HTTP works' inside 'k6 run --quiet /examples/first.js'
holds 'the CLI and HTTP work side by side' inside 'k6 run --quiet /examples/compare.js'
holds 'a scenario leaves its record' inside 'k6 run --quiet --no-thresholds -e RATE=5 -e DURATION=2s /scripts/mix.js && ls /results/record.json /results/report.html'
holds 'the records of pods are merged' inside 'k6 x omnigraph report -o /results/merged.html /results/record.json && ls /results/merged.html'
# The init is the process that the shell started, and hands on the signal that ends a pod.
holds 'an init stands in front, and passes signals on' inside '
	printf "import { sleep } from \"k6\"; export default function () { console.log(\"begun\"); sleep(60); }" >/home/k6/wait.js
	k6 run --quiet /home/k6/wait.js >/home/k6/out 2>&1 &
	for i in $(seq 200); do if grep -q begun /home/k6/out; then break; fi; sleep 0.1; done
	[ "$(cat /proc/$!/comm)" = tini ]
	kill -TERM $!
	status=0; wait $! || status=$?
	[ "$status" = 105 ]'

echo "$passed passed, $failed failed"
if [ -n "$counts" ]; then echo "$passed $failed 0" >>"$counts"; fi
[ "$failed" -eq 0 ]
