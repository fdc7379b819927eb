#!/usr/bin/env bash
# Checks index.d.ts, every script and every example with tsc and k6's own types, and that a bundle of an example runs.
# Needs node and npm; installs what else it needs below .cache/.
set -uo pipefail
cd "$(dirname "$0")/../.."
counts=${1:-}
typescript=5.9.3 types=2.2.0 esbuild=0.28.1

command -v npm >/dev/null || { echo "check-types: npm is not there; install node" >&2; exit 1; }
cache=.cache/types
mkdir -p "$cache"
if [ ! -e "$cache/installed-$typescript-$types-$esbuild" ]; then
	(cd "$cache" && npm init -y >/dev/null && npm install --no-audit --no-fund --silent "typescript@$typescript" "@types/k6@$types" "esbuild@$esbuild") || exit 1
	touch "$cache/installed-$typescript-$types-$esbuild"
fi
cat >"$cache/tsconfig.json" <<'JSON'
{
  "compilerOptions": {
    "target": "es2023", "module": "esnext", "moduleResolution": "bundler", "lib": ["es2023", "dom"], "types": ["k6"],
    "typeRoots": ["node_modules/@types"], "allowJs": true, "checkJs": true, "noEmit": true, "strict": false, "skipLibCheck": false
  },
  "files": ["../../index.d.ts"],
  "include": ["../../examples/*.js", "../../scripts/**/*.js", "../../test/*.js", "../../smoke.js"]
}
JSON

# What a TypeScript user writes is checked strictly.
sed 's/"strict": false/"strict": true/; s#"include": .*#"include": ["../../test/types/*.ts"]#' "$cache/tsconfig.json" >"$cache/tsconfig.strict.json"

passed=0 failed=0
result() {
	if "${@:2}"; then passed=$((passed + 1)); echo "ok    $1"; else failed=$((failed + 1)); echo "FAIL  $1"; fi
}
bundle_runs() {
	"$cache/node_modules/.bin/esbuild" smoke.js --bundle --external:k6 '--external:k6/*' --format="$1" --outfile="$cache/smoke.$1.js" --log-level=warning &&
		bin/k6 run --quiet --no-usage-report --summary-mode=disabled "$cache/smoke.$1.js"
}
tsc="$cache/node_modules/.bin/tsc"
result 'types of scripts and examples' "$tsc" --noEmit -p "$cache/tsconfig.json"
result 'types, strict' "$tsc" --noEmit -p "$cache/tsconfig.strict.json"
result 'bundle, CommonJS' bundle_runs cjs
result 'bundle, ESM' bundle_runs esm
echo "$passed passed, $failed failed"
if [ -n "$counts" ]; then echo "$passed $failed 0" >>"$counts"; fi
[ "$failed" -eq 0 ]
