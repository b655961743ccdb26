#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# simulate --local on a capture says what the live limiter counted, to the packet and the byte: of connections both
# ways, questions, and forged packets beside them. The limits do not depend on time.
source "$(dirname "$0")/../lib.sh"

declare -A ADDRESS=([A]=10.77.0.1 [B]=10.77.0.2)
LOCAL=(--local 10.77.0.2 --local fd77::2)

# TCP and UDP that are established or not, each counted by a rule of its own.
cat >"$TMP/told" <<'END'
rule any tcp established limit 1m/second burst 1m per rule
rule any tcp not established limit 1m/second burst 1m per flow
rule any udp established limit 1m/second burst 1m per source
rule any udp not established deny
END
# Packets over it are dropped: handshakes, clients and forged packets; connections go on.
cat >"$TMP/spared" <<'END'
rule any limit 60/hour burst 60 per rule over drop unless established
END

get() { # FROM URL
	in_ns "$1" timeout 5 curl -gsS -o /dev/null "$2"
}

# A keeps a connection to B open, in which it sends a line a tenth of a second; its port is in $TMP/port.
keep() {
	bg in_ns A python3 -c "
import socket, time
s = socket.create_connection(('10.77.0.2', 8001))
open('$TMP/port', 'w').write(str(s.getsockname()[1]))
while True:
    s.send(b'x')
    time.sleep(0.1)"
	KEEPER=$BG_PID
}

# players SERVER CLIENT: a second of a game.
players() { in_ns "$2" python3 "$TOP/tests/net/players.py" play "${ADDRESS[$1]}" 27015 1 "${ADDRESS[$2]}"; }
forge() { in_ns A python3 "$TOP/tests/net/forge.py" 10.77.0.2 "$@"; }

# Answers that B asked for, and forged packets beside it.
asked() {
	get B http://10.77.0.1:8000/big && players A B &&
		forge 8000 100 && forge 8001 20 10.77.0.1 "$(<"$TMP/port")"
}

exchange_told() {
	get A http://10.77.0.2:8000/big && get A 'http://[fd77::2]:8000/big' && asked
}
exchange_spared() { asked; }

services() {
	mkdir "$TMP/www" && head -c 2000000 /dev/zero >"$TMP/www/big" || return
	local name
	for name in A B; do
		bg in_ns $name python3 -m http.server -b :: -d "$TMP/www" 8000
		bg in_ns $name python3 "$TOP/tests/net/players.py" serve 27015
		eventually 5 listens $name 8000 && eventually 5 listens $name 27015 || return
	done
	bg in_ns B python3 -c "
import socket
s = socket.create_server(('10.77.0.2', 8001))
while True:
    c = s.accept()[0]
    while c.recv(100): pass"
	eventually 5 listens B 8001
}

# live POLICY: all that happens to B under it, as B counted it and as A captured it.
live() {
	rm -f "$TMP/port" "$TMP/pcap"
	rl B attach veth-B --policy "$TMP/$1" -y && sleep 0.5 && rl B stats -j >"$TMP/before" || return # MLD is over
	bg in_ns A tcpdump -U --immediate-mode -ni veth-A -s 200 -w "$TMP/pcap"
	CAPTURER=$BG_PID
	eventually 5 test -s "$TMP/pcap" && keep && eventually 5 test -s "$TMP/port" && "exchange_$1" || return
	kill -KILL -- "-$KEEPER"
	sleep 0.3 # until the last packets have arrived
	kill -INT -- "-$CAPTURER" && eventually 5 expect_fail kill -0 -- "-$CAPTURER" &&
		rl B stats -j --since "$TMP/before" >"$TMP/live" && rl B detach veth-B
}

FIGURES='[.packets, .passed, .dropped, .reasons, [.rules[] | {rule, passed, dropped}]]'

# same POLICY: every figure. The keeper's last packets may still be on their way.
same() {
	live "$1" || return
	"$RLCTL" -q simulate "$TMP/$1" "$TMP/pcap" -j "${LOCAL[@]}" >"$TMP/simulated" || return
	diff <(json '.[0] | .packets = .passed.packets + .dropped.packets | '"$FIGURES" <"$TMP/live") \
		<(json "$FIGURES" <"$TMP/simulated") && json '.established.known > 500' <"$TMP/simulated"
}

veth_pair A B 2 && veth_quiet A B && ip -n "$(ns B)" route add default via 10.77.0.1 && services || exit 1
t 'rules that tell who is established count the same live and on the capture' same told
ns_mute A && ns_mute B # nothing else is to take from the limit
t 'over drop unless established: the same' same spared
