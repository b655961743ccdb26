#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# CONTRIBUTING.md, A match: in a copy of the sources, a field that is nowhere else gets its row in abi/fields.h and
# is noted by the parser of packets. Nothing more is written, and every part of the command has it.
# check: idle check: timeout 900
# shellcheck source=tests/prog/simulate.sh
source "$(dirname "$0")/simulate.sh"

COPY=$TMP/copy
ROW='X(17, TCP_WINDOW, "tcp-window", RANGE, TCP, 65535, "a window of TCP: write for example 0 or 0-1024")'

# after FILE PATTERN TEXT: behind the one place of the copy where the pattern is.
after() {
	[[ $(grep -c "$2" "$COPY/$1") == 1 ]] && sed -i "s/$2/&$3/" "$COPY/$1"
}

made() { make -C "$COPY" -s CFLAGS=-O0 build/rlctl >"$TMP/make" 2>&1 || ! tail -20 "$TMP/make"; }
make_copy() {
	mkdir "$COPY" && tar -C "$TOP" -c --exclude=./build --exclude=./.git . | tar -C "$COPY" -x &&
		after include/abi/fields.h 'DSCP, IP, 63, "") *' "$ROW " &&
		after bpf/packet/parse.h 'FACT(TCP_FLAGS) = flags_of_tcp(tcp)' ', FACT(TCP_WINDOW) = bpf_ntohs(tcp->window)' &&
		made && RLCTL=$COPY/build/rlctl
}

# In the capture, the window of TCP is 9.
packets() {
	printf '%s\n' '0 tcp 10.0.0.1' '1 tcp6 fd00::1' '2 tcp 10.0.0.1 flags=S' '3 udp 10.0.0.1' '4 icmp 10.0.0.1' '5 gre 10.0.0.1'
}
each_is() { # RULE WANTED: packets that it denies, of six
	verdicts_are "rule any $1 deny" packets "$(sed 's/1/drop denied/g; s/0/pass unmatched/g' <<<"$2")"
}
test_packets() {
	packets | capture packets && each_is 'tcp-window 9' 1,1,1,0,0,0 && each_is 'tcp-window 0-8' 0,0,0,0,0,0 &&
		each_is 'not tcp-window 0-8' 1,1,1,0,0,0 && each_is 'not tcp-window 9-10' 0,0,0,0,0,0 &&
		each_is 'syn tcp-window 1-65535' 0,0,1,0,0,0 && each_is 'ttl 0-255 not tcp-window 8' 1,1,1,0,0,0
}

check() { "$RLCTL" apply --check - <<<"$1" 2>&1; }
test_words() {
	check 'rule any tcp-window x deny' | grep -q '"x" is not a window of TCP' &&
		check 'rule any tcp-window 65536 deny' | grep -q 'out of range: write 0 to 65535' &&
		check 'rule any udp tcp-window 9 deny' | grep -q 'asks for tcp-window, which only TCP has' &&
		check 'rule any not tcp-window 0-65535 deny' | grep -q 'leaves out every value' &&
		check 'rule any tcp-window 0-65535 deny' | grep -q 'tcp-window leaves out no packet' &&
		check 'rule any windw 9 deny' | grep -q 'ttl, dscp, tcp-window, '
}

# One set of packets: which rules decide, which have no effect.
test_sets() {
	check $'rule any tcp-window 0-99 deny\nrule any tcp-window 5-9 limit 1/s' | grep -q 'has no effect' &&
		! check $'rule any tcp-window 0-99 deny\nrule any tcp-window 5-100 limit 1/s' | grep -q 'has no effect'
}

explain() { "$RLCTL" explain 10.0.0.1 --policy - "${@:2}" <<<"$1" 2>&1; }
test_explain() {
	explain 'rule any tcp-window 0-8 deny' tcp tcp-window 9 | grep -q 'tcp-window 9 is not in 0-8' &&
		explain 'rule any tcp-window 0-8 deny' tcp | grep -q 'depends on tcp-window' &&
		explain 'rule any tcp-window 0-8 deny' udp | grep -q 'udp is not tcp'
}

# There and back again, and on the live device.
test_live() {
	local rule='rule any tcp tcp-window 64-65535 deny'
	veth_pair A B && rl B attach "veth-B" >/dev/null && rl B apply - <<<"$rule" >/dev/null &&
		is "$(rl B show | grep ^rule)" "$rule" && rl B rule get 10.77.0.1 | grep -q 'depending on tcp-window' &&
		! in_ns A timeout 1 bash -c 'exec 3<>/dev/tcp/10.77.0.2/7' 2>/dev/null &&
		rl B stats -j | jq -e '.[0].rules[0].dropped.packets > 0' >/dev/null
}

t 'a copy of the sources with one field more is built' make_copy
t 'packets have it, plain and under not' test_packets
t 'parser and warnings' test_words
t 'it is a dimension of sets of packets' test_sets
t 'explain' test_explain
t 'it is kept in the kernel, and held to' test_live

