#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The least that a kernel must do: attach behind libxdp's dispatcher, count a flood to the packet, hold
# every algorithm to its definition, and be left as it was.
source "$(dirname "$0")/guest.sh"

# There is no bpffs yet: attach mounts one, for this is the machine. The watcher takes the limiter off again.
test_try() {
	! is_mounted && has 'the limiter was detached' expect_status 1 in_ns B "$RLCTL" attach veth-B --try 1s &&
		is_mounted && nothing_left B veth-B
}
is_mounted() { grep -q " $BPFFS bpf " /proc/mounts; }

test_attach() {
	rl B attach veth-B --mode native && dispatched B veth-B || return
	is "$(names B veth-B)" rlctl_xdp && is "$(rl B status -j | json '.[0].mode')" native &&
		is "$(rl B status -j | json '.[0].program_id')" "$(id_of B veth-B rlctl_xdp)"
}

# ---- exact counts

FLOOD=10000

# send PACKETS FLOOD-ARG…: every one has then been counted. At a rate that a slow guest can follow.
send() {
	local before result
	before=$(stat_of B '.passed.packets + .dropped.packets') &&
		result=$(flood A --rate 10000 --count "$1" "${@:2}") && echo "$result" || return
	is "$(json .sent <<<"$result")" "$1" && eventually 10 counted $((before + $1))
}
counted() { is "$(stat_of B '.passed.packets + .dropped.packets')" "$1"; }

# A quarter of the sources to each rule, and one quarter to none.
test_exact() { # FAMILY
	local before arrived=IpInReceives source=10.78.0.0/16
	[[ $1 == 4 ]] || arrived=Ip6InReceives source=fd78::/48
	rl B apply - <<-'END' || return
	rule 10.78.0.0/18 deny
	rule 10.78.64.0/18 allow
	rule 10.78.128.0/18 limit 1/hour burst 5 per rule
	rule fd78::/50 deny
	rule fd78:0:0:4000::/50 allow
	rule fd78:0:0:8000::/50 limit 1/hour burst 5 per rule
	END
	before=$(counter B "$arrived")
	BEFORE=$(reasons) && send "$FLOOD" --src "$source" || return
	judge $(($(counter B "$arrived") - before))
}
reasons() { stat_of B '.reasons | [.allowed, .unmatched, .within, .denied, .over] | map(.packets) | join(" ")'; }

judge() { # ARRIVED
	local allowed unmatched within denied over a u w d o
	read -r a u w d o <<<"$BEFORE"
	read -r allowed unmatched within denied over <<<"$(reasons)"
	is $((allowed - a + unmatched - u + within - w)) "$1" && is $((within - w)) 5 &&
		is $(($1 + denied - d + over - o)) "$FLOOD" || return
	[[ $allowed -gt $a && $unmatched -gt $u && $denied -gt $d && $over -gt $o ]]
}

# ---- words for which another program is loaded, each with code that the others lack

test_words() {
	rl B apply - <<-'END' && is "$(rl B show veth-B | wc -l)" 3
	rule any established udp limit 100/second
	rule device limit 1000/second share
	rule 10.78.0.0/18 payload 0 deadbeef deny
	END
}

# ---- every algorithm

# passes N RULE [FLOOD-ARG…]: of a hundred packets of one source.
passes() {
	rl B rule flush && rl B rule add 10.78.0.0/16 limit "$2" &&
		send 100 --src 10.78.1.1 "${@:3}" || return
	is "$(rule_stat B 10.78.0.0/16 '"\(.passed.packets) \(.dropped.packets)"')" "$1 $((100 - $1))"
}

# ---- the end

test_detach() {
	local maps
	read -ra maps <<<"$(bpftool -j prog show id "$(id_of B veth-B rlctl_xdp)" | json '.map_ids | join(" ")')"
	[[ ${#maps[@]} -gt 0 ]] && rl B detach veth-B && nothing_left B veth-B && eventually 10 maps_gone "${maps[@]}"
}

veth_pair A B && veth_quiet A B && ns_mute A && in_ns B ethtool -K veth-B gro on || exit 1
t 'the first attach, on trial' test_try
t 'attach behind the dispatcher' test_attach
t 'exact counts, IPv4' test_exact 4
t 'exact counts, IPv6' test_exact 6
t 'established, share and a payload' test_words
t 'token bucket' passes 10 '1/hour burst 10'
t 'leaky bucket' passes 10 'leaky-bucket 1/hour queue 10'
t 'fixed window' passes 10 'fixed-window 10/day'
t 'sliding window' passes 10 'sliding-window 10/day'
t 'sliding log' passes 10 'sliding-log 10/day'
t 'warm-up' passes 1 'warm-up 10/hour ramp 1h'
t 'bytes' passes 10 '10kbyte/day burst 6kbyte' --size 600
t 'detach leaves nothing' test_detach
