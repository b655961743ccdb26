#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# rlctl simulate: captures of every kind, lengths, what is printed, errors. check: timeout 400
# shellcheck source=simulate.sh
. "$(dirname "${BASH_SOURCE[0]}")/simulate.sh"

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

# Packets of all sizes and kinds; `all` adds those that only Ethernet and Linux' cooked captures have.
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

# linked LINK LINES ARG: the output of simulate for the packets of that file.
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

# A packet that is neither IPv4 nor IPv6 passes, as ARP does under Ethernet; a header that was not captured in
# full makes no packet. CAP bytes of the Ethernet frame are as many behind the link header: with 13 its last
# byte is missing.
odd_links() {
	capture odd "link=$1" <<-'END'
		1 arp
		2 udp 192.0.2.1 cap=13
		3 udp 192.0.2.1 cap=0
	END
	verdicts_are "$ALL" odd 'pass non-ip,drop malformed,drop malformed' 2>"$TMP/stderr" &&
		has '2 packets were captured without all headers' cat "$TMP/stderr"
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
		sum_is "$ALL" short '[.packets, .passed.packets, .dropped.packets, .dropped.bytes] | join(" ")' '5 2 3 14' \
			'.reasons.malformed.packets' 3
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

# In a tunnel of UDP its length is 0 as well, where the packet is larger than that can say.
unsegmented_tunnel() {
	capture tunnel <<-'END'
		1 udp 192.0.2.1 size=70000 cap=96 unsegmented udplen=0
		2 udp6 2001:db8::2 size=180000 cap=96 unsegmented udplen=0 dport=80
		3 udp 192.0.2.1 size=65549 cap=96 udplen=0
		4 udp 192.0.2.1 size=4000 unsegmented udplen=0
		5 udp 192.0.2.1 size=70000 cap=96 unsegmented udplen=7
	END
	local m='drop malformed'
	verdicts_are 'rule any dport 80 deny;rule any payload 50 00000000 allow' tunnel "pass allowed,drop denied,$m,$m,$m"
}

# Bytes of a frame that were not captured count all the same.
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
	verdicts_are "$ALL" cut 'drop malformed,drop malformed,pass within' 2>"$TMP/stderr" &&
		has '2 packets were captured without all headers' cat "$TMP/stderr" &&
		is "$(simulate "$ALL" cut -q 2>&1 >/dev/null)" ''
}

# The frame has 42 bytes of headers, and all bytes of its payload are zero: each rule sees what was captured of it,
# whatever another asks for.
cut_payloads() {
	local far='rule any payload 500 ff allow' near='rule any udp payload 0 00000000 deny' third='rule any payload 4 0000 deny'
	capture cut <<-'END'
		1 udp 192.0.2.1 size=900 cap=46
		1 udp 192.0.2.1 size=900 cap=45
		1 udp 192.0.2.1 size=900 cap=48
		1 udp 192.0.2.1 size=900
		1 udp 192.0.2.1 size=45
	END
	local d='drop denied' u='pass unmatched'
	verdicts_are "$near" cut "$d,$u,$d,$d,$u" 2>"$TMP/stderr" &&
		has '1 packet was captured without bytes that' cat "$TMP/stderr" &&
		verdicts_are "$near;$far" cut "$d,$u,$d,$d,$u" 2>"$TMP/stderr" &&
		has '3 packets were captured without bytes that' cat "$TMP/stderr" &&
		verdicts_are "$third;$far" cut "$u,$u,$d,$d,$u" &&
		verdicts_are "${near/deny/allow}" two 'pass allowed,pass allowed' 2>"$TMP/stderr" && is "$(cat "$TMP/stderr")" ''
}

# ---- sets

# Their times begin with the first packet, and again where time jumps back.
set_files() {
	printf '%s\n' 192.0.2.1 '192.0.2.2 for 5s' '192.0.2.3 until 1970-01-01T00:01:00Z' 192.0.2.7/24 junk >"$TMP/list"
	capture members <<-'END'
		50 udp 198.51.100.1
		51 udp 192.0.2.2
		56 udp 192.0.2.2
		59 udp 192.0.2.3 dport=7
		61 udp 192.0.2.3 dport=7
		20 udp 192.0.2.2
		21 arp
	END
	local d='drop denied' u='pass unmatched'
	verdicts_are "set few file $TMP/list max 8;rule any src @few deny" members "$u,$d,$d,$d,$d,$d,pass non-ip" 2>"$TMP/stderr" &&
		has "$TMP/list:5: \"junk\"" cat "$TMP/stderr" && is "$(grep -c junk "$TMP/stderr")" 1 || return
	sed -i '/junk\|\/24/d' "$TMP/list"
	verdicts_are "set few file $TMP/list;rule @few deny" members "$u,$d,$u,$d,$u,$d,pass non-ip"
}
set_kept() {
	echo 192.0.2.2 >"$TMP/list"
	capture kept <<-'END'
		50 udp 192.0.2.1 times=4
		50 udp 192.0.2.2 times=4
	END
	local w='pass within' o='drop over'
	verdicts_are "set few file $TMP/list;rule any limit 1/hour burst 5 keep 3 for @few" kept "$w,$w,$o,$o,$w,$w,$w,$o"
}
set_without_file() {
	local text='set bad has no file, so no packet is of a member'
	verdicts_are 'set bad;rule any src @bad deny;rule any not src @bad allow' two 'pass allowed,pass allowed' 2>"$TMP/stderr" &&
		is "$(grep -c "$text" "$TMP/stderr")" 1
}
set_file_missing() {
	verdicts_are "set bad file $TMP/none;rule @bad deny" two 'pass unmatched,pass unmatched' 2>"$TMP/stderr" &&
		has "warning: set bad: $TMP/none: No such file or directory: it has no members" cat "$TMP/stderr"
}

# ---- output

shape() {
	local policy='rule 192.0.2.0/24 deny; rule any limit 1/second burst 1; rule 198.51.100.0/24 udp limit 1/second burst 1 over count'
	capture shape <<-'END'
		1 udp 192.0.2.1
		1 udp 203.0.113.1 times=3
		1 udp 198.51.100.1 times=2
		1 arp
	END
	sum_is "$policy" shape 'keys | join(" ")' 'dropped packets passed reasons rules' \
		'.packets == .passed.packets + .dropped.packets' true \
		'[.reasons[].packets] | add == 7' true \
		'.reasons | [.within, .denied, .over, .shadow, ."non-ip"] | map(.packets) | join(" ")' '2 1 2 1 1' \
		'.rules | map(select(.rule | startswith("192.0.2"))) | .[0].dropped.packets' 1 \
		'.rules | map(select(.shadow.packets > 0)) | .[0].rule | startswith("198.51.100.0/24 udp")' true &&
		simulate "$policy" shape >"$TMP/table" && has '7 packets' cat "$TMP/table" && has 'denied' cat "$TMP/table"
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

# A cache of the prefixes by address takes no network for another, whatever their bits have in common.
networks_apart() {
	capture apart <<<$'1 udp6 2001:db8:0:ffff::ffff dport=9\n2 udp6 2001:db8:0:1::1\n3 udp6 2001:db8::'
	verdicts_are 'rule 2001:db8:0:ffff::/64 dport 53 deny' apart 'pass unmatched,pass unmatched,pass unmatched'
}

# ---- errors

wrong_link() {
	capture link link=105 <<<'1 udp 192.0.2.1'
	fails_with 'unsupported link type IEEE802_11 (105; supported: EN10MB, LINUX_SLL,' simulate "$ALL" link
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
		has 'time: 1 packet was skipped because of an invalid timestamp, the first is packet 2' cat "$TMP/stderr" &&
		sum_is "$ALL" time '[.packets, .passed.packets] | join(" ")' '4 4' || return
	bad_time 1 3 4
	simulate "$ALL" time >"$TMP/sums" 2>&1 && has '2 packets' cat "$TMP/sums" &&
		has 'time: 3 packets were skipped because of an invalid timestamp, the first is packet 1' cat "$TMP/sums" || return
	bad_time 1 2 3 4 5
	simulate "$ALL" time >"$TMP/sums" 2>&1 && has '5 packets were skipped' cat "$TMP/sums" && has '0 packets' cat "$TMP/sums"
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
	fails_with 'missing capabilities: CAP_BPF' setpriv --reuid=65534 --regid=65534 --clear-groups "$RLCTL" simulate "$TMP/policy" "$TMP/two"
}

full_disk() { fails_to_write /dev/full; }
fails_to_write() {
	local status=0
	simulate "$ALL" two --verdicts >"$1" 2>"$TMP/stderr" || status=$?
	is "$status" 1 && grep -q 'standard output' "$TMP/stderr"
}

# No socket, no mount, no pin, nothing attached: strace would show each of them.
no_traces() {
	strace -f -o "$TMP/calls" -e trace=bpf,socket,mount,ioctl "$RLCTL" simulate "$TMP/policy" "$TMP/two" >/dev/null || return
	grep -q BPF_PROG_TEST_RUN "$TMP/calls" || _say 'strace saw nothing' || return
	! grep -E 'OBJ_PIN|OBJ_GET,|LINK_CREATE|PROG_ATTACH|socket\(|mount\(|SIOC' "$TMP/calls"
}

# ---- progress

# on_terminal COMMAND: its output on a terminal.
on_terminal() { python3 -c 'import pty, sys; pty.spawn(["sh", "-c", sys.argv[1]])' "$1" </dev/null; }

# paused FILE WORDS: the command that simulates with these words, and pauses for more than a second before it reads
# FILE for the second time. It has begun with the packets by then, however busy the machine is.
paused() {
	echo "strace -qq -o /dev/null -P $TMP/$1 -e trace=read -e inject=read:delay_enter=1200000:when=2 $RLCTL simulate $TMP/policy $2"
}

# pipe NAME: the capture as a pipe, which gives a part at a time.
pipe() {
	mkfifo "$TMP/$1" || return
	cat "$TMP/big" >"$TMP/$1" &
}

bar() {
	local pid pids=()
	pipe quiet
	on_terminal "$(paused quiet "-q - <$TMP/quiet >/dev/null")" >"$TMP/shown_quiet" &
	pids+=($!)
	pipe piped
	eval "$(paused piped "- <$TMP/piped")" 2>"$TMP/shown_piped" >/dev/null &
	pids+=($!)
	pipe plain
	on_terminal "$(paused plain "- <$TMP/plain >/dev/null")" >"$TMP/shown" || return
	for pid in "${pids[@]}"; do
		wait "$pid" || return
	done
	grep -q $'\r[1-9][0-9,]* packets' "$TMP/shown" && is "$(cat "$TMP/shown_quiet" "$TMP/shown_piped")" '' &&
		short_is_silent "$RLCTL simulate $TMP/policy $TMP/two >/dev/null"
}

# A simulation that ended within a second printed no progress; on a busy machine it may take longer.
short_is_silent() {
	local start=${EPOCHREALTIME/./} shown
	shown=$(on_terminal "$1")
	[[ $((${EPOCHREALTIME/./} - start)) -ge 1000000 ]] || is "$shown" ''
}

bar_of_file() { has '[####' on_terminal "$(paused big "$TMP/big >/dev/null")"; }

# ---- captures of both directions

# warned LINK <LINES: of both directions, with what to do about it; the results are those of the packets. -q
# silences it.
warned() {
	capture both "link=$1" && simulate "$ALL" both >"$TMP/sums" 2>"$TMP/said" || return
	is "$(grep -c 'seems to have both directions' "$TMP/said")" 1 && grep -q 'tcpdump -Q in' "$TMP/said" || _say "no warning" || return
	simulate "$ALL" both -q 2>"$TMP/said" | cmp - "$TMP/sums" && is "$(<"$TMP/said")" ''
}

not_warned() { capture one "link=$1" && simulate "$ALL" one >"$TMP/sums" 2>"$TMP/said" && is "$(<"$TMP/said")" ''; }

# Station 1 is the device, 2 its router, 3 and 4 neighbours.
ARRIVING='1 udp 192.0.2.9 macs=2,1 times=90
	2 udp 192.0.2.8 dst=192.0.2.9 macs=2,1 times=5
	3 udp6 2001:db8::9 macs=3,1 times=4'
from_device() { warned 1 < <(echo "$ARRIVING" && echo "4 udp 192.0.2.1 dst=192.0.2.9 macs=1,2 times=${1:-1}"); }
hairpin() { not_warned 1 < <(echo "$ARRIVING" && echo '4 udp 192.0.2.9 dst=192.0.2.8 macs=3,1 times=50'); }
bridge() { not_warned 1 < <(printf '%s\n' '1 udp 192.0.2.9 macs=3,4 times=9' '2 udp 192.0.2.8 macs=4,3 times=9' "$ARRIVING"); }
cooked() { warned "$1" < <(printf '%s\n' '1 udp 192.0.2.9 times=99' '2 udp 192.0.2.1 dst=192.0.2.9 sent'); }
cooked_in() { not_warned "$1" <<<'1 udp 192.0.2.9 times=99'; }

# tunnel REPLIES, of 80 packets that arrive: IPv6 and IPv4.
tunnel() {
	printf '%s\n' '1 udp 192.0.2.9 times=70' '1 udp6 2001:db8::9 times=10' "2 udp6 2001:db8::1 dst=2001:db8::9 times=$1"
}

echo "$ALL" >"$TMP/policy"
capture two <<<'1 udp 192.0.2.1 times=2'
capture big <<<'1 udp 192.0.2.1 times=6000' # more than twice what is read at once

# ---- the policy for DNS

# 20,000 strangers in a second send a packet each of something else, and 500 resolvers their first query among them, which is
# answered: the others have limits of their own.
dns_strangers() {
	awk -v kind="${1%% *}" -v words="${1#* }" 'BEGIN { for (i = 0; i < 20000; i++) {
		printf "%.6f %s 10.0.%d.%d %s\n", 1 + i / 20000, kind, i / 256, i % 256, words
		if (i % 40 == 0) printf "%.6f udp 192.0.%d.%d dport=53\n", 1 + i / 20000, i / 10240, i / 40 % 256
	} }' | capture strangers || return
	is "$("$RLCTL" simulate dns "$TMP/strangers" --verdicts 2>"$TMP/stderr" | awk 'NR % 41 == 2 && $3 == "pass" { passed++ } END { print passed }')" 500
}

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
t 'frames of a tunnel captured before segmentation' unsegmented_tunnel
t 'frames captured in part count in full' snaplen
t 'headers that were not captured' cut_headers
t 'payloads that were captured in part' cut_payloads
t 'members of sets from files' set_files
t 'what is kept for members' set_kept
t 'a set whose members are elsewhere' set_without_file
t 'a set whose file is missing' set_file_missing
t 'JSON, table, counts' shape
t 'an empty capture' empty_capture
t 'an empty policy' no_policy
t 'two runs say the same' same_twice
t 'networks that look alike' networks_apart
t 'another link type' wrong_link
t 'files that are no captures' garbage
t 'a truncated pcap' truncated ns
t 'a truncated pcapng' truncated ng
t 'invalid timestamps' bad_times
t 'a length that is none' bad_length
t 'errors in the policy' policy_errors
t 'wrong words' words
t 'without privilege' no_privilege
t 'a full disk' full_disk
t 'nothing is left behind' no_traces
t 'both directions: the device sends one of a hundred' from_device
t 'both directions: it sends most' from_device 900
t 'one direction: two hosts talk through the device' hairpin
t 'one direction for each station of a bridge' bridge
for link in sll sll2; do
	t "both directions: $link" cooked $link
	t "one direction: $link" cooked_in $link
done
t 'both directions of a tunnel' warned raw < <(tunnel 11)
t 'one direction of a tunnel, but for a few' not_warned raw < <(tunnel 7)
t 'loopback: a machine talks to itself' not_warned null <<<'1 udp 192.0.2.1 times=9'
t 'progress of a pipe' bar
t 'progress of a file' bar_of_file
t 'dns: queries beside strangers that ping' dns_strangers 'icmp type=8'
t 'dns: queries beside strangers at another port' dns_strangers 'udp dport=99'
t 'dns: queries beside strangers that connect' dns_strangers 'tcp dport=53 flags=S'
