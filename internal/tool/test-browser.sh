#!/usr/bin/env bash
# Looks at the HTML report in a real browser: light and dark, narrow and wide. Installs Debian's Chromium where no
# browser is found and the system is Debian's.
set -uo pipefail
cd "$(dirname "$0")/../.."
counts=${1:-}
if [ -z "${CHROMIUM:-}" ] && ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then
	if ! command -v apt-get >/dev/null; then
		echo "test-browser: no Chromium found; install it or name it in CHROMIUM" >&2
		exit 1
	fi
	apt-get -o Acquire::Retries=3 update -qq >/dev/null && DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 -o DPkg::Lock::Timeout=120 install -y -qq --no-install-recommends chromium >/dev/null || exit 1
fi
exec go run ./internal/tool/testcount -counts "$counts" -- go test -json -tags browser -run TestThePageFitsEveryScreenInBothSchemes -timeout 5m ./report
