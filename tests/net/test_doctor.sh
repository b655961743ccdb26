#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# doctor: every condition that can be brought about in a namespace, its finding in text and in JSON, and the
# exit status. doctor changes nothing. check: timeout 240
source "$(dirname "$0")/../lib.sh"

ALIEN=$TOP/build/receiver.bpf.o
DEVICE=veth-B

# look STATUS [ARG…]: the findings of doctor in B, into $TMP/found.
look() {
	local status=$1
	shift
	expect_status "$status" rl B doctor -j "$@" >"$TMP/found"
}

# facts STATUS CMD…: the same by a process that may not load programs, which takes far less time; findings
# that need no privilege are reported all the same.
facts() {
	local status=$1
	shift
	expect_status "$status" in_ns B setpriv --bounding-set -sys_admin -- "$RLCTL" doctor -j "$@" >"$TMP/found"
}

# found CHECK RESULT [TEXT]: every finding of CHECK is RESULT, and one says TEXT.
found() {
	jq -e --arg check "$1" --arg result "$2" --arg text "${3:-}" '
		[.[] | select(.check == $check)] | length > 0 and all(.[]; .result == $result) and
		any(.[]; "\(.what) \(.remedy)" | contains($text))' "$TMP/found" ||
		_say "$(jq -c --arg check "$1" '.[] | select(.check == $check)' "$TMP/found")"
}

# Tests beside this one end too: for a moment their devices are gone and their pins are not.
tidy() { look 0 "$@" && found leftovers ok; }

link_xdp() { in_ns B ip link set dev "$DEVICE" "$@"; }

# ---- healthy conditions

CHECKS=(privilege kernel features program proof jit btf cpus memlock files bpffs leftovers link native programs mode tcx tcx
	asked peers instances shares trial state sets mtu queues gro lro gro-hw carriers vlan drops)

test_well() {
	local check
	eventually 10 tidy "$DEVICE" && found features ok all && found program ok && found jit ok on || return
	for check in "${CHECKS[@]}"; do
		found "$check" ok || return
	done
	is "$(json 'map(.check) | join(" ")' <"$TMP/found")" "${CHECKS[*]}"
}

# In native mode GRO comes later, and does no harm.
test_attached() {
	in_ns B ethtool -K veth-B gro on && rl B attach veth-B && look 0 && found programs ok ours &&
		found mode ok native && found gro ok 'on, after' && found instances ok 1 &&
		is "$(jq -r 'map(.device // empty) | unique[]' "$TMP/found")" veth-B && rl B detach veth-B
}

# Enough for an attach, but not by much.
test_files() { (ulimit -n 100 && look 0 && found files warn 'at most 100 open files'); }

# Without a device and with nothing attached: all but loopback.
test_all_devices() {
	ip -n "$(ns B)" link add other type veth peer name other-end && facts 1 &&
		is "$(jq -r 'map(.device // empty) | unique | join(" ")' "$TMP/found")" \
			'other other-end veth-B' && ip -n "$(ns B)" link del other
}

# ---- faults

test_generic() {
	in_ns B ethtool -K veth-B gro on && rl B attach veth-B --mode generic && look 0 &&
		found mode warn '--mode native' && found gro ok 'not while generic XDP' &&
		in_ns B ethtool -K veth-B gro off && rl B detach veth-B && facts 1 "$DEVICE" &&
		found gro ok off
}

test_no_native() {
	facts 1 lo && found native warn 'uses mode tc' && found gro ok 'tc counts' || return
	rl B attach lo && look 0 lo && found mode warn 'native is not possible' && rl B detach lo &&
		rl B attach lo --mode generic && look 0 lo && found mode warn 'attach lo --policy policy' && rl B detach lo
}

# Where there is nothing to mend.
test_no_ethernet() {
	ip -n "$(ns B)" tuntap add dev tun-B mode tun && facts 1 tun-B && found native ok 'mode tc' &&
		rl B attach tun-B && look 0 tun-B && found mode ok 'mode tc' && rl B detach tun-B &&
		ip -n "$(ns B)" link del tun-B
}

test_alien() {
	link_xdp xdp obj "$ALIEN" sec xdp && look 1 "$DEVICE" && found programs fail 'xdp off' &&
		link_xdp xdp off
}

test_mtu_changed() {
	rl B attach veth-B && link_xdp mtu 9000 && look 0 && found mtu warn 'rlctl detach veth-B' &&
		rl B detach veth-B && facts 1 "$DEVICE" && found mtu ok 9000 && link_xdp mtu 1500
}

test_down() {
	link_xdp down && facts 1 "$DEVICE" && found link warn 'ip link set dev veth-B up' && link_xdp up
}

# doctor wants as many queues as CPUs, where the device supports them.
test_queues() {
	local wanted=ok
	[[ $(getconf _NPROCESSORS_ONLN) -lt 2 ]] || wanted=warn
	ip -n "$(ns B)" link add wide numrxqueues 2 numtxqueues 2 type veth peer name wide-end \
		numrxqueues 2 numtxqueues 2 && in_ns B ethtool -L wide rx 1 tx 1 && facts 1 wide &&
		found queues "$wanted" && in_ns B ethtool -L wide rx 2 && facts 1 wide &&
		found queues ok && ip -n "$(ns B)" link del wide
}

# A veth whose peer sends into more queues than it has.
test_native_queues() {
	ip -n "$(ns B)" link add narrow numrxqueues 1 numtxqueues 1 type veth peer name narrow-end \
		numrxqueues 2 numtxqueues 2 && facts 1 narrow && found native warn 'ethtool -L narrow rx' &&
		ip -n "$(ns B)" link del narrow
}

test_trial() {
	echo 'rule 192.0.2.1 deny' >"$TMP/policy"
	rl B attach veth-B && bg "$RLCTL" -n "$(ns B)" apply --try 60s "$TMP/policy" &&
		eventually 5 on_trial && look 0 && found trial warn 'rlctl confirm -i veth-B' || return
	kill -KILL "$(pgrep -P "$BG_PID")" "$BG_PID" && eventually 5 unattended && look 0 &&
		found trial warn 'ended with its processes' && rl B detach veth-B
}
on_trial() { is "$(rl B show)" 'rule 192.0.2.1 deny'; }
unattended() { flock -n "$(ns_pins B)/veth-B-xdp/trial" true; }

# An instance that asks connection tracking, in a namespace where no rule has anything tracked; and then one does.
test_state() {
	rl B attach veth-B --state conntrack >"$TMP/said" 2>&1 && grep -q 'connection tracking has no connections' "$TMP/said" &&
		look 0 && found state warn 'ct state' &&
		in_ns B nft 'add table inet t; add chain inet t c { type filter hook input priority 0; }; add rule inet t c ct state new' &&
		in_ns B ping -qc 1 127.0.0.1 && look 0 && found state ok && rl B detach veth-B && in_ns B nft delete table inet t
}

# Sockets tell nothing of the connections that a machine forwards, where a rule asks.
test_state_forwards() {
	rl B -q attach veth-B --policy - <<<'rule any tcp limit 1000/second over drop unless established' && in_ns B sysctl -qw \
		net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0 && look 0 && found state ok || return
	in_ns B sysctl -qw net.ipv4.ip_forward=1 && look 0 && found state warn '--state conntrack' &&
		rl B apply -i veth-B - <<<'rule any tcp limit 1000/second' && look 0 && found state ok &&
		in_ns B sysctl -qw net.ipv4.ip_forward=0 && rl B detach veth-B
}

# said N TEXT CMD…: CMD succeeds and says TEXT N times.
said() {
	local output
	output=$("${@:3}" 2>&1) || _say "exit status $? with output: $output" || return
	is "$(grep -c -- "$2" <<<"$output")" "$1" || _say "$output"
}

# Each verb that brings rules into force says, once, what doctor would find, and -q silences it.
test_said_where_typed() {
	local asks='any limit 1000/second over drop unless established' forwards='--state conntrack --policy FILE'
	echo "rule $asks" >"$TMP/asks" && in_ns B sysctl -qw net.ipv4.ip_forward=1 && said 1 'no rules yet' rl B attach veth-B &&
		said 1 "$forwards" rl B rule add "$asks" && said 0 . rl B -q rule add "$asks" &&
		said 0 "$forwards" rl B rule add any icmp limit 9/second &&
		said 1 "$forwards" rl B rule add -f "$TMP/asks" && said 1 "$forwards" rl B apply "$TMP/asks" &&
		said 1 "$forwards" rl B apply --check -i veth-B "$TMP/asks" && said 0 . rl B -q apply "$TMP/asks" || return
	said 1 'one source can use up this limit of all' rl B rule add device limit 10/second &&
		said 1 'a limit of all, as this one' rl B rule add any udp limit 20/second && rl B detach veth-B || return
	said 1 "$forwards" rl B attach veth-B --policy "$TMP/asks" && rl B detach veth-B && in_ns B sysctl -qw net.ipv4.ip_forward=0 &&
		said 0 "$forwards" rl B attach veth-B --policy "$TMP/asks" && rl B detach veth-B &&
		said 1 'denies every packet' rl B attach veth-B --yes --policy - <<<'rule any deny' && rl B detach veth-B
}

test_said_answers() {
	local lost='the peer of a veth takes answers'
	echo 'rule any udp dport 53 limit 5/second over truncate' >"$TMP/dns" &&
		said 1 "$lost" rl B attach veth-B --policy "$TMP/dns" && said 1 "$lost" rl B apply "$TMP/dns" &&
		rl B detach veth-B && said 0 "$lost" rl B attach veth-B --mode generic --policy "$TMP/dns" && rl B detach veth-B
}

test_vlan() {
	in_ns B ethtool -K veth-B rxvlan on && rl B attach veth-B && look 0 veth-B && found vlan ok || return
	rl B rule add any limit 9/second per vlan && look 0 veth-B && found vlan warn 'ethtool -K veth-B rxvlan off' || return
	in_ns B ethtool -K veth-B rxvlan off && look 0 veth-B && found vlan ok || return
	in_ns B ethtool -K veth-B rxvlan on && rl B detach veth-B && rl B attach veth-B --hook ingress || return
	rl B rule add any vlan 5 deny && look 0 veth-B && found vlan ok && rl B detach veth-B
}

# carrier ETHERTYPE: frames of it come in until the test ends.
carrier() {
	[[ -z ${CARRIER:-} ]] || kill -KILL -- "-$CARRIER"
	bg in_ns A python3 -c 'import socket, sys, time
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind(("veth-A", 0))
while True:
    out.send(b"\2" * 12 + bytes.fromhex(sys.argv[1]) + bytes(46))
    time.sleep(0.02)' "$1"
	CARRIER=$BG_PID
}

test_carriers() {
	in_ns B ethtool -K veth-B gro on && rl B attach veth-B && look 0 veth-B && found carriers ok || return
	carrier 0806 && eventually 5 counted_non_ip && look 0 veth-B && found carriers ok 'none within' || return
	carrier 8864 && eventually 10 sees warn 'PPPoE sessions pass' || return
	carrier 810000078847 && eventually 10 sees warn 'MPLS pass' || return
	carrier 88a800078100000a8864 && eventually 10 sees warn 'PPPoE sessions pass' || return
	kill -KILL -- "-$CARRIER" && eventually 10 sees ok 'none within' && rl B detach veth-B || return
	carrier 8864 && look 0 veth-B && found carriers ok 'not attached' && kill -KILL -- "-$CARRIER"
}
sees() { look 0 veth-B && found carriers "$@"; } # the sender may have been kept waiting meanwhile
counted_non_ip() { stat_of B '.reasons["non-ip"].packets > 0'; }

# ---- leftovers

# A program that was removed by force, and a device where attach was killed half way.
test_left_over() {
	rl B attach veth-B && link_xdp xdp off && mkdir "$(ns_pins B)/lo-xdp" && look 0 &&
		found leftovers warn 'rlctl detach veth-B' && found leftovers warn 'rlctl detach lo' &&
		rl B detach veth-B && rl B detach lo && eventually 10 tidy
}

# Somebody is at work there.
test_in_work() {
	mkdir -p "$(ns_pins B)/veth-B-xdp" && bg flock "$(ns_pins B)/veth-B-xdp" sleep 60 &&
		eventually 5 locked && eventually 10 tidy || return
	kill -KILL -- "-$BG_PID" && rl B detach veth-B
}
locked() { ! flock -n "$(ns_pins B)/veth-B-xdp" true; }

# ---- the machine

test_no_bpffs() {
	local status=0 finding=(warn 'mount -t bpf')
	on_machine || status=1 finding=(fail 'mount bpffs on the host')
	mkdir "$TMP/folder" && look "$status" --bpffs "$TMP/folder" && found bpffs "${finding[@]}" &&
		! mountpoint -q "$TMP/folder" && facts 1 --bpffs "$TMP/nosuch" && found bpffs fail
}

test_netns_exec() {
	expect_status 1 ip netns exec "$(ns B)" "$RLCTL" doctor -j >"$TMP/found" && found bpffs fail 'rlctl -n NAME'
}

test_unprivileged() {
	install -m 755 "$RLCTL" /tmp/"$_prefix-rlctl" || return
	expect_status 1 setpriv --reuid=65534 --regid=65534 --clear-groups -- \
		/tmp/"$_prefix-rlctl" doctor lo -j >"$TMP/found"
	local status=$?
	rm -f /tmp/"$_prefix-rlctl"
	[[ $status -eq 0 ]] && found privilege fail sudo && found program warn 'needs privilege' &&
		found features warn 'needs privilege'
}

# ---- how it is said

test_json() {
	facts 1 "$DEVICE" && jq -se 'length == 1 and (.[0] | type == "array" and all(.[];
		(.check | type == "string") and (.what | length > 0) and (.why | length > 0) and
		(.result | IN("ok", "warn", "fail")) and (.result != "ok" and (.remedy | length > 0) or
		.result == "ok" and .remedy == null)))' "$TMP/found"
}

# The same findings in the same words, and the remedies. Again where a test beside this one has left pins in between.
test_text() { link_xdp down && eventually 5 same_text && link_xdp up; }
same_text() {
	look 0 "$DEVICE" && rl B doctor "$DEVICE" >"$TMP/text" || return
	is "$(grep -cE '^(ok|warn|fail) ' "$TMP/text")" "$(json length <"$TMP/found")" &&
		is "$(awk '/^(ok|warn|fail) / { print $1, $3 }' "$TMP/text")" \
			"$(jq -r '.[] | "\(.result) \(.check)"' "$TMP/found")" &&
		is "$(sed -n 's/^ *do:  //p' "$TMP/text")" "$(jq -r '.[].remedy // empty' "$TMP/found")" && ! coloured
}

coloured() { grep -q $'\033' "$TMP/text"; }

test_colours() {
	TERM=xterm on_terminal && coloured && TERM=xterm NO_COLOR=1 on_terminal && ! coloured &&
		TERM=dumb on_terminal && ! coloured
}
on_terminal() {
	expect_status 1 python3 "$TOP/tests/terminal.py" -- \
		setpriv --bounding-set -sys_admin -- "$RLCTL" doctor lo >"$TMP/text"
}

test_words() {
	has 'no such device' expect_status 1 rl B doctor nosuch && is "$(rl B doctor nosuch 2>&1 | wc -l)" 1 &&
		is "$(rl B doctor nosuch -j 2>/dev/null)" '' && expect_status 2 rl B doctor veth-B lo &&
		expect_status 2 rl B doctor a/b && expect_status 0 rl B doctor --help
}

# ---- others' directories, and another kernel

own_bpffs() { mkdir -p "$TMP/bpf" && mount -t bpf bpf "$TMP/bpf"; }

# of_own CMD…: rlctl with that bpffs.
of_own() { rl B --bpffs "$TMP/bpf" "$@"; }

test_foreign_bpffs() {
	local status=0
	own_bpffs || return
	of_own doctor -j "$DEVICE" >"$TMP/found" && found bpffs ok 'chmod 711' && mkdir "$TMP/bpf/rlctl" && chown 65534 "$TMP/bpf/rlctl" &&
		expect_status 1 of_own doctor -j "$DEVICE" >"$TMP/found" && found bpffs fail 'belongs to another user' &&
		expect_status 1 of_own attach "$DEVICE" || status=1
	umount "$TMP/bpf" && return "$status"
}

# libxdp's directory is another user's: rlctl stands alone, and leaves all that is in it.
test_foreign_dispatchers() {
	local status=0
	own_bpffs && mkdir -p "$TMP/bpf/xdp/dispatch-1-1" && chown 65534 "$TMP/bpf/xdp" || return
	has 'belongs to another user' of_own attach "$DEVICE" && of_own rule add -i "$DEVICE" any udp dport 9 deny &&
		of_own attach "$DEVICE" --replace && of_own doctor -j "$DEVICE" >"$TMP/found" &&
		found programs ok 'no other XDP program can join it' && of_own detach "$DEVICE" &&
		is "$(ls "$TMP/bpf/xdp")" dispatch-1-1 || status=1
	umount "$TMP/bpf" && return "$status"
}

test_realtime() {
	# shellcheck disable=SC2016 # of the inner shell
	unshare -m sh -c 'mount -t tmpfs tmpfs /sys/kernel && echo 1 >/sys/kernel/realtime && "$1" doctor -j lo' sh "$RLCTL" >"$TMP/found"
	jq -e 'any(.[]; .check == "kernel" and .result == "warn" and (.what | contains("PREEMPT_RT")))' "$TMP/found"
}

veth_pair A B || exit 1
t 'all is well' test_well
t 'attached' test_attached
t 'few open files' test_files
t 'all devices' test_all_devices
t 'attached in generic mode, and GRO' test_generic
t 'no native XDP' test_no_native
t 'no Ethernet' test_no_ethernet
t 'a program of another' test_alien
t 'an MTU that was changed' test_mtu_changed
t 'a device that is down' test_down
t 'queues' test_queues
t 'queues in the way of native XDP' test_native_queues
t 'a trial' test_trial
t 'connection tracking' test_state
t 'sockets, on a machine that forwards' test_state_forwards
t 'said where rules are typed' test_said_where_typed
t 'said where answers would be lost' test_said_answers
t 'PPPoE and MPLS' test_carriers
t 'rules of VLANs, and a device that takes tags out' test_vlan
t 'left over' test_left_over
t 'not left over: somebody is at work' test_in_work
t 'no bpffs' test_no_bpffs
t 'inside ip netns exec' test_netns_exec
t "a bpffs where another user was first" test_foreign_bpffs
t "libxdp's directory is another user's" test_foreign_dispatchers
t 'PREEMPT_RT' test_realtime
t 'without privilege' test_unprivileged
t 'JSON' test_json
t 'text' test_text
t 'colours' test_colours
t 'words' test_words
