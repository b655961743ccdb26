#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The attack that README.md shows: a forged flood meets the alarm and the rule that stand there, and events tells of it
# word for word, but for times and numbers. check: processor
source "$(dirname "$0")/../lib.sh"

# The display that tells of an alarm, and no other.
shown() {
	awk '/^```/ { if (text ~ / alarm-on: /) printf "%s", text; text = ""; next } { text = text $0 "\n" }' "$TOP/README.md"
}

without_numbers() {
	sed -E 's/^[0-9-]+ [0-9:.]+/TIME/; s/ on, at [0-9,]+ / on, at N /; s/ after [0-9,]+ packets \([0-9.]+ MiB\) in [0-9a-z]+:/ after N packets:/'
}

told() { grep -q " $1: " "$TMP/events"; }

attack() {
	grep -E '^(alarm |rule .* while )' "$TOP/README.md" >"$TMP/policy" && is "$(wc -l <"$TMP/policy")" 2 &&
		rl B attach veth-B --policy "$TMP/policy" || return
	bg into_events
	sleep 0.5
	flood A --src 16.0.0.0/4 --dport 27015 --size 67 --rate 60000 --seconds 4 && eventually 20 told drops-end
}
into_events() { "$RLCTL" -n "$(ns B)" events --follow >"$TMP/events"; }

test_display() { diff <(shown | without_numbers) <(without_numbers <"$TMP/events"); }

veth_pair A B && veth_quiet A B && ns_mute A && ns_mute B || exit 1
t 'an attack, from the first alarm to the last event' attack
cat "$TMP/events" >&2
t 'README.md shows it' test_display
