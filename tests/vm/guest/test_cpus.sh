#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Two CPUs are online of 64 that are possible: shares of rates and budgets count those two, the memory for the
# others is reported, and a CPU that goes offline is known again after a replacement.
source "$(dirname "$0")/guest.sh"

online() { cat /sys/devices/system/cpu/online; }

test_machine() { is "$(cat /sys/devices/system/cpu/possible)" 0-63 && is "$(online)" 0-1; }

# admits RULE BURST: 1000 packets a second in three seconds of both CPUs' overload, less what a guest that has
# to wait for its host loses.
admits() {
	local result before passed
	rl B rule flush && rl B rule add any limit "$1" || return
	before=$(stat_of B .reasons.within.packets) &&
		result=$(flood A --rate 20000 --seconds 3 --threads 2 --src 10.78.0.1) && echo "$result" &&
		rl B stats && passed=$(($(stat_of B .reasons.within.packets) - before)) || return
	admitted "$passed" 1000 "$2" "$(json .seconds <<<"$result")" 20
}

test_shares() {
	rl B attach veth-B --table cpu --sources 4096 && admits '1000/second burst 1000' 1000
}

# The reported allowance of an address counts the online CPUs only.
test_allowance() {
	rl B rule flush && rl B rule add any limit 1000/second burst 100 &&
		flood A --count 2 --threads 2 --src 10.78.0.9 || return
	sleep 1
	is "$(rl B source show 10.78.0.9 -j | json '.states[0].remaining')" 100
}

test_status() {
	local each
	rl B status -j | json '.[0].cpus | .online == 2 and .possible == 64' || return
	each=$(rl B status -j | json '.[0].cpus.memory_bytes') && [[ $each -gt 0 ]] &&
		[[ $((each * 64)) -lt $(rl B status -j | json '.[0].memory_bytes') ]] &&
		has '2 online, 64 x ' rl B status
}

# found RESULT CHECK TEXT: a finding of doctor.
found() {
	rl B doctor -j veth-B >"$TMP/found" || return
	jq -e --arg check "$2" --arg result "$1" --arg text "$3" \
		'any(.[]; .check == $check and .result == $result and (.what | contains($text)))' "$TMP/found"
}

test_doctor() { found warn cpus '2 online of 64 possible' && found ok shares 'the CPUs that are online'; }

# The share stays that of attach until the instance is replaced.
test_hotplug() {
	echo 0 >/sys/devices/system/cpu/cpu1/online && is "$(online)" 0 &&
		found warn shares 'among 2 CPUs; online now: 1' && rl B attach veth-B --replace &&
		found ok shares '' && rl B status -j | json '.[0].cpus.online == 1' &&
		echo 1 >/sys/devices/system/cpu/cpu1/online && is "$(online)" 0-1
}

# Per-CPU values are read and written for all that are possible.
test_counters() {
	rl B rule flush && rl B rule add any udp deny && flood A --count 1000 --threads 2 --src 10.78.0.0/16 &&
		is "$(rule_stat B 'any udp deny' .dropped.packets)" 1000
}

veth_pair A B 2 && veth_quiet A B && ns_mute A && in_ns B ethtool -K veth-B gro on || exit 1
t '2 CPUs of 64 possible' test_machine
t '--table cpu admits the limit' test_shares
t 'allowances of the CPUs that are online' test_allowance
t 'status says what they cost' test_status
t 'doctor says what they cost' test_doctor
t 'counters' test_counters
t 'a CPU goes and comes' test_hotplug
