#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The cost of looking an address up in a set of 1 to 1,000,000 members: programs that run over one packet in a loop, in
# turns, beside a rule without a set and an empty program; and floods from all members, beside a rule that drops all and a
# program that only drops. Prints a table, writes docs/set_lookups.json and has figures.py write docs/performance.md; OUT=DIR writes
# the first there instead. ROUNDS (45) and FLOODS (9; 0: none, where the machine has other work) make it longer or shorter.
# Needs root; `make bench-set-lookups` builds what it needs.
ROUNDS=${ROUNDS:-45}
FLOODS=${FLOODS:-9}
source "$(dirname "$0")/bed.sh"
source "$TOP/tests/bench/mechanisms.sh"
cd "$TOP" || exit 1
no_arguments "$@"

# members FAMILY N: those that a flood from N sources comes from, the one of the loops included: 10.0.0.1, 2001:db8::1.
members() {
	python3 - "$1" "$2" <<-'END'
		import sys
		family, count = map(int, sys.argv[1:])
		first = 1 if count == 1 and family == 4 else 0
		for n in range(first, first + count):
		    print(f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}" if family == 4 else f"2001:db8:{n >> 16:x}:{n & 65535:x}::/64")
	END
}

# with_set CANDIDATE RULES FAMILY N: a limiter whose set has so many members; N 0: none.
with_set() {
	limiter "$1" "$(printf 'set members max 2000000\n%s' "$2")" --sources 1024
	[[ $4 -eq 0 ]] || members "$3" "$4" | rl B -q set swap -i "b-$1" members - || die "cannot fill the set of $1"
}

told() { printf '%s\t%s\t%s\t%s\n' "$@" >>"$TMP/told"; } # SECTION CANDIDATE MEMBERS WHAT

# looked_up FAMILY: one packet; the source is a member, or another address of as many is looked for.
looked_up() {
	local n name list=("bare$1")
	limiter "bare$1" 'rule any allow' --sources 1024
	told "one$1" "bare$1" - 'no set'
	with_set "none$1" $'rule @members deny\nrule any allow' "$1" 0
	told "one$1" "none$1" 0 'no member'
	list+=("none$1")
	for n in 1 1024 65536 1048576; do
		name=hit$1-$n
		with_set "$name" $'rule @members allow\nrule any udp allow' "$1" "$n"
		told "one$1" "$name" "$n" member
		list+=("$name")
		[[ $n -gt 1 ]] || continue
		name=miss$1-$n
		with_set "$name" $'rule @members deny\nrule any allow' "$1" "$n"
		rl B -q set del -i "b-$name" members "$(members "$1" 1)" || die "cannot remove a member"
		told "one$1" "$name" "$n" 'no member'
		list+=("$name")
	done
	say "one packet of IPv$1"
	[[ $1 == 4 ]] || local FRAME=--ipv6
	loops "one$1" "${list[@]}"
}

# flooded FAMILY: from as many sources as the set has members.
flooded() {
	# shellcheck disable=SC2034 # for section
	local n TURNS=$FLOODS
	for n in 1 1024 65536 1048576; do
		limiter "all$1-$n" 'rule any deny' --sources 1024
		with_set "set$1-$n" 'rule @members deny' "$1" "$n"
		told "flood$1-$n" "all$1-$n" "$n" 'no set'
		told "flood$1-$n" "set$1-$n" "$n" member
		section "flood$1-$n" "$1" "$n" bare "all$1-$n" "set$1-$n"
	done
}

in_real_time
# shellcheck disable=SC2034 # for loops
declare -A LIMITS_OF=()
ns_new A B || die 'cannot make network namespaces'
looked_up 4
looked_up 6
if [[ $FLOODS -gt 0 ]]; then
	helper bare "$RECEIVER" --bare
	flooded 4
	flooded 6
fi
publish set_lookups "$TMP/told"
