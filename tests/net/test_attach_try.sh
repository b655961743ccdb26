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

# ---- several devices: one trial

SMALL='--sources 1024 --prefixes 1024 --bans 1024'

attached_are() { is "$(rl B status -j | json 'map(.device) | join(",")')" "$1"; }
all_off() { attached_are '' && is_off; }

# many_try TIME ARG…: to all va vb vc, in the background.
many_try() {
	: >"$TMP/bg"
	# shellcheck disable=SC2086 # options
	bg "$RLCTL" -n "$(ns B)" attach 'v[abc]' $SMALL --policy "$TMP/policy" --try "$@" && TRIAL=$BG_PID || return
	eventually 20 grep -q 'the limiters of 3 devices are on trial' "$TMP/bg" && WATCHER=$(pgrep -P "$TRIAL") &&
		attached_are 'va,vb,vc'
}

test_many_confirm() { # [-i DEVICES]
	many_try 60s && rl B confirm "$@" && ended 0 && grep -q 'the limiters of 3 devices are confirmed' "$TMP/bg" &&
		attached_are 'va,vb,vc' && rl B rule add -i va 192.0.2.9 deny && rl B detach 'v[abc]' && all_off
}

test_many_time_over() { # the time begins when all are attached
	# shellcheck disable=SC2086 # options
	has 'not confirmed in time: the limiters of 3 devices were detached' expect_status 1 \
		rl B attach va,vb,vc $SMALL --try 1s && all_off
}

# One that is confirmed stays, and the others are undone.
test_many_some() {
	many_try 60s && has 'or -i all for all' expect_status 1 rl B confirm && rl B confirm -i vb &&
		kill -TERM "$TRIAL" && ended 1 && attached_are vb && rl B detach vb && all_off
}

test_many_killed() { # PROCESS
	many_try 60s && kill -KILL "${!1}" && eventually 5 all_off && expect_status "$2" wait "$TRIAL"
}

test_many_both_killed() {
	many_try 60s && kill -KILL "$WATCHER" "$TRIAL" && expect_status 137 wait "$TRIAL" && attached_are 'va,vb,vc' &&
		has 'nothing is on trial' expect_status 1 rl B confirm -i all && rl B detach 'v[abc]' && all_off
}

# While they are attached: what is attached by then is detached. The first is held up in the middle of the
# trial's start, the rest has not begun.
test_many_killed_early() {
	# shellcheck disable=SC2086 # options
	bg strace -qq -f -o "$TMP/strace" -e trace=sendmsg -e inject=sendmsg:delay_exit=60s:when=2 \
		"$RLCTL" -n "$(ns B)" attach 'v[abc]' $SMALL --try 60s
	eventually 5 is_watched && eventually 5 test -e "$(ns_pins B)/va-xdp/trial/state" &&
		kill -KILL "$TRIAL" "$BG_PID" && eventually 10 gone "$WATCHER" && eventually 5 nothing_on && pins_stale_only
}
nothing_on() { is "$(xdp_program B va)$(xdp_program B vb)$(xdp_program B vc)" ''; }
pins_stale_only() { # shellcheck disable=SC2086 # options
	rl B attach 'v[abc]' $SMALL && rl B detach 'v[abc]' && all_off
}

# A device that vanishes, and one that is detached, disturb none of the others.
test_many_vanished() {
	many_try 60s && ip -n "$(ns B)" link del va && rl B detach vb && rl B confirm -i 'v[abc]' && ended 0 &&
		attached_are vc && rl B detach vc && devices_new va && all_off
}

# One that cannot be attached: none is.
test_many_none() {
	# shellcheck disable=SC2086 # options
	rl B attach vb --hook egress $SMALL && has 'nothing stays attached' expect_status 1 \
		rl B attach va,vb,vc --hook egress $SMALL --try 60s && attached_are vb && rl B detach vb &&
		expect_status 1 pgrep -f "^$RLCTL -n $(ns B) attach va" && all_off
}

test_many_words() {
	has 'exclude each other' expect_status 2 rl B attach all --try 5s --follow &&
		has 'rlctl apply -i' expect_status 2 rl B attach all --try 5s --or-apply && all_off
}

# ---- apply -i 'v*' --try

many_show() { is "$(rl B show va)$(rl B show vb)$(rl B show vc)" "$1$1$1"; }

apply_many_try() {
	: >"$TMP/bg"
	echo 'rule 192.0.2.2 deny' >"$TMP/other"
	bg "$RLCTL" -n "$(ns B)" apply -i 'v[abc]' "$TMP/other" --try "$1" && TRIAL=$BG_PID || return
	eventually 20 grep -q 'the policies of 3 devices are on trial' "$TMP/bg" && WATCHER=$(pgrep -P "$TRIAL") &&
		many_show 'rule 192.0.2.2 deny'
}

test_apply_many() {
	# shellcheck disable=SC2086 # options
	rl B attach 'v[abc]' $SMALL --policy "$TMP/policy" && apply_many_try 60s && kill -TERM "$TRIAL" && ended 1 &&
		many_show "$POLICY" && grep -q 'previous policies are in force again' "$TMP/bg" || return
	apply_many_try 1s && expect_status 1 wait "$TRIAL" && many_show "$POLICY" || return
	apply_many_try 60s && kill -KILL "$TRIAL" && eventually 5 many_show "$POLICY" && expect_status 137 wait "$TRIAL" &&
		eventually 5 gone "$WATCHER" || return
	apply_many_try 60s && ip -n "$(ns B)" link del va && rl B confirm -i 'v*' && ended 0 &&
		is "$(rl B show vb)$(rl B show vc)" 'rule 192.0.2.2 denyrule 192.0.2.2 deny' && rl B rule add -i vb 192.0.2.9 deny &&
		rl B detach vb,vc && rl B attach vb && rl B detach vb && devices_new va && all_off # an attach clears what va left
}

# One has a trial already, or no room: no policy changes.
test_apply_many_none() {
	local status=0
	seq -f 'rule 10.1.%.0f.1 deny' 0 200 >"$TMP/large"
	# shellcheck disable=SC2086 # options
	rl B attach va,vb $SMALL --policy "$TMP/policy" && rl B attach vc --prefixes 100 --policy "$TMP/policy" || return
	has 'refused: nothing was changed on any device' expect_status 1 rl B apply -i 'v[abc]' "$TMP/large" --try 60s &&
		many_show "$POLICY" || status=1
	bg "$RLCTL" -n "$(ns B)" apply -i vb "$TMP/policy" --try 60s && eventually 5 test -e "$(ns_pins B)/vb-xdp/trial/state" &&
		has 'a policy is on trial' expect_status 1 rl B apply -i 'v[abc]' "$TMP/policy" --try 60s && rl B confirm -i vb &&
		rl B rule add -i va 192.0.2.9 deny && wait "$BG_PID" && rl B detach 'v[abc]' && all_off && return "$status"
}

veth_pair A B && echo "$POLICY" >"$TMP/policy" && devices_new va vb vc && BEFORE=$(state_of) || exit 1
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
t 'several devices, confirmed by a pattern' test_many_confirm -i 'v*'
t 'by all' test_many_confirm all
t 'by a list' test_many_confirm -i va,vb,vc
t 'several, not confirmed in time' test_many_time_over
t 'one of several is confirmed' test_many_some
t 'several, killed' test_many_killed TRIAL 137
t 'several, both are killed' test_many_both_killed
t 'several, killed while they are attached' test_many_killed_early
t 'one of several goes, one is detached' test_many_vanished
t 'one of several cannot be attached' test_many_none
t 'several, words' test_many_words
t 'apply to several' test_apply_many
t 'apply to several, where one refuses' test_apply_many_none
