#!/usr/bin/env bash
# Takes the README's picture of the sample report: docs/sample-reports/spike.png of spike.html beside it, in Chromium.
set -euo pipefail
cd "$(dirname "$0")/../.."
browser=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome)} ||
	{ echo "picture: no Chromium found; install it or name it in CHROMIUM" >&2; exit 1; }
flags=(--headless --disable-gpu --hide-scrollbars --blink-settings=preferredColorScheme=1 --window-size=860,1130)
if [ "$(id -u)" = 0 ]; then flags+=(--no-sandbox); fi
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
"$browser" "${flags[@]}" --user-data-dir="$profile" --screenshot="$PWD/docs/sample-reports/spike.png" "file://$PWD/docs/sample-reports/spike.html" >/dev/null 2>&1
test -s docs/sample-reports/spike.png
