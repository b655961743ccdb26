#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The house is as docs/architecture.md says: a layer that includes a header of one above it fails the build, with the
# line's place; lines above a budget are a warning, and a row of the table that names no file an error.
source "$(dirname "$0")/../lib.sh"

# A copy of user/, the Makefile and the table, where a file is changed.
cp -r "$TOP/user" "$TOP/Makefile" "$TMP/" && mkdir "$TMP/docs" && cp "$TOP/docs/architecture.md" "$TMP/docs/" || exit 1
TABLE=$TMP/docs/architecture.md

layers_made() { rm -f "$TMP/build/.layers" && make -C "$TMP" build/.layers 2>&1; }

# included LAYER HEADER: a file of the layer includes it, and the build names the place.
included() {
	local status=0 file
	file=$(find "$TMP/user/$1" -name '*.c' | sort | head -n 1)
	cp "$file" "$TMP/kept" && echo "#include \"$2\"" >>"$file" || return
	layers_made >"$TMP/made" || status=$?
	mv "$TMP/kept" "$file" && cat "$TMP/made"
	[[ $status -ne 0 ]] && grep -q "^${file#"$TMP"/}:[0-9]*:#include \"$2\"" "$TMP/made"
}

lines() { (cd "$TMP" && python3 "$TOP/scripts/lines.py"); }

# The table has one row: FILES BUDGET.
table_of() { printf '| files | lines at most |\n|---|---|\n| \x60%s\x60 | %s |\n' "$@" >"$TABLE"; }

test_budget() {
	seq 12 >"$TMP/docs/twelve" && table_of 'docs/twelve' 1,012 && has '12 of   1,012' lines && ! has warning lines 2>/dev/null &&
		table_of 'docs/twelve docs/architecture.md' 10 && has '15 of      10  warning: 5 above' lines
}

test_nothing() { table_of 'docs/*.none' 10 && ! lines 2>"$TMP/said" && grep -q 'docs/\*.none: no such file' "$TMP/said"; }

# The list, the parser of packets, other tools' words, what events tell, and the TTL of answers.
test_field() { [[ $(cd "$TOP" && grep -rlw --include='*.[ch]' ttl bpf include user | tee "$TMP/files" | wc -l) -le 5 ]] || ! cat "$TMP/files"; }

# The kernel's iterator takes references to handshakes that have none yet, and memory is freed that is in use.
test_iterator() { ! grep -rnE 'SEC\("iter(\.s)?/tcp' "$TOP/bpf" "$TOP/tests"; }

t 'the layers stand' layers_made
t 'base includes cli' included base cli/cmd.h
t 'policy includes kernel' included policy kernel/instance/pins.h
t 'kernel includes watch' included kernel watch/seen.h
t 'fleet includes watch' included fleet watch/seen.h
t 'watch includes fleet' included watch fleet/link.h
t 'the layers stand again' layers_made
t 'lines and a budget' test_budget
t 'a row that names no file' test_nothing
t 'a field of a packet is in five files at most' test_field
t 'no program iterates over TCP sockets' test_iterator
