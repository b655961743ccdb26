#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Devices that are not one veth of one queue: frames of 9000 bytes, several queues at once, two namespaces
# whose devices have the same name and number, a namespace that goes while a command looks at it, a device
# that is called something else.
source "$(dirname "$0")/../lib.sh"

no_pins() { [[ ! -e $(ns_pins "$1") ]]; }

# ---- 9000 bytes: as long as on the wire, in whatever pieces they come

JUMBO=9014 # Ethernet, IP, UDP and 8972 bytes

mtu_set() { ip -n "$(ns A)" link set veth-A mtu "$1" && ip -n "$(ns B)" link set veth-B mtu "$1"; }

# Three of five frames fit; at egress the sender's namespace has the limiter.
test_jumbo() { # NAMESPACE ATTACH-OPTION…
	local at=$1
	rl "$at" attach "veth-$at" "${@:2}" && rl "$at" rule add any udp limit $((3 * JUMBO))byte/day burst $((3 * JUMBO))byte || return
	in_ns A python3 "$TOP/tests/net/datagrams.py" 10.77.0.2 5 8972 && eventually 5 jumbo_counted "$at" || return
	is "$(stat_of "$at" .reasons.malformed.packets)" 0 && rl "$at" detach "veth-$at"
}
jumbo_counted() {
	is "$(rule_stat "$1" 'any udp' '"\(.passed.packets) \(.passed.bytes) \(.dropped.packets) \(.dropped.bytes)"')" \
		"3 $((3 * JUMBO)) 2 $((2 * JUMBO))"
}

# ---- two queues, each served by a CPU of its own

QUEUES=2 EACH=2000 BURST=777

# All queues together let through exactly the one limit, and every packet is counted once.
test_queues() { # ATTACH-OPTION…
	local result
	rl B attach veth-B "$@" && rl B rule add any udp limit $BURST/day burst $BURST per rule || return
	result=$(flood A --threads $QUEUES --rate 20000 --count $((QUEUES * EACH)) --src 10.78.0.0/16) && echo "$result" &&
		eventually 10 queues_counted "$(json .sent <<<"$result")" && [[ $(queues_used) -ge $QUEUES ]] && rl B detach veth-B
}
queues_counted() {
	is "$(rule_stat B 'any udp' '"\(.passed.packets) \(.dropped.packets)"')" "$BURST $(($1 - BURST))"
}
# queues_used: CPUs on which the program counted, as many as there are queues.
queues_used() {
	bpftool -j map dump pinned "$(ns_pins B)"/veth-B-*/reasons |
		json '[.[] | .formatted.values[] | select(.value.packets > 0) | .cpu] | unique | length'
}

# Senders of two CPUs, each with a queue of its own to leave by.
test_queues_egress() {
	local cpu
	rl A attach veth-A --hook egress && rl A rule add any udp limit $BURST/day burst $BURST per rule || return
	for ((cpu = 0; cpu < QUEUES; cpu++)); do
		in_ns A taskset -c $((cpu % $(nproc))) python3 "$TOP/tests/net/datagrams.py" 10.77.0.2 $EACH 10 &
	done
	wait -n && wait -n || return
	is "$(rule_stat A 'any udp' '"\(.passed.packets) \(.dropped.packets)"')" "$BURST $((QUEUES * EACH - BURST))" &&
		rl A detach veth-A
}

# ---- the same name and number, twice

twins_new() {
	local ns
	ns_new C D || return
	for ns in C D; do
		ip -n "$(ns $ns)" link add twin index 4242 type veth peer name end index 4243 &&
			ip -n "$(ns $ns)" link set twin up && ip -n "$(ns $ns)" link set end up || return
	done
}

# Changes to one instance do not affect the other.
test_twins() {
	local hook id
	twins_new || return
	for hook in xdp ingress; do
		rl C attach twin --hook $hook && rl D attach twin --hook $hook && rl C rule add any udp deny &&
			is "$(rl C show)" 'rule any udp deny' && is "$(rl D show)" '' &&
			[[ $(twin_program C) -ne $(twin_program D) ]] || return
		id=$(twin_program D) && rl C attach twin --replace && is "$(twin_program D)" "$id" || return
		rl C detach twin && is "$(rl C status -j)" '[]' && is "$(twin_program D)" "$id" && no_pins C &&
			rl D rule add any tcp deny && rl D detach twin && no_pins D || return
	done
}
twin_program() { rl "$1" status -j | json '.[0].program_id'; }

# ---- a namespace without a name lives as long as a process is in it; then its pins are removed

test_namespace_watched() {
	local pins program
	ns_new E && ip -n "$(ns E)" link add veth-E type veth peer name end && rl E attach veth-E || return
	pins=$(ns_pins E) program=$(xdp_program E veth-E)
	bg "$RLCTL" -n "$(ns E)" stats --watch && eventually 5 grep -q veth-E "$TMP/bg" && ip netns del "$(ns E)" || return
	kill -0 "$BG_PID" && bpftool prog show id "$program" && kill -TERM -- "-$BG_PID" &&
		eventually 30 unloaded "$program" || return
	rl A attach veth-A && rl A detach veth-A && [[ ! -e $pins/veth-E-xdp ]]
}

# ---- another name

devices() { rl B status -j | json 'map("\(.device) \(.hook)") | join(" ")'; }
pings() { answers "$1" 3; }

# The limits hold meanwhile; every verb goes by the new name.
test_renamed() {
	rl B attach veth-B --hook xdp --hook egress && rl B rule add -i veth-B --hook xdp any icmp deny &&
		renamed veth-B other || return
	eventually 5 pings 0 && has 'veth-B: renamed to other' rl B status && is "$(devices)" 'other egress other xdp' &&
		is "$(rl B show -i other --hook xdp)" 'rule any icmp deny' && [[ ! -e $(ns_pins B)/veth-B-xdp ]] &&
		has 'already attached' expect_status 1 rl B attach other && rl B attach other --replace || return
	has 'no such device: veth-B' expect_status 1 rl B detach veth-B && rl B detach other --hook xdp && rl B detach other --hook egress &&
		no_pins B && renamed other veth-B && eventually 5 pings 3
}

# The name went to another device, to which nothing of ours is attached.
test_renamed_and_succeeded() {
	rl B attach veth-B && rl B rule add any icmp deny && renamed veth-B other &&
		ip -n "$(ns B)" link add veth-B type veth peer name end || return
	rl B attach veth-B && is "$(devices)" 'other xdp veth-B xdp' && is "$(rl B show -i veth-B)" '' &&
		is "$(rl B show -i other)" 'rule any icmp deny' || return
	rl B detach veth-B && rl B detach other && ip -n "$(ns B)" link del veth-B && renamed other veth-B && no_pins B
}

# A trial ends normally; its pins are removed afterwards.
test_renamed_on_trial() {
	local watcher
	rl B attach veth-B && rl B rule add any udp deny || return
	echo 'rule any tcp deny' >"$TMP/trial"
	bg "$RLCTL" -n "$(ns B)" apply -i veth-B --try 1m "$TMP/trial"
	watcher=$BG_PID
	eventually 5 is_tried && renamed veth-B other && rl B status && kill -TERM "$watcher" &&
		eventually 10 is_untried && rl B detach other && no_pins B && renamed other veth-B
}
is_tried() { is "$(rl B show -i veth-B)" 'rule any tcp deny'; }
is_untried() { is "$(rl B show -i other)" 'rule any udp deny'; }

veth_pair A B $QUEUES && veth_quiet A B && ns_mute A && ns_mute B && in_ns B ethtool -K veth-B gro on || exit 1
t 'two queues, native' test_queues --mode native
t 'two queues, ingress' test_queues --hook ingress
t 'two queues, egress' test_queues_egress
mtu_set 9000 || exit 1
t '9000 bytes, native' test_jumbo B --mode native
t '9000 bytes, generic' test_jumbo B --mode generic
t '9000 bytes, ingress' test_jumbo B --hook ingress
t '9000 bytes, egress' test_jumbo A --hook egress
t 'two namespaces, the same device' test_twins
t 'a namespace that goes while it is watched' test_namespace_watched
t 'renamed' test_renamed
t 'renamed, and another got the name' test_renamed_and_succeeded
t 'renamed while a policy is on trial' test_renamed_on_trial
