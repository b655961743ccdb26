#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Other events on a device: foreign programs before and after ours, ours detached by others, a device that
# vanished or came back under its name, a namespace that was deleted with it. check: timeout 240
source "$(dirname "$0")/../lib.sh"

ALIEN=$TOP/build/receiver.bpf.o

pins() { [[ -e $(ns_pins B)/veth-B-xdp ]]; }
no_pins() { [[ ! -e $(ns_pins B) ]]; }

device_free() { is "$(xdp_program B veth-B)" ''; }

link_xdp() { in_ns B ip link set dev veth-B "$@"; }

# instance_new: attached, with a rule; OURS are its maps.
instance_new() {
	rl B attach veth-B && rl B rule add any deny || return
	read -ra OURS <<<"$(maps_of "$(xdp_program B veth-B)")"
}

program_gone() { ! bpftool prog show id "$1" 2>/dev/null; }

# ---- programs of others

# stands_against ID ARG…: attach is refused with a clear message, in every mode, and ID stays.
stands_against() {
	local id=$1 mode
	for mode in auto native generic; do
		has 'another XDP program is on the device' expect_status 1 rl B attach veth-B --mode "$mode" || return
		is "$(xdp_program B veth-B)" "$id" && no_pins || return
	done
}

test_alien() { # xdp|xdpgeneric|xdpdrv, as ip names it
	local id
	link_xdp "$1" obj "$ALIEN" sec xdp && id=$(xdp_program B veth-B) && [[ -n $id ]] &&
		stands_against "$id" && has nothing expect_status 1 rl B detach veth-B &&
		is "$(xdp_program B veth-B)" "$id" && link_xdp "$1" off &&
		rl B attach veth-B && rl B detach veth-B && no_pins
}

# A program that hangs on a link, as modern ones do.
test_alien_link() {
	local id
	bg in_ns B "$TOP/build/receiver" -i veth-B --pass
	eventually 5 grep -q attached "$TMP/bg" && id=$(xdp_program B veth-B) &&
		stands_against "$id" || return
	kill -TERM -- "-$BG_PID"
	eventually 5 device_free && rl B attach veth-B && rl B detach veth-B && no_pins
}

# Ours was detached by force: every verb reports it, and a foreign program attached since then is left alone.
test_replaced() {
	local id
	instance_new && link_xdp xdp off && link_xdp xdp obj "$ALIEN" sec xdp &&
		id=$(xdp_program B veth-B) || return
	has 'no longer on the device' expect_status 1 rl B show -i veth-B &&
		has 'no longer on the device' expect_status 1 rl B rule add any deny -i veth-B &&
		is "$(rl B status -j)" '[]' && is "$(rl B stats -j)" '[]' || return
	has 'another XDP program' expect_status 1 rl B attach veth-B &&
		is "$(xdp_program B veth-B)" "$id" || return
	rl B detach veth-B || true # attach may have cleared up what was left
	is "$(xdp_program B veth-B)" "$id" && no_pins && eventually 10 maps_gone "${OURS[@]}" &&
		link_xdp xdp off
}

# The same, and detach comes first.
test_detach_after_replaced() {
	local id
	rl B attach veth-B && link_xdp xdp off && link_xdp xdp obj "$ALIEN" sec xdp &&
		id=$(xdp_program B veth-B) && rl B detach veth-B &&
		is "$(xdp_program B veth-B)" "$id" && no_pins && link_xdp xdp off
}

# Ours was detached, and no other program came: attach starts anew, with none of the old rules.
test_removed() {
	instance_new && link_xdp xdp off && rl B attach veth-B && is "$(rl B show)" '' &&
		eventually 10 maps_gone "${OURS[@]}" && rl B detach veth-B && no_pins
}

# ---- devices

cable_new() {
	ip -n "$(ns A)" link add veth-A type veth peer name veth-B netns "$(ns B)" &&
		ip -n "$(ns A)" link set veth-A up && ip -n "$(ns B)" link set veth-B up
}

cable_cut() { ip -n "$(ns A)" link del veth-A; }

test_vanished() {
	instance_new && cable_cut && is "$(rl B status -j)" '[]' && expect_status 1 rl B show -i veth-B &&
		expect_status 1 rl B attach veth-B && rl B detach veth-B && no_pins &&
		eventually 10 maps_gone "${OURS[@]}" && cable_new
}

# The new device has neither our program nor our rules, and no command reports otherwise.
test_came_back() {
	instance_new && cable_cut && cable_new || return
	is "$(rl B status -j)" '[]' && has 'no longer on the device' expect_status 1 rl B show &&
		rl B attach veth-B && is "$(rl B show)" '' &&
		is "$(rl B status -j | json '.[0].rules | length')" 0 &&
		eventually 10 maps_gone "${OURS[@]}" && rl B detach veth-B && no_pins
}

test_came_back_detach() {
	local id
	rl B attach veth-B && cable_cut && cable_new && link_xdp xdp obj "$ALIEN" sec xdp &&
		id=$(xdp_program B veth-B) && rl B detach veth-B && is "$(xdp_program B veth-B)" "$id" &&
		no_pins && link_xdp xdp off
}

# ---- several hooks: only what lives counts

one_instance() { # HOOK
	is "$(rl B status -j | json 'map(.hook) | join(" ")')" "$1" && rl B rule add -i veth-B any udp deny &&
		is "$(rl B show -i veth-B)" 'rule any udp deny' && rl B rule list && rl B rule del -i veth-B any udp deny
}

# The device was attached to, vanished and came back: attach at another hook removes the leftovers.
test_came_back_hook() {
	rl B attach veth-B && cable_cut && cable_new && rl B attach veth-B --hook ingress && one_instance ingress &&
		[[ ! -e $(ns_pins B)/veth-B-xdp ]] && rl B detach veth-B && no_pins
}

# The program at xdp is removed: every verb goes on with the other instance, and doctor complains only of the
# removed one.
test_one_dies() {
	rl B attach veth-B --hook xdp --hook ingress && link_xdp xdp off && one_instance ingress &&
		rl B attach veth-B --replace && has 'detach veth-B --hook xdp' rl B doctor &&
		has 'detach veth-B --hook xdp' expect_status 1 rl B show -i veth-B --hook xdp && one_instance ingress &&
		rl B detach veth-B && no_pins
}

# One on another device, which vanished.
test_other_dies() {
	ip -n "$(ns B)" link add other type veth peer name other-end && rl B attach other && rl B attach veth-B &&
		ip -n "$(ns B)" link del other && rl B rule add any deny && is "$(rl B show)" 'rule any deny' &&
		rl B detach veth-B && rl B detach other && no_pins
}

test_all_die() {
	rl B attach veth-B --hook xdp --hook ingress && cable_cut && cable_new &&
		has 'no longer on the device' expect_status 1 rl B show -i veth-B && rl B detach veth-B && no_pins
}

test_two_live() {
	local verb
	rl B attach veth-B --hook ingress --hook egress || return
	for verb in 'show -i' detach; do
		# shellcheck disable=SC2086 # words
		has 'several instances' expect_status 1 rl B $verb veth-B || return
	done
	rl B detach veth-B --hook ingress && rl B detach veth-B && no_pins
}

# Its program goes along with a device, and so nothing of it is removed where it was attached.
test_moved() {
	ip -n "$(ns B)" link add wander type veth peer name wander-end && rl B -q attach wander --policy - <<<'rule any udp deny' &&
		ip -n "$(ns B)" link set wander netns "$(ns A)" && [[ -n $(xdp_program A wander) ]] || return
	has 'another network namespace' expect_status 1 rl B detach wander && [[ -e $(ns_pins B)/wander-xdp/policy ]] &&
		has 'moved to another network namespace' rl B doctor && is "$(rl B status -j)" '[]' &&
		has "$(ns_pins B)/wander-xdp" expect_status 1 rl A attach wander && [[ -n $(xdp_program A wander) ]] &&
		has "attached in another network namespace ($(ns_pins B)/wander-xdp)" expect_status 1 rl A doctor wander || return
	ip -n "$(ns B)" link add wander type veth peer name wander-two && has 'another network namespace' expect_status 1 rl B attach wander &&
		ip -n "$(ns B)" link del wander && ip -n "$(ns A)" link set wander netns "$(ns B)" &&
		is "$(rl B show -i wander)" 'rule any udp deny' && rl B detach wander && is "$(xdp_program B wander)" '' && no_pins
}

# Taken off where it is now, or deleted there: the pins go.
test_moved_and_gone() {
	ip -n "$(ns B)" link add stray type veth peer name stray-end && rl B -q attach stray && ip -n "$(ns B)" link set stray netns "$(ns A)" &&
		expect_status 1 rl B detach stray && in_ns A ip link set dev stray xdp off && rl B detach stray && no_pins &&
		rl A -q attach stray && rl A detach stray && ip -n "$(ns A)" link del stray
}

# A program of tcx goes along, too; a qdisc does not, and then nothing runs on.
test_moved_tc() {
	local runs=0
	ip -n "$(ns B)" link add other type veth peer name other-end && rl B -q attach other --hook ingress &&
		ip -n "$(ns B)" link set other netns "$(ns A)" || return
	rl A doctor other | grep -q 'tcx .*rlctl_tc' && runs=1
	expect_status "$runs" rl B detach other --hook ingress && ip -n "$(ns A)" link set other netns "$(ns B)" || return
	((!runs)) || rl B detach other
	no_pins && ip -n "$(ns B)" link del other
}

# Under another name the device keeps its program; it is found there or said to be lost, and the
# pins of the old name do not stand in the way for good.
test_renamed() {
	local status=0
	rl B attach veth-B && ip -n "$(ns B)" link set veth-B name other || return
	is "$(rl B status -j | json 'length <= 1')" true || status=1
	ip -n "$(ns B)" link set other name veth-B || return
	rl B detach veth-B && is "$(xdp_program B veth-B)" '' && no_pins && return "$status"
}

# The kernel may give the number of a deleted namespace to the next one: the old pins do not describe the new
# namespace. Where it does not, the next attach or detach removes them.
test_namespace_deleted() {
	local pins program
	ns_new C && device_new && rl C attach veth-C && rl C rule add any deny || return
	pins=$(ns_pins C) program=$(xdp_program C veth-C)
	ip netns del "$(ns C)" && eventually 10 program_gone "$program" || return
	ns_new C && device_new || return
	is "$(rl C status -j)" '[]' && rl C attach veth-C && is "$(rl C show)" '' || return
	[[ $pins == "$(ns_pins C)" || ! -d $pins/veth-C-xdp ]] || _say "$pins is still there" || return
	rl C detach veth-C
}

# A namespace without a name lives as long as anything holds it, which not every process can see; its
# leftovers are left to it. Limiters that hold it, behind a dispatcher: vm/guest/test_sweep.sh.
test_namespace_unnamed() {
	local status=0
	mkdir "$TMP/bpf" && mount -t bpf bpf "$TMP/bpf" || return
	test_held || status=1
	umount "$TMP/bpf" && return "$status"
}

test_held() {
	local netns held
	netns=/run/netns/$(ns E)
	ns_new E && ip -n "$(ns E)" link add veth-E type veth peer name end && of E attach veth-E &&
		in_ns E ip link set veth-E xdp off && UNNAMED=$TMP/bpf/rlctl/$(stat -L -c %i "$netns")/veth-E-xdp || return
	bg nsenter --net="$netns" sleep infinity
	: >"$TMP/netns" && eventually 5 entered "$BG_PID" "$netns" && ip netns del "$(ns E)" && remains &&
		mount --bind "/proc/$BG_PID/ns/net" "$TMP/netns" && kill -KILL "$BG_PID" && eventually 5 ended "$BG_PID" && remains &&
		exec {held}<"$TMP/netns" && umount -l "$TMP/netns" && remains && exec {held}<&- && eventually 10 is_swept
}
of() { "$RLCTL" --bpffs "$TMP/bpf" -n "$(ns "$1")" "${@:2}"; } # with pins where no other test sweeps
entered() { is "$(stat -L -c %i "/proc/$1/ns/net")" "$(stat -L -c %i "$2")"; }
ended() { [[ ! -e /proc/$1/ns/net ]]; }
swept() { # by a process that may not look into others, as a service
	in_ns A setpriv --inh-caps=-all --bounding-set=-sys_ptrace -- "$RLCTL" --bpffs "$TMP/bpf" attach lo --hook ingress &&
		of A detach lo
}
remains() { swept && [[ -e $UNNAMED ]]; }
is_swept() { swept && [[ ! -e $UNNAMED ]]; }

device_new() { ip -n "$(ns C)" link add veth-C type veth peer name veth-D; }

veth_pair A B && veth_quiet A B || exit 1
t 'a program of another, as the driver likes' test_alien xdp
t 'a program of another, native' test_alien xdpdrv
t 'a program of another, generic' test_alien xdpgeneric
t 'a program of another, on a link' test_alien_link
t 'ours was replaced' test_replaced
t 'detach leaves what came after ours' test_detach_after_replaced
t 'ours was removed' test_removed
t 'a device that vanished' test_vanished
t 'a device that came back' test_came_back
t 'a device that came back with a program of another' test_came_back_detach
t 'a device that came back, at another hook' test_came_back_hook
t 'one of two hooks dies' test_one_dies
t 'one of two devices dies' test_other_dies
t 'all hooks die' test_all_die
t 'two hooks live' test_two_live
t 'a device renamed and back' test_renamed
t 'a device that was moved to another namespace' test_moved
t 'one that was moved, and lost its program there' test_moved_and_gone
t 'one with a program at tc' test_moved_tc
t 'a namespace that was deleted' test_namespace_deleted
t 'a namespace without a name' test_namespace_unnamed
