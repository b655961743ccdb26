#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A command meets the leftovers of another call or of another version: attach --or-apply, maps that this
# version does not know or misses, and a caller without the privilege to identify the attached program.
source "$(dirname "$0")/../lib.sh"

program() { xdp_program B veth-B; }

attached_as() { [[ -n $1 ]] && is "$(program)" "$1"; }

# ---- attach --or-apply

or_apply() { rl B attach veth-B --or-apply "$@"; }

test_or_apply_attaches() {
	echo 'rule any limit 9/second burst 1' >"$TMP/policy"
	or_apply --policy "$TMP/policy" && [[ -n $(program) ]] &&
		is "$(rl B show)" 'rule any limit 9/second burst 1'
}

ping_b() { in_ns A ping -qc "$1" -i 0.01 -W 1 10.77.0.2; }

# A ban of the old policy holds under the new one: state and counters are kept.
test_or_apply_keeps() {
	local id dropped
	rl B rule flush && rl B rule add any icmp limit 1/hour burst 3 over ban 1h && id=$(program) &&
		{ ping_b 5 || true; } && dropped=$(stat_of B .dropped.packets) && between "$dropped" 1 5 || return
	rl B show | sed 's,1/hour burst 3,2/hour burst 4,' >"$TMP/policy" || return
	has 'policy was applied' or_apply --policy "$TMP/policy" && attached_as "$id" &&
		is "$(rl B show)" "$(<"$TMP/policy")" && expect_fail ping_b 1 &&
		between "$(stat_of B .dropped.packets)" $((dropped + 1)) $((dropped + 1))
}

test_or_apply_bad_policy() {
	local id
	rl B rule flush && rl B rule add any deny && id=$(program) && echo 'rule any limi' >"$TMP/policy" &&
		has 'limi' expect_status 1 or_apply --policy "$TMP/policy" &&
		expect_status 1 or_apply --policy "$TMP/none" && attached_as "$id" &&
		is "$(rl B show)" 'rule any deny'
}

test_or_apply_no_policy() {
	local id
	rl B rule flush && rl B rule add any tcp deny && id=$(program) && has 'the instance stays' or_apply &&
		attached_as "$id" && is "$(rl B show)" 'rule any tcp deny'
}

# ---- attach --or-apply --last: what a boot does with a policy that has an error

# boots POLICY [OPTION…]: as the unit's start does where nothing is attached.
boots() {
	rl B detach veth-B 2>/dev/null
	echo "$1" >"$TMP/policy" && or_apply --policy "$TMP/policy" --last "$TMP/last" "${@:2}"
}

GOOD='rule any limit 9/second burst 1'
falls_back() { has 'the policy that was in force last is in force again' expect_status 1 "$@" && is "$(rl B show)" "$GOOD"; }

test_last() {
	rm -f "$TMP/last" && has 'no earlier policy' expect_status 1 boots 'rule any limi' &&
		is "$(program)" '' && boots "$GOOD" && is "$(<"$TMP/last")" "$GOOD" &&
		falls_back boots 'rule any limi' && is "$(<"$TMP/last")" "$GOOD" && has limi expect_status 1 boots 'rule any limi'
}

# An include that is not there, more prefixes than there is room for, what only attach itself can refuse, no file.
test_last_refused() {
	falls_back boots "include $TMP/none" && falls_back boots $'rule 192.0.2.1 deny\nrule 192.0.2.2 deny' --prefixes 1 &&
		falls_back boots 'rule any limit 9/second over mark 7' && rl B detach veth-B && rm "$TMP/policy" && falls_back or_apply --policy "$TMP/policy" --last "$TMP/last"
}

# Included files are kept as well, for they may be missing later.
test_last_included() {
	echo "$GOOD" >"$TMP/included" && boots "include $TMP/included" && rm "$TMP/included" &&
		falls_back boots "include $TMP/included"
}

# Each success is kept, also one that changes an instance; what fails there leaves the instance as it was.
test_last_follows() {
	local new='rule any udp deny'
	boots "$GOOD" && echo "$new" >"$TMP/policy" && or_apply --policy "$TMP/policy" --last "$TMP/last" &&
		is "$(<"$TMP/last")" "$new" && echo 'rule any limi' >"$TMP/policy" &&
		has 'stays in force' expect_status 1 or_apply --policy "$TMP/policy" --last "$TMP/last" &&
		is "$(rl B show)" "$new" && is "$(<"$TMP/last")" "$new" && boots "$GOOD"
}

# The guard has the last word: nothing else comes into force.
test_last_guard() {
	rl B detach veth-B && echo 'rule any deny' >"$TMP/policy" && SSH_CONNECTION='10.77.0.1 50000 10.77.0.2 22' \
		has 'may lock you out' expect_status 1 in_ns B "$RLCTL" attach veth-B --or-apply --policy "$TMP/policy" --last "$TMP/last" &&
		is "$(program)" '' && is "$(<"$TMP/last")" "$GOOD" && boots "$GOOD"
}

# No place to keep it, and it is in force all the same.
test_last_unwritable() {
	rl B detach veth-B && echo "$GOOD" >"$TMP/policy" &&
		has 'make its directory first' or_apply --policy "$TMP/policy" --last "$TMP/none/last" && is "$(rl B show)" "$GOOD"
}

# ---- other versions

# A version that has one map less than this one.
without_a_map() { rm "$(ns_pins B)/veth-B-xdp/batches"; }

# A version that noted nothing about its program.
without_a_note() { rm "$(ns_pins B)/veth-B-xdp/program"; }

# Another number in the first field of the instance.
with_another_abi() {
	local pin value
	pin=$(ns_pins B)/veth-B-xdp/instance
	read -ra value <<<"$(bpftool -j map dump pinned "$pin" |
		json '.[0].value | map(sub("0x"; "")) | .[0] = "ff" | join(" ")')"
	bpftool map update pinned "$pin" key hex 00 00 00 00 value hex "${value[@]}"
}

# The kernel copies the whole value to any reader.
with_a_larger_instance() {
	local pin
	pin=$(ns_pins B)/veth-B-xdp/instance
	rm "$pin" && bpftool map create "$pin" type array key 4 value 65536 entries 1 name instance
}

# The other version's limiter keeps running and is recognised as attached; detach removes it, and attach works
# again.
test_other_version() { # HOW
	local id verb
	echo 'rule any allow' >"$TMP/policy"
	rl B attach veth-B && id=$(program) && "$1" || return
	for verb in show stats "apply $TMP/policy" 'rule add any deny'; do
		# shellcheck disable=SC2086 # words
		has 'another version' expect_status 1 rl B -i veth-B $verb || return
	done
	has 'another version' rl B status && has 'detach veth-B' expect_status 1 rl B attach veth-B &&
		expect_status 1 or_apply --policy "$TMP/policy" && attached_as "$id" &&
		rl B detach veth-B && is "$(program)" '' && [[ ! -e $(ns_pins B) ]]
}

# ---- privileges

weak() { # CMD…: in B, without CAP_SYS_ADMIN
	in_ns B setpriv --inh-caps=-all --bounding-set=-all,+bpf,+net_admin,+perfmon "$RLCTL" "$@"
}

# A command that may not ask the kernel whose program it is treats no instance as gone, neither here nor in A,
# and relies on the note that attach left.
test_no_privilege() {
	local id
	rl A attach veth-A && rl B attach veth-B && id=$(program) || return
	has 'already attached' expect_status 1 weak attach veth-B && has 'missing capabilities: CAP_SYS_ADMIN' expect_status 1 weak detach veth-B &&
		is "$(weak status veth-B -j | json '.[0].program_id')" "$id" && weak show && attached_as "$id" && rl A show && rl B show && rl A detach veth-A && rl B detach veth-B
}

veth_pair A B && veth_quiet A B || exit 1
t '--or-apply attaches where nothing is' test_or_apply_attaches
t '--or-apply keeps program, state and counters' test_or_apply_keeps
t '--or-apply with a bad policy changes nothing' test_or_apply_bad_policy
t '--or-apply without a policy changes nothing' test_or_apply_no_policy
t '--last, after a policy with an error' test_last
t '--last, after other refusals' test_last_refused
t '--last, with what is included' test_last_included
t '--last, after each success' test_last_follows
t '--last, and the guard' test_last_guard
t '--last that cannot be written' test_last_unwritable
rl B detach veth-B || exit 1
t 'a version with other maps' test_other_version without_a_map
t 'a version without a note' test_other_version without_a_note
t 'a version with another ABI' test_other_version with_another_abi
t 'a version with a larger instance' test_other_version with_a_larger_instance
t 'without the privilege nothing is taken for gone' test_no_privilege
