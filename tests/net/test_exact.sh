#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A million packets on a live veth: the generator, stats and the receiver count the same numbers, to the
# packet. The receiver counts twice: its IP layer (all packets that came through) and nftables (each source
# network by itself). check: alone
source "$(dirname "$0")/../lib.sh"

COUNT=1000000
ARRIVED=([4]=IpInReceives [6]=Ip6InReceives) # what came to the IP layer, by family

# A quarter of the sources to each rule, and one quarter to none.
policy() {
	cat <<-'END'
	rule 10.78.0.0/18 deny
	rule 10.78.64.0/18 allow
	rule 10.78.128.0/18 limit 10/second burst 5
	rule fd78::/50 deny
	rule fd78:0:0:4000::/50 allow
	rule fd78:0:0:8000::/50 limit 10/second burst 5
	END
}

nft_counters() {
	in_ns B nft -f - <<-'END'
	table netdev seen {
		counter allow4 {}
		counter limit4 {}
		counter rest4 {}
		counter deny4 {}
		counter allow6 {}
		counter limit6 {}
		counter rest6 {}
		counter deny6 {}
		chain in {
			type filter hook ingress device veth-B priority 0
			ip saddr 10.78.0.0/18 counter name deny4
			ip saddr 10.78.64.0/18 counter name allow4
			ip saddr 10.78.128.0/18 counter name limit4
			ip saddr 10.78.192.0/18 counter name rest4
			ip6 saddr fd78::/50 counter name deny6
			ip6 saddr fd78:0:0:4000::/50 counter name allow6
			ip6 saddr fd78:0:0:8000::/50 counter name limit6
			ip6 saddr fd78:0:0:c000::/50 counter name rest6
		}
	}
	END
}

# seen COUNTER: packets that nftables counted.
seen() {
	in_ns B nft -j list counter netdev seen "$1" | json '.nftables[] | .counter // empty | .packets'
}

# The peer takes the last packets off its ring after the generator has ended.
counted() { # PACKETS
	[[ $(stat_of B '.passed.packets + .dropped.packets') -ge $1 ]]
}

# judge FAMILY BYTES DENY ALLOW LIMIT, SENT and BEFORE set: all that was counted, held together.
judge() {
	local family=$1 size=$2 passed allowed within rest denied over
	read -r passed allowed within rest denied over <<<"$(stat_of B '[.passed.packets] +
		(.reasons | [.allowed, .within, .unmatched, .denied, .over] | map(.packets)) | join(" ")')"
	is $((allowed + within + rest + denied + over)) "$SENT" || return
	is "$(($(counter B "${ARRIVED[$family]}") - BEFORE))" "$passed" &&
		is "$passed" $((allowed + within + rest)) || return
	is "$(seen "deny$family")" 0 && is "$(seen "allow$family")" "$allowed" &&
		is "$(seen "limit$family")" "$within" && is "$(seen "rest$family")" "$rest" || return
	is "$(rule_stat B "$3" .dropped.packets)" "$denied" &&
		is "$(rule_stat B "$3" .passed.packets)" 0 &&
		is "$(rule_stat B "$4" .passed.packets)" "$allowed" &&
		is "$(rule_stat B "$4" .dropped.packets)" 0 &&
		is "$(rule_stat B "$5" .passed.packets)" "$within" &&
		is "$(rule_stat B "$5" .dropped.packets)" "$over" || return
	is "$(stat_of B '.passed.bytes + .dropped.bytes')" $((SENT * size)) &&
		is "$(rule_stat B "$4" .passed.bytes)" $((allowed * size)) || return
	[[ $allowed -gt 0 && $within -gt 0 && $rest -gt 0 && $denied -gt 0 && $over -gt 0 ]]
}

# send FAMILY ARG…: sets SENT; every packet has then been counted.
send() {
	local family=$1 result
	shift
	BEFORE=$(counter B "${ARRIVED[$family]}")
	result=$(flood A --count "$COUNT" "$@") && echo "$result" || return
	is "$(json .exact <<<"$result")" true && SENT=$(json .sent <<<"$result") &&
		eventually 10 counted "$SENT"
}

test_v4() { # MODE
	fresh "$1" && send 4 --src 10.78.0.0/16 || return
	judge 4 60 10.78.0.0/18 10.78.64.0/18 10.78.128.0/18 && [[ $SENT -eq $COUNT ]]
}

test_v6() { # MODE
	fresh "$1" && send 6 --src fd78::/48 --size 100 || return
	judge 6 100 fd78::/50 fd78:0:0:4000::/50 fd78:0:0:8000::/50 && [[ $SENT -eq $COUNT ]]
}

# fresh MODE: an instance and counters that start from zero.
fresh() {
	[[ -z $(xdp_program B veth-B) ]] || rl B detach veth-B || return
	policy >"$TMP/policy"
	in_ns B nft flush ruleset && nft_counters && rl B attach veth-B --mode "$1" --policy "$TMP/policy"
}

veth_pair A B && veth_quiet A B && ns_mute A && in_ns B ethtool -K veth-B gro on || exit 1
t 'a million IPv4 packets, native' test_v4 native
t 'a million IPv6 packets, native' test_v6 native
t 'a million IPv4 packets, generic' test_v4 generic
t 'a million IPv6 packets, generic' test_v6 generic
