#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Hooks ingress and egress, by tcx and by clsact: attach and detach leave no trace, also beside filters of
# others and after a crash; several hooks of one device; marks; headers outside of an skb's linear part.
# Programs of others at tcx are in test_tcx.sh. check: timeout 400
source "$(dirname "$0")/../lib.sh"

OTHER=$TOP/build/filter.bpf.o
WAY=tcx # or clsact, which is what kernels before 6.6 have

# by WAY CMD…
by() {
	local WAY=$1 RLCTL=$RLCTL
	if [[ $WAY == clsact ]]; then
		printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$TOP/build/older" "$RLCTL" >"$TMP/clsact" && chmod +x "$TMP/clsact"
		RLCTL=$TMP/clsact
	fi
	"${@:2}"
}

qdiscs() { tc -n "$(ns B)" qdisc show dev veth-B; }
filters() { tc -n "$(ns B)" filter show dev veth-B "$1"; }
tcx() { in_ns B "$TOP/build/tcx" veth-B "$1" list; }
programs() { if [[ $WAY == tcx ]]; then tcx "$1"; else filters "$1"; fi; }
traceless() {
	is "$(qdiscs)" "$BEFORE" && is "$(tcx ingress 2>/dev/null)$(tcx egress 2>/dev/null)" '' && [[ ! -e $(ns_pins B) ]]
}

# ---- life

test_life() { # HOOK
	rl B attach veth-B --hook "$1" && has 'rlctl_tc' programs "$1" || return
	[[ $WAY == clsact ]] || is "$(qdiscs)" "$BEFORE" || return
	rl B status -j | json ".[0] | .hook == \"$1\" and .mode == \"tc\" and .program_id > 0" || return
	is "$(ls "$(ns_pins B)")" "veth-B-$1" || return
	has 'already attached' expect_status 1 rl B attach veth-B --hook "$1" || return
	rl B detach veth-B --hook "$1" && traceless
}

# The hook attached first is detached first, the one detached last takes clsact away; no hook is disturbed by
# the others.
test_several() {
	local hook
	rl B attach veth-B --hook ingress && rl B attach veth-B --hook egress || return
	has 'choose one with' expect_status 1 rl B show || return
	has 'choose one with' expect_status 1 rl B detach veth-B || return
	rl B attach veth-B --hook xdp && is "$(rl B status -j | json 'map(.hook) | join(" ")')" 'egress ingress xdp' || return
	for hook in xdp ingress egress; do
		rl B rule add -i veth-B --hook "$hook" any udp deny || return
		is "$(rl B show -i veth-B --hook "$hook")" 'rule any udp deny' || return
		is "$(rl B stats veth-B --hook "$hook" -j | json '.[0].hook')" "$hook" || return
	done
	rl B apply -i veth-B --hook egress --yes - <<<'' && is "$(rl B show -i veth-B --hook egress)" '' || return
	for hook in ingress xdp egress; do
		has 'device' rl B status veth-B && rl B detach veth-B --hook "$hook" || return
	done
	traceless
}

# If one of several hooks cannot be attached, none is.
test_all_or_none() {
	rl B attach veth-B --hook egress || return
	has 'already attached' expect_status 1 rl B attach veth-B --hook ingress --hook egress || return
	is "$(rl B status -j | json 'map(.hook) | join(" ")')" egress &&
		rl B detach veth-B && traceless
}

test_words() {
	echo 'rule any limit 1/second over mark 5' >"$TMP/mark"
	expect_status 2 rl B attach veth-B --hook ingress --mode native &&
		expect_status 2 rl B attach veth-B --hook ingress --fq &&
		expect_status 2 rl B show -i veth-B --hook ingress --hook egress &&
		has 'needs --hook ingress or egress' expect_status 1 rl B attach veth-B --hook ingress --hook xdp --policy "$TMP/mark" &&
		expect_status 1 rl B attach nosuch --hook egress &&
		has 'nothing' expect_status 1 rl B detach veth-B --hook egress && traceless
}

test_two_at_once() {
	local hook
	for hook in ingress egress egress; do
		rl B attach veth-B --hook "$hook" >>"$TMP/two" 2>&1 &
	done
	wait
	is "$(rl B status -j | json 'map(.hook) | join(" ")')" 'egress ingress' || return
	rl B detach veth-B --hook ingress &
	rl B detach veth-B --hook egress && wait && traceless
}

# ---- what goes by which address

# answers N: so many of five echo requests to B come back.
answers() {
	local got
	got=$(in_ns A ping -q -c 5 -i 0.01 -W 0.3 10.77.0.2 | sed -nE 's/.* ([0-9]+) received.*/\1/p')
	is "$got" "$1"
}

# A is the source of what comes in, and the destination of what goes out.
test_address() { # HOOK BY...
	local hook=$1
	shift
	rl B attach veth-B --hook "$hook" "$@" && rl B rule add 10.77.0.1 limit 1/hour burst 3 || return
	answers 3 && is "$(stat_of B .reasons.over.packets)" 2 &&
		is "$(stat_of B .dropped.bytes)" 196 && rl B detach veth-B && traceless
}
test_other_address() { # HOOK BY
	rl B attach veth-B --hook "$1" --by "$2" && rl B rule add 10.77.0.1 deny || return
	answers 5 && rl B detach veth-B && traceless
}

# ---- filters of others

other_on() { # HOOK PRIORITY
	[[ $(qdiscs) == *clsact* ]] || tc -n "$(ns B)" qdisc add dev veth-B clsact || return
	tc -n "$(ns B)" filter add dev veth-B "$1" prio "$2" protocol all bpf da obj "$OTHER" sec tc
}
other_off() { tc -n "$(ns B)" filter del dev veth-B "$1" prio "$2"; }
other_seen() { # HOOK: in the one map of its program
	local id
	id=$(filters "$1" | sed -nE 's/.* id ([0-9]+) name filter_count .*/\1/p') &&
		bpftool -j prog show id "$id" | json '.map_ids[0]' | xargs bpftool -j map dump id | json '.[0].formatted.value'
}

# Ours drops two of five; a filter before it sees all five, one behind it three, as every filter does with
# tcx.
test_beside() { # HOOK PRIORITY FIRST SEEN
	local hook=$1 priority=$2
	if [[ $3 == ours ]]; then
		rl B attach veth-B --hook "$hook" && other_on "$hook" "$priority"
	else
		other_on "$hook" "$priority" && rl B attach veth-B --hook "$hook"
	fi || return
	rl B rule add any icmp limit 1/hour burst 3 && answers 3 && is "$(other_seen "$hook")" "$4" || return
	rl B detach veth-B && is "$(filters "$hook" | grep -c 'filter_count')" 1 &&
		answers 5 && other_off "$hook" "$priority" || return
	[[ $3 == ours ]] && has clsact qdiscs # it was in use when ours left
	tc -n "$(ns B)" qdisc del dev veth-B clsact
	traceless
}

# A foreign filter has the priority that ours would take: ours takes the one before.
test_priority_taken() {
	other_on ingress 10 && rl B attach veth-B --hook ingress && has 'pref 9 ' filters ingress &&
		rl B detach veth-B && other_off ingress 10 && tc -n "$(ns B)" qdisc del dev veth-B clsact &&
		traceless
}

# Another filter leaves first.
test_other_leaves() {
	rl B attach veth-B --hook egress && other_on egress 3 && other_off egress 3 && answers 5 &&
		rl B detach veth-B && traceless
}

# The older qdisc has the same place; it knows ingress alone.
test_ingress_qdisc() {
	tc -n "$(ns B)" qdisc add dev veth-B ingress || return
	has 'qdisc ingress' expect_status 1 rl B attach veth-B --hook egress || return
	rl B attach veth-B --hook ingress && rl B rule add any icmp deny && answers 0 && rl B detach veth-B &&
		has 'qdisc ingress' qdiscs && tc -n "$(ns B)" qdisc del dev veth-B ingress && traceless
}

# ---- taken away, crashed, vanished

take_off() {
	case $WAY in
	tcx) bpftool link detach pinned "$(ns_pins B)/veth-B-ingress/link" ;;
	clsact) tc -n "$(ns B)" qdisc del dev veth-B clsact ;;
	esac
}
test_removed() {
	rl B attach veth-B --hook ingress && take_off || return
	is "$(rl B status -j)" '[]' && has 'no longer on the device' expect_status 1 rl B show -i veth-B || return
	rl B attach veth-B --hook ingress && rl B detach veth-B && traceless
}

test_vanished() {
	rl B attach veth-B --hook ingress --hook egress && ip -n "$(ns A)" link del veth-A || return
	is "$(rl B status -j)" '[]' && rl B detach veth-B --hook ingress &&
		rl B detach veth-B --hook egress && [[ ! -e $(ns_pins B) ]] || return
	ip -n "$(ns A)" link add veth-A type veth peer name veth-B netns "$(ns B)" &&
		cable_up A 1 && cable_up B 2 
}
cable_up() { # NAME N: as veth_pair, of IPv4 alone
	ip -n "$(ns "$1")" addr add "10.77.0.$2/24" dev "veth-$1" && ip -n "$(ns "$1")" link set "veth-$1" up
}

attach_egress() { "$RLCTL" -n "$(ns B)" attach veth-B --hook egress; }

# crash_at NUMBER BOUND: attach ends right before that call, bpf or sendto, after so many maps were bound to
# programs, as is done for ours alone: which programs it loads before depends on those of tests beside this one.
crash_at() {
	"$TOP/build/inject" -o bpf,sendto -t "$TMP/calls" -n "$1" -b "$2" -e KILL \
		"$RLCTL" -n "$(ns B)" attach veth-B --hook egress
}

# The numbers of the calls by which the loaded program gets onto the hook, and is noted.
crash_points() {
	local calls='/ (sendto .*|bpf 2)$/' # BPF_MAP_UPDATE_ELEM
	[[ $WAY == clsact ]] || calls='/ bpf (28|15|6|2)$/' # BPF_LINK_CREATE, BPF_OBJ_GET_INFO_BY_FD, BPF_OBJ_PIN
	awk '/ bpf 35$/ { bound = $1; points = "" } # BPF_PROG_BIND_MAP
		'"$calls"' { points = points " " $1 - bound }
		END { print points }' "$TMP/calls"
}

# points_count: sets the caller's points and bound from an attach that is left alone.
points_count() {
	crash_at 0 0 && rl B detach veth-B && read -ra points <<<"$(crash_points)" &&
		bound=$(grep -c ' bpf 35$' "$TMP/calls") && [[ ${#points[@]} -ge 4 && $bound -gt 0 ]]
}

# killed_at I: attach is killed at that point. Where it made other calls than when they were counted, they are counted
# anew.
killed_at() {
	local status
	for _ in 1 2 3; do
		[[ -n ${points[$1]:-} ]] || return
		crash_at "${points[$1]}" "$bound"
		status=$?
		[[ $status -eq 0 ]] || break
		rl B detach veth-B && points_count || return
	done
	is "$status" 137
}

# Whatever was left, the next attach works, and detach leaves nothing.
test_crash() {
	local i points bound
	points_count || return
	for i in "${!points[@]}"; do
		killed_at "$i" || return
		[[ -z $(programs egress) ]] || rl B detach veth-B || return
		has nothing expect_status 1 rl A detach lo || return # clears up what is of nobody
		attach_egress && rl B detach veth-B && traceless || _say "after ${points[$i]}" || return
	done
}

# ---- marks, and data that is not linear

test_mark() {
	rl B attach veth-B --hook ingress && rl B rule add any icmp limit 1/hour burst 3 over mark 42 || return
	in_ns B nft -f - <<-'END' || return
	table inet seen {
		counter marked {}
		chain in { type filter hook input priority 0; meta mark 42 counter name marked; }
	}
	END
	answers 5 && is "$(rule_stat B 'any icmp' '"\(.passed.packets) \(.shadow.packets)"')" '3 2' || return
	is "$(in_ns B nft -j list counter inet seen marked | json '.nftables[] | .counter // empty | .packets')" 2 &&
		in_ns B nft flush ruleset && rl B detach veth-B && traceless
}

# A frame of 5000 bytes whose headers the sender's own program has put into pages: only Ethernet's header is
# in the linear part of the skb.
test_pulled() {
	local status=0
	ip -n "$(ns A)" link set veth-A mtu 9000 && ip -n "$(ns B)" link set veth-B mtu 9000 || return
	rl A attach veth-A --hook egress && rl A rule add any udp dport 7 deny || return
	in_ns A python3 "$TOP/tests/net/paged.py" veth-A 3 || status=1
	is "$(rule_stat A 'any udp' '"\(.dropped.packets) \(.dropped.bytes)"')" '3 15000' || status=1
	is "$(stat_of A .reasons.malformed.packets)" 0 || status=1
	rl A detach veth-A && return "$status"
}

# A device without Ethernet: packets begin with the IP header in both directions.
test_tunnel() {
	local n
	n=$(ns B)
	ip -n "$n" tuntap add dev tun-B mode tun && ip -n "$n" addr add 10.99.0.1/24 dev tun-B &&
		ip -n "$n" link set tun-B up && rl B attach tun-B --hook ingress --hook egress || return
	rl B rule add -i tun-B --hook ingress 10.99.0.2 udp dport 7 limit 1/hour burst 3 &&
		rl B rule add -i tun-B --hook egress 10.99.0.2 icmp deny &&
		in_ns B python3 "$TOP/tests/net/tunnel.py" tun-B 5 || return
	rl B stats
	is "$(rl B stats -j --hook ingress | json '.[0] | "\(.passed.packets) \(.dropped.packets) \(.dropped.bytes)"')" \
		'3 2 256' || return
	# its answers: port 7 is closed; each quotes 128 bytes behind 28 of its own
	is "$(rl B stats -j --hook egress | json '.[0].reasons.denied | "\(.packets) \(.bytes)"')" '3 468' &&
		rl B detach tun-B --hook ingress --hook egress && ip -n "$n" link del tun-B && traceless
}

veth_pair A B && veth_quiet A B && ns_mute A && ns_mute B || exit 1
BEFORE=$(qdiscs)
WAYS='tcx clsact'
tcx ingress >/dev/null 2>&1 || WAYS=clsact WAY=clsact
for WAY in $WAYS; do
	t "attach and detach, ingress, $WAY" by "$WAY" test_life ingress
	t "several hooks, $WAY" by "$WAY" test_several
	t "all of the hooks or none, $WAY" by "$WAY" test_all_or_none
	t "two at once, $WAY" by "$WAY" test_two_at_once
	t "taken off by force, $WAY" by "$WAY" test_removed
	t "a device that vanished, $WAY" by "$WAY" test_vanished
	t "a crash between any two steps, $WAY" by "$WAY" test_crash
done
WAY=${WAYS%% *}
t 'wrong words' test_words
t 'ingress goes by source' test_address ingress
t 'egress goes by destination' test_address egress
t 'egress by source' test_other_address egress source
t 'ingress goes by source, clsact' by clsact test_address ingress
t 'egress goes by destination, clsact' by clsact test_address egress
[[ $WAY == clsact ]] || t 'before any filter, tcx' test_beside ingress 1 other 3
t 'behind another filter, ingress' by clsact test_beside ingress 1 other 5
t 'before another filter, egress' by clsact test_beside egress 20 other 3
t 'the priority is taken' by clsact test_priority_taken
t 'another filter leaves first' by clsact test_other_leaves
t 'the qdisc ingress' by clsact test_ingress_qdisc
t 'over mark' test_mark
t 'over mark, clsact' by clsact test_mark
t 'a device without Ethernet' test_tunnel
t 'headers that are not linear' test_pulled
