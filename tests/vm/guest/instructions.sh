#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# In a guest: attaches a program for each policy, says "row NAME PACKET ID SOURCE…" of each, "policy NAME TEXT" and
# "symbol ADDRESS NAME" of the kernel's functions, and becomes build/steps, which runs the programs as the other end of
# the serial line says. See tests/bench/instructions.sh.
set -u
source tests/bench/policy_texts.sh

# They differ in each of the keys that the policies count by.
declare -A SOURCES=([IPv4]='10.11.12.13 10.200.77.5 10.97.200.44'
	[IPv6]='2001:db8:b:c::1 2001:db8:a2c8:4d05::1 2001:db8:6161:c82c::1')
SOURCES[ICMPv6]=${SOURCES[IPv6]//::1/::1,icmp}
SOURCES[SYN]='10.11.12.13,syn 10.200.77.5,syn 10.97.200.44,syn'
SOURCES[TCP]='10.11.12.13,tcp 10.200.77.5,tcp 10.97.200.44,tcp'

# tell NAME ID POLICY PACKET…
tell() {
	local name=$1 id=$2 rules packet
	mapfile -t rules <<<"$3"
	[[ ${#rules[@]} -le 2 ]] || rules=("${rules[0]}" "and $((${#rules[@]} - 1)) more")
	printf "policy $name %s\n" "${rules[@]}"
	for packet in "${@:4}"; do
		echo "row $name $packet $id ${SOURCES[$packet]}"
	done
}

# cable: a-N and b-N, where N is $CABLE; a row's name may be longer than a device's.
CABLE=0
cable() {
	CABLE=$((CABLE + 1))
	ip link add "a-$CABLE" type veth peer name "b-$CABLE"
}

# wanted ROW: all are, or those that /rows names.
wanted() { [[ ! -s /rows ]] || grep -qxF -- "$1" /rows; }

program_id() { ip -j link show "b-$CABLE" | jq -r '.[0].xdp.prog.id'; }

# attach "NAME [PACKET…]" POLICY OPTION…: with IPv4 and IPv6 packets, or the named ones.
attach() {
	local name packets policy=$2
	read -r name packets <<<"$1"
	wanted "$name" || return 0
	cable && LIBXDP_SKIP_DISPATCHER=1 build/rlctl -q attach "b-$CABLE" --mode native --policy - "${@:3}" \
		<<<"$policy" || exit 1
	[[ $# -eq 2 ]] || policy+=$'\n'"attach ${*:3}"
	# shellcheck disable=SC2086 # words
	tell "$name" "$(program_id)" "$policy" ${packets:-IPv4 IPv6}
}

# both RULE RULE
both() { printf '%s\n%s' "$1" "$2"; }

# generous N: N limits that admit all packets, each by another key.
generous() {
	local i
	for ((i = 0; i < $1; i++)); do
		echo "rule any limit 100m/second burst 100m per source/$((32 - 3 * i)),64"
	done
}

# prefixes ACTION: of 1,000 prefixes, the sources' own among them.
prefixes() {
	local i j
	for ((i = 0; i < 250; i++)); do
		for j in 12 77 200 250; do
			echo "rule 10.$i.$j.0/24 $1"
		done
	done
}

# alone "NAME PACKET…" POLICY: with small tables, as there are many.
alone() { attach "$@" --sources 1024; }

# ports PREFIX N: rules of a port each; the first is the packet's.
ports() {
	local i
	for ((i = 0; i < $2; i++)); do
		echo "rule $1 udp dport $((9 + i)) deny"
	done
}

# filters N: so many, of which the last one matches.
filters() {
	local i
	for ((i = 1; i < $1; i++)); do
		echo "rule any filter \"udp port $((9 + i))\" deny"
	done
	echo 'rule any filter "udp port 9" deny'
}

# alarms N RULE…: so many that count every packet, and the rules.
alarms() {
	local i
	for ((i = 1; i <= $1; i++)); do
		echo "alarm a$i when udp over 10m/second for 1s until under 1m/second for 10s"
	done
	printf 'rule %s\n' "${@:2}"
}

# The look-up that a limiter by source cannot do without; its keys are of its own.
floor() {
	wanted floor || return 0
	cable && : >/tmp/floor || exit 1
	build/floor -i "b-$CABLE" --keys 131072 2>/tmp/floor &
	until grep -q attached /tmp/floor; do
		kill -0 $! 2>/dev/null && sleep 0.1 || exit 1
	done
	echo "policy floor one look-up of the source in an LRU map, and no limit"
	echo "row floor IPv4 $(program_id) 10.0.0.1 10.0.77.5 10.1.200.44"
}

DROP='limit 1/second burst 1'
PASS='limit 100m/second burst 100m'
floor
attach 'drop IPv4 IPv6 ICMPv6' "rule any $DROP"
attach drop-lru "rule any $DROP" --table lru
attach drop-window 'rule any limit sliding-window 1/second'
attach drop-device "rule device $DROP"
attach drop-both "$(both "rule any $DROP" "rule device $DROP")"
attach 'drop-prefix IPv4' "$(both "rule any $DROP" "rule 10.0.0.0/8 $DROP")"
attach 'drop-prefixes IPv4' "$(prefixes "$DROP")"
attach drop-new "$(both "rule any $DROP" 'rule device new-source limit 10000/second burst 1000')"
attach stranger "$(both "rule any $PASS" 'rule device new-source limit 1/day burst 1')"
if wanted stranger; then
	ip link set "a-$CABLE" up && ip link set "b-$CABLE" up && # another one has had what strangers may
		build/flood -i "a-$CABLE" --count 10 --src 10.99.0.1 --rate 100 >/dev/null || exit 1
fi
attach deny 'rule any deny'
attach 'pass IPv4 IPv6 ICMPv6' "rule any $PASS"
attach pass-device "$(both "rule any $PASS" "rule device $PASS")"
attach pass-2 "$(generous 2)"
attach pass-8 "$(generous 8)"
attach 'pass-prefixes IPv4' "$(prefixes "$PASS")"
attach unmatched ''
alone 'pass-dest-dport IPv4 IPv6' "rule any $PASS per dest+dport"
alone 'drop-dest-dport IPv4 IPv6' "rule any $DROP per dest+dport"
alone 'pass-account IPv4 IPv6' "rule any $PASS per account 17"
alone 'drop-account IPv4 IPv6' "rule any $DROP per account 17"
alone 'pass-flow IPv4 IPv6' "rule any $PASS per flow"
# One match each: what the packet costs more than in the first of these, or with `udp` or `tcp` alone.
alone 'match-none IPv4 TCP ICMPv6' 'rule any deny'
alone 'match-udp IPv4' 'rule any udp deny'
alone 'match-src IPv4' 'rule any udp src 10.0.0.0/8 deny'
alone 'match-dst IPv4' 'rule any udp dst 10.77.0.2 deny'
alone 'match-sport IPv4' 'rule any udp sport 40000 deny'
alone 'match-dport IPv4' 'rule any udp dport 9 deny'
alone 'match-list IPv4' 'rule any udp dport 7,9,20-30 deny'
alone 'match-not IPv4' 'rule any udp not dport 10 deny'
alone 'match-length IPv4' 'rule any udp length 30-60 deny'
alone 'match-ttl IPv4' 'rule any udp ttl 64 deny'
alone 'match-dscp IPv4' 'rule any udp dscp 0 deny'
alone 'match-fragment IPv4' 'rule any udp not fragment deny'
alone 'match-payload IPv4' 'rule any udp payload 0 00000000 deny'
alone 'match-payload-16 IPv4' 'rule any udp payload 2 00000000000000000000000000000000 deny'
alone 'match-tcp TCP' 'rule any tcp deny'
alone 'match-dport-tcp TCP' 'rule any tcp dport 9 deny'
alone 'match-syn TCP' 'rule any not syn deny'
alone 'match-flags TCP' 'rule any tcp flags ack deny'
alone 'match-established TCP' 'rule any tcp not established deny'
alone 'match-icmp ICMPv6' 'rule any icmp6 deny'
alone 'match-icmp-type ICMPv6' 'rule any icmp6 icmp-type echo-request deny'
alone 'match-icmp-code ICMPv6' 'rule any icmp6 icmp-type echo-request code 0 deny'
alone 'match-all IPv4' "rule any udp sport 40000 dport 9 src 10.0.0.0/8 dst 10.77.0.2 length 30-60 ttl 64 dscp 0 \
not fragment payload 0 00000000 filter \"udp port 9\" deny"
for count in 1 8 32; do
	alone "filter-$count IPv4" "$(filters "$count")"
done
# Against match-udp; the first alarm is off. while-none: what the rule costs without the word.
alone 'alarm-1 IPv4' "$(alarms 1 'any udp deny')"
alone 'alarm-8 IPv4' "$(alarms 8 'any udp deny')"
alone 'alarm-16 IPv4' "$(alarms 16 'any udp deny')"
alone 'while-none IPv4' "$(alarms 1 'any tcp deny' 'any udp deny')"
alone 'while IPv4' "$(alarms 1 'any tcp deny while a1' 'any udp deny')"
alone 'while-not IPv4' "$(alarms 1 'any udp deny while not a1')"
# The packet's port is in the first of them.
for count in 1 8 64 256 1024; do
	alone "rules-$count IPv4" "$(ports any "$count")"
	alone "prefix-rules-$count IPv4" "$(ports 10.0.0.0/8 "$count")"
done
# Whole policies that refuse the packet, of which no rule names the port.
for name in plain-new quick-start web game-alarm ports-256 set-million filter; do
	alone "whole-$name IPv4 SYN TCP" "$(grep '^[^#]' <<<"${TEXT[$name]}")"
	[[ $name != set-million ]] || ! wanted "whole-$name" || # a few of them take as many instructions
		printf '100.64.0.%d\n' {0..255} | build/rlctl -q set swap -i "b-$CABLE" bad - || exit 1
done
awk '$2 ~ /[tT]/ && $3 ~ /^(__|___)?(bpf|htab|trie|array|ktime|jhash|longest|lru|mem)/ { print "symbol", $1, $3 }' /proc/kallsyms
echo ready
exec build/steps </dev/ttyS1
