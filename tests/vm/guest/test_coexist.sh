#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Others on the same device: devices made of ours (VLAN, bridge, bond); XDP programs that stand beside
# ours behind libxdp's dispatcher, before or after it, whichever comes or leaves first; xdp-filter; one
# that came without libxdp. Loading is what takes long in a guest: most rows go on with the instance
# of the row before.
source "$(dirname "$0")/guest.sh"

ALIEN=$TOP/build/receiver.bpf.o
ALIEN_NAME=receiver_pass
FILTER_NAME=xdpfilt_alw_all

mac() { ip -n "$(ns "$1")" -j link show "veth-$1" | json '.[0].address'; }

# quiet: fixed neighbours, so that no ARP disturbs exact counts.
quiet() {
	ip -n "$(ns A)" neigh replace 10.77.0.2 lladdr "$(mac B)" dev veth-A nud permanent &&
		ip -n "$(ns B)" neigh replace 10.77.0.1 lladdr "$(mac A)" dev veth-B nud permanent
}

# ---- ours

POLICY='rule 10.78.0.0/16 limit 1/hour burst 10
rule 10.79.0.0/16 deny'

# ours_holds: of a hundred packets ten pass, by a limit that begins anew.
ours_holds() {
	rl B rule flush && rl B apply - <<<"$POLICY" && flood A --count 100 --src 10.78.1.1 && eventually 10 ours_held
}
ours_held() { is "$(rule_stat B 10.78.0.0/16 '"\(.passed.packets) \(.dropped.packets)"')" '10 90'; }

# ours_stayed: its program, its rules and what they counted.
ours_stayed() { is "$(names B veth-B)" rlctl_xdp && is "$(rl B show)" "$POLICY" && ours_held; }

# ---- a counter of others

alien_on() { # PRIORITY: ours has 10
	in_ns B xdp-loader load veth-B "$ALIEN" -n "$ALIEN_NAME" -P "$1" -m native
}

alien_off() { in_ns B xdp-loader unload veth-B -i "$(id_of B veth-B "$ALIEN_NAME")"; }

# alien_seen: the packets that it counted, in the one map it has.
alien_seen() {
	bpftool -j prog show id "$(id_of B veth-B "$ALIEN_NAME")" | json '.map_ids[0]' |
		xargs bpftool -j map dump id | json '[.[].formatted.values[].value.packets] | add'
}

# alien_counts N: of a hundred packets that ours denies.
alien_counts() {
	local before
	before=$(alien_seen) && flood A --count 100 --src 10.79.1.1 && eventually 10 alien_at $((before + $1))
}
alien_at() { is "$(alien_seen)" "$1"; }

# joined PRIORITY NAMES N: theirs comes to ours; both do their work, in this order.
joined() {
	alien_on "$1" && dispatched B veth-B && is "$(names B veth-B)" "$2" && ours_held && alien_counts "$3" &&
		ours_holds
}

test_theirs_leave() { alien_off && ours_stayed && ours_holds; }

# ---- xdp-filter: it drops what comes from A's own address

filter() { in_ns B xdp-filter "$@"; }

filter_on() { filter load veth-B -m native && filter ip -m src 10.77.0.1 && eventually 5 silent; }

pings() { in_ns A ping -c 1 -W 1 10.77.0.2; }
silent() { ! pings; }

test_filter_joins() {
	eventually 5 pings && filter_on && is "$(names B veth-B)" "rlctl_xdp $FILTER_NAME" && ours_held && ours_holds
}

test_filter_leaves() { filter unload veth-B && ours_stayed && eventually 5 pings; }

# ---- ours, dispatcher and all, is taken off by force, and comes back to where others are

test_forced() {
	in_ns B ip link set dev veth-B xdp off && is "$(rl B status -j)" '[]' &&
		has 'no longer on the device' expect_status 1 rl B show -i veth-B || return
	rl B detach veth-B && is "$(dispatchers)" '' # what libxdp had pinned of it is gone as well
}
dispatchers() { find "$BPFFS/xdp" -name 'dispatch-*' 2>/dev/null; }

test_ours_joins() {
	alien_on 5 && filter_on && rl B attach veth-B && is "$(rl B show)" '' || return
	is "$(names B veth-B)" "$ALIEN_NAME rlctl_xdp $FILTER_NAME" && ours_holds && alien_counts 100 && silent
}

test_ours_leaves() {
	rl B detach veth-B && [[ ! -e $(ns_pins B) ]] && is "$(names B veth-B)" "$ALIEN_NAME $FILTER_NAME" &&
		alien_counts 100 && silent && alien_off && filter unload veth-B && nothing_left B veth-B &&
		eventually 5 pings
}

# ---- a program that came without libxdp

test_foreign() { # xdpdrv|xdpgeneric MODE
	local id said
	in_ns B ip link set dev veth-B "$1" obj "$ALIEN" sec xdp && id=$(xdp_program B veth-B) || return
	said=$(expect_status 1 rl B attach veth-B --mode "$2" 2>&1) &&
		has 'veth-B: another XDP program is on the device' echo "$said" &&
		has 'bpftool net show dev veth-B' echo "$said" || return
	is "$(xdp_program B veth-B)" "$id" && [[ ! -e $(ns_pins B) ]] &&
		in_ns B ip link set dev veth-B "$1" off && nothing_left B veth-B
}

# ---- devices made of others

# held ADDRESS: of thirty pings to it ten come back, and ours counted all of them.
held() {
	local result
	rl B rule flush && rl B rule add any icmp limit 1/hour burst 10 || return
	result=$(in_ns A ping -q -c 30 -i 0.01 -W 1 "$1")
	echo "$result"
	[[ $result == *' 10 received'* ]] &&
		is "$(rule_stat B any '"\(.passed.packets) \(.dropped.packets)"')" '10 20'
}

vlan_new() { # NAMESPACE N
	ip -n "$(ns "$1")" link add link "veth-$1" name v5 type vlan id 5 &&
		ip -n "$(ns "$1")" addr add "10.85.0.$2/24" dev v5 && ip -n "$(ns "$1")" link set v5 up
}

# Tags in the frame, as from a wire, or beside it, where a driver takes them off.
test_vlan() { # off|on
	local status=0
	in_ns A ethtool -K veth-A txvlan "$1" && vlan_new A 1 && vlan_new B 2 || return
	held 10.85.0.2 || status=1
	ip -n "$(ns A)" link del v5 && ip -n "$(ns B)" link del v5 && return "$status"
}

# upper_new KIND [ARG…]: veth-B becomes a port of the device `upper`, which gets its addresses,
# the MAC as well.
upper_new() {
	ip -n "$(ns B)" link add upper type "$@" && ip -n "$(ns B)" link set veth-B down &&
		ip -n "$(ns B)" link set veth-B master upper && ip -n "$(ns B)" link set veth-B up &&
		ip -n "$(ns B)" link set upper up && ip -n "$(ns B)" addr del 10.77.0.2/24 dev veth-B &&
		ip -n "$(ns B)" addr add 10.77.0.2/24 dev upper && eventually 10 pings
}

upper_del() {
	ip -n "$(ns B)" link del upper && ip -n "$(ns B)" addr add 10.77.0.2/24 dev veth-B &&
		ip -n "$(ns B)" link set veth-B up && quiet && eventually 10 pings
}

# The instance on veth-B goes on when that becomes a port.
test_port() { # KIND [ARG…]
	local status=0
	rl B rule flush && upper_new "$@" || return
	held 10.77.0.2 || status=1
	rl B rule flush && upper_del && return "$status"
}

test_upper() { # MODE KIND [ARG…]
	local status=0 mode=$1
	shift
	upper_new "$@" && rl B attach upper && is "$(rl B status -j | json '.[0].mode')" "$mode" || return
	held 10.77.0.2 || status=1
	rl B detach upper && nothing_left B upper && upper_del && return "$status"
}

veth_pair A B && ns_mute A && ns_mute B && quiet && in_ns B ethtool -K veth-B gro on &&
	rl B attach veth-B || exit 1
t 'tags in the frame' test_vlan off
t 'tags beside the frame' test_vlan on
t 'port of a bridge' test_port bridge
t 'port of a bond' test_port bond mode active-backup
t 'ours alone' ours_holds
t 'theirs come after ours' joined 50 "rlctl_xdp $ALIEN_NAME" 0
t 'theirs leave' test_theirs_leave
t 'theirs come before ours' joined 5 "$ALIEN_NAME rlctl_xdp" 100
t 'theirs leave again' test_theirs_leave
t 'xdp-filter comes' test_filter_joins
t 'xdp-filter leaves' test_filter_leaves
t 'taken off by force' test_forced
t 'ours comes between theirs' test_ours_joins
t 'ours leaves' test_ours_leaves
t 'a program without libxdp, native' test_foreign xdpdrv native
t 'a program without libxdp, generic' test_foreign xdpgeneric generic
t 'on a bridge' test_upper tc bridge
t 'on a bond' test_upper native bond mode active-backup
