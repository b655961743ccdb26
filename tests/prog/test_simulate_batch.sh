#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# rlctl simulate: packets that run together have the verdicts that they have one by one, as they run with --local.
# shellcheck source=simulate.sh
. "$(dirname "${BASH_SOURCE[0]}")/simulate.sh"

MACHINE=(--local 192.0.2.1 --local 2001:db8::1)

# More than two batches; frames around the most that a batch takes and that a test run takes, cut ones, some without an
# Ethernet header, packets of one time, late ones, and a jump back.
mixed() {
	awk 'BEGIN {
		split("60 100 1514 3071 3072 3073 3520 3521 9000 66000", sizes)
		split("udp tcp udp6 icmp udp", kinds)
		for (i = 0; i < 700; i++) {
			kind = kinds[i % 5 + 1]
			source = kind == "udp6" ? "2001:db8:1::" i % 7 : "198.51.100." i % 9
			cap = i % 13 == 5 ? " cap=" i % 60 : i % 17 == 3 ? " cap=52" : ""
			flags = kind == "tcp" ? " flags=S dport=80" : " dport=53"
			time = 1780000000 + (i - i % 3) / 50 - (i % 41 == 7) * 0.5 - (i > 450) * 3600
			printf "%.6f %s %s size=%d%s%s\n", time, kind, source, sizes[i % 10 + 1], cap, flags
		}
	}' | capture mixed
}

# together POLICY: the verdicts are those of one by one.
together() {
	simulate "$1" mixed --verdicts >"$TMP/together" 2>"$TMP/notes" || _say "$(cat "$TMP/notes")" || return
	simulate "$1" mixed --verdicts "${MACHINE[@]}" >"$TMP/apart" 2>/dev/null || return
	is "$(wc -l <"$TMP/together")" 700 || return
	diff "$TMP/together" "$TMP/apart" >"$TMP/diff" || _say "$(head -4 "$TMP/diff")"
}

sums() {
	local policy='rule any limit 5/second burst 2;rule any udp limit 2kbyte/second burst 2000byte;rule device limit 9/second'
	is "$(simulate "$policy" mixed -j 2>/dev/null | json .)" \
		"$(simulate "$policy" mixed -j "${MACHINE[@]}" 2>/dev/null | json 'del(.sent, .elsewhere, .established)')"
}

# The other policy has its own results, in the same order.
against() {
	tr ';' '\n' <<<'rule any udp limit 3/second burst 2;rule any icmp deny' >"$TMP/other"
	simulate 'rule any limit 5/second burst 2' mixed --verdicts >"$TMP/one" 2>/dev/null &&
		simulate "$(cat "$TMP/other")" mixed --verdicts 2>/dev/null | cut -d ' ' -f 3- >"$TMP/two" &&
		simulate 'rule any limit 5/second burst 2' mixed --verdicts --against "$TMP/other" >"$TMP/both" 2>/dev/null || return
	diff <(paste -d ' ' "$TMP/one" "$TMP/two") "$TMP/both" >"$TMP/diff" || _say "$(head -4 "$TMP/diff")"
}

# A frame without an Ethernet header has asked for nothing, though the packet before it has.
headless_asks_nothing() {
	capture headless <<-'END'
		1780000000 udp 192.0.2.1 size=100 cap=42
		1780000000 udp 192.0.2.1 size=100 cap=9
	END
	simulate 'rule any udp payload 4 0000 deny' headless >/dev/null 2>"$TMP/notes" || return
	grep -q '1 packet was captured without bytes' "$TMP/notes" || _say "$(cat "$TMP/notes")"
}

mixed
while IFS='|' read -r name policy; do
	t "together: $name" together "$policy"
done <<-'END'
	bans and lengths|rule any limit 3/second burst 2 over ban 2s source;rule any length 3000-9000 limit 2/second burst 2
	algorithms, for a time|rule any udp limit sliding-log 3/second for 8s;rule any icmp limit fixed-window 2/second;rule any tcp limit sliding-window 2/second
	payloads, new sources|rule any udp payload 4 0000 deny;rule any payload 500 ff allow;rule device new-source limit 2/second;rule any limit 5/second
	answers|rule any tcp syn limit 1/second burst 1 over challenge;rule any udp dport 53 limit 1/second over truncate
END
t 'together: sums' sums
t 'together: against another policy' against
t 'a frame without header asks for no payload' headless_asks_nothing
