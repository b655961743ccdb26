#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The cost of rules that a packet does not match: programs run over one packet in a loop, in turns, with 1 to 1024 rules on
# as many ports, one of which is the packet's; beside an empty program. Prints a table, writes docs/rules.json and has
# figures.py write docs/performance.md; OUT=DIR writes the first there instead. ROUNDS (45) makes it longer or shorter.
# Needs root; `make bench-rules` builds what it needs.
ROUNDS=${ROUNDS:-45}
source "$(dirname "$0")/bed.sh"
source "$TOP/tests/bench/mechanisms.sh"
cd "$TOP" || exit 1
no_arguments "$@"

# rules N: the packet goes to port 9. Each rule is a limit that admits all.
rules() {
	awk -v n="$1" 'BEGIN {
		for (i = 0; i < n; i++)
			printf "rule any udp dport %d limit 100m/second burst 100m\n", i ? 20000 + 2 * i : 9
	}'
}

in_real_time
declare -A LIMITS_OF=()
ns_new A B || die 'cannot make network namespaces'
for n in 1 8 64 256 1024; do
	LIMITS_OF[rules-$n]=$n
	limiter "rules-$n" "$(rules "$n")"
done
loops rules rules-1 rules-8 rules-64 rules-256 rules-1024
publish rules
