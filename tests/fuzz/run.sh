#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs fuzz targets for a while: `make fuzz FUZZ_S=60 FUZZ=policy`. Inputs that they learn stay in
# build/fuzz/corpus for the next run, findings in build/fuzz/found. Exit 1: there is a finding.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

usage() {
	echo "Usage: run.sh SECONDS [NAME…]    each target, or the named ones, for so long"
}

# figures <LOG: libFuzzer's final figures.
figures() {
	awk '
	/^stat::number_of_executed_units:/ { runs = $2 }
	/^stat::average_exec_per_sec:/ { rate = $2 }
	/ cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") edges = $(i + 1) }
	END { printf "%11d executions %8d/s %6d edges", runs, rate, edges }'
}

# A failing input ends a target; found/ keeps it.
fuzz() { # NAME SECONDS
	local learnt=build/fuzz/corpus/$1 found=build/fuzz/found/$1 log=build/fuzz/$1.log status=0
	local dictionary=tests/fuzz/$1.dict arguments=()
	mkdir -p "$learnt" "$found" || return
	[[ ! -e $dictionary ]] || arguments=(-dict="$dictionary")
	"build/fuzz/fuzz_$1" -max_total_time="$2" -print_final_stats=1 -artifact_prefix="$found/" \
		${arguments[@]+"${arguments[@]}"} "$learnt" "tests/fuzz/corpus/$1" >"$log" 2>&1 || status=1
	printf '%-10s %s, %d findings%s\n' "$1" "$(figures <"$log")" "$status" \
		"$([[ $status == 0 ]] || echo ": $log, $found")"
	return "$status"
}

seconds=${1:-}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { usage >&2 && exit 2; }
shift
failed=0
names=("$@")
[[ $# -gt 0 ]] || mapfile -t names < <(basename -s .c -a tests/fuzz/fuzz_*.c | sed 's/^fuzz_//')
for name in "${names[@]}"; do
	fuzz "$name" "$seconds" || failed=1
done
exit "$failed"
