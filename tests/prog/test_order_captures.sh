#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# test_order.c on recorded packets: each capture is replayed at its own pace, ten times as fast and ten times
# as slow, under several policies, on two instances that ask a packet's limits in different orders.
# check: builds build/tests/prog/test_order
# shellcheck source=simulate.sh
. "$(dirname "${BASH_SOURCE[0]}")/simulate.sh"

# mixed SEED FLOOD: lines for capture.py, in order of time. 30 sources of both families send at their own paces
# for two seconds, now and then ARP and junk. FLOOD is awk that prints more lines.
mixed() {
	awk -v seed="$1" '
		function udp(at, four, n, size, port) {
			if (four) printf "%.9f udp 198.51.100.%d size=%d dport=%d\n", at, n, size, port
			else printf "%.9f udp6 2001:db8:0:%x::%x size=%d dport=%d\n", at, n, n % 3, size, port
		}
		function any(n) { return int(rand() * n) }
		BEGIN {
			srand(seed)
			for (n = 1; n <= 30; n++)
				for (at = rand(); at < 2; at += rand() * n / 100)
					udp(at, n % 2, n, 60 + any(4) * 480, n % 4 ? 443 : 53)
			for (at = 0; at < 2; at += 0.1)
				printf "%.9f %s\n", at, any(2) ? "arp" : "junk"
			'"$2"'
		}' | sort -n
}

# Every packet has another source, of both families.
strangers='for (at = 0.3; at < 1.5; at += 0.0002 * rand()) {
	if (any(3)) printf "%.9f udp 203.%d.%d.%d size=60\n", at, any(256), any(256), any(256)
	else udp(at, 0, any(65536), 80, 53)
}'
# Four sources and their neighbours send for 50 ms and rest for 100 ms, several packets in one instant.
pulses='for (at = 0.1; at < 2; at += any(400) ? 0.00005 : 0.1)
	for (n = any(4); n >= 0; n--) udp(at, any(2), 1 + any(4), any(3) ? 1514 : 60, 53)'
# Sources that are allowed or limited flood as well, in packets of all sizes.
both='for (at = 0.2; at < 1.8; at += 0.0003 * rand())
	if (any(2)) printf "%.9f udp 192.0.2.%d size=%d dport=53\n", at, any(256), 60 + any(1400)
	else udp(at, any(2), any(99), 80 + any(1400), 1 + any(60))'

# replayed NAME SEED FLOOD
replayed() {
	mixed "$2" "$3" | capture "$1" || return
	CMOCKA_MESSAGE_OUTPUT=TAP "$TOP/build/tests/prog/test_order" "$TMP/$1"
}

t 'strangers' replayed strangers 1 "$strangers"
t 'pulses of a few' replayed pulses 2 "$pulses"
t 'a flood from known and allowed sources' replayed both 3 "$both"
