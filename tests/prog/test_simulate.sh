#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# rlctl simulate: captures of every kind, exact verdicts over the capture's time, errors. check: timeout 240
# shellcheck source=../lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# capture NAME OPTION… <LINES: makes $TMP/NAME; what the lines mean is in capture.py.
capture() { python3 "$HERE/capture.py" "${@:2}" >"$TMP/$1"; }

# simulate POLICY NAME ARG…: POLICY is text with ; for line ends.
simulate() { tr ';' '\n' <<<"$1" | "$RLCTL" simulate - "$TMP/$2" "${@:3}"; }

# verdicts_are POLICY NAME WANTED: WANTED is `VERDICT REASON` of all packets, joined by commas.
verdicts_are() {
	local got
	got=$(simulate "$1" "$2" --verdicts | cut -d ' ' -f 3- | paste -sd ,) || return
	is "$got" "$3"
}

# sum_is POLICY NAME FILTER WANTED
sum_is() { is "$(simulate "$1" "$2" -j | json "$3")" "$4"; }

# fails_with TEXT CMD…: exit 1, this text on stderr, nothing on stdout.
fails_with() {
	local text=$1 status=0 output
	shift
	output=$("$@" 2>&1 >"$TMP/stdout") || status=$?
	is "$status" 1 && is "$(cat "$TMP/stdout")" '' || return
	[[ $output == *"$text"* ]] || _say "no '$text' in: $output"
}

ALL='rule any limit 1000/second'

# ---- formats

formats() {
	local option lines='5 udp 192.0.2.1
		6.123456 udp 192.0.2.1'
	for option in us 'us big' ns 'ns big' 'us ng' 'us ng big' 'ns ng' 'ns ng big'; do
		# shellcheck disable=SC2086 # several options
		capture formats $option <<<"$lines" || return
		is "$(simulate "$ALL" formats --verdicts)" $'1 5.000000000 pass within\n2 6.123456000 pass within' ||
			_say "format: $option" || return
	done
}

nanoseconds() {
	local option
	for option in '' ng; do
		# shellcheck disable=SC2086 # an option or none
		capture ns ns $option <<<'4000000000.123456789 udp 192.0.2.1' || return
		is "$(simulate "$ALL" ns --verdicts)" '1 4000000000.123456789 pass within' || return
	done
}

from_pipe() { simulate "$ALL" two --verdicts >"$TMP/a" && "$RLCTL" simulate "$TMP/policy" - --verdicts < <(cat "$TMP/two") >"$TMP/b" && cmp "$TMP/a" "$TMP/b"; }

frames() {
	capture frames <<-'END'
		1 udp 192.0.2.1
		2 udp 192.0.2.1 vlan
		3 udp6 2001:db8::2
		4 arp
		5 junk
	END
	verdicts_are 'rule 192.0.2.0/24 deny; rule 2001:db8::/32 allow' frames \
		'drop denied,drop denied,pass allowed,pass non-ip,drop malformed'
}

# ---- link types

# Of all sizes and kinds; `all` has what only Ethernet and Linux' cooked captures have besides.
cat >"$TMP/ip" <<'END'
1 udp 192.0.2.1 size=60
1 udp 192.0.2.1 size=1514
1 udp 192.0.2.2 size=1514 dport=80
2 udp6 2001:db8::2 size=80
2 udp6 2001:db8::2 size=400
3 junk
3 udp 192.0.2.1 size=1514 cap=60
4 udp 192.0.2.1 size=1514 cap=30
5 udp 192.0.2.1 size=200000
END
cat "$TMP/ip" - >"$TMP/all" <<'END'
6 udp 192.0.2.1 vlan
6 udp6 2001:db8::2 vlan
7 arp
END
grep -v udp6 "$TMP/ip" >"$TMP/ipv4"
grep udp6 "$TMP/ip" >"$TMP/ipv6"
LINK_POLICY='rule any limit 2000byte/minute burst 2000byte;rule any udp dport 80 limit 1/second;rule 2001:db8::/32 limit 1/minute burst 1'

# linked LINK LINES ARG: what simulate says of the packets of that file.
linked() {
	capture linked "link=$1" <"$TMP/$2" && simulate "$LINK_POLICY" linked "$3"
}

# as_ethernet LINK LINES ARG: the same as under Ethernet.
as_ethernet() {
	local wanted=$TMP/$2$3
	[[ -s $wanted ]] || linked 1 "$2" "$3" >"$wanted" || return
	diff "$wanted" <(linked "$@")
}

# Under Ethernet no two of the limits and no two sizes are mistaken for each other.
told_apart() {
	capture ethernet <"$TMP/all"
	local p='pass within' o='drop over' m='drop malformed'
	verdicts_are "$LINK_POLICY" ethernet "$p,$p,$p,$p,$o,$m,$o,$m,$o,$p,$o,pass non-ip"
}

# What is neither IPv4 nor IPv6 passes, as ARP does under Ethernet; a header that was not captured in
# full makes no packet. CAP bytes of the Ethernet frame are as many behind the link header: of 13 its
# last byte is missing.
odd_links() {
	capture odd "link=$1" <<-'END'
		1 arp
		2 udp 192.0.2.1 cap=13
		3 udp 192.0.2.1 cap=0
	END
	verdicts_are "$ALL" odd 'pass non-ip,drop malformed,drop malformed' 2>"$TMP/stderr" &&
		has '2 packets were captured without all of their headers' cat "$TMP/stderr"
}
cut_counts() {
	capture cut link=sll <<<'1 udp 192.0.2.1 cap=13'
	sum_is "$ALL" cut .dropped.bytes 80
}
empty_raw() {
	capture empty_raw link=raw <<<'1 udp 192.0.2.1 size=14'
	verdicts_are "$ALL" empty_raw 'drop malformed' && sum_is "$ALL" empty_raw .dropped.bytes 14
}

# The file says 2^32 - 1 bytes, to which nothing can be added.
longest_raw() {
	capture longest link=raw <<<'1 udp 192.0.2.1'
	printf '\xff\xff\xff\xff' | dd of="$TMP/longest" bs=1 seek=$((24 + 12)) conv=notrunc status=none
	verdicts_are "$ALL" longest 'pass within' && sum_is "$ALL" longest .passed.bytes 4294967295
}

# 4 as the version of an IPv6 packet, and 6 of an IPv4 one.
wrong_version() {
	local i
	capture four link=ipv4 <<<'1 udp6 2001:db8::2'
	capture six link=ipv6 <<<'1 udp 192.0.2.1'
	for i in four six; do
		verdicts_are "$ALL" $i 'drop malformed' || return
	done
}

# ---- lengths

short_frames() {
	capture short <<-'END'
		1 udp 192.0.2.1 size=0
		2 udp 192.0.2.1 size=1
		3 udp 192.0.2.1 size=13
		4 arp size=14
		5 udp 192.0.2.1
	END
	verdicts_are "$ALL" short 'drop malformed,drop malformed,drop malformed,pass non-ip,pass within' &&
		sum_is "$ALL" short '[.packets, .passed.packets, .dropped.packets, .dropped.bytes] | join(" ")' '5 2 3 14' &&
		sum_is "$ALL" short '.reasons.malformed.packets' 3
}

LONG='.passed | "\(.packets) \(.bytes)"'

long_frames() {
	capture long <<-'END'
		1 udp 192.0.2.1 size=3520
		2 udp 192.0.2.1 size=3521
		3 udp 192.0.2.1 size=9014
		4 udp 192.0.2.1 size=65549
		5 udp 192.0.2.1 size=73153
		6 udp 192.0.2.1 size=200000
	END
	verdicts_are "$ALL" long "$(yes 'pass within' | head -n 6 | paste -sd ,)" &&
		sum_is "$ALL" long "$LONG" "6 $((3520 + 3521 + 9014 + 65549 + 73153 + 200000))"
}

# As they were handed to the device that segments them; on the wire 0 is no length, nor for a packet
# that needs no segments.
unsegmented() {
	local p='pass within' m='drop malformed'
	capture unsegmented <<-'END'
		1 udp 192.0.2.1 size=4000 unsegmented
		2 udp 192.0.2.1 size=1515 unsegmented
		3 udp 192.0.2.1 size=1514 unsegmented
		4 udp 192.0.2.1 size=80 unsegmented
		5 udp 192.0.2.1 size=65000 cap=96 unsegmented
		6 udp 192.0.2.1 size=180000 cap=96 unsegmented
		7 udp6 2001:db8::2 size=180000 cap=96 unsegmented
		8 udp6 2001:db8::2 size=4000 unsegmented
		9 udp 192.0.2.1 size=4000 dport=80 unsegmented
	END
	verdicts_are "$ALL;rule any udp dport 80 deny" unsegmented "$p,$p,$m,$m,$p,$p,$p,$m,drop denied" &&
		sum_is "$ALL" unsegmented "$LONG" "6 $((4000 + 1515 + 65000 + 180000 + 180000 + 4000))"
}

# What the capture left out of a frame counts all the same.
snaplen() {
	capture snap <<-'END'
		1 udp 192.0.2.1 size=1514 cap=64
		1 udp 192.0.2.1 size=1514 cap=64
		1 udp 192.0.2.1 size=9014 cap=96
	END
	verdicts_are 'rule any limit 3100byte/minute burst 3100byte' snap 'pass within,pass within,drop over' &&
		sum_is "$ALL" snap "$LONG" '3 12042'
}

cut_headers() {
	capture cut <<-'END'
		1 udp 192.0.2.1 cap=12
		2 udp 192.0.2.1 cap=30
		3 udp 192.0.2.1 cap=42
	END
	verdicts_are "$ALL" cut 'drop malformed,drop malformed,pass within' &&
		has '2 packets were captured without all of their headers' simulate "$ALL" cut --verdicts &&
		is "$(simulate "$ALL" cut -q 2>&1 >/dev/null)" ''
}

# ---- time

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

# `for` counts from the first packet, by the capture's time, whatever the time is now.
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

# As on a CPU whose clock is behind: nothing is refilled, nothing breaks, nothing is said.
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
	grep -qF "$2: time goes $4" "$TMP/stderr" || _say "said: $(cat "$TMP/stderr")"
}

# No limit drops for a time that is none. A source for each limit: a packet at that time, then 20.
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
		jumps "$policy" jumps0 147 'on by 56 years at packet 8:'
}

# One packet that is late in the middle; the second jump is only counted.
jumps_twice() {
	capture twice <<-'END'
		1780000000 udp 192.0.2.1 times=10 every=0.01
		0 udp 192.0.2.1
		1780000001 udp 192.0.2.1 times=10 every=0.01
	END
	jumps 'rule any limit 10/minute burst 10' twice 21 \
		'back by 56 years at packet 11, and jumps at 1 more packet:'
}

# What is fresh is held to the limit again, and counted on.
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

# ---- what is printed

shape() {
	local policy='rule 192.0.2.0/24 deny; rule any limit 1/second burst 1; rule 198.51.100.0/24 udp limit 1/second burst 1 over count'
	capture shape <<-'END'
		1 udp 192.0.2.1
		1 udp 203.0.113.1 times=3
		1 udp 198.51.100.1 times=2
		1 arp
	END
	is "$(simulate "$policy" shape -j | jq -c 'keys')" '["dropped","packets","passed","reasons","rules"]' &&
		sum_is "$policy" shape '.packets == .passed.packets + .dropped.packets' true &&
		sum_is "$policy" shape '[.reasons[].packets] | add == 7' true &&
		sum_is "$policy" shape '.reasons | [.within, .denied, .over, .shadow, ."non-ip"] | map(.packets) | join(" ")' '2 1 2 1 1' &&
		sum_is "$policy" shape '.rules | map(select(.rule | startswith("192.0.2"))) | .[0].dropped.packets' 1 &&
		sum_is "$policy" shape '.rules | map(select(.shadow.packets > 0)) | .[0].rule | startswith("198.51.100.0/24 udp")' true &&
		has '7 packets' simulate "$policy" shape && has 'denied' simulate "$policy" shape
}

empty_capture() {
	capture empty </dev/null
	sum_is "$ALL" empty '[.packets, .passed.packets, .dropped.packets] | join(" ")' '0 0 0' &&
		is "$(simulate "$ALL" empty --verdicts)" '' && has '0 packets' simulate "$ALL" empty
}

no_policy() { capture one <<<'1 udp 192.0.2.1' && verdicts_are '# none' one 'pass unmatched'; }

same_twice() {
	local policy='rule any limit 3/second burst 2;rule any udp limit 2kbyte/second burst 2000byte;rule device limit 500/second burst 50'
	python3 -c 'for i in range(5000): print(1780000000 + i / 1000, "udp", f"10.0.{i * 7 % 13}.{i * 31 % 97}", f"size={60 + i % 1400}")' |
		capture same
	simulate "$policy" same --verdicts >"$TMP/a" && simulate "$policy" same --verdicts >"$TMP/b" && cmp "$TMP/a" "$TMP/b" &&
		is "$(wc -l <"$TMP/a")" 5000 && between "$(grep -c drop "$TMP/a")" 100 4900 &&
		sum_is "$policy" same .dropped.packets "$(grep -c drop "$TMP/a")"
}

# ---- errors

wrong_link() {
	capture link link=105 <<<'1 udp 192.0.2.1'
	fails_with 'IEEE802_11 (105), which cannot be run (EN10MB, LINUX_SLL,' simulate "$ALL" link
}

garbage() {
	echo 'this is no capture at all, is it' >"$TMP/garbage"
	: >"$TMP/nothing"
	fails_with "$TMP/garbage: not a capture" simulate "$ALL" garbage &&
		fails_with "$TMP/nothing: not a capture" simulate "$ALL" nothing &&
		fails_with "$TMP/absent: No such file" simulate "$ALL" absent &&
		fails_with 'Is a directory' simulate "$ALL" .
}

# truncated OPTION…: the third packet is incomplete, in its head or in its data.
truncated() {
	local cut size
	capture whole "$@" <<<'1 udp 192.0.2.1 times=3'
	size=$(stat -c %s "$TMP/whole")
	for cut in 10 90; do
		head -c $((size - cut)) "$TMP/whole" >"$TMP/truncated"
		fails_with 'truncated: packet 3: ' simulate "$ALL" truncated -j || return
		is "$(simulate "$ALL" truncated --verdicts 2>/dev/null | wc -l)" 2 || return
	done
}

# bad_time NUMBER…: of five packets, these have a fraction of a second that is none.
bad_time() {
	local number
	capture time ns <<<'1 udp 192.0.2.1 times=5 every=1'
	for number; do
		printf '\x00\xca\x9a\x3b' |
			dd of="$TMP/time" bs=1 seek=$((24 + (number - 1) * 96 + 4)) conv=notrunc status=none
	done
}
bad_times() {
	bad_time 2
	is "$(simulate "$ALL" time --verdicts 2>"$TMP/stderr" | cut -d ' ' -f 1 | paste -sd ,)" 1,3,4,5 &&
		has 'time: 1 packet was skipped for an invalid time stamp, the first is packet 2' cat "$TMP/stderr" &&
		sum_is "$ALL" time '[.packets, .passed.packets] | join(" ")' '4 4' || return
	bad_time 1 3 4
	has 'time: 3 packets were skipped for an invalid time stamp, the first is packet 1' simulate "$ALL" time &&
		has '2 packets' simulate "$ALL" time || return
	bad_time 1 2 3 4 5
	has '5 packets were skipped' simulate "$ALL" time && has '0 packets' simulate "$ALL" time
}

# A length that no packet has.
bad_length() {
	capture length <<<'1 udp 192.0.2.1 times=2'
	printf '\xff\xff\xff\x7f' | dd of="$TMP/length" bs=1 seek=$((24 + 16 + 80 + 8)) conv=notrunc status=none
	fails_with "length: packet 2: " simulate "$ALL" length
}

policy_errors() {
	fails_with 'stdin:2:' simulate 'rule any allow;rule any limit 0/second' two &&
		fails_with 'stdin:1:' simulate 'rule any limit 5/second over mark 1' two &&
		fails_with 'No such file' "$RLCTL" simulate "$TMP/absent" "$TMP/two"
}

words() {
	expect_status 2 "$RLCTL" simulate && expect_status 2 "$RLCTL" simulate a && expect_status 2 "$RLCTL" simulate a b c &&
		expect_status 2 "$RLCTL" simulate - - && expect_status 2 "$RLCTL" simulate -i lo "$TMP/policy" "$TMP/two"
}

no_privilege() {
	chmod 755 "$TMP"
	fails_with 'lacks CAP_BPF' setpriv --reuid=65534 --regid=65534 --clear-groups "$RLCTL" simulate "$TMP/policy" "$TMP/two"
}

full_disk() { fails_to_write /dev/full; }
fails_to_write() {
	local status=0
	simulate "$ALL" two --verdicts >"$1" 2>"$TMP/stderr" || status=$?
	is "$status" 1 && grep -q 'standard output' "$TMP/stderr"
}

# No socket, no mount, no pin, nothing attached: strace sees all that could.
no_traces() {
	strace -f -o "$TMP/calls" -e trace=bpf,socket,mount,ioctl "$RLCTL" simulate "$TMP/policy" "$TMP/two" >/dev/null || return
	grep -q BPF_PROG_TEST_RUN "$TMP/calls" || _say 'strace saw nothing' || return
	! grep -E 'OBJ_PIN|OBJ_GET,|LINK_CREATE|PROG_ATTACH|socket\(|mount\(|SIOC' "$TMP/calls"
}

# ---- progress

# on_terminal COMMAND: what a terminal shows of it.
on_terminal() { python3 -c 'import pty, sys; pty.spawn(["sh", "-c", sys.argv[1]])' "$1" </dev/null; }

# slow_pipe NAME: a capture whose second packet takes its time.
slow_pipe() {
	mkfifo "$TMP/$1" || return
	{ head -c 130 "$TMP/two" && sleep 2.5 && tail -c +131 "$TMP/two"; } >"$TMP/$1" &
}

bar() {
	local run="$RLCTL simulate $TMP/policy" quiet piped
	slow_pipe quiet
	on_terminal "$run -q - <$TMP/quiet >/dev/null" >"$TMP/shown_quiet" &
	quiet=$!
	slow_pipe piped
	"$RLCTL" simulate "$TMP/policy" - 2>"$TMP/shown_piped" >/dev/null <"$TMP/piped" &
	piped=$!
	slow_pipe plain
	has $'\r2 packets' on_terminal "$run - <$TMP/plain >/dev/null" || return
	wait $quiet && wait $piped && is "$(cat "$TMP/shown_quiet" "$TMP/shown_piped")" '' &&
		short_is_silent "$run $TMP/two >/dev/null"
}

# What was over within a second showed nothing; on a busy machine it may not have been.
short_is_silent() {
	local start=${EPOCHREALTIME/./} shown
	shown=$(on_terminal "$1")
	[[ $((${EPOCHREALTIME/./} - start)) -ge 1000000 ]] || is "$shown" ''
}

bar_of_file() {
	python3 - "$TMP/two" >"$TMP/big" <<-'END'
		import sys
		data = open(sys.argv[1], 'rb').read()
		sys.stdout.buffer.write(data[:24] + data[24:120] * 2000000)
	END
	has '[####' on_terminal "$RLCTL simulate $TMP/policy $TMP/big >/dev/null"
}

echo "$ALL" >"$TMP/policy"
capture two <<<'1 udp 192.0.2.1 times=2'

t 'both formats, both precisions, both byte orders' formats
t 'nanoseconds, and times after 2038' nanoseconds
t 'a capture from a pipe' from_pipe
t 'VLAN, IPv6, ARP, junk' frames
t 'packets of which each verdict differs' told_apart
t 'link type: sll' as_ethernet sll all --verdicts
t 'link type: sll2' as_ethernet sll2 all --verdicts
for link in raw null loop ppp ppp-hdlc-short ppp-cisco pppoe; do
	t "link type: $link" as_ethernet $link ip --verdicts
done
t 'link type: ipv4' as_ethernet ipv4 ipv4 --verdicts
t 'link type: ipv6' as_ethernet ipv6 ipv6 --verdicts
t 'sums behind sll' as_ethernet sll all -j
for link in sll2 ppp-hdlc; do
	t "odd packets behind $link" odd_links $link
done
t 'a packet whose link header was cut counts in full' cut_counts
t 'a raw packet of no bytes' empty_raw
t 'a raw packet of the greatest length' longest_raw
t 'IP of another version than the link says' wrong_version
t 'frames too short to run' short_frames
t 'frames too long to run' long_frames
t 'frames captured before segmentation' unsegmented
t 'frames captured in part count in full' snaplen
t 'headers that were not captured' cut_headers
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
t 'JSON, table, counts' shape
t 'an empty capture' empty_capture
t 'an empty policy' no_policy
t 'two runs say the same' same_twice
t 'another link type' wrong_link
t 'files that are no captures' garbage
t 'a truncated pcap' truncated ns
t 'a truncated pcapng' truncated ng
t 'time stamps that are none' bad_times
t 'a length that is none' bad_length
t 'errors in the policy' policy_errors
t 'wrong words' words
t 'without privilege' no_privilege
t 'a full disk' full_disk
t 'nothing is left behind' no_traces
t 'progress of a pipe' bar
t 'progress of a file' bar_of_file
