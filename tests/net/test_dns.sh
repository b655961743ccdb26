#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A DNS server, B, whose UDP is limited `over truncate`: its clients in A, of several kinds, come by TCP and get their
# answers, in modes native and generic, over IPv4 and IPv6, in peace and beside forged queries. (What is answered and
# with which bytes: tests/prog/test_truncate.c, test_truncate_bytes.sh.)
# check: processor
source "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/net/dns.sh
source "$(dirname "$0")/dns.sh"

SERVERS=(10.77.0.2 fd77::2) ANSWER=192.0.2.80
ANSWERS=(any udp sport 53) # what A counts: the network says more, such as who has which address
SMOOTH=(--batch 16) # of a flood, so that no queue overflows

# A has a native program too: without one a veth does not take what another's program sends.
place() {
	veth_pair A B && veth_quiet A B && rl A attach veth-A --mode native &&
		rl A rule add "${ANSWERS[@]}" allow && in_ns B ethtool -K veth-B gro on &&
		resolver B "${SERVERS[0]}" " interface: ${SERVERS[1]}" ' incoming-num-tcp: 1000' \
			' local-zone: "example." redirect' " local-data: \"example. 60 A $ANSWER\""
}

attached() { # MODE
	rl B detach veth-B 2>/dev/null
	rl B attach veth-B --mode "$1"
}

# ---- clients

# answered TEXT CMD…: its output names the address, and has the text.
answered() {
	local output
	output=$(in_ns A "${@:2}" 2>&1) || _say "exit status $? with: $output" || return
	[[ $output == *"$ANSWER"* && $output == *"$1"* ]] || _say "$output"
}

by_dig() {
	local server words
	for server in "${SERVERS[@]}"; do
		for words in '+noedns' '+nocookie' '+cookie' '+dnssec'; do
			answered 'Truncated, retrying in TCP mode' dig "@$server" "$words" +tries=1 +time=3 www.example || return
		done
	done
}

# The C library's own resolver, by a resolv.conf of its own.
by_libc() { # SERVER
	echo "nameserver $1" >"$TMP/resolv.conf"
	answered '' unshare --mount sh -c "mount --bind $TMP/resolv.conf /etc/resolv.conf && getent ahostsv4 www.example"
}

# performed ARG…: dnsperf, which counts a truncated answer as one; 0 lost in one of three attempts, since a busy
# machine loses packets by itself.
performed() {
	local attempt
	for attempt in 1 2 3; do
		seq -f 'n%.0f.example A' 2000 | in_ns A nice -n -5 dnsperf -n 1 -q 50 "$@" >"$TMP/dnsperf" 2>&1 || return
		[[ $(dnsperf_sum "$TMP/dnsperf") != *' 0' ]] || break
	done
	is "$(dnsperf_sum "$TMP/dnsperf")" '2000 0'
}

# ---- forged queries

# reflected COUNT ARG…: each forged query has one answer; together these are no longer than the queries.
reflected() {
	local before after
	before=$(_answered) && _truncated >"$TMP/before" || return
	flood A --proto dns --dport 53 --sport 0 --count "$1" --rate 100000 "${SMOOTH[@]}" "${@:2}" | json .sent >"$TMP/sent" || return
	after=$(_answered) || return
	echo "$before $after $(<"$TMP/before") $(_truncated) $(<"$TMP/sent")" >&2
	echo "$before $after $(<"$TMP/before") $(_truncated) $(<"$TMP/sent")" |
		awk '{ exit !($3 - $1 == $9 && $7 - $5 == $9 && $4 - $2 <= $8 - $6) }'
}

_answered() { rule_stat A "${ANSWERS[*]}" '"\(.passed.packets) \(.passed.bytes)"'; }
_truncated() { stat_of B '.reasons.truncated | "\(.packets) \(.bytes)"'; }

t 'a server and its clients' place || exit
for mode in native generic; do
	t "$mode: attached" attached "$mode"
	t "$mode: all but the first query is over the limit" \
		rl B rule add any udp dport 53 limit 1/day burst 1 per rule over truncate
	in_ns A dig @10.77.0.2 +short example >/dev/null
	t "$mode: dig, in 8 variants" by_dig
	for server in "${SERVERS[@]}"; do
		t "$mode: the C library, $server" by_libc "$server"
		t "$mode: dnsperf, $server" performed -s "$server"
		t "$mode: dnsperf over TCP, $server" performed -s "$server" -m tcp
	done
	t "$mode: forged queries, IPv4" reflected 10000 --src 198.18.0.0/15
	t "$mode: forged queries, IPv6" reflected 10000 --src 2001:db8::/32
done

# ---- a resolver that forwards to B, and connections to B, beside floods

SECONDS_EACH=2 UDP_RATE=50

forwarder() {
	resolver A 127.0.0.1 ' do-not-query-localhost: no' 'forward-zone:' ' name: "."' " forward-addr: ${SERVERS[0]}"
}

# policy LINE…: with what it says of TCP.
policy() {
	BEGIN=$(date +%s) SERVED=$(counter B UdpOutDatagrams)
	printf '%s\n' "rule any udp dport 53 limit $UDP_RATE/second burst $UDP_RATE per rule over truncate" "$@" | rl B apply -
}

# beside FLOOD-ARG… -- DNSPERF-ARG…: dnsperf, beside the flood as soon as its connections are open, loses nothing in one
# of three attempts.
beside() {
	local attempt flood=()
	while [[ $1 != -- ]]; do flood+=("$1") && shift; done
	shift
	for attempt in 1 2 3; do
		seq -f "n%.0f-$RANDOM-$attempt.example A" 20000 >"$TMP/queries"
		in_ns A nice -n -5 dnsperf -d "$TMP/queries" -l "$SECONDS_EACH" -Q 500 "$@" >"$TMP/dnsperf" 2>&1 &
		sleep 0.3
		flood A "${flood[@]}" --dport 53 --sport 0 --rate 50000 --seconds "$SECONDS_EACH" "${SMOOTH[@]}" >"$TMP/flood"
		wait $!
		[[ $(dnsperf_sum "$TMP/dnsperf") != *' 0' ]] || break
	done
	cat "$TMP/dnsperf" "$TMP/flood"
	is "$(dnsperf_sum "$TMP/dnsperf" | awk '{ print ($1 > 500), $2 }')" '1 0' && between "$(json .sent <"$TMP/flood")" 10000 200000
}

# served: the server answered no more over UDP than the limit lets through.
served() { between $(($(counter B UdpOutDatagrams) - SERVED)) 1 $((UDP_RATE * ($(date +%s) - BEGIN + 2))); }

t 'a forwarder' forwarder
t 'its policy' policy 'rule any tcp dport 53 limit 2000/second burst 4000 per rule over drop unless established'
t 'the forwarder beside forged queries' beside --proto dns --src 198.18.0.0/15 -- -s 127.0.0.1
t 'the server answers what the limit lets through' served
t 'connections beside forged segments' beside --proto tcp-ack --src 198.18.0.0/15 -- -s "${SERVERS[0]}" -m tcp
t 'which the limit dropped' between "$(rule_stat B 'any tcp dport 53' .dropped.packets)" 10000 1000000

# The kernel's cookies always: else only while the server's queue of handshakes is full.
cookies() { in_ns B sysctl -qw net.ipv4.tcp_syncookies=2; }

t 'cookies' cookies
t 'a policy that challenges' policy 'rule any tcp dport 53 limit 2000/second burst 4000 over drop unless established' \
	'rule any tcp dport 53 syn limit 200/second burst 200 per rule over challenge'
t 'the forwarder beside forged SYNs' beside --proto tcp-syn --src 198.18.0.0/15 -- -s 127.0.0.1
t 'which were challenged' between "$(stat_of B .reasons.challenged.packets)" 10000 1000000
