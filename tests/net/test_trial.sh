#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# apply --try and confirm: when a policy on trial is kept and when it is taken back, the effect on other
# writers and on the state of limits meanwhile, and that no crash leaves anything stuck. check: timeout 240
source "$(dirname "$0")/../lib.sh"

OLD='rule 192.0.2.1 deny'
NEW='rule 192.0.2.2 deny'

shows() { is "$(rl B show)" "$1"; }

# apply_try TIME: in the background; TRIAL is the process of the command, WATCHER its child.
apply_try() {
	rl B apply - <<<"$OLD" && echo "$NEW" >"$TMP/new" &&
		bg "$RLCTL" -n "$(ns B)" apply --try "$1" "$TMP/new" && TRIAL=$BG_PID || return
	eventually 5 shows "$NEW" && eventually 5 unlocked && WATCHER=$(pgrep -P "$TRIAL")
}
unlocked() { flock -n "$(ns_pins B)/veth-B-xdp" true; } # who is stopped before that holds up all

# ended STATUS: the trial ends with STATUS, and none of its processes is left.
ended() {
	expect_status "$1" wait "$TRIAL" && gone "$WATCHER"
}
gone() { [[ $(ps -o stat= -p "$1") =~ ^(Z.*)?$ ]]; } # or only waits for its parent to notice

free() { # nothing of a trial is left: writers write
	[[ ! -e $(ns_pins B)/veth-B-xdp/trial ]] && expect_status 1 rl B confirm &&
		rl B rule add 192.0.2.9 deny && rl B rule del 192.0.2.9
}

# ---- kept and taken back

test_confirm() {
	apply_try 60s && has 'confirmed' rl B confirm "$@" && ended 0 && shows "$NEW" && free
}

test_time_over() {
	rl B apply - <<<"$OLD" && echo "$NEW" >"$TMP/new" &&
		has 'not confirmed in time' expect_status 1 rl B apply --try 1s "$TMP/new" &&
		shows "$OLD" && free
}

test_no_trial() {
	has 'nothing is on trial' expect_status 1 rl B confirm &&
		has 'nothing is on trial' expect_status 1 rl B confirm -i veth-B &&
		has 'nothing attached' expect_status 1 rl B confirm -i lo
}

test_bad_file() {
	rl B apply - <<<"$OLD" && echo 'rule any dny' >"$TMP/bad" &&
		has "$TMP/bad:1:" expect_status 1 rl B apply --try 60s "$TMP/bad" && shows "$OLD" && free
}

# A policy that does not fit the instance.
test_no_room() {
	seq -f 'rule 10.1.%.0f.1 deny' 0 200 >"$TMP/many"
	rl B apply - <<<"$OLD" && has 'prefixes' expect_status 1 rl B apply --try 60s "$TMP/many" &&
		shows "$OLD" && free
}

test_words() {
	echo "$NEW" >"$TMP/new"
	expect_status 2 rl B apply --try 5 "$TMP/new" && expect_status 2 rl B apply --try 0s "$TMP/new" &&
		expect_status 2 rl B apply --try 2d "$TMP/new" &&
		expect_status 2 rl B apply --try 999ms "$TMP/new" &&
		expect_status 2 rl B apply --try 5s --check "$TMP/new" &&
		expect_status 2 rl B confirm veth-B lo
}

# ---- on a terminal

# on_terminal STATUS SCRIPT…: a trial of a minute with a user at the terminal.
on_terminal() {
	local status=$1
	shift
	rl B apply - <<<"$OLD" && echo "$NEW" >"$TMP/new" &&
		expect_status "$status" python3 "$TOP/tests/terminal.py" "$@" -- \
			"$RLCTL" -n "$(ns B)" apply --try 60s "$TMP/new"
}

test_key() { # STATUS POLICY KEYS
	on_terminal "$1" 'keeps it, n undoes' "$3" && shows "$2" && free
}

test_typed_before() { on_terminal 1 'y\ny\n' 'keeps it, n undoes' n && shows "$OLD"; }

test_confirm_elsewhere() {
	rl B apply - <<<"$OLD" && bg confirm_soon && on_terminal 0 && shows "$NEW" && free
}
confirm_soon() { eventually 5 rl B confirm; }

test_hangup() { on_terminal 1 'keeps it, n undoes' HANGUP && shows "$OLD" && free; }

# ---- signals and crashes

test_signal() { apply_try 60s && kill -"$1" "$TRIAL" && ended 1 && shows "$OLD" && free; }

test_killed() {
	apply_try 60s && kill -KILL "$TRIAL" && expect_status 137 wait "$TRIAL" &&
		eventually 5 shows "$OLD" && eventually 5 gone "$WATCHER" && free
}

# All of its process group, as a shell or a terminal would.
test_group_killed() {
	apply_try 60s && kill -KILL -- "-$TRIAL" && eventually 5 shows "$OLD" &&
		eventually 5 gone "$WATCHER" && free
}

test_stopped() {
	apply_try 5s && kill -STOP "$TRIAL" && eventually 5 shows "$OLD" && kill -CONT "$TRIAL" &&
		expect_status 1 wait "$TRIAL" && free
}

test_watcher_killed() {
	apply_try 5s && kill -KILL "$WATCHER" && ended 1 && shows "$OLD" && free
}

test_watcher_ended() { # as at a shutdown of the session's service
	apply_try 60s && kill -TERM "$WATCHER" && ended 1 && shows "$OLD" && free
}

# A writer that does not move, as one whose pipe does not, holds a trial up for some seconds at most.
test_writer_stopped() { # [CMD…]: run once the trial has begun
	local holder
	apply_try 5s && bg flock "$(ns_pins B)/veth-B-xdp" sleep 600 && holder=$BG_PID && eventually 2 locked || return
	"$@" || return
	eventually 12 shows "$OLD" && expect_status 1 wait "$TRIAL" && eventually 5 gone "$WATCHER" && locked || return
	kill -KILL -- "-$holder"
	eventually 5 free
}
locked() { ! unlocked; }
watcher_kill() { kill -KILL "$WATCHER"; }
watcher_stop() { kill -STOP "$WATCHER" && bg watcher_go; }
watcher_go() { eventually 24 shows "$OLD" && kill -CONT "$WATCHER"; }

# With both processes killed nothing takes the policy back: it stays, and does not block later commands.
test_both_killed() {
	apply_try 60s && kill -KILL "$WATCHER" "$TRIAL" && eventually 5 gone "$WATCHER" &&
		expect_status 137 wait "$TRIAL" && shows "$NEW" &&
		has 'nothing is on trial' expect_status 1 rl B confirm &&
		rl B rule add 192.0.2.9 deny && rl B rule del 192.0.2.9 &&
		expect_status 1 rl B apply --try 1s - <<<"$OLD" && shows "$NEW" && free
}

# ---- others meanwhile

refused() { has 'on trial' expect_status 1 rl B "$@"; }

# Another writer is told to wait, and its change is not lost with the trial.
test_writers() {
	apply_try 60s && refused rule add 192.0.2.3 deny && refused rule del 192.0.2.2 &&
		refused rule flush && refused apply "$TMP/new" && refused apply --try 5s "$TMP/new" &&
		shows "$NEW" && rl B stats -j | json length && rl B apply --check "$TMP/new" || return
	kill -TERM "$TRIAL" && ended 1 && rl B rule add 192.0.2.3 deny && shows "$OLD
rule 192.0.2.3 deny"
}

test_detached() {
	apply_try 60s && rl B detach veth-B && ended 1 && [[ ! -e $(ns_pins B) ]] &&
		is "$(xdp_program B veth-B)" '' && rl B attach veth-B --prefixes 100 && shows ''
}

# The trial does not touch the new instance.
test_reattached() {
	apply_try 60s && kill -STOP "$TRIAL" "$WATCHER" && rl B detach veth-B &&
		rl B attach veth-B --prefixes 100 && rl B rule add 192.0.2.7 deny || return
	kill -CONT "$WATCHER" "$TRIAL" && ended 1 && shows 'rule 192.0.2.7 deny' && free
}

# Two devices, each with a trial: confirm needs the device.
test_two_trials() {
	local other status=0
	rl B attach lo --mode generic && apply_try_on lo && other=$TRIAL && apply_try_on veth-B || return
	has 'several' expect_status 1 rl B confirm && rl B confirm -i lo && wait "$other" || status=1
	rl B confirm && wait "$TRIAL" && rl B detach lo && return "$status"
}
apply_try_on() {
	echo "$NEW" >"$TMP/new"
	bg "$RLCTL" -n "$(ns B)" apply -i "$1" --try 60s "$TMP/new"
	TRIAL=$BG_PID
	eventually 5 is_shown_on "$1"
}
is_shown_on() { is "$(rl B show -i "$1")" "$NEW"; }

# ---- state

LIMIT='rule 10.78.0.0/16 limit 1/hour burst 10'
EXPIRES='rule 198.51.100.1 deny for 1h'

counted() { is "$(rule_stat B 10.78.0.0/16 '"\(.passed.packets) \(.dropped.packets)"')" "$1"; }
seconds_left() { rl B rule list 198.51.100.1 -j | json '.rules[0].seconds_left'; }

# test_state POLICY: the limit's state and counters are the same after a trial of POLICY.
test_state() {
	local left
	rl B rule flush && rl B apply - <<<"$LIMIT"$'\n'"$EXPIRES" &&
		flood A --count 100 --src 10.78.1.1 && eventually 5 counted '10 90' || return
	left=$(seconds_left)
	try_and_undo "$1" && counted '10 90' &&
		flood A --count 100 --src 10.78.1.1 && eventually 5 counted '10 190' &&
		between "$(seconds_left)" 3000 "$left"
}

try_and_undo() {
	echo "$1" >"$TMP/new"
	bg "$RLCTL" -n "$(ns B)" apply --try 60s "$TMP/new"
	TRIAL=$BG_PID
	eventually 5 on_trial && kill -TERM "$TRIAL" && expect_status 1 wait "$TRIAL"
}
on_trial() { [[ -d $(ns_pins B)/veth-B-xdp/trial ]]; }

# Packets counted during the trial stay counted.
test_state_during() {
	rl B rule flush && rl B apply - <<<"$LIMIT" && flood A --count 100 --src 10.78.1.1 &&
		eventually 5 counted '10 90' && echo "$LIMIT"$'\n'"$NEW" >"$TMP/new" || return
	bg "$RLCTL" -n "$(ns B)" apply --try 60s "$TMP/new" && TRIAL=$BG_PID
	eventually 5 has 192.0.2.2 rl B show || return
	flood A --count 50 --src 10.78.1.1 && eventually 5 counted '10 140' && kill -INT "$TRIAL" &&
		expect_status 1 wait "$TRIAL" && counted '10 140' && shows "$LIMIT"
}

veth_pair A B && veth_quiet A B && ns_mute A && rl B attach veth-B --prefixes 100 || exit 1
t 'confirmed' test_confirm
t 'confirmed with -i' test_confirm -i veth-B
t 'confirmed, the device as a word' test_confirm veth-B
t 'not confirmed in time' test_time_over
t 'nothing to confirm' test_no_trial
t 'a file with an error' test_bad_file
t 'a policy without room' test_no_room
t 'words' test_words
t 'the key y' test_key 0 "$NEW" y
t 'the key Enter' test_key 0 "$NEW" '\n'
t 'the key n' test_key 1 "$OLD" n
t 'other keys do nothing' test_key 0 "$NEW" 'x y'
t 'interrupt from the keyboard' test_key 1 "$OLD" '\x03'
t 'keys typed before the trial' test_typed_before
t 'confirmed from elsewhere' test_confirm_elsewhere
t 'the terminal goes away' test_hangup
t 'SIGINT' test_signal INT
t 'SIGTERM' test_signal TERM
t 'SIGHUP' test_signal HUP
t 'killed' test_killed
t 'killed with its process group' test_group_killed
t 'stopped' test_stopped
t 'the watcher is killed' test_watcher_killed
t 'the watcher is ended' test_watcher_ended
t 'the lock is not to be had' test_writer_stopped true
t 'nor is the watcher' test_writer_stopped watcher_kill
t 'the watcher is stopped as well' test_writer_stopped watcher_stop
t 'both are killed' test_both_killed
t 'other writers are told to wait' test_writers
t 'detached' test_detached
t 'detached and attached anew' test_reattached
t 'two trials' test_two_trials
t 'state, the rules stay' test_state "$LIMIT"$'\n'"$EXPIRES"$'\n'"$NEW"
t 'state, the rules go and come back' test_state "$NEW"
t 'state, another algorithm meanwhile' test_state 'rule 10.78.0.0/16 limit fixed-window 5/hour'
t 'state counted meanwhile' test_state_during
