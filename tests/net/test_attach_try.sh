#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# attach --try: a limiter on trial is detached again, with all its pins and maps, unless it is confirmed. The
# parts in common with apply --try are tested in test_trial.sh. check: beside check: timeout 240
source "$(dirname "$0")/../lib.sh"

POLICY='rule 192.0.2.1 deny'

# state_of: everything that attach leaves on the device and among the pins.
state_of() {
	ip -n "$(ns B)" -j link show veth-B | jq -c '.[0].xdp'
	tc -n "$(ns B)" qdisc show dev veth-B
	find "$(ns_pins B)" 2>/dev/null | sort
}
is_off() { is "$(state_of)" "$BEFORE"; }
shows() { is "$(rl B show)" "$POLICY"; }

# attach_try TIME ARG…: in the background; TRIAL is the process of the command, WATCHER its child.
attach_try() {
	: >"$TMP/bg"
	bg "$RLCTL" -n "$(ns B)" attach veth-B --policy "$TMP/policy" --try "$@" && TRIAL=$BG_PID || return
	eventually 5 grep -q 'the limiter is on trial' "$TMP/bg" && WATCHER=$(pgrep -P "$TRIAL")
}

# ended STATUS: the trial ends with STATUS, and none of its processes is left.
ended() { expect_status "$1" wait "$TRIAL" && gone "$WATCHER"; }
gone() { [[ $(ps -o stat= -p "$1") =~ ^(Z.*)?$ ]]; } # or only waits for its parent to notice

# ---- kept and taken off

test_confirm() { # HOOK
	attach_try 60s --hook "$1" && shows && has 'the limiter is confirmed' rl B confirm && ended 0 && shows &&
		rl B rule add 192.0.2.9 deny && rl B detach veth-B && is_off
}

test_time_over() {
	has 'not confirmed in time: the limiter was detached' expect_status 1 rl B attach veth-B --try 1s && is_off
}

# Beside an instance of another hook, which stays.
test_beside() {
	rl B attach veth-B --hook egress && attach_try 60s --hook ingress && rl B confirm -i veth-B && ended 0 || return
	rl B detach veth-B --hook ingress && attach_try 60s --hook xdp && kill -INT "$TRIAL" && ended 1 &&
		is "$(rl B status -j | json 'map(.hook) | join(" ")')" egress && rl B detach veth-B && is_off
}

# A failed attach leaves no process waiting.
test_failed() {
	has 'the driver does not support XDP' expect_status 1 rl B attach lo --mode native --try 60s && is_off &&
		expect_status 1 pgrep -f "^$RLCTL -n $(ns B) attach lo"
}

# ---- at the terminal

test_key() {
	expect_status 1 python3 "$TOP/tests/terminal.py" 'keeps it, n undoes' "$1" -- \
		"$RLCTL" -n "$(ns B)" attach veth-B --policy "$TMP/policy" --try 60s && is_off
}

# ---- signals and crashes

test_signal() { # SIGNAL ARG…
	attach_try 60s "${@:2}" && kill -"$1" "$TRIAL" && ended 1 && is_off
}

test_killed() {
	attach_try 60s && kill -KILL "$TRIAL" && expect_status 137 wait "$TRIAL" &&
		eventually 5 gone "$WATCHER" && is_off
}

# With both processes killed nothing takes the limiter off: it stays, and does not block later commands.
test_both_killed() {
	attach_try 60s && kill -KILL "$WATCHER" "$TRIAL" && eventually 5 gone "$WATCHER" &&
		expect_status 137 wait "$TRIAL" && shows && rl B rule add 192.0.2.9 deny &&
		rl B detach veth-B && is_off
}

# As soon as there is a watcher, before the program is on the device.
test_killed_early() {
	bg strace -qq -o "$TMP/strace" -e trace=clone -e inject=clone:delay_exit=60s "$RLCTL" -n "$(ns B)" attach veth-B --try 60s
	eventually 5 is_watched && is "$(xdp_program B veth-B)" '' && kill -KILL "$TRIAL" "$BG_PID" &&
		eventually 5 gone "$WATCHER" && is_off
}
is_watched() { TRIAL=$(pgrep -P "$BG_PID") && WATCHER=$(pgrep -P "$TRIAL"); }

# ---- others meanwhile

test_writers() {
	attach_try 60s && has 'a limiter is on trial' expect_status 1 rl B rule add 192.0.2.3 deny &&
		has 'a limiter is on trial' expect_status 1 rl B apply "$TMP/policy" &&
		has 'already attached' expect_status 1 rl B attach veth-B && rl B doctor veth-B -j >"$TMP/doctor"
	is "$(json '.[] | select(.check == "trial") | .remedy' "$TMP/doctor")" 'rlctl confirm -i veth-B' &&
		kill -TERM "$TRIAL" && ended 1 && is_off
}

test_detached() { attach_try 60s && rl B detach veth-B && ended 1 && grep -q 'ended the trial' "$TMP/bg" && is_off; }

renamed() {
	ip -n "$(ns B)" link set "$1" down && ip -n "$(ns B)" link set "$1" name "$2" && ip -n "$(ns B)" link set "$2" up
}

test_renamed() {
	attach_try 60s && renamed veth-B other && kill -TERM "$TRIAL" && ended 1 &&
		renamed other veth-B && is_off
}

test_vanished() {
	ip -n "$(ns B)" link add gone type veth peer name gone-peer && : >"$TMP/bg" &&
		bg "$RLCTL" -n "$(ns B)" attach gone --try 60s && TRIAL=$BG_PID || return
	eventually 5 grep -q 'on trial' "$TMP/bg" && WATCHER=$(pgrep -P "$TRIAL") && ip -n "$(ns B)" link del gone &&
		kill -TERM "$TRIAL" && ended 1 && is_off
}

# ---- words

test_words() {
	expect_status 2 rl B attach veth-B --try 5 && expect_status 2 rl B attach veth-B --try 999ms &&
		expect_status 2 rl B attach veth-B --try 2d &&
		has 'leave --try out' expect_status 2 rl B attach veth-B --try 5s --replace &&
		has 'one --hook' expect_status 2 rl B attach veth-B --try 5s --hook xdp --hook ingress && is_off
}

# With --or-apply the change is on trial: the limiter, or where one is attached the policy.
test_or_apply() {
	attach_try 60s --or-apply && kill -TERM "$TRIAL" && ended 1 && is_off && rl B attach veth-B --policy "$TMP/policy" &&
		echo 'rule any deny' >"$TMP/other" || return
	has 'the previous policy is in force again' expect_status 1 \
		rl B attach veth-B --or-apply --policy "$TMP/other" --try 1s && shows && rl B detach veth-B && is_off
}

test_privilege() {
	has 'CAP_SYS_ADMIN' expect_status 1 in_ns B setpriv --inh-caps=-all \
		--bounding-set=-all,+bpf,+net_admin,+perfmon "$RLCTL" attach veth-B --try 5s && is_off
}

# The guard only warns.
test_guard() {
	echo 'rule any deny' >"$TMP/other"
	has 'may lock you out' expect_status 1 in_ns B env SSH_CONNECTION='203.0.113.7 50000 10.77.0.2 22' \
		"$RLCTL" attach veth-B --policy "$TMP/other" --try 1s && is_off
}

veth_pair A B && echo "$POLICY" >"$TMP/policy" && BEFORE=$(state_of) || exit 1
for hook in xdp ingress egress; do
	t "confirmed, $hook" test_confirm "$hook"
done
t 'not confirmed in time' test_time_over
t 'beside another hook' test_beside
t 'what cannot be attached' test_failed
t 'the key n' test_key n
t 'the terminal goes away' test_key HANGUP
t 'SIGTERM, with --group' test_signal TERM --group 12345
t 'killed' test_killed
t 'killed before the program is there' test_killed_early
t 'both are killed' test_both_killed
t 'other writers are told to wait' test_writers
t 'detached' test_detached
t 'renamed' test_renamed
t 'the device goes' test_vanished
t 'words' test_words
t '--or-apply' test_or_apply
t 'without CAP_SYS_ADMIN' test_privilege
t 'the guard' test_guard
