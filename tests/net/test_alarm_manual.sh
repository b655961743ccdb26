#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Manual alarms: turned on and off from outside, and off by themselves; what packets meet, what is shown and reported,
# which changes they outlive, and which words are refused.
#
# check: timeout 240
source "$(dirname "$0")/../lib.sh"

MANUAL='alarm overload manual # load'
MEASURED='alarm flood when udp dport 53 over 100000/second for 1s until under 50000/second for 1s'
WHILE='rule any udp dport 9 deny while overload'
fresh() { apply 'rule any allow' && apply "$@"; } # every alarm is off, and has not been on
apply() { printf '%s\n' "$@" | rl B apply -q --yes -; }

# of NAME FILTER: of that alarm, as `rlctl alarm` has it.
of() { rl B -j alarm list -i veth-B | jq -r ".alarms[] | select(.alarm == \"$1\") | $2"; }
is_on() { is "$(of "$1" .on)" "$2"; }
alarm() { rl B alarm "$@"; }

# Packets to port 9 that came through, of three.
dropped() { rl B stats -i veth-B -j | jq '[.[0].rules[] | select(.rule | test("dport 9 ")) | .dropped.packets] | add // 0'; }
three() { # how many of three are dropped
	local before
	before=$(dropped)
	flood A --count 3 --rate 1000 --dport 9 >/dev/null && echo $(($(dropped) - before))
}
all_dropped() { is "$(three)" 3; }
none_dropped() { is "$(three)" 0; }

# ---- packets

# The program of this policy counts nothing: it has the constants of a policy that has alarms, and no rule to count by.
test_state() {
	is "$(of overload '[.on, .manual, .changes, has("since"), has("until"), has("rate"), has("over")] | @csv')" \
		'false,true,0,false,false,false,false' && none_dropped && alarm on overload -q && all_dropped && is_on overload true &&
		is "$(of overload '[.changes, has("until")] | @csv')" '1,false' && alarm off overload -q && none_dropped &&
		is "$(of overload '[.on, .changes] | @csv')" 'false,2'
}

# Off by itself: with packets, and at its time.
test_ends() {
	local on off
	alarm on overload for 2s -q && all_dropped && is "$(of overload 'has("until")')" true && on=$(of overload .since) &&
		eventually 3 none_dropped && is_on overload false && off=$(of overload .since) &&
		is $(($(date -d "$off" +%s) - $(date -d "$on" +%s))) 2 && is "$(of overload .changes)" 4
}
test_ends_unseen() {
	alarm on overload for 300ms -q && eventually 2 is_on overload false && is "$(of overload .changes)" 6 && none_dropped
}
# Turned on again and again, it is on for longer, and reports nothing anew; the last word counts.
test_again() {
	local since
	alarm on overload for 1s -q && since=$(of overload .since) && alarm on overload for 1h -q && sleep 1.2 && all_dropped &&
		is "$(of overload .since)" "$since" && is "$(of overload .changes)" 7 && alarm on overload -q &&
		is "$(of overload 'has("until")')" false && alarm on overload for 200ms -q && eventually 2 none_dropped &&
		is "$(of overload .changes)" 8 && alarm off overload && has 'as it was before' alarm off overload && is "$(of overload .changes)" 8
}
test_not() {
	apply "$MANUAL" 'rule any udp dport 9 deny while not overload' && all_dropped && alarm on overload -q && none_dropped && alarm off overload -q &&
		all_dropped
}

# Beside one that is measured, which a flood puts on meanwhile.
test_both() {
	apply "$MANUAL" "$WHILE" 'alarm hot when udp dport 7 over 500/second for 300ms until under 100/second for 300ms' &&
		alarm on overload for 1h -q || return
	flood A --seconds 2 --rate 5000 --dport 7 >/dev/null && is "$(of hot '.changes >= 1 and .counted.packets > 1000')" true &&
		eventually 3 is_on hot false && is_on overload true && all_dropped && alarm off overload -q && none_dropped
}

# As a guard: while it is on, no stranger becomes known; from `off` on they do, also if it had no end.
test_guard() {
	apply "$MANUAL" 'rule any new-source udp dport 9 deny while overload' && alarm on overload -q && all_dropped && all_dropped &&
		alarm off overload -q && none_dropped && sleep 3.2 && none_dropped && alarm on overload -q && none_dropped && alarm off overload -q
}

# ---- what it outlives

test_kept() {
	local since
	fresh "$MANUAL" "$WHILE" && alarm on overload for 1h -q && since=$(of overload '"\(.since) \(.until)"') || return
	apply "$MANUAL" "$WHILE" 'rule 192.0.2.0/24 deny' && all_dropped && apply "$MANUAL" "$MEASURED" "$WHILE" 'rule 192.0.2.0/24 deny' && all_dropped &&
		rl B rule add 192.0.2.9 deny -q && rl B attach veth-B --replace -q && all_dropped && apply 'alarm aaa manual' "$MANUAL" "$WHILE" &&
		all_dropped && is "$(of overload '"\(.since) \(.until)"')" "$since" && is_on aaa false && is "$(of overload .changes)" 1
}
# Another alarm of its name, or none: off.
test_gone() {
	alarm on overload -q && apply "$MEASURED" && apply "$MANUAL" "$WHILE" && is_on overload false && none_dropped && alarm on overload -q &&
		apply 'alarm overload when udp over 100k/second for 1s until under 50k/second for 1s' "$WHILE" && is_on overload false && none_dropped
}
test_trial() {
	fresh "$MANUAL" "$WHILE" && alarm on overload for 1h -q && expect_fail rl B apply -q --yes --try 1s - <<<"$MANUAL
$WHILE
rule any tcp deny" && all_dropped && is "$(of overload .changes)" 1
}

# ---- the language

test_language() {
	apply "$MEASURED" "$MANUAL" "$WHILE" && is "$(rl B show)" "$(printf '%s\n' "$MEASURED" "$MANUAL" "$WHILE")" && rl B save -q "$TMP/saved" &&
		is "$(<"$TMP/saved")" "$(rl B show)" && has 'no difference' rl B diff "$TMP/saved" && rl B apply --check "$TMP/saved" &&
		is "$(rl B diff - <<<"$MEASURED")" "$(printf '%s\n' "- $MANUAL" "- $WHILE")" && alarm on overload -q &&
		has 'while alarm overload is on, as it is now' rl B rule get 10.77.0.1 && has 'denied' rl B explain 10.77.0.1 udp dport 9 && alarm off overload -q &&
		has 'alarm overload is off' rl B explain -v 10.77.0.1 udp dport 9
}
test_wrong_lines() {
	local line text
	while IFS='|' read -r line text; do
		has "$text" expect_status 1 rl B apply --check - <<<"$line" || return
	done <<-'END'
		alarm overload|must be followed by when or manual
		alarm overload manual over 9/second|"over" follows the end of an alarm: remove it, for a manual alarm counts nothing
		alarm overload manuel|is not when or manual: write
		alarm Over manual|is not the name of an alarm
		rule any deny while overload|unknown alarm "overload"
	END
}
# A capture has no load: it is off there.
test_simulate() {
	printf '%s\n' "$MANUAL" 'rule any deny while overload' >"$TMP/policy"
	bg in_ns B timeout 20 "$RLCTL" monitor -i veth-B --passed -w "$TMP/pcap" --count 3 -q
	eventually 5 captured && has 'passed' rl B simulate "$TMP/policy" "$TMP/pcap" && rl B simulate -j "$TMP/policy" "$TMP/pcap" |
		json '(.passed.packets >= 3) and (.dropped.packets == 0)'
}
captured() { flood A --count 3 --rate 1000 --dport 10 >/dev/null && ! kill -0 "$BG_PID" 2>/dev/null; }

# ---- what is shown and reported

test_shown() {
	fresh "$MANUAL" "$WHILE" && alarm on overload for 90m -q && rl B alarm list | grep -Eq '^on +20.* +1 +manual +- +in 1h( [0-9]+m)? +overload$' &&
		rl B status | grep -E '^veth-B xdp: alarm overload on since 20.* \(.*\), manual, off in 1h' &&
		rl B stats | grep -E '^on .* manual +- +in 1h' && rl B top --once | grep -E '^alarms on: overload since .*, manual$' &&
		rl B stats --prometheus >"$TMP/metrics" && grep -F 'rlctl_alarm_on{device="veth-B",hook="xdp",alarm="overload"} 1' "$TMP/metrics" &&
		! grep -E 'rlctl_alarm_(packets|bytes).*overload' "$TMP/metrics" && promtool check metrics <"$TMP/metrics" && alarm off overload -q &&
		has 'alarm overload off since' rl B status && rl B stats -j >"$TMP/before" && alarm on overload -q &&
		rl B stats -j --since "$TMP/before" | json '.[0].alarms[0] | .changes == 1 and .on' && alarm off overload -q
}
# Neither reading nor a follower needs a capability for it.
test_events() {
	fresh "$MANUAL" "$WHILE" || return
	bg into "$TMP/events" "$RLCTL" -n "$(ns B)" events --follow -j --only alarms
	eventually 5 followed && alarm off overload -q && eventually 5 last_is off && alarm on overload for 1s -q && eventually 5 last_is on &&
		alarm on overload for 1s -q && eventually 5 last_is off && json -s 'all(.[]; has("rate") | not) and
			(.[-3:] | map(.event) == ["alarm-off", "alarm-on", "alarm-off"])' <"$TMP/events" && has 'alarm overload is on: load' rl B events && has 'alarm overload on ' rl B report --since 1h
}
into() { exec "${@:2}" >"$1" 2>"$1.err"; }
followed() { alarm off overload -q && alarm on overload -q && last_is on; }
last_is() { is "$(tail -n 1 "$TMP/events" | jq -r '"\(.event) \(.alarm) \(.text)"')" "alarm-$1 overload alarm overload is $1: load"; }

test_monitor() {
	bg into "$TMP/monitor" "$RLCTL" -n "$(ns B)" monitor -i veth-B
	eventually 5 turned && alarm off overload -q && eventually 5 grep -Eq 'alarm-off overload$' "$TMP/monitor"
}
turned() { alarm off overload -q && alarm on overload -q && grep -Eq 'alarm-on overload$' "$TMP/monitor"; }

# ---- words

test_words() {
	local status words text
	fresh "$MANUAL" 'alarm panic manual' "$MEASURED" "$WHILE" || return
	while IFS='|' read -r status words text; do
		# shellcheck disable=SC2086 # several words
		ends "$status" "$text" alarm $words || return
	done <<-'END'
		1|on zzzzzz|veth-B: unknown alarm 'zzzzzz': the manual ones are: overload, panic
		1|on overlaod|veth-B: unknown alarm 'overlaod' (did you mean overload?)
		1|off zzzzzz|the manual ones are: overload, panic
		1|on flood|alarm flood is not manual: measured alarms go on and off by themselves; the manual ones are: overload, panic
		1|off flood|is not manual
		2|on overload for 0s|alarm on: invalid time '0s': use for example 10s, 30s or 5m
		2|on overload for 99ms|alarm on: '99ms' is too short: write 100ms or longer
		2|on overload for 366d|alarm on: '366d' is too long: write 365d or less
		2|on overload for 99999999999999999999d|alarm on: invalid time
		2|on overload for ever|alarm on: invalid time 'ever'
		2|on overload for|alarm on: missing duration after 'for'
		2|on overload 30s|alarm on: unexpected argument '30s': `rlctl alarm on overload for 30s`
		2|on overload for 3s 4s|unexpected argument
		2|on|alarm on: missing argument: `rlctl alarm on ALARM [for DURATION]`
		2|off overload for 3s|alarm off: unexpected argument 'for'
		2|offf overload|unknown subcommand 'offf' (did you mean off?)
		2|lits|alarm: unknown subcommand 'lits' (did you mean list?)
		2||alarm: missing subcommand (one of: on, off, list)
		2|list overload|alarm list: unexpected argument 'overload'
		1|on overload -i veth-Z|veth-Z
	END
	is "$(of overload .changes)" 0 && apply "$MEASURED" && has 'the policy has no manual alarm: apply one with a line' expect_status 1 alarm on overload &&
		has 'the manual ones are: none' expect_status 1 alarm on flood && apply 'rule any allow' && has 'the policy has no alarm' alarm list &&
		is "$(rl B alarm list -j | jq -c .alarms)" '[]'
}
test_completion() {
	apply "$MANUAL" "$MEASURED" && is "$(offered alarm on '')" overload && is "$(offered alarm off o)" overload && is "$(offered alarm '')" 'list off on'
}
offered() { "$RLCTL" complete -- -n "$(ns B)" "$@" | cut -f1 | sort | paste -sd' '; }

# All devices, or none.
test_devices() {
	apply "$MANUAL" "$WHILE" && devices_new other && rl B attach other --policy - -q <<<"$MANUAL" &&
		expect_status 1 alarm on overload && alarm on overload -i all -q && is "$(rl B alarm list -i all -j | jq -c '[.[].alarms[0].on]')" '[true,true]' &&
		alarm off overload -i 'oth*' -q && is_on overload true && rl B alarm off -i veth-B,other -q overload && is_on overload false || return
	rl B apply -i other -q - <<<'alarm panic manual' && has 'nothing was changed on any device' expect_status 1 alarm on overload -i all && is_on overload false &&
		rl B detach other -q && ip -n "$(ns B)" link del other
}
test_nothing() {
	rl B detach veth-B -q && has 'nothing attached' expect_status 1 alarm on overload && expect_status 1 alarm off overload && expect_status 1 alarm list
}

veth_pair A B && ns_mute A && printf '%s\n' "$MANUAL" "$WHILE" | rl B attach veth-B --policy - -q || exit 1

t 'off, on and off' test_state
t 'off by itself' test_ends
t 'off by itself, without a packet' test_ends_unseen
t 'on again and again' test_again
t 'while not' test_not
t 'beside a measured alarm' test_both
t 'a guard of known sources' test_guard
t 'kept by changes of all kinds' test_kept
t 'gone with its line' test_gone
t 'kept by a trial that is undone' test_trial
t 'show, save, diff, explain' test_language
t 'lines that are wrong' test_wrong_lines
t 'simulate' test_simulate
t 'shown by status, stats, top and metrics' test_shown
t 'events' test_events
t 'monitor' test_monitor
t 'words that are wrong' test_words
t 'completion' test_completion
t 'several devices' test_devices
t 'nothing attached' test_nothing
for hook in ingress egress; do
	rl B attach veth-B --hook $hook --policy - -q <<<"$MANUAL" || exit 1
	t "the verbs at $hook" alarm on overload for 1m
	rl B detach veth-B --hook $hook -q || exit 1
done
