#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Sets as a user meets them: a single `set add` beside an empty set and beside a million members, a stream of a million
# adds, swaps and a list of a million, with and without a flood, and what a member takes of memory. Prints a table,
# writes docs/sets.json and has figures.py write docs/performance.md; OUT=DIR writes the first there instead. ROUNDS (5)
# and MEMBERS (1000000) make it longer or shorter. Needs root; `make bench-sets` builds what it needs.
ROUNDS=${ROUNDS:-5}
source "$(dirname "$0")/bed.sh"
cd "$TOP" || exit 1

MEMBERS=${MEMBERS:-1000000}
SINGLE=20 # processes in a row
no_arguments "$@"

# timed CANDIDATE CASE ROUND PARTS CMD…: seconds, divided by so many parts.
timed() {
	local from=$EPOCHREALTIME parts=$4
	"${@:5}" >/dev/null || die "failed: ${*:5}"
	record sets "$2" "$1" "$3" "$(jq -n "($EPOCHREALTIME - $from) / $parts")"
}

# addresses FAMILY SEED: MEMBERS of them, nearly all different.
addresses() {
	awk -v n="$MEMBERS" -v family="$1" -v seed="$2" 'BEGIN {
		srand(seed)
		for (i = 0; i < n; i++)
			if (family == 4)
				printf "%d.%d.%d.%d\n", 1 + rand() * 200, rand() * 256, rand() * 256, rand() * 256
			else
				printf "2001:db8:%x:%x::%x\n", rand() * 65536, rand() * 65536, rand() * 65536
	}'
}

singles() {
	local i
	for ((i = 0; i < SINGLE; i++)); do
		"$RLCTL" set add one "10.$1.$((i / 256)).$((i % 256))" -q || return
	done
}

versions() {
	local i
	for ((i = 0; i < SINGLE; i++)); do "$RLCTL" --version || return; done
}

# The memory of the map of pages, as the kernel accounts for it, and how many members it holds.
memory() { # FAMILY
	local bytes count
	bytes=$(bpftool -j map show pinned "$(members_pin)" | json .bytes_memlock) &&
		count=$(rl B set list -j | json "[.sets[].ipv$1] | add") || return
	record sets "$count" "memory ipv$1" 0 "$(jq -n "$bytes / $count")"
}
members_pin() {
	local pin
	for pin in "$(ns_pins B)"/veth-B-xdp/map-*; do
		[[ $(bpftool -j map show pinned "$pin" | jq -r .name) != rlctl_members ]] || echo "$pin"
	done
}

begin() {
	veth_pair A B && printf 'set many max 4000000\nset one max 100000\nrule @many deny\nrule @one deny\n' >"$TMP/policy" &&
		rl B attach veth-B --policy "$TMP/policy" -q && addresses 4 1 >"$TMP/first" && addresses 4 2 >"$TMP/second" &&
		addresses 6 3 >"$TMP/ipv6"
}

begin || die 'cannot attach'
# `-n` would enter the namespace in each call: the calls that are timed are in it already.
in_b() { in_ns B bash -c "SINGLE=$SINGLE RLCTL=$RLCTL; $(declare -f singles versions); \"\$@\"" - "$@"; }

for ((round = 0; round < ROUNDS; round++)); do
	{ rl B set flush many -q && rl B set flush one -q; } || die 'cannot empty the sets'
	timed 'rlctl --version' 0 "$round" "$SINGLE" in_b versions
	timed 'set add' 0 "$round" "$SINGLE" in_b singles "$round"
	timed 'stream' "$MEMBERS" "$round" "$MEMBERS" rl B set add many - -q <"$TMP/first"
	timed 'set add' "$MEMBERS" "$round" "$SINGLE" in_b singles $((round + 100))
	timed 'list' "$MEMBERS" "$round" 1 rl B set list many
	timed 'swap' "$MEMBERS" "$round" 1 rl B set swap many "$TMP/second" -q
	bg in_ns A "$FLOOD" -i veth-A --src "$(head -n 1 "$TMP/first")" --seconds 60
	timed 'swap under flood' "$MEMBERS" "$round" 1 rl B set swap many "$TMP/first" -q
	kill -- "-$BG_PID"
	wait "$BG_PID"
	say "round $((round + 1)) of $ROUNDS"
done
{ rl B set flush one -q && memory 4; } || die 'no memory of IPv4'
{ rl B set swap many "$TMP/ipv6" -q && rl B set swap many "$TMP/ipv6" -q && memory 6; } || die 'no memory of IPv6'

publish sets
