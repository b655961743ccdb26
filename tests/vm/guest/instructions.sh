#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# In a guest whose clock advances by a nanosecond an instruction: the cost of a packet under each policy, as
# "NAME INSTRUCTIONS", beyond an empty program. See tests/bench/instructions.sh.
set -u
declare -A NAME_OF=()

# attach NAME OPTION… <POLICY
attach() {
	local name=$1 id
	ip link add "a-$name" type veth peer name "b-$name" &&
		LIBXDP_SKIP_DISPATCHER=1 build/rlctl -q attach "b-$name" --mode native --policy - "${@:2}" || exit 1
	id=$(ip -j link show "b-$name" | jq -r '.[0].xdp.prog.id')
	NAME_OF[$id]=$name
}

DROP='rule any limit 1/second burst 1'
attach drop <<<"$DROP"
attach drop-lru --table lru <<<"$DROP"
attach drop-prefix <<<"$DROP"$'\n''rule 10.0.0.0/8 limit 1/second burst 1'
attach drop-window <<<'rule any limit sliding-window 1/second'
attach drop-device <<<'rule device limit 1/second burst 1'
attach drop-new <<<"$DROP"$'\n''rule device new-source limit 10000/second burst 1000'
attach stranger <<<'rule any limit 100m/second burst 100m'$'\n''rule device new-source limit 1/day burst 1'
ip link set a-stranger up && ip link set b-stranger up && # another one has had what strangers may
	build/flood -i a-stranger --count 10 --src 10.99.0.1 --rate 100 >/dev/null || exit 1
attach deny <<<'rule any deny'
attach pass <<<'rule any limit 100m/second burst 100m'
attach pass-device <<<'rule any limit 100m/second burst 100m'$'\n''rule device limit 100m/second burst 100m'
attach unmatched <<<''
# measure SUFFIX FLOOR-OPTION…
measure() {
	local suffix=$1
	shift
	build/floor --run --rounds 3 "$@" "${!NAME_OF[@]}" | while read -r _ id instructions _; do
		echo "${NAME_OF[$id]:-$id} $instructions"
	done | sort -k1,1 -k2,2n | awk -v suffix="$suffix" '!seen[$1]++ { cost[$1] = $2 }
		END { for (name in cost) if (name != "empty")
			printf "%s%s %d\n", name, suffix, cost[name] - cost["empty"] + 0.5 }' | sort -k2n
}
measure '' && measure -ipv6 --ipv6 && measure -icmp6 --ipv6 --icmp
