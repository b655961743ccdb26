#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The cost of each match, of filters and of keys: programs run over one packet in a loop, in turns, with one rule that
# matches it, beside a rule without a match and an empty program. Prints a table, writes docs/matches.json and has
# figures.py write docs/performance.md; OUT=DIR writes the first there instead. ROUNDS (45) makes it longer or shorter.
# Needs root; `make bench-matches` builds what it needs.
ROUNDS=${ROUNDS:-45}
source "$(dirname "$0")/bed.sh"
source "$TOP/tests/bench/mechanisms.sh"
cd "$TOP" || exit 1
no_arguments "$@"

# filters N: so many, of which the last one matches.
filters() {
	local i
	for ((i = 1; i < $1; i++)); do
		echo "rule any filter \"udp port $((9 + i))\" allow"
	done
	echo 'rule any filter "udp port 9" allow'
}

# measure SECTION POLICY…: of many rules, the first and how many follow are told.
measure() {
	local section=$1 policy lines names=()
	shift
	for policy in "$@"; do
		names+=("$section-${#names[@]}")
		limiter "${names[-1]}" "$policy" --sources 1024
		mapfile -t lines <<<"$policy"
		[[ ${#lines[@]} -eq 1 ]] || lines=("${lines[0]}; and $((${#lines[@]} - 1)) more")
		printf '%s\t%s\t%s\n' "$section" "${names[-1]}" "${lines[0]}" >>"$TMP/policies"
	done
	say "$section: ${#names[@]} policies"
	loops "$section" "${names[@]}"
}

in_real_time
# shellcheck disable=SC2034 # for loops
declare -A LIMITS_OF=()
ns_new A B || die 'cannot make network namespaces'
measure udp 'rule any allow' 'rule any udp allow' 'rule any udp src 10.0.0.0/8 allow' 'rule any udp dst 10.77.0.2 allow' \
	'rule any udp sport 40000 allow' 'rule any udp dport 9 allow' 'rule any udp dport 7,9,20-30 allow' \
	'rule any udp not dport 10 allow' 'rule any udp length 30-60 allow' 'rule any udp ttl 64 allow' 'rule any udp dscp 0 allow' \
	'rule any udp not fragment allow' 'rule any udp payload 0 00000000 allow' \
	'rule any udp payload 2 00000000000000000000000000000000 allow' "$(filters 1)" "$(filters 8)" "$(filters 32)" \
	"rule any udp sport 40000 dport 9 src 10.0.0.0/8 dst 10.77.0.2 length 30-60 ttl 64 dscp 0 not fragment payload 0 00000000 \
filter \"udp port 9\" allow"
FRAME=--tcp measure tcp 'rule any allow' 'rule any tcp allow' 'rule any tcp dport 9 allow' 'rule any not syn allow' \
	'rule any tcp flags ack allow'
FRAME=--icmp measure icmp 'rule any allow' 'rule any icmp allow' 'rule any icmp icmp-type echo-request allow' \
	'rule any icmp icmp-type echo-request code 0 allow'
PASS='limit 100m/second burst 100m'
measure keys "rule any $PASS" "rule any $PASS per dest" "rule any $PASS per dest+dport" "rule any $PASS per source+dport" \
	"rule any $PASS per flow"
publish matches "$TMP/policies"
