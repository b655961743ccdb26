#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Every fuzz target over its corpus, and over a fixed number of further inputs from a fixed seed: the same
# ones on every machine. `make fuzz` runs for hours. check: idle check: timeout 1200 check: builds fuzzers
# shellcheck source=tests/lib.sh
source "$(dirname "$0")/../lib.sh"

# Those that go through files and sockets are slow.
declare -A RUNS=([capture]=8000 [exporter]=3000 [redis]=8000)
RUNS_USUAL=40000

# Newly learnt inputs go to a temporary directory.
fuzz() { # NAME
	local dictionary=$TOP/tests/fuzz/$1.dict arguments=()
	[[ ! -e $dictionary ]] || arguments=(-dict="$dictionary")
	mkdir "$TMP/$1" && "$TOP/build/fuzz/fuzz_$1" -runs="${RUNS[$1]:-$RUNS_USUAL}" -seed=1 -verbosity=0 \
		-artifact_prefix="$TMP/found-" ${arguments[@]+"${arguments[@]}"} "$TMP/$1" \
		"$TOP/tests/fuzz/corpus/$1"
}

# A target without inputs to start from learns little.
corpus_is_small() { # NAME
	local inputs bytes
	inputs=$(find "$TOP/tests/fuzz/corpus/$1" -type f | wc -l)
	bytes=$(find "$TOP/tests/fuzz/corpus/$1" -type f -printf '%s\n' | awk '{ n += $1 } END { print n }')
	between "$inputs" 5 100 && between "$bytes" 1 16384
}

for source in "$TOP"/tests/fuzz/fuzz_*.c; do
	name=$(basename -s .c "$source") name=${name#fuzz_}
	t "fuzz: $name" fuzz "$name"
	t "fuzz: $name has a corpus, and a small one" corpus_is_small "$name"
done
