#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# attach --replace behind libxdp's dispatcher, with a counter of others behind ours: nothing gets past
# meanwhile, theirs stays, and what a kill leaves is mended by the next command. Each row goes on with the
# instance of the row before.
source "$(dirname "$0")/guest.sh"

ALIEN=$TOP/build/receiver.bpf.o
ALIEN_NAME=receiver_pass
BOTH="rlctl_xdp $ALIEN_NAME"

names_are() { is "$(names B veth-B)" "$1"; }
replace() { rl B attach veth-B --replace; }
denied() { stat_of B .reasons.denied.packets; }
denied_more() { [[ $(denied) -gt $1 ]]; }

# alien_seen: the packets that came past ours, in the one map that it has.
alien_seen() {
	bpftool -j prog show id "$(id_of B veth-B "$ALIEN_NAME")" | json '.map_ids[0]' |
		xargs bpftool -j map dump id | jq '[.[].formatted.values[].value.packets] | add'
}

test_flood() {
	local n seen theirs
	rl B rule add any deny && theirs=$(id_of B veth-B "$ALIEN_NAME") || return
	bg flood A --seconds 600 --rate 1000 --src 10.78.0.0/16
	seen=$(denied) && is "$(alien_seen)" 0 || return
	for n in 1 2; do
		eventually 30 denied_more "$seen" && replace && names_are "$BOTH" && seen=$(denied) || return
	done
	eventually 30 denied_more "$seen" && kill -TERM -- "-$BG_PID" || return
	is "$(alien_seen)" 0 && is "$(id_of B veth-B "$ALIEN_NAME")" "$theirs" && dispatched B veth-B &&
		is "$(rl B status -j | json '.[0].program_id')" "$(id_of B veth-B rlctl_xdp)"
}

# interrupt DISPATCHERS: kills a replacement as soon as so many have pins and ours is behind one twice.
interrupt() {
	local folders twice
	bg "$RLCTL" -n "$(ns B)" attach veth-B --replace
	while kill -0 "$BG_PID" 2>/dev/null; do
		folders=("$BPFFS"/xdp/dispatch-*)
		twice=("$BPFFS"/xdp/dispatch-*/prog2-prog)
		[[ ${#folders[@]} -eq $1 && -e ${twice[0]} ]] || continue
		kill -KILL "$BG_PID" && wait "$BG_PID"
		return 0
	done
	_say 'it ended before'
}

# One instance, its rule and its counters.
whole() {
	is "$(rl B status -j | json length)" 1 && is "$(rl B show)" 'rule any deny' && denied_more "$1" &&
		is "$(alien_seen)" 0
}

# The new dispatcher is not on the device yet, or has just come there.
test_killed_before() {
	local seen
	seen=$(denied) && interrupt 2 && flood A --count 10 --src 10.78.1.1 && eventually 10 denied_more "$seen" &&
		whole "$seen" && replace && names_are "$BOTH" && whole "$seen"
}

# Both programs are there.
test_killed_between() {
	local seen
	seen=$(denied) && interrupt 1 && names_are "rlctl_xdp $BOTH" || return
	flood A --count 10 --src 10.78.1.1 && eventually 10 denied_more "$seen" && whole "$seen" &&
		has 'ours a second time' rl B doctor veth-B && replace && names_are "$BOTH" && whole "$seen" &&
		is "$(find "$BPFFS/xdp" -name 'dispatch-*' | wc -l)" 1
}

test_killed_and_detached() {
	interrupt 1 && names_are "rlctl_xdp $BOTH" && rl B detach veth-B && names_are "$ALIEN_NAME" &&
		[[ ! -e $(ns_pins B) ]] && in_ns B xdp-loader unload veth-B -a && nothing_left B veth-B
}

veth_pair A B && veth_quiet A B && ns_mute A && ns_mute B && in_ns B ethtool -K veth-B gro on &&
	rl B attach veth-B && in_ns B xdp-loader load veth-B "$ALIEN" -n "$ALIEN_NAME" -P 50 -m native || exit 1
t 'no packet escapes behind the dispatcher' test_flood
t 'killed before the old one leaves' test_killed_before
t 'killed while both are there' test_killed_between
t 'killed, then detached' test_killed_and_detached
