#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Filters on captures: for each packet simulate says what `tcpdump -r` says of it, from its IP header on.
# shellcheck source=simulate.sh
. "$(dirname "${BASH_SOURCE[0]}")/simulate.sh"

FILTERS='tcp[tcpflags] & (tcp-syn|tcp-ack) == tcp-syn or icmp6 or icmp[icmptype] = icmp-echo
portrange 50-60 and not src net 198.51.100.0/28 and greater 100
ip6 host 2001:db8::2 or net 2001:db8:0:1::/64 or host 198.51.100.7
ip[8] > 32 and ip[2:2] - ((ip[0] & 0xf) << 2) > 500 and (ip[300] = 0 or len < 400) or ip6[700:4] = 0
udp[0:2] % 2 = 1 and udp[4:2] = len - 20'

# Sizes, kinds and VLAN tags, frames of which a capture has only the beginning, and many with random fields.
capture all < <(
	cat <<-'END'
		1 udp 192.0.2.1 size=60
		2 udp 198.51.100.7 size=1514
		3 udp 198.51.100.8 size=700 dport=80 vlan
		4 udp6 2001:db8::2 size=80
		5 udp6 2001:db8:0:1::9 size=900 sport=2000 vlan
		6 tcp 192.0.2.1 flags=S
		7 tcp 198.51.100.9 flags=SA size=500
		8 tcp6 2001:db8::3 flags=S
		9 icmp 192.0.2.1
		10 icmp6 2001:db8::2 type=128 size=300
		11 udp 192.0.2.1 size=1514 cap=60
		12 tcp 192.0.2.1 size=1514 cap=200 vlan
		13 arp
		14 udp6 2001:db8::4 size=1514 cap=100
		15 udp 192.0.2.9 size=60 times=20 every=0.1
	END
	awk 'BEGIN {
		srand(7)
		for (n = 1; n <= 400; n++)
			printf "%d %s size=%d sport=%d dport=%d\n", n, rand() < 0.5 ? "udp 198.51.100." int(rand() * 20) : (rand() < 0.5 ? "tcp 198.51.100.9" : "tcp6 2001:db8::4") " flags=" (rand() < 0.5 ? "S" : "A"),
				80 + int(rand() * 1400), 1000 + int(rand() * 1100), 40 + int(rand() * 30)
	}'
) && python3 "$HERE/raw_capture.py" <"$TMP/all" >"$TMP/raw" || exit 1

# agrees FILTER: some packets match, and some do not.
agrees() {
	simulate "rule any filter \"$1\" deny" all --verdicts | awk '$4 == "denied" { print $1 }' >"$TMP/ours" || return
	tcpdump -tt -n -r "$TMP/raw" "$1" 2>/dev/null | awk '$1 ~ /^[0-9]+\./ { print int($1) }' >"$TMP/theirs" || return
	cmp "$TMP/ours" "$TMP/theirs" && [[ $(wc -l <"$TMP/ours") -ge 3 && $(wc -l <"$TMP/ours") -le 400 ]]
}

while read -r filter; do
	t "$filter" agrees "$filter"
done <<<"$FILTERS"
