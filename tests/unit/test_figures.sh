#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The figures in the documents are those of docs/bench.json: writing them again changes nothing, and no other
# measurement stands in their prose. That a figure changed by hand is noticed is tried on a copy.
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
	copy && sed -i -E 's/0\.90/0.99/' "$TMP/top/README.md" "$TMP/top/SECURITY.md" && : >"$TMP/top/docs/performance.md" &&
		"$TOP/tests/bench/figures.py" "$TMP/top" && diff -r "$TOP/docs" "$TMP/top/docs" -x bench.svg &&
		cmp "$TOP/README.md" "$TMP/top/README.md" && cmp "$TOP/SECURITY.md" "$TMP/top/SECURITY.md"
}

t 'every figure is that of docs/bench.json' check
t 'they are written again' test_regenerates
t 'noticed: a share in the table of README.md' noticed README.md '/65,536/s/0\.90/0.91/' README.md
t 'noticed: nanoseconds in README.md' noticed README.md 's/costs [0-9]+ ns/costs 12 ns/' README.md
t 'noticed: a figure typed into README.md' noticed README.md \
	's/^(## The tree)$/It drops 7 million packets a second.\n\n\1/' README.md:[0-9]*
t 'noticed: a share in SECURITY.md' noticed SECURITY.md \
	's/0\.[0-9]+(<!-- = flood4\/16777216\/hot)/0.72\1/' SECURITY.md
t 'noticed: nanoseconds in SECURITY.md' noticed SECURITY.md 's/[0-9]+(<!-- = admit\/8)/318\1/' SECURITY.md
t 'noticed: a figure typed into SECURITY.md' noticed SECURITY.md \
	's/^(## Privileges.*)$/It costs 39 ns.\n\n\1/' SECURITY.md:[0-9]*
t 'noticed: docs/performance.md' noticed docs/performance.md 's/343\.0 ns/318.0 ns/' docs/performance.md
t 'noticed: the plot is of other data' noticed docs/bench.svg 's/^8 342\.99$/8 318.00/' docs/bench.svg
t 'noticed: another measurement' noticed docs/bench.json 's/"median": (4851400|0\.74632|342\.99)/"median": 1\1/' \
	docs/performance.md README.md SECURITY.md docs/bench.svg
t 'noticed: other instructions' noticed docs/instructions.json '0,/"instructions": /s//&1/' docs/performance.md
t 'noticed: lines of memory in docs/performance.md' noticed docs/performance.md \
	's/^(\| drop \|.* IPv4 .*\| )[0-9]+( \| [0-9]+ \|)$/\19\2/' docs/performance.md
