#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The figures in the documents are those of docs/bench.json: writing them again changes nothing, and no other
# measurement stands in their prose. That a figure changed by hand is noticed is tried on a copy. How report.py
# judges raw results of the bench is tried on a few.
# shellcheck source=tests/lib.sh
source "$(dirname "$0")/../lib.sh"

check() { "$TOP/tests/bench/figures.py" --check "$@"; }

# copy: the documents into $TMP/top.
copy() { rm -rf "$TMP/top" && mkdir "$TMP/top" && cp -r "$TOP"/*.md "$TOP/docs" "$TMP/top"; }

# noticed FILE SED-SCRIPT [COMPLAINT…]: after this change, which does change something, each is complained of.
noticed() {
	local file
	copy && sed -i -E "$2" "$TMP/top/$1" || return
	! cmp -s "$TOP/$1" "$TMP/top/$1" || _say "$2 changes nothing in $1" || return
	expect_status 1 check "$TMP/top" 2>"$TMP/complaint" || return
	for file in "${@:3}"; do
		grep -q "^$file:" "$TMP/complaint" || _say "nothing about $file: $(<"$TMP/complaint")" || return
	done
}

test_regenerates() { # what was changed by hand is as before
	copy && sed -i -E 's/^(\| 65,536 \| )0\.[0-9]+/\10.01/; s/0\.[0-9]+(<!-- =)/0.01\1/' "$TMP/top/README.md" "$TMP/top/SECURITY.md" &&
		: >"$TMP/top/docs/performance.md" &&
		"$TOP/tests/bench/figures.py" "$TMP/top" && diff -r "$TOP/docs" "$TMP/top/docs" -x bench.svg &&
		cmp "$TOP/README.md" "$TMP/top/README.md" && cmp "$TOP/SECURITY.md" "$TMP/top/SECURITY.md"
}

# raw CANDIDATE PPS: three rounds of a flood from 65,536 sources.
raw() { for round in 1 2 3; do printf 'flood4\t65536\t%s\t%s\t%s\n' "$1" "$round" "$2"; done; }

# reported FILTER: of the rows that report.py makes of a flood in which the floor of a line does not reach the goal.
reported() {
	{
		raw bare 5000000 && raw line-4m 4000000 && raw hot 4400000 && raw device 4800000 && raw nft 1000000
		printf 'run\tseconds\t-\t-\t1\trlctl 1+x\t3\t10\n'
	} >"$TMP/raw"
	echo '{"time": 10, "load": 0.5, "stolen": 1, "others": 7}' >"$TMP/busy-before"
	echo '{"time": 20, "load": 2.5, "stolen": 2, "others": 12}' >"$TMP/busy-after"
	python3 "$TOP/tests/bench/report.py" "$TMP/raw" "$TMP/bench.json" "$TMP" >"$TMP/table" && jq -r "$1" "$TMP/bench.json"
}

row() { echo ".rows[] | select(.section == \"$1\" and .candidate == \"$2\") | $3"; }

test_missed() { # and the floor is beside it
	is "$(reported "$(row flood4 hot '"\(.met) \(.ratio.median) \(.goal.least) \(.floors["line-4m"])"')")" 'false 0.88 0.9 0.8' &&
		grep -q 'hot .* 0.880 of bare .* MISSED (line-4m 0.800)' "$TMP/table"
}

test_no_rows() { # that a document names
	copy && jq 'del(.rows[] | select(.section == "admit"))' "$TOP/docs/bench.json" >"$TMP/top/docs/bench.json" &&
		has 'has no row admit/1/hot' expect_status 1 "$TOP/tests/bench/figures.py" "$TMP/top"
}

# others PID: the seconds of the others, of {process: (parent, seconds)}.
others() {
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$TOP/tests/bench python3 -c "import busy
busy.processes = lambda: {1: (0, 1), 2: (0, 10), 30: (2, 100), 40: (1, 1000), 50: (40, 10000), 51: (50, 20000), 60: (1, 100000)}
print(busy.others($1))"
}

t 'a missed goal is shown with the floor beside it' test_missed
t 'a goal that is met' is "$(reported "$(row flood4 device .met)")" true
t 'rlctl beside one line of memory' is "$(reported "$(row 'times a floor' 'hot / line-4m' '"\(.met) \(.ratio.median)"')")" 'true 1.1'
t 'times a peer: the floor is beside it' is "$(reported "$(row 'times a peer' 'hot / nft' '"\(.met) \(.floors["line-4m"])"')")" 'false 4'
t 'how busy the machine was' is "$(reported '.busy | "\(.load) \(.stolen) \(.others)"')" '0.5 0.1 0.5'
t 'the CPU time of its own processes and of the kernel is not that of others' prints 101001 others 50
t 'a document names a row that was not measured' test_no_rows
t 'every figure is that of docs/bench.json' check
t 'they are written again' test_regenerates
t 'noticed: a share in the table of README.md' noticed README.md '/^\| 65,536 /s/0\.[0-9]+/0.01/' README.md
t 'noticed: nanoseconds in README.md' noticed README.md 's/costs ([0-9]+) ns/costs 9\1 ns/' README.md
t 'noticed: a figure typed into README.md' noticed README.md \
	's/^(## The tree)$/It drops 7 million packets a second.\n\n\1/' README.md:[0-9]*
t 'noticed: a share in SECURITY.md' noticed SECURITY.md \
	's/0\.[0-9]+(<!-- = flood4\/16777216\/hot)/0.01\1/' SECURITY.md
t 'noticed: nanoseconds in SECURITY.md' noticed SECURITY.md 's/([0-9]+<!-- = admit\/8)/9\1/' SECURITY.md
t 'noticed: a figure typed into SECURITY.md' noticed SECURITY.md \
	's/^(## Privileges.*)$/It costs 39 ns.\n\n\1/' SECURITY.md:[0-9]*
t 'noticed: docs/performance.md' noticed docs/performance.md 's/^(\| 8 \| hot \| )/\19/' docs/performance.md
t 'noticed: the plot is of other data' noticed docs/bench.svg 's/^8 [0-9.]+$/8 9999.00/' docs/bench.svg
t 'the plot says of each candidate what was not measured' \
	is "$(grep -c '>not measured<' "$TOP/docs/bench.svg")" "$(sed -n '/^bars:/,/^sources:/p' "$TOP/docs/bench.svg" | grep -o ' -' | wc -l)"
t 'noticed: another measurement' noticed docs/bench.json 's/"median": ([0-9])/"median": 1\1/' \
	docs/performance.md README.md SECURITY.md docs/bench.svg
t 'noticed: other instructions' noticed docs/instructions.json '0,/"instructions": /s//&1/' docs/performance.md
t 'noticed: other handshakes' noticed docs/challenge.json '0,/"median": /s//&1/' docs/performance.md
t 'noticed: other costs of rules' noticed docs/rules.json '0,/"median": /s//&1/' docs/performance.md
t 'noticed: other costs of looking members up' noticed docs/set_lookups.json '0,/"median": /s//&1/' docs/performance.md
t 'noticed: other costs of matches' noticed docs/matches.json '0,/"median": /s//&1/' docs/performance.md
t 'noticed: other costs of sets' noticed docs/sets.json '0,/"median": /s//&1/' docs/performance.md
t 'noticed: other costs of a fleet' noticed docs/fleet_keys.json '0,/"median": /s//&1/' docs/performance.md
t 'noticed: other shares' noticed docs/shares.json '0,/"median": /s//&1/' docs/performance.md
t 'noticed: other costs of asking' noticed docs/proof.json '0,/"median": /s//&1/' docs/performance.md
t 'noticed: lines of memory in docs/performance.md' noticed docs/performance.md \
	's/^(\| drop \|.* IPv4 .*\| )[0-9]+( \| [0-9]+ \|)$/\19\2/' docs/performance.md
