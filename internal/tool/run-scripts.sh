#!/usr/bin/env bash
# Runs test/*.test.js and every example on bin/k6 against one rig, and adds the counts to the file given.
set -uo pipefail
cd "$(dirname "$0")/../.."
counts=${1:-}

if [ -z "${IN_RIG:-}" ]; then
	IN_RIG=1 exec bin/k6 x omnigraph rig run --rows 200 -- "$0" "$counts"
fi

# slow tells whether a run crossed limits on durations and no others: they are promises of a machine without other work.
slow() {
	local crossed
	crossed=$(printf '%s\n' "$1" | sed -nE "s/.*thresholds on metrics '(.*)' have been crossed.*/\1/p")
	[ -n "$crossed" ] && ! printf '%s\n' "$crossed" | sed 's/, /\n/g' | grep -qv '^omnigraph_op_duration'
}

passed=0 failed=0
for script in smoke.js test/*.test.js examples/*.js; do
	status=0
	out=$(bin/k6 run --quiet --no-usage-report --no-color "$script" 2>&1) || status=$?
	if [ "$status" = 0 ] || { [ "$status" = 99 ] && slow "$out"; }; then
		checks=$(printf '%s\n' "$out" | sed -nE 's/^ *checks_failed\.*: [0-9.]+% *([0-9]+) out of.*/\1/p')
		if [ "${checks:-0}" = 0 ]; then
			passed=$((passed + 1))
			echo "ok    $script"
			continue
		fi
	fi
	failed=$((failed + 1))
	echo "FAIL  $script"
	printf '%s\n' "$out" | tail -n 60
done
# As `xk6 test` runs them, with flags in place of their scenarios.
for script in smoke.js test/*.test.js; do
	if out=$(bin/k6 --log-format=json --no-usage-report --address=127.0.0.1:0 --vus=1 --iterations=1 --no-color --quiet --summary-mode=disabled run "$script" 2>&1); then
		passed=$((passed + 1))
		echo "ok    $script, as xk6 test runs it"
	else
		failed=$((failed + 1))
		echo "FAIL  $script, as xk6 test runs it"
		printf '%s\n' "$out" | tail -n 60
	fi
done
echo "$passed passed, $failed failed"
if [ -n "$counts" ]; then echo "$passed $failed 0" >>"$counts"; fi
[ "$failed" -eq 0 ]
