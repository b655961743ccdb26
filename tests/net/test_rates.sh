#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Under overload a limit admits burst + rate × time: within 1 % of the rate over some seconds, and never more
# but for one tick. Times are those that the senders measured. At full speed: test_rates_cpus.sh. check: processor
source "$(dirname "$0")/../lib.sh"

# one_rule RULE: the whole policy, with fresh state and counters.
one_rule() { rl B rule flush && rl B apply - <<<"rule $1" && rl B show; }

# hold RULE UNIT RATE BURST SOURCES FLOOD-ARG…: flood for two seconds.
hold() {
	local rule=$1 unit=$2 rate=$3 burst=$4 sources=$5 result
	shift 5
	one_rule "$rule" && result=$(flood A --seconds 2 "$@") && echo "$result" && rl B stats || return 1
	admitted "$(rule_stat B "${rule%% *}" ".passed.$unit")" $((rate * sources)) $((burst * sources)) \
		"$(json .seconds <<<"$result")" || return # 2 where the sender was too slow
	[[ $(rule_stat B "${rule%% *}" .dropped.packets) -gt 0 ]]
}

veth_pair A B && veth_quiet A B && rl B attach veth-B || exit 1
PACKETS='--rate 100000 --src 10.77.0.1'
# shellcheck disable=SC2086 # PACKETS is several words
{
	t 'packets, a long burst' patiently hold 'any limit 5000/second burst 1000' packets 5000 1000 1 $PACKETS
	t 'packets, a short burst' patiently hold 'any limit 5000/second burst 250' packets 5000 250 1 $PACKETS
	t 'packets per minute' patiently hold 'any limit 60k/minute burst 100' packets 1000 100 1 $PACKETS
}
t 'packets, IPv6' patiently hold 'fd78::/32 limit 5000pps burst 250' packets 5000 250 1 --rate 50000 --src fd78::1
t 'bytes' patiently hold 'any limit 1mbyte/second burst 100kbyte' bytes 1000000 100000 1 --rate 20000 --size 1000
t 'bits' patiently hold 'any limit 8mbit burst 50kbyte' bytes 1000000 50000 1 --rate 20000 --size 500
t 'two sources have a rate each' patiently hold '10.78.0.0/24 limit 5000/second burst 250' packets 5000 250 2 \
	--rate 50000 --src 10.78.0.0/31 --sequential
t 'a hundred sources share a rule' patiently hold '10.78.0.0/24 limit 5000/second burst 250 per rule' packets 5000 250 1 \
	--rate 50000 --src 10.78.0.0/25
t 'IPv6 sources are /64 networks' patiently hold 'fd78::/32 limit 5000/second burst 250' packets 5000 250 2 \
	--rate 50000 --src fd78::/63
