#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# attach and detach: modes, pins, refused attempts, a policy in force from the first packet on, and the JSON
# of status and stats. Other programs on the device are tested in test_others.sh.
source "$(dirname "$0")/../lib.sh"

detached() { # the device is free and nothing is left of us
	is "$(xdp_program B veth-B)" '' && [[ ! -e $(ns_pins B) ]]
}

# ---- life

test_life() {
	local id maps
	rl B attach veth-B && id=$(xdp_program B veth-B) && [[ -n $id ]] || return
	is "$(rl B status -j | json '.[0].program_id')" "$id" || return
	read -ra maps <<<"$(maps_of "$id")"
	[[ ${#maps[@]} -gt 0 ]] && rl B detach veth-B && detached || return
	eventually 10 maps_gone "${maps[@]}"
}

test_pins() {
	local pin
	rl B attach veth-B && is "$(ls "$(ns_pins B)")" veth-B-xdp || return
	for pin in "$(ns_pins B)/veth-B-xdp"/*; do
		bpftool map show pinned "$pin" || return
	done
	rl B detach veth-B && detached
}

test_two_devices() {
	local status=0
	rl B attach veth-B && rl B attach lo || return
	has 'choose one with -i' expect_status 1 rl B show || status=1
	rl B show -i lo && is "$(rl B status -j | json '[.[].device] | join(" ")')" 'lo veth-B' || status=1
	rl B detach lo && rl B show && [[ -d $(ns_pins B)/veth-B-xdp ]] || status=1
	rl B detach veth-B && detached && return "$status"
}

test_twice() {
	local id status=0
	rl B attach veth-B && rl B rule add 192.0.2.1 deny && id=$(xdp_program B veth-B) || return
	has 'already attached' expect_status 1 rl B attach veth-B || status=1
	has 'already attached' expect_status 1 rl B attach veth-B --mode generic || status=1
	is "$(xdp_program B veth-B)" "$id" && is "$(rl B show)" 'rule 192.0.2.1 deny' || status=1
	rl B detach veth-B && return "$status"
}

# Detaching an instance that does not exist fails with a message; a device in use by the other namespace is
# not ours.
test_detach_nothing() {
	has 'nothing' expect_status 1 rl B detach veth-B &&
		has 'nothing' expect_status 1 rl B detach lo &&
		expect_status 1 rl B detach nosuch && detached
}

# Namespaces are apart, though their devices may have the same name.
test_namespaces() {
	local status=0
	rl B attach lo || return
	expect_status 1 rl A detach lo && is "$(rl A status -j | json length)" 0 || status=1
	is "$(rl B status -j | json length)" 1 || status=1
	rl B detach lo && return "$status"
}

# ---- modes

mode_is() { # MODE ip's name of it
	is "$(rl B status -j | json '.[0].mode')" "$1" &&
		has "$2" ip -n "$(ns B)" link show veth-B &&
		in_ns A ping -c 3 -i 0.01 -W 2 10.77.0.2 &&
		[[ $(stat_of B .passed.packets) -ge 3 ]]
}

test_mode() { # MODE WANTED ip's name of it
	rl B attach veth-B --mode "$1" && mode_is "$2" "$3" && rl B detach veth-B && detached
}

# The loopback device has no native XDP.
test_native_only() {
	has 'does not support XDP' expect_status 1 rl B attach lo --mode native &&
		is "$(xdp_program B lo)" '' && [[ ! -e $(ns_pins B) ]]
}

test_auto_falls_back() {
	has 'native XDP is not possible (the driver does not support XDP): falling back to mode tc' rl B attach lo || return
	is "$(rl B status -j | json '.[0] | "\(.hook) \(.mode)"')" 'xdp tc' && is "$(xdp_program B lo)" '' && in_ns B ping -c 3 -i 0.01 127.0.0.1 &&
		[[ $(stat_of B .passed.packets) -ge 6 ]] && rl B detach lo && [[ ! -e $(ns_pins B) ]] || return
	is "$(tc -n "$(ns B)" qdisc show dev lo clsact)" ''
}

# ---- the policy is in force from the first packet

test_first_packet() { # MODE
	printf 'rule 10.78.0.0/16 deny\n' >"$TMP/policy"
	ethtool_gro && bg flood A --seconds 60 --rate 20000 --src 10.78.0.0/16
	eventually 5 received 100 && rl B attach veth-B --mode "$1" --policy "$TMP/policy" &&
		eventually 5 denied 1000 || return
	is "$(stat_of B .passed.packets)" 0 || return
	kill -TERM -- "-$BG_PID"
	rl B detach veth-B && detached
}
ethtool_gro() { in_ns B ethtool -K veth-B gro on; }
received() { [[ $(counter B IpInReceives) -ge $1 ]]; }
denied() { [[ $(stat_of B .reasons.denied.packets) -ge $1 ]]; }

test_bad_policy() {
	printf 'rule any deny\nrule any limit none\n' >"$TMP/policy"
	has "$TMP/policy:2:" expect_status 1 rl B attach veth-B --policy "$TMP/policy" && detached &&
		expect_status 1 rl B attach veth-B --policy "$TMP/nosuch" && detached
}

# ---- the clock: a tick that is taken for longer than it is makes every rate wrong by that

tick_ns() {
	bpftool -j map dump pinned "$(ns_pins B)/veth-B-xdp/instance" | json '.[0].formatted.value.tick_ns'
}

tick_is() { rl B attach veth-B && is "$(tick_ns)" "$1" && rl B detach veth-B; }

# On a busy machine as well.
test_tick() {
	local n cpu wanted status=0 busy=()
	wanted=$(python3 -c 'import time; print(round(time.clock_getres(6) * 1e9))') || return # MONOTONIC_COARSE
	for ((cpu = 0; cpu < $(nproc); cpu++)); do
		bg sh -c 'while :; do :; done' && busy+=("-$BG_PID")
	done
	for ((n = 0; n < 10 && status == 0; n++)); do
		tick_is "$wanted" || status=1
	done
	kill -KILL -- "${busy[@]}"
	[[ $status -eq 0 ]] || rl B detach veth-B
	return "$status"
}

# ---- words

test_words() {
	expect_status 2 rl B attach && expect_status 2 rl B attach veth-B --mode fast &&
		expect_status 2 rl B attach veth-B --hook nosuch &&
		expect_status 2 rl B attach veth-B lo &&
		expect_status 2 rl B nosuch && expect_status 2 "$RLCTL" &&
		expect_status 2 rl B attach 'a/b' &&
		expect_status 1 rl B attach nosuch && expect_status 1 "$RLCTL" -n nosuch status &&
		expect_status 0 "$RLCTL" --help && expect_status 0 "$RLCTL" --version && detached
}

# There /sys/fs/bpf is hidden.
test_netns_exec() {
	has ' -n ' expect_status 1 ip netns exec "$(ns B)" "$RLCTL" attach veth-B && detached &&
		has ' -n ' expect_status 1 ip netns exec "$(ns B)" "$RLCTL" status
}

test_bpffs() {
	local status=0 pins
	mkdir "$TMP/bpf" && mount -t bpf bpf "$TMP/bpf" || return
	pins=$TMP/bpf/rlctl/$(basename "$(ns_pins B)")
	rl B --bpffs "$TMP/bpf" attach veth-B && [[ -d $pins/veth-B-xdp && ! -e $(ns_pins B) ]] &&
		is "$(rl B status -j | json length)" 0 &&
		rl B --bpffs "$TMP/bpf" rule add any deny &&
		ip netns exec "$(ns B)" "$RLCTL" --bpffs "$TMP/bpf" show &&
		rl B --bpffs "$TMP/bpf" detach veth-B && [[ ! -e $pins ]] && detached || status=1
	umount "$TMP/bpf" && return "$status"
}

# ---- JSON (a contract)

KEYS='def amount: keys == ["bytes", "packets"] and all(.[]; type == "number");
	(.device | type == "string") and (.hook | IN("xdp", "ingress", "egress")) and
	(.passed | amount) and (.dropped | amount) and
	(.reasons | keys == (["allowed", "within", "unmatched", "non-ip", "shadow", "established", "denied", "over",
		"banned", "malformed", "no-room", "challenged", "truncated"] | sort) and all(.[]; amount)) and
	all(.rules[]; (.rule | type == "string") and (.passed | amount) and (.dropped | amount) and
		(.shadow | amount))'

# one_document CMD…
one_document() { is "$("$@" | jq -s length)" 1; }

test_json() {
	local verb
	rl B attach veth-B && rl B rule add 192.0.2.1 limit 10/second &&
		rl B rule add any tcp deny || return
	rl B stats -j | json "length == 1 and (.[0] | $KEYS)" &&
		rl B status -j | json "length == 1 and (.[0] | $KEYS)" &&
		rl B stats -j | json '([.[0].rules[].rule] | sort) ==
			["192.0.2.1 limit 10/second burst 5", "any tcp deny"]' &&
		rl B status -j | json '.[0] | .mode == "native" and (.program_id > 0) and .state == "sockets" and .challenge_rate == 1000000 and
			(.memory_bytes > 0) and (.sources | .used == 0 and .capacity > 0) and
			(.since | fromdate > 0)' || return
	for verb in stats status show 'rule list' 'rule get 192.0.2.1'; do
		# shellcheck disable=SC2086 # a verb may be two words
		one_document rl B -j $verb || return
	done
	rl B detach veth-B && is "$(rl B stats -j)" '[]' && is "$(rl B status -j)" '[]'
}

veth_pair A B && veth_quiet A B || exit 1
t 'attach and detach leave nothing' test_life
t 'the pins and their folder' test_pins
t 'two devices' test_two_devices
t 'a second attach is refused' test_twice
t 'nothing to detach' test_detach_nothing
t 'other namespaces are not touched' test_namespaces
t 'native mode' test_mode native native ' xdp '
t 'generic mode' test_mode generic generic xdpgeneric
t 'auto is native where the driver can' test_mode auto native ' xdp '
t 'native never falls back' test_native_only
t 'auto falls back and says so' test_auto_falls_back
t 'policy from the first packet, native' test_first_packet native
t 'policy from the first packet, generic' test_first_packet generic
t 'a bad policy attaches nothing' test_bad_policy
t 'the length of a tick' test_tick
t 'wrong words' test_words
t 'inside ip netns exec the error names -n' test_netns_exec
t 'another bpffs' test_bpffs
t 'JSON' test_json
