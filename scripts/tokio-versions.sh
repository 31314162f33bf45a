#!/usr/bin/env bash
# Duels of Tokio versions against the newest of them: see --help.
set -euo pipefail

plan=docs/findings/tokio.toml
base=1.54.1
versions=(1.45.1 1.46.1 1.47.1 1.48.0 1.49.0 1.50.0 1.51.0 1.51.1 1.52.0 1.52.1 1.53.0 1.53.3)

if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then
    cat <<EOF
Usage: scripts/tokio-versions.sh FILE [BUDGET]

Duels versions of Tokio against $base by the plan $plan, BUDGET each
(default: 60s):
${versions[*]}
Appends a line of JSON for each to FILE; versions that it already has are not measured again. Then
prints a table in Markdown. Each version is built once, in target/duel.
EOF
    exit
fi
if [ $# -lt 1 ] || [ $# -gt 2 ]; then
    echo "$0: give a FILE for the results: see --help" >&2
    exit 2
fi
file=$1 budget=${2:-60s}
for tool in cargo jq; do
    command -v "$tool" >/dev/null || { echo "$0: there is no $tool: install it" >&2; exit 1; }
done
file=$(realpath -- "$file")
cd "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.."

touch -- "$file"
for version in "${versions[@]}"; do
    if ! jq -en --arg side "tokio@$version" 'any(inputs; (.sides[1] | split(" ")[0]) == $side)' "$file" >/dev/null; then
        # 3: nothing can be said, which the table shows.
        cargo run --release --quiet -- duel "tokio@$base" "tokio@$version" --plan "$plan" \
            --budget "$budget" --format json >>"$file" || [ $? = 3 ]
    fi
done

jq -rs --from-file scripts/lib/versions.jq "$file"
