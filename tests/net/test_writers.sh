#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Several rlctl at once on one instance: no change is lost, no reader and no packet sees half a policy, a held
# lock blocks writers and nothing else; two that attach or detach at once. check: timeout 240
source "$(dirname "$0")/../lib.sh"

WRITERS=8
RULES=12 # of each writer

rule_of() { echo "10.$1.$2.0/24"; }

# writer N: adds its rules, deletes every other one, and replaces the rest twice.
writer() {
	local i
	for ((i = 0; i < RULES; i++)); do
		rl B rule add "$(rule_of "$1" "$i")" limit 10/second || return
	done
	for ((i = 0; i < RULES; i++)); do
		if ((i % 2)); then
			rl B rule del "$(rule_of "$1" "$i")" || return
		else
			rl B rule add "$(rule_of "$1" "$i")" limit 20/second burst 2 "# $(rule_of "$1" "$i")" || return
		fi
	done
}

# parallel COUNT CMD…: CMD 1, CMD 2, … at once; fails when one fails.
parallel() {
	local count=$1 n pids=() status=0
	shift
	for ((n = 1; n <= count; n++)); do
		"$@" "$n" &
		pids+=($!)
	done
	for n in "${pids[@]}"; do
		wait "$n" || status=1
	done
	return "$status"
}

wanted_rules() {
	local n i
	for ((n = 1; n <= WRITERS; n++)); do
		for ((i = 0; i < RULES; i += 2)); do
			echo "rule $(rule_of "$n" "$i") limit 20/second burst 2 # $(rule_of "$n" "$i")"
		done
	done
}

test_writers() {
	local round
	rl B rule flush && bg read_until_stopped sane || return
	for round in {1..20}; do
		parallel "$WRITERS" writer || return
		[[ $(wc -l <"$TMP/reads") -lt 10 ]] || break
	done
	echo "$round rounds" && readers_end && is "$(rl B show | sort)" "$(wanted_rules | sort)"
}

# ---- readers

# read_until_stopped JUDGE: reads all the while; the first thing that JUDGE dislikes ends it.
read_until_stopped() {
	rm -f "$TMP/stop" "$TMP/bad"
	until [[ -e $TMP/stop ]]; do
		if ! rl B show >"$TMP/shown" || ! "$1" "$TMP/shown" || ! is "$(rl B stats -j | json length)" 1; then
			cp "$TMP/shown" "$TMP/bad"
			return 1
		fi
		echo read >>"$TMP/reads"
	done
}

readers_end() {
	touch "$TMP/stop"
	wait "$BG_PID" || { echo 'a reader saw this:' && head -n 20 "$TMP/bad" "$TMP/bg"; } || return
	[[ ! -e $TMP/bad && $(wc -l <"$TMP/reads") -ge 10 ]]
}

# The output of show is a valid policy, and no comment stands behind another rule.
sane() { "$RLCTL" apply --check "$1" && awk -F ' # ' 'NF > 1 && $1 !~ "^rule " $2 " " { exit 1 }' "$1"; }

one_of_two() { cmp -s "$1" "$TMP/x" || cmp -s "$1" "$TMP/y"; }

# policy NAME NETWORK: some hundred rules, and one that is the same in all but its comment, as show prints them.
policy() {
	seq -f "rule $2.%.0f.0/24 limit 10/second burst 1" 0 250 | sed 's/^rule \([^ ]*\).*/& # \1/' >"$TMP/$1" &&
		echo "rule 192.0.2.1 deny # $1" >>"$TMP/$1" && rl B apply "$TMP/$1" && rl B show >"$TMP/$1"
}

# Every reader sees one of the two, whole, while they are swapped.
test_swaps() {
	local n
	policy x 10.1 && policy y 10.2 && rm -f "$TMP/reads" && bg read_until_stopped one_of_two || return
	for ((n = 0; n < 100; n++)); do
		rl B apply "$TMP/x" && rl B apply "$TMP/y" || return
	done
	readers_end && cmp "$TMP/y" <(rl B show)
}

# Both policies deny these packets, each by a rule of its own: none may pass while they are swapped.
test_no_gap() {
	local n passed
	printf 'rule 10.78.0.0/16 deny\nrule any allow\n' >"$TMP/x"
	printf 'rule 10.78.0.0/17 deny\nrule 10.78.128.0/17 deny\n' >"$TMP/y"
	rl B apply "$TMP/x" && bg flood A --seconds 30 --rate 200000 --src 10.78.0.0/16 || return
	eventually 5 denied 1000 && passed=$(stat_of B .passed.packets) || return
	for ((n = 0; n < 50; n++)); do
		rl B apply "$TMP/x" && rl B apply "$TMP/y" || return
	done
	kill -TERM -- "-$BG_PID"
	is "$(stat_of B .passed.packets)" "$passed"
}

# The same where single prefixes change beside 3,000 others: these packets are denied by the prefix
# itself, by one around it or by one inside it, and at no moment by none. Addresses are in the cache and
# not: the flood has 65,536.
test_no_gap_in_place() {
	local n passed
	seq -f 'rule 10.79.%.0f.0/24 deny' 0 255 >"$TMP/x" && seq -f 'rule fd78:%.0f::/48 deny' 1000 3999 >>"$TMP/x"
	printf 'rule any allow\nrule 10.78.0.0/16 deny\n' >>"$TMP/x"
	rl B apply "$TMP/x" && bg flood A --seconds 30 --rate 200000 --src 10.78.0.0/16 || return
	eventually 5 denied 1000 && passed=$(stat_of B .passed.packets) || return
	for ((n = 0; n < 12; n++)); do
		rl B rule add 10.78.0.0/17 deny && rl B rule add 10.78.0.0/16 udp deny &&
			rl B rule add 10.78.128.0/17 udp deny && rl B rule add 10.76.0.0/14 deny &&
			rl B rule del 10.78.0.0/16 deny && rl B rule del 10.78.0.0/16 udp &&
			rl B rule add 10.78.0.0/16 deny && rl B rule del 10.76.0.0/14 &&
			rl B rule del 10.78.0.0/17 && rl B rule del 10.78.128.0/17 udp || return
	done
	kill -TERM -- "-$BG_PID"
	is "$(stat_of B .passed.packets)" "$passed" && rl B show >"$TMP/y" && is "$(sort "$TMP/x")" "$(sort "$TMP/y")"
}
denied() { [[ $(stat_of B .reasons.denied.packets) -gt $1 ]]; }

# ---- the lock

# Writers wait until the instance's lock is released; readers do not.
test_lock() {
	local holder writer
	rl B rule flush && bg flock "$(ns_pins B)/veth-B-xdp" sleep 600 && holder=$BG_PID &&
		eventually 5 locked || return
	bg rl B rule add 192.0.2.1 deny && writer=$BG_PID || return
	expect_status 124 timeout 1 "$RLCTL" -n "$(ns B)" rule add 192.0.2.2 deny &&
		is "$(timeout 25 "$RLCTL" -n "$(ns B)" show)" '' &&
		timeout 25 "$RLCTL" -n "$(ns B)" stats || return
	kill -KILL -- "-$holder"
	wait "$writer" && is "$(rl B show)" 'rule 192.0.2.1 deny'
}

# A writer says who holds the lock, and does not wait for ever.
test_lock_bound() {
	local began=$SECONDS holder
	bg flock "$(ns_pins B)/veth-B-xdp" sleep 600 && holder=$BG_PID && eventually 5 locked || return
	expect_status 1 rl B rule add 192.0.2.3 deny 2>"$TMP/said" && between $((SECONDS - began)) 28 120 || return
	kill -KILL -- "-$holder"
	has "locked by process $holder (flock " cat "$TMP/said" && has 'waiting up to 30 s' cat "$TMP/said" &&
		has 'still locked after 30 s' cat "$TMP/said" && is "$(rl B show)" 'rule 192.0.2.1 deny'
}
locked() { ! flock -n "$(ns_pins B)/veth-B-xdp" true; }

# ---- pipes of others

# A pipe that gives nothing, and one that takes nothing.
pipes_make() {
	mkfifo "$TMP/idle" "$TMP/full" && exec 8<>"$TMP/idle" 9<>"$TMP/full" && ! timeout 1 cat /dev/zero >&9
}
stuck() { exec "$RLCTL" -n "$(ns B)" "$@" <"$TMP/idle" >"$TMP/full" 2>&1; }
# Whatever the verb waits for, it does not hold the lock meanwhile.
test_pipe() { # VERB…
	local verb status=0
	bg stuck "$@" && verb=$BG_PID && sleep 0.7 && timeout 25 "$RLCTL" -n "$(ns B)" rule add 192.0.2.7 deny &&
		timeout 25 "$RLCTL" -n "$(ns B)" rule del 192.0.2.7 || status=1
	kill -KILL -- "-$verb" || _say 'it does not wait' || status=1
	wait "$verb"
	return "$status"
}
# Nor does it hold up the end of a trial, here by its own messages.
test_pipe_trial() {
	local before verb
	rl B apply "$TMP/sets" && before=$(rl B show) && bg stuck apply --try 6s "$TMP/notes" && verb=$BG_PID && eventually 5 has 'udp limit' rl B show &&
		eventually 8 prints "$before" rl B show && timeout 25 "$RLCTL" -n "$(ns B)" rule add 192.0.2.7 deny && rl B rule del 192.0.2.7 || return
	kill -KILL -- "-$verb"
}
test_pipes_begin() {
	pipes_make && printf 'set bad\nrule @bad deny\n' >"$TMP/sets" && rl B apply "$TMP/sets" &&
		printf '10.%s.1\n' {8..11}.{0..250} | rl B set add bad - && rl B set save "$TMP/saved" &&
		for n in {1..400}; do echo "rule any udp limit $n/second burst 1"; done >"$TMP/notes" && cat "$TMP/sets" >>"$TMP/notes"
}

# ---- attach and detach at once

attach_once() { rl B attach veth-B && echo "$1" >>"$TMP/attached"; }
detach_once() { rl B detach veth-B && echo "$1" >>"$TMP/detached"; }

test_attach_at_once() {
	rl B detach veth-B && ! parallel 6 attach_once && is "$(wc -l <"$TMP/attached")" 1 &&
		rl B rule add 192.0.2.1 deny &&
		is "$(rl B status -j | json '.[0].program_id')" "$(xdp_program B veth-B)" || return
	! parallel 6 detach_once && is "$(wc -l <"$TMP/detached")" 1 && is "$(xdp_program B veth-B)" '' &&
		[[ ! -e $(ns_pins B) ]]
}

churn() {
	local i
	for ((i = 0; i < 6; i++)); do
		if (($1 % 2)); then rl B attach veth-B; else rl B detach veth-B; fi
		rl B rule add "192.0.2.$1" deny
	done
	true
}

# Whatever happened, in the end there is a whole instance or none.
test_churn() {
	parallel 6 churn
	if [[ -n $(xdp_program B veth-B) ]]; then
		is "$(rl B status -j | json '.[0].program_id')" "$(xdp_program B veth-B)" &&
			rl B rule add any deny && rl B detach veth-B || return
	fi
	is "$(xdp_program B veth-B)" '' && [[ ! -e $(ns_pins B) ]] && rl B attach veth-B &&
		rl B detach veth-B
}

veth_pair A B && veth_quiet A B && ns_mute A && rl B attach veth-B || exit 1
t 'eight writers and a reader' test_writers
t 'readers of policies that are swapped' test_swaps
t 'packets between two policies' test_no_gap
t 'packets while prefixes change in place' test_no_gap_in_place
t 'the lock' test_lock
t 'the lock, never given back' test_lock_bound
t 'pipes that do not move' test_pipes_begin
while read -r verb; do
	# shellcheck disable=SC2086 # words
	t "a pipe that does not move: $verb" test_pipe ${verb//TMP/$TMP}
done <<-'END'
	set save -
	set restore -
	set restore TMP/idle
	set restore TMP/saved
	set restore -j TMP/saved
	set add bad -
	set del bad -
	set swap bad -
	set add bad 192.0.2.1
	set list bad
	rule add -f -
	rule del -f -
	rule del 10.1.1.1
	apply -
	apply --check -
	apply --try 60s -
	apply TMP/notes
	attach veth-B --hook egress --policy -
	attach veth-B --or-apply --policy TMP/notes
	attach veth-B --replace
	diff -
	show
	stats -j
	rule list -v
	save TMP/policy
	simulate --policy TMP/sets -
	events
	monitor -w -
	top --once
END
t "a pipe that does not move: a trial's" test_pipe_trial
rl B apply --yes - <<<'rule any allow' || exit 1
t 'attach and detach, six at once' test_attach_at_once
t 'attach and detach against each other' test_churn
