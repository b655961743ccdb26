#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# `established` without connections, by real programs: B asks and is asked by A, beside reflection. Rows that are to
# lose nothing have three attempts, since a busy machine loses packets by itself.
# check: processor
source "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/net/dns.sh
source "$(dirname "$0")/dns.sh"

UPSTREAM=192.0.2.1
NO_ANSWERS='rule any udp sport 53 not established deny'
NOTHING_ELSE='rule any udp not established deny'
CLIENTS='rule any udp established deny' # to see that none is

policy() { printf '%s\n' "$@" | rl B apply -i veth-B -; }

# reflect FLOOD-ARG…: its packets are in REFLECTED when reflected_end returns.
reflect() {
	flood A --size 1400 --batch 16 "$@" >"$TMP/reflected" &
	REFLECTION=$!
}
reflected_end() { wait "$REFLECTION" && REFLECTED=$(json .sent <"$TMP/reflected"); }

dropped() { rule_stat B "${1#rule }" .dropped.packets; }

# attempts CMD…: until it succeeds, three times at most.
attempts() { "$@" || "$@" || "$@"; }

# ---- a forwarding resolver, and a server

name_servers() {
	ip -n "$(ns A)" addr add $UPSTREAM/32 dev veth-A && ip -n "$(ns B)" route add default via 10.77.0.1 &&
		resolver A $UPSTREAM ' local-zone: "example." redirect' ' local-data: "example. 60 A 192.0.2.80"' &&
		resolver B 10.77.0.2 ' outgoing-port-avoid: 40000' ' local-zone: "own." redirect' \
			' local-data: "own. 60 A 192.0.2.81"' 'forward-zone:' ' name: "."' " forward-addr: $UPSTREAM"
}

QUERIES=0 # that there were: no name is asked for twice

# ask DOMAIN: a second of dnsperf. Sets ASKED and LOST.
ask() {
	seq -f "n%.0f.$1 A" "$QUERIES" $((QUERIES + 4000)) >"$TMP/queries" && QUERIES=$((QUERIES + 4001))
	in_ns A nice -n -10 dnsperf -s 10.77.0.2 -d "$TMP/queries" -l 1 -Q 2000 -q 2000 >"$TMP/dnsperf" 2>&1 || return
	read -r ASKED LOST < <(dnsperf_sum "$TMP/dnsperf")
}

# answers_beside RULE FLOOD-ARG…: no answer is lost, and each packet of the flood is recognised by RULE.
answers_beside() {
	local rule=$1 before
	before=$(dropped "$rule") || return
	reflect --seconds 2 --rate 40000 --sport 53 "${@:2}"
	ask example
	reflected_end && is "$((ASKED > 1500)) $LOST $(($(dropped "$rule") - before))" "1 0 $REFLECTED"
}

# spared_beside FLOOD-ARG…: no answer is lost under a limit of its source that the flood exhausts.
spared_beside() {
	local before
	before=$(stat_of B .reasons.established.packets) || return
	reflect --seconds 2 --rate 40000 --sport 53 "$@"
	ask example
	reflected_end && is "$((ASKED > 1500)) $LOST" '1 0' &&
		between "$(($(stat_of B .reasons.established.packets) - before))" $((ASKED / 2)) $((ASKED * 2))
}

# clients_of_a_server: dnsperf and forged ones, whose answers leave: none is established.
clients_of_a_server() {
	ask own && is "$((ASKED > 1500)) $LOST" '1 0' || return
	flood A --count 4096 --rate 20000 --sequential --src 11.0.0.0/20 --sport 5000 --dport 27015 >/dev/null &&
		flood A --count 4096 --rate 20000 --sequential --src 11.0.0.0/20 --sport 5000 --dport 27015 >/dev/null &&
		between "$(counter B UdpOutDatagrams)" 8192 100000 && is "$(dropped "$CLIENTS")" 0
}

# ---- others

# A server without a clock of its own, and a client that asks from port 123 and sets nothing.
clock_served() {
	printf '%s\n' 'local stratum 1' 'allow all' 'cmdport 0' "pidfile $TMP/A.pid" "driftfile $TMP/A.drift" >"$TMP/A.chrony"
	bg in_ns A chronyd -d -x -u root -f "$TMP/A.chrony" && eventually 5 listens A 123
}

clock_read() {
	printf '%s\n' 'server 10.77.0.1 iburst maxsamples 2' 'acquisitionport 123' 'port 123' 'cmdport 0' "pidfile $TMP/B.pid" \
		>"$TMP/B.chrony"
	has 'System clock wrong by' in_ns B timeout 20 chronyd -Q -x -u root -f "$TMP/B.chrony"
}

clock_beside() {
	local before
	before=$(dropped 'rule any udp sport 123 not established deny') || return
	reflect --seconds 3 --rate 40000 --sport 123 --dport 123 --src 11.0.0.0/8
	clock_read && reflected_end &&
		is $(($(dropped 'rule any udp sport 123 not established deny') - before)) "$REFLECTED"
}

pings() { in_ns "$1" ping -q -c 3 -i 0.1 -W 1 "$2"; }

ping_fails() { expect_fail in_ns "$1" ping -q -c 2 -i 0.1 -W 0.3 "$2"; }

TUNNEL=rl$$ # devices of wireguard-go have names all over the machine

# tunnel NAMESPACE ADDRESS PORT PEER-KEY WG-WORD…: an end of one; port 0 is any.
tunnel() {
	local device="$TUNNEL$1"
	bg in_ns "$1" env WG_PROCESS_FOREGROUND=1 LOG_LEVEL=error wireguard-go -f "$device" &&
		eventually 5 test -S "/var/run/wireguard/$device.sock" &&
		in_ns "$1" wg set "$device" private-key "$TMP/$1.key" listen-port "$3" peer "$4" allowed-ips 0.0.0.0/0 \
			"${@:5}" &&
		ip -n "$(ns "$1")" addr add "$2/24" dev "$device" && ip -n "$(ns "$1")" link set "$device" up
}

# tunnel_from A|B: that end begins, from a port of its own to the other's 51820.
tunnel_from() {
	local client=$1 server=A number=1
	[[ $client == B ]] || { server=B && number=2; }
	(umask 077 && wg genkey >"$TMP/A.key" && wg genkey >"$TMP/B.key")
	tunnel "$server" 10.78.0.1 51820 "$(wg pubkey <"$TMP/$client.key")" &&
		tunnel "$client" 10.78.0.2 0 "$(wg pubkey <"$TMP/$server.key")" endpoint "10.77.0.$number:51820"
}

tunnel_end() {
	ip -n "$(ns A)" link del "${TUNNEL}A" && ip -n "$(ns B)" link del "${TUNNEL}B" &&
		eventually 5 test ! -e "/var/run/wireguard/${TUNNEL}A.sock" -a ! -e "/var/run/wireguard/${TUNNEL}B.sock"
}

quic_files() {
	mkdir "$TMP/www" && head -c 2000000 /dev/urandom >"$TMP/www/file" &&
		openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=peer -keyout "$TMP/quic.key" -out "$TMP/quic.crt"
}

quic_serve() {
	bg in_ns "$1" gtlsserver -q -d "$TMP/www" '*' 4433 "$TMP/quic.key" "$TMP/quic.crt" && eventually 5 listens "$1" 4433
}

quic_get() {
	rm -rf "$TMP/got" && mkdir "$TMP/got" &&
		in_ns "$1" timeout 20 gtlsclient -q --exit-on-all-streams-close --download "$TMP/got" "$2" 4433 \
			"https://peer/file" && cmp "$TMP/www/file" "$TMP/got/file"
}

# ---- the rows

veth_pair A B && veth_quiet A B && rl B attach veth-B && name_servers || exit 1

policy "$NO_ANSWERS" || exit 1
t 'a resolver beside reflection of everybody' attempts answers_beside "$NO_ANSWERS" --src 11.0.0.0/8 --dport 40000
t 'a resolver beside reflection that names its upstream' attempts answers_beside "$NO_ANSWERS" --src $UPSTREAM --dport 40000
policy 'rule any limit 5000/second burst 5000 over drop unless established' || exit 1
t 'a resolver whose upstream is forged, under a limit' attempts spared_beside --src $UPSTREAM --dport 40000

policy "$CLIENTS" || exit 1
bg in_ns B python3 "$TOP/tests/net/players.py" serve 27015
t 'a server of names, and one that answers everybody: no client is established' clients_of_a_server
t 'sockets: clients are not established by being answered' python3 "$TOP/tests/net/askers.py" "$(ns A)" "$(ns B)" served

policy "$NOTHING_ELSE" || exit 1
for scenario in bound connected; do
	t "sockets: $scenario" python3 "$TOP/tests/net/askers.py" "$(ns A)" "$(ns B)" "$scenario"
done
before=$(dropped "$NOTHING_ELSE")
t 'sockets: closed' python3 "$TOP/tests/net/askers.py" "$(ns A)" "$(ns B)" closed
t 'one packet each of them was for nobody' is $(($(dropped "$NOTHING_ELSE") - before)) 2

policy 'rule any udp sport 123 not established deny' || exit 1
t 'a time server' clock_served
t 'chronyd at port 123, beside reflection from port 123' attempts clock_beside

policy 'rule any icmp not established deny' 'rule any icmp6 not established deny' || exit 1
for address in 10.77.0.1 fd77::1; do
	t "ping of $address" pings B "$address"
	t "ping from $address, which asked nothing" ping_fails A "${address/%1/2}"
done

if command -v wireguard-go >/dev/null; then
	policy "$NOTHING_ELSE"
	t 'WireGuard, as a client' eval 'tunnel_from B && pings B 10.78.0.1 && pings A 10.78.0.2 && tunnel_end'
	policy "$CLIENTS"
	t 'WireGuard, as a server whose client is not established' eval 'tunnel_from A && pings A 10.78.0.1 && pings B 10.78.0.2 && tunnel_end'
else
	skip WireGuard 'this distribution has no wireguard-go'
fi

if command -v gtlsclient >/dev/null; then
	t 'a file to serve' quic_files
	policy "$NOTHING_ELSE"
	t 'QUIC, as a client' eval 'quic_serve A && quic_get B 10.77.0.1'
	policy "$CLIENTS"
	t 'QUIC, as a server whose client is not established' eval 'quic_serve B && quic_get A 10.77.0.2'
else
	skip QUIC 'this distribution has no programs of ngtcp2'
fi
