#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The words of a hurry: ban, unban and undo.
source "$(dirname "$0")/../lib.sh"

# rules LINE…: the policy in force is exactly this.
rules() { is "$(rl B show)" "$(printf '%s\n' "$@")"; }
apply() { printf '%s\n' "$@" | rl B apply --yes -; }
reaches() { in_ns A ping -c 1 -W 1 -I "$1" 10.77.0.2; }

# ---- undo

A='rule any limit 9/second burst 9' B='rule any udp limit 8/second burst 8' C='rule any tcp limit 7/second burst 7'
D='rule any icmp limit 6/second burst 6'

test_nothing() { has 'nothing to undo: no policy was replaced' expect_status 1 rl B undo && rules "$A"; }

# The second takes back the first, and none is lost on the way.
test_undo() {
	apply "$B" && is "$(rl B undo)" "$(printf '%s\n' "+ $A" "- $B")" && rules "$A" && rl B undo && rules "$B" && rl B undo && rules "$A"
}

# Three are kept; the one that is applied again leaves them, and the one that it replaces is the first.
test_numbers() {
	apply "$A" && apply "$B" && apply "$C" && apply "$D" && rl B undo 3 && rules "$A" && rl B undo 1 && rules "$D" &&
		rl B undo 2 && rules "$C" && rl B undo 3 && rules "$B" && has 'invalid number' expect_status 2 rl B undo 4 &&
		expect_status 2 rl B undo 0 && expect_status 2 rl B undo one && rules "$B"
}

# A policy that is applied again replaces none.
test_same() {
	local banned='rule 192.0.2.1 deny for 1h'
	apply "$A" && apply "$B" && apply "$B" && rl B apply - <<<"$B" && rl B undo && rules "$A" && apply "$A" "$banned" && sleep 3 &&
		apply "$A" "$banned" && apply "$A" "$banned" && rl B undo && rules "$A"
}

# Those of an instance that was detached are not the next one's.
test_detached() {
	apply "$A" && apply "$B" && rl B detach veth-B && rl B attach veth-B --policy - <<<"$C" && expect_status 1 rl B undo && rules "$C" &&
		apply "$A" && rl B undo && rules "$C"
}

# Neither what is checked nor what fails; a trial that is confirmed does.
test_not_kept() {
	apply "$A" && apply "$B" && expect_fail apply 'rule any dney' && rl B apply --check - <<<"$C" &&
		expect_fail rl B apply --try 1s - <<<"$C" && rl B undo && rules "$A"
}
test_trial() {
	apply "$A" && echo "$B" >"$TMP/tried" && bg in_ns B "$RLCTL" apply --try 1m "$TMP/tried" && eventually 10 rl B confirm && eventually 10 ended "$BG_PID" &&
		rules "$B" && expect_fail rl B undo --try 1s && rules "$B" && rl B undo && rules "$A"
}

test_check() {
	local before
	apply "$A" && apply "$B" && before=$(rl B show) && has "+ $A" rl B undo --check && is "$(rl B show)" "$before" &&
		rl B undo && rules "$A"
}

test_json() {
	apply "$A" && apply "$B" && is "$(rl B undo -j | json -c '[.device, .added, .removed, .changed]')" \
		"$(jq -cn --arg a "$A" --arg b "$B" '["veth-B", [$a], [$b], []]')"
}

# With sets, alarms, comments and what `rule add` changed; and after `rule flush`.
test_whole() {
	local lines=('set bad' 'alarm hot when udp over 9000/second for 1s until under 1000/second for 1s' "$A"
		'rule any udp limit 5/second burst 5 while hot' 'rule @bad deny' 'rule 192.0.2.1 deny # bob')
	apply "${lines[@]}" && rl B rule add 192.0.2.2 allow && apply "$B" && rl B undo && rules "${lines[@]}" 'rule 192.0.2.2 allow' &&
		rl B rule flush && rl B undo && rules "${lines[@]}" 'rule 192.0.2.2 allow'
}

# A ban ends when it would have ended, also while another policy is in force.
test_time() {
	apply "$A" 'rule 192.0.2.1 deny for 4s' 'rule 192.0.2.2 deny for 1h' && apply "$B" && sleep 5 && rl B undo &&
		between "$(rl B -j rule list -v | json '.rules[] | select(.prefix == "192.0.2.2") | .seconds_left')" 3000 3596 &&
		expect_fail has 192.0.2.1 rl B show
}

# The policy comes into force although the other cannot be kept.
test_unkept() {
	local folder
	folder=$(echo "/run/rlctl/$(stat -Lc %i "/run/netns/$(ns B)")"-*) && test -f "$folder/veth-B-xdp" && apply "$A" &&
		mkdir "$folder/veth-B-xdp.was-new" && has 'the former policy is not kept' apply "$C" && rules "$C" &&
		rmdir "$folder/veth-B-xdp.was-new"
}

# The guard asks as for apply.
test_guard() {
	apply "$A" 'rule any deny' 2>/dev/null && apply "$A" && has 'may lock you out' expect_fail env SSH_CONNECTION='10.77.0.1 4000 10.77.0.2 22' \
		"$RLCTL" -n "$(ns B)" undo </dev/null && rules "$A" && rl B undo --yes
}

# All devices, or none.
apply_to() { rl B apply -i "$1" --yes - <<<"$2"; }
test_devices() {
	ip -n "$(ns B)" link add other type veth peer name end && rl B attach other && apply_to veth-B "$A" && apply_to veth-B "$B" &&
		has 'other: nothing to undo' expect_status 1 rl B undo -i all && is "$(rl B show -i veth-B)" "$B" && apply_to other "$A" &&
		expect_status 1 rl B undo -i all && is "$(rl B show -i veth-B)" "$B" && rl B undo -i all --yes && is "$(rl B show -i veth-B)" "$A" && is "$(rl B show -i other)" '' && rl B detach other &&
		ip -n "$(ns B)" link del other
}

# ---- ban and unban

test_ban() {
	apply "$A" && reaches 10.77.0.1 && rl B ban 10.77.0.1 && expect_fail reaches 10.77.0.1 &&
		between "$(rl B -j rule list -v | json '.rules[] | select(.prefix == "10.77.0.1") | .seconds_left')" 3590 3600 &&
		has "deleted the rule '10.77.0.1 deny for" rl B unban 10.77.0.1 && reaches 10.77.0.1 && rules "$A"
}

test_several() {
	rl B ban 192.0.2.1 2001:db8::/48 198.51.100.0/24 for 2d && is "$(rl B show | sed 's/ for .*//')" "$(printf '%s\n' "$A" \
		'rule 192.0.2.1 deny' 'rule 198.51.100.0/24 deny' 'rule 2001:db8::/48 deny')" &&
		rl B unban 192.0.2.1 2001:db8::/48 198.51.100.0/24 && rules "$A"
}

# A ban shortens none, and takes the place of no `allow`; one of a match is for others.
test_there() {
	apply "$A" 'rule 192.0.2.1 deny' 'rule 192.0.2.2 allow' 'rule 192.0.2.3 tcp allow' && has "'192.0.2.1 deny' stays" rl B ban 192.0.2.1 for 1m &&
		has 'rule del 192.0.2.2 allow' expect_status 1 rl B ban 192.0.2.2 && rules "$A" 'rule 192.0.2.1 deny' 'rule 192.0.2.2 allow' 'rule 192.0.2.3 tcp allow' &&
		rl B ban 192.0.2.3 && rl B ban 192.0.2.3 for 2h && has 'deny for 2h' rl B show && rl B unban 192.0.2.3 &&
		rules "$A" 'rule 192.0.2.1 deny' 'rule 192.0.2.2 allow' 'rule 192.0.2.3 tcp allow'
}

test_ban_words() {
	local words
	for words in any device @bad 10.0.0.0/33 ::ffff:192.0.2.1 'for 1h' '192.0.2.1 for' '192.0.2.1 for ever' '192.0.2.1 deny' '192.0.2.1 for 0s'; do
		# shellcheck disable=SC2086 # words
		expect_status 2 rl B ban $words || return
	done
	expect_status 2 rl B unban any && expect_status 2 rl B unban && expect_status 2 rl B ban
}

# Nothing of several is changed where one of them is wrong.
test_ban_wrong() { apply "$A" && expect_status 2 rl B ban 192.0.2.1 192.0.2.300 && expect_status 2 rl B unban 192.0.2.1 x && rules "$A"; }

# Wherever it stands: a rule, sets, the ban of a limit.
test_unban() {
	apply 'set bad' 'set worse' 'set other' 'rule any icmp limit 1/second burst 1 over ban 1h source' 'rule @bad deny' 'rule @worse deny' 'rule @other allow' &&
		rl B set add bad 10.77.0.1 192.0.2.7 && rl B set add worse 10.77.0.1 && rl B set add other 192.0.2.1 && rl B ban 10.77.0.1 &&
		is "$(rl B -j unban 10.77.0.1 | json -c '[.address, (.rules | length), (.sets | sort), .bans, .denied_by]')" \
			'["10.77.0.1",1,["bad","worse"],0,null]' && rl B set test bad 192.0.2.7 && rl B set test other 192.0.2.1 &&
		in_ns A ping -c 3 -i 0.2 -W 1 10.77.0.2; has 'banned' rl B source list && has 'forgot' rl B unban 10.77.0.1 && sleep 1.2 && reaches 10.77.0.1
}

test_unban_rest() {
	apply 'set bad' 'rule @bad deny' 'rule 192.0.2.0/24 deny' 'rule 192.0.2.1 tcp dport 25 deny' && rl B set add bad 198.51.100.0/24 &&
		has "is still denied, by '192.0.2.0/24 deny'" expect_status 1 rl B unban 192.0.2.1 &&
		has "by '@bad deny'" expect_status 1 rl B unban 198.51.100.1 && rl B set test bad 198.51.100.1 &&
		has 'no rule, set or limit denies' expect_status 1 rl B unban 203.0.113.1 && rl B unban 192.0.2.0/24 &&
		rules 'set bad' 'rule @bad deny' 'rule 192.0.2.1 tcp dport 25 deny' && rl B unban 198.51.100.0/24 &&
		expect_status 1 rl B set test bad 198.51.100.1
}

# A device where nothing denies the address keeps the others from nothing; a limit per rule is no source's.
test_unban_devices() {
	apply "$A" && ip -n "$(ns B)" link add other type veth peer name end && rl B attach other && rl B ban -i veth-B 192.0.2.1 &&
		rl B unban -i all 192.0.2.1 && is "$(rl B show -i veth-B)" "$A" && rl B ban -i all 192.0.2.1 &&
		is "$(rl B unban -i all -j 192.0.2.1 | json -c '[.[].rules | length]')" '[1,1]' && expect_status 1 rl B unban -i all 192.0.2.1 &&
		rl B detach other && ip -n "$(ns B)" link del other
}

# Rules of a longer prefix decide before those of a shorter one.
test_unban_before() {
	apply 'rule 192.0.2.0/24 deny' 'rule 192.0.2.1 allow for 1h' 'rule 192.0.2.2 deny' 'rule 10.0.0.0/8 deny' 'rule 10.0.0.0/24 deny' &&
		has 'no rule, set or limit denies' expect_status 1 rl B unban 192.0.2.1 && expect_status 1 rl B unban 192.0.2.2 && rl B unban 10.0.0.0/8 &&
		has "is denied by '10.0.0.0/24 deny'" rl B source show 10.0.0.1 && is "$(rl B source show 192.0.2.1 | grep -c denied)" 0
}

# The guard asks as for `rule add`.
test_ban_guard() {
	apply "$A" && has 'may lock you out' expect_fail env SSH_CONNECTION='10.77.0.1 4000 10.77.0.2 22' "$RLCTL" -n "$(ns B)" ban 10.77.0.1 </dev/null &&
		rules "$A"
}

test_ban_trial() {
	echo "$B" >"$TMP/tried" && bg in_ns B "$RLCTL" apply --try 1m "$TMP/tried" && eventually 10 refused rl B ban 192.0.2.1 && refused rl B unban 192.0.2.1 &&
		refused rl B undo && rl B confirm && rules "$B"
}
refused() { has 'on trial' expect_status 1 "$@"; }

veth_pair A B && rl B attach veth-B --policy - <<<"$A" || exit 1

t 'nothing to undo' test_nothing
t 'undo, and back' test_undo
t 'three policies are kept' test_numbers
t 'the same policy replaces none' test_same
t 'after detach' test_detached
t 'what is not in force replaces none' test_not_kept
t 'a trial that is confirmed' test_trial
t 'undo --check' test_check
t 'undo -j' test_json
t 'the whole policy, also after rule flush' test_whole
t 'time goes on' test_time
t 'a policy that cannot be kept' test_unkept
t 'undo and the guard' test_guard
t 'undo of several devices' test_devices
t 'ban and unban' test_ban
t 'ban of several' test_several
t 'ban beside other rules' test_there
t 'wrong words' test_ban_words
t 'one wrong address of several' test_ban_wrong
t 'unban wherever it stands' test_unban
t 'unban of a part' test_unban_rest
t 'unban on several devices' test_unban_devices
t 'unban beside an allow' test_unban_before
t 'ban and the guard' test_ban_guard
t 'on trial' test_ban_trial
