#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# rlctl simulate: exact verdicts over the capture's time, and times that jump.
# shellcheck source=simulate.sh
. "$(dirname "${BASH_SOURCE[0]}")/simulate.sh"

# 10/second with a burst of 5, 20 packets 50 ms apart: 5 + 0.05 s × 10/s × 19 = 14.5 tokens.
bucket() {
	capture bucket <<<'1780000000 udp 192.0.2.1 times=20 every=0.05'
	sum_is 'rule any limit 10/second burst 5' bucket '.passed.packets' 14
}

bucket_to_the_nanosecond() {
	capture exact <<-'END'
		1780000000.000000000 udp 192.0.2.1
		1780000000.999999999 udp 192.0.2.1
		1780000001.000000000 udp 192.0.2.1
		1780000001.000000000 udp 192.0.2.2
	END
	verdicts_are 'rule any limit 1/second burst 1' exact 'pass within,drop over,pass within,pass within'
}

# A gap of hours fills the bucket, and no more than that; one of years too.
gaps() {
	capture gaps <<-'END'
		1000000000 udp 192.0.2.1 times=3
		1000007200 udp 192.0.2.1 times=3
		1000014400.25 udp 192.0.2.1 times=1
		1300000000 udp 192.0.2.1 times=3
	END
	local p='pass within' o='drop over'
	verdicts_are 'rule any limit 1/hour burst 2' gaps "$p,$p,$o,$p,$p,$o,$p,$p,$p,$o"
}

algorithms() {
	local limit
	capture hourly <<<'1780000000 udp 192.0.2.1 times=60 every=120'
	for limit in 'fixed-window 10/hour' 'sliding-log 10/hour' 'sliding-window 10/hour' \
		'leaky-bucket 10/hour queue 5' 'warm-up 10/hour ramp 1h'; do
		between "$(simulate "rule any limit $limit" hourly -j | json .passed.packets)" 5 25 || _say "$limit" || return
	done
	sum_is 'rule any limit fixed-window 10/hour' hourly .passed.packets 20 &&
		sum_is 'rule any limit sliding-log 10/hour' hourly .passed.packets 20
}

many_in_log() {
	capture log <<<'1780000000 udp 192.0.2.1 times=2000 every=0.0001'
	sum_is 'rule any limit sliding-log 1024/minute' log .passed.packets 1024
}

# `for` counts from the first packet, by the capture's time, independent of the current time.
expiry() {
	local first
	for first in 0 86400 1780000000 4200000000; do
		capture expiry <<<"$first udp 192.0.2.1 times=12 every=1"
		sum_is 'rule any deny for 10s' expiry .dropped.packets 10 || _say "first packet at $first" || return
		sum_is 'rule any deny for 10s' expiry '.rules[0].rule' 'any deny for 10s' || return
		sum_is 'rule any deny for 10s' expiry '.rules[0].dropped.packets' 10 || return
		sum_is 'rule 192.0.2.0/24 deny for 3s;rule 192.0.0.0/16 udp deny for 5s' expiry '.rules | map(.dropped.packets) | join(" ")' '2 3' || return
	done
}

ban() {
	capture ban <<<'1780000000 udp 192.0.2.1 times=10 every=1'
	local p='pass within' o='drop over' b='drop banned'
	verdicts_are 'rule any limit 1/minute burst 2 over ban 5s' ban "$p,$p,$o,$b,$b,$b,$b,$o,$b,$b"
}

# As on a CPU whose clock is behind: no refill, no failure, no message.
backwards() {
	capture back <<-'END'
		1780000010 udp 192.0.2.1
		1780000009.99 udp 192.0.2.1
		1780000009 udp 192.0.2.1
		1780000011 udp 192.0.2.1
	END
	verdicts_are 'rule any limit 1/second burst 1' back 'pass within,drop over,drop over,pass within' 2>"$TMP/stderr" &&
		is "$(cat "$TMP/stderr")" '' &&
		has '2 1780000009.990000000 drop over' simulate 'rule any limit 1/second burst 1' back --verdicts
}

# jumps POLICY NAME WANTED NOTE: so many packets pass, and this is said of the time.
jumps() {
	is "$(simulate "$1" "$2" -j 2>"$TMP/stderr" | json .passed.packets)" "$3" || return
	grep -qF "$2: time jumps $4" "$TMP/stderr" || _say "said: $(cat "$TMP/stderr")"
}

# No limit drops because of an invalid time. A source for each limit: a packet at that time, then 20.
jump_rows() {
	local first limit policy='' n=0
	for limit in '10/minute burst 100 per rule' '10/minute burst 100' '10/minute burst 100 per flow' \
		'fixed-window 21/hour' 'sliding-window 21/hour' 'sliding-log 21/hour per flow' '21/day burst 21'; do
		policy+="rule 192.0.2.$((++n)) limit $limit;"
	done
	for first in 1780003600 0; do
		{
			seq -f "$first udp 192.0.2.%g" $n
			seq -f '1780000000 udp 192.0.2.%g times=20' $n
		} | capture jumps$first || return
	done
	jumps "$policy" jumps1780003600 147 'back by 1 hour at packet 8:' &&
		jumps "$policy" jumps0 147 'forward by 56 years at packet 8:'
}

# One packet that is late in the middle; the second jump is only counted.
jumps_twice() {
	capture twice <<-'END'
		1780000000 udp 192.0.2.1 times=10 every=0.01
		0 udp 192.0.2.1
		1780000001 udp 192.0.2.1 times=10 every=0.01
	END
	jumps 'rule any limit 10/minute burst 10' twice 21 \
		'back by 56 years at packet 11, and at 1 more packet:'
}

# Fresh states are limited again, and counters continue.
jump_holds() {
	local p='pass within' o='drop over' b='drop banned'
	capture again <<-'END'
		1780003600 udp 192.0.2.1 times=3
		1780000000 udp 192.0.2.1 times=3
	END
	verdicts_are 'rule any limit 1/hour burst 2' again "$p,$p,$o,$p,$p,$o" &&
		verdicts_are 'rule any limit 1/hour burst 1 over ban 1d source' again "$p,$o,$b,$p,$o,$b" &&
		sum_is 'rule any limit 1/hour burst 2' again '[.rules[0].dropped.packets, .passed.packets] | join(" ")' '2 4'
}

# `for` begins anew, and a rule that has expired keeps its counters.
jump_expiry() {
	local first
	for first in 0 1780003600; do
		capture expiry <<<"$first udp 192.0.2.1"$'\n1780000000 udp 192.0.2.1 times=12 every=1'
		sum_is 'rule any deny for 10s' expiry '[.dropped.packets, .rules[0].dropped.packets] | join(" ")' '11 11' || return
		sum_is 'rule 192.0.2.0/24 deny for 10s;rule any limit 1/second' expiry '.rules | map(.dropped.packets) | join(" ")' '0 11' || return
	done
}

# A source that was known is new again.
jump_known() {
	capture known <<-'END'
		1780003600 udp 192.0.2.1 times=2
		1780000000 udp 192.0.2.1
	END
	verdicts_are 'rule any new-source limit 1/hour burst 9' known 'pass within,pass unmatched,pass within'
}

# Senders share the limit by their class, and start over where time jumps: then with as much again.
share() {
	local policy='rule device limit 1200/second burst 100 share' once
	shared_lines 1780000000 | capture shared && { shared_lines 1780000000 && shared_lines 1770000000; } | capture shared_twice || return
	sum_is "$policy" shared '.rules[0].share | "\(.short) \(.unit) \(.established.arrived)"' 'true packets 0' \
		'.rules[0].share | [.known, .strangers, .unasked | .arrived] | add' 12400 '.rules[0].share | [.known, .strangers, .unasked | .passed] | add' \
		"$(simulate "$policy" shared -j | json .passed.packets)" || return
	between "$(json .rules[0].share.known.arrived <"$TMP/sum")" 180 200 && between "$(json .rules[0].share.known.passed <"$TMP/sum")" 175 200 &&
		between "$(json .rules[0].share.strangers.passed <"$TMP/sum")" 1500 2400 || return
	once=$(json '.rules[0].share | [.known.arrived, .unasked.arrived]' -c <"$TMP/sum")
	sum_is "$policy" shared_twice '.rules[0].share | [.known.arrived, .unasked.arrived] | map(. / 2) | tojson' "$once"
}

# On from the first packet to the last, behind a jump too, in each policy that has it.
manual_alarms() {
	local alarms='alarm a manual;alarm overload manual;alarm measured when udp over 9k/s for 1s until under 1k/s for 1s'
	local policy="$alarms;rule any udp deny while a;rule any tcp deny while overload"
	capture alarms <<-'END'
		1780003600 udp 192.0.2.1
		1780003600 tcp 192.0.2.1
		1780000000 udp 192.0.2.1
		1780000009 tcp 192.0.2.1
	END
	verdicts_are "$policy" alarms 'pass unmatched,pass unmatched,pass unmatched,pass unmatched' &&
		verdicts_are "$policy" alarms 'drop denied,pass unmatched,drop denied,pass unmatched' --alarm a &&
		verdicts_are "$policy" alarms 'drop denied,drop denied,drop denied,drop denied' --alarm a --alarm overload &&
		verdicts_are 'rule any allow' alarms 'pass allowed drop denied,pass allowed pass unmatched,pass allowed drop denied,pass allowed pass unmatched' --alarm a \
			--against <(tr ';' '\n' <<<"$policy") || return
	fails_with "unknown alarm 'overlod' (did you mean overload?)" simulate "$policy" alarms --alarm a --alarm overlod &&
		fails_with 'alarm measured is not manual' simulate "$policy" alarms --alarm measured &&
		fails_with 'a line "alarm NAME manual"' simulate 'rule any allow' alarms --alarm a
}

t 'a token bucket over the capture' bucket
t 'a token bucket to the nanosecond' bucket_to_the_nanosecond
t 'gaps of hours and years' gaps
t 'every algorithm by the time of the capture' algorithms
t 'a sliding log of the largest N' many_in_log
t 'expiry by the time of the capture' expiry
t 'bans by the time of the capture' ban
t 'time that goes backwards' backwards
t 'time that jumps' jump_rows
t 'time that jumps twice' jumps_twice
t 'limits hold behind a jump' jump_holds
t 'expiry begins anew behind a jump' jump_expiry
t 'known sources behind a jump' jump_known
t 'a limit that senders share' share
t 'manual alarms' manual_alarms
