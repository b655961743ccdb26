#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# rlctl-flowspec with the real exabgp, gobgp and FRR: what a peer announces, changes and withdraws is what packets
# meet, also where a peer or a program dies, and rules of others stay. The conversion has rows of its own in
# tests/unit/flowspec_rows.py. check: alone check: timeout 400
source "$(dirname "$0")/../lib.sh"

FLOWSPEC=$TOP/scripts/rlctl-flowspec
HOST='destination 203.0.113.7/32'

# ---- the peer in A, which announces what is appended to a file

feed() { printf '%s\n' "$@" >>"$TMP/feed"; }
route() { echo "flow route { match { $1; } then { $2; } }"; }
announce() { feed "announce $(route "$@")"; }
withdraw() { feed "withdraw $(route "$@")"; }

peer_start() {
	cat >"$TMP/peer.conf" <<-END
		process feed { run /usr/bin/tail -f -n +1 $TMP/feed; encoder text; }
		neighbor 10.77.0.2 {
			router-id 10.77.0.1; local-address 10.77.0.1; local-as 65001; peer-as 65002; hold-time 90;
			capability { route-refresh; }
			family { ipv4 flow; ipv6 flow; }
			api { processes [ feed ]; }
		}
	END
	: >"$TMP/feed"
	exabgp_run A "$TMP/peer.conf"
	PEER=$BG_PID
}

# exabgp_run NAMESPACE CONFIGURATION VARIABLE…
exabgp_run() {
	bg in_ns "$1" env exabgp_daemon_user=root exabgp_daemon_daemonize=false exabgp_api_ack=false exabgp_api_cli=false "${@:3}" exabgp "$2"
}
stop() { kill "-${2:-KILL}" -- "-$1" && eventually 10 ended "$1"; }

# ---- exabgp and rlctl-flowspec in B

own_start() { # OPTION…
	printf '#!/bin/sh\nexec "%s" -n "%s" "$@"\n' "$RLCTL" "$(ns B)" >"$TMP/rlctl"
	printf '%s\n' '#!/bin/sh' "echo \$\$ >$TMP/pid" "exec /usr/bin/python3 $FLOWSPEC --rlctl $TMP/rlctl -i veth-B \
		--allow 203.0.113.0/24 --allow 2001:db8::/32 $* 2>>$TMP/said" >"$TMP/flowspec"
	chmod 755 "$TMP/rlctl" "$TMP/flowspec"
	cat >"$TMP/own.conf" <<-END
		process rlctl { run $TMP/flowspec; encoder json; }
		neighbor 10.77.0.1 {
			router-id 10.77.0.2; local-address 10.77.0.2; local-as 65002; peer-as 65001; hold-time 90; passive true;
			capability { route-refresh; }
			family { ipv4 flow; ipv6 flow; }
			api { processes [ rlctl ]; neighbor-changes; receive { parsed; update; } }
		}
	END
	exabgp_run B "$TMP/own.conf" exabgp_tcp_bind=10.77.0.2 # and A connects
	OWN=$BG_PID
}
# rlctl-flowspec ends after exabgp, with what it has read.
own_stop() { stop "$OWN" && eventually 10 reaped "$(<"$TMP/pid")"; }
reaped() { [[ $(ps -o stat= -p "$1") != [!Z]* ]]; } # or left to a process that reaps nobody

# ---- what is in force, and what packets meet

ours() { rl B rule list device -j | jq -r '.rules[] | select(.comment // "" | startswith("flowspec")) | .rule | sub("^device "; "") | sub(" for .*"; "")'; }
in_force() { is "$(ours | sort)" "$(printf '%s\n' "$@" | sort)"; }
soon() { eventually 4 in_force "$@"; }

# meets PASSED DROPPED FLOOD-OPTION…: of so many packets.
meets() {
	local passed=$1 dropped=$2 before after
	before=$(stat_of B '"\(.passed.packets) \(.dropped.packets)"')
	flood A --count $((passed + dropped)) --rate 2000 --src 10.77.0.9 --dst 203.0.113.7 "${@:3}" >&2 || return
	after=$(stat_of B '"\(.passed.packets) \(.dropped.packets)"')
	# BGP passes beside them.
	between $((${after% *} - ${before% *})) "$passed" 10000 && is $((${after#* } - ${before#* })) "$dropped"
}

test_start() {
	peer_start && own_start && announce "$HOST" discard && soon 'dst 203.0.113.7 deny' &&
		rl B rule list -j | json '.rules[] | select(.comment == "flowspec 10.77.0.1 destination 203.0.113.7/32")'
}
test_drop() { meets 0 500 && meets 500 0 --dst 203.0.113.8; }

# One after the other, the same route.
test_rate() {
	announce "$HOST" 'rate-limit 100000' && soon 'dst 203.0.113.7 limit 100kbyte/second burst 10kbyte' || return
	patiently rate_held && announce "$HOST" discard && soon 'dst 203.0.113.7 deny' && meets 0 100
}
rate_held() {
	local before sent
	before=$(rule_stat B 'device dst 203.0.113.7 limit' .passed.bytes)
	sent=$(flood A --seconds 2 --rate 2000 --size 500 --dst 203.0.113.7) &&
		admitted $(($(rule_stat B 'device dst 203.0.113.7 limit' .passed.bytes) - before)) 100000 10000 "$(jq .seconds <<<"$sent")" 20
}

# DNS is limited, all else dropped, later fragments of DNS as well: 500 packets in a second, of 100 each.
test_order() {
	announce "$HOST; protocol =udp; destination-port =53" 'rate-limit 1000000' &&
		soon 'udp dport 53 dst 203.0.113.7 limit 1mbyte/second burst 100kbyte' 'udp dport 0-52,54-65535 dst 203.0.113.7 deny' \
			'not udp dst 203.0.113.7 deny' 'udp dst 203.0.113.7 filter "ip[6:2] & 0x1fff != 0" deny' &&
		meets 500 0 --dport 53 && meets 0 500 --dport 54 && meets 0 500 --proto tcp-syn --dport 53 && fragments
}
# The first of two passes.
fragments() {
	local before
	before=$(stat_of B .dropped.packets)
	in_ns A python3 -c 'import socket, struct
wire = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
for flags, data in ((0x2000, struct.pack("!4H", 1, 53, 48, 0) + bytes(16)), (3, bytes(24))):
    wire.sendto(struct.pack("!BBHHHBBH4s4s", 69, 0, 44, 7, flags, 64, 17, 0, socket.inet_aton("10.77.0.1"),
                            socket.inet_aton("203.0.113.7")) + data, ("203.0.113.7", 0))' || return
	eventually 5 prints $((before + 1)) stat_of B .dropped.packets
}

# The exception goes, and the route is whole again; then it goes, too.
test_withdraw() {
	withdraw "$HOST; protocol =udp; destination-port =53" 'rate-limit 1000000' && soon 'dst 203.0.113.7 deny' &&
		meets 0 100 --dport 53 && withdraw "$HOST" discard && soon && meets 100 0
}

test_ipv6() {
	announce 'destination 2001:db8::7/128/0; next-header =udp; destination-port [ >=1000&<=2000 =53 ]' discard &&
		soon 'udp dport 53,1000-2000 dst 2001:db8::7 deny' &&
		meets 0 100 --src fd77::9 --dst 2001:db8::7 --dport 1500 && meets 100 0 --src fd77::9 --dst 2001:db8::7 --dport 999 &&
		withdraw 'destination 2001:db8::7/128/0; next-header =udp; destination-port [ >=1000&<=2000 =53 ]' discard && soon
}

says() { grep -F -- "$1" "$TMP/said"; }

# Each is named, and the other one is in force.
test_refused() {
	announce 'destination 198.51.100.7/32' discard && announce 'source 198.51.100.0/24' discard && announce "$HOST" 'redirect 65001:7' &&
		announce "$HOST; tcp-flags [ =syn+ack ]" discard && announce "$HOST; tcp-flags [ =syn+ack&!fin =rst ]" discard && announce "$HOST; protocol =tcp" discard &&
		soon 'tcp dst 203.0.113.7 deny' 'tcp dst 203.0.113.7 flags syn,ack/syn,ack deny' && says 'destination-ipv4 198.51.100.7/32 is refused: its destination is not within --allow' &&
		says 'source-ipv4 198.51.100.0/24 is refused: its destination' && says 'refused: its action 0x8008 neither drops nor limits' &&
		says 'its tcp-flags may mean "and" or "or"' && withdraw "$HOST; protocol =tcp" discard &&
		withdraw "$HOST; tcp-flags [ =syn+ack ]" discard && soon
}

# Somebody else has the same rule, which stays, and so do other rules.
test_others() {
	rl B rule add device dst 203.0.113.8 deny '# bob' && announce 'destination 203.0.113.8/32' discard && announce "$HOST" discard &&
		soon 'dst 203.0.113.7 deny' && eventually 5 says 'device dst 203.0.113.8 (deny) is a rule of somebody else, which stays' &&
		withdraw 'destination 203.0.113.8/32' discard && withdraw "$HOST" discard && soon &&
		is "$(rl B rule list device)" 'device dst 203.0.113.8 deny # bob' && rl B rule del device dst 203.0.113.8
}

# Somebody applies a policy without these rules, or attaches anew.
test_applied() {
	announce "$HOST" discard && soon 'dst 203.0.113.7 deny' && echo 'rule any allow' | rl B apply - && in_force &&
		soon 'dst 203.0.113.7 deny' && rl B rule list any | grep -x 'any allow' && rl B rule del any &&
		rl B detach veth-B && rl B attach veth-B && soon 'dst 203.0.113.7 deny'
}

# A rule that it has forgotten stays, and exabgp starts it again when it has something to say. It asks for the routes then, upon
# which an exabgp 4.2 as peer closes the session; the next row begins with a fresh one.
another() { [[ $(<"$TMP/pid") != "$1" ]]; }
test_killed() {
	local pid
	pid=$(<"$TMP/pid") && kill -KILL "$pid" && eventually 5 ended "$pid" && in_force 'dst 203.0.113.7 deny' &&
		announce 'destination 203.0.113.9/32' discard && eventually 9 another "$pid"
}

# exabgp is restarted, and the peer has withdrawn a route meanwhile: the others stay in force, this one until the peer
# has sent all. No rule of the row before is left, which would be in force before this peer has sent it.
test_restarted() {
	own_stop && stop "$PEER" && rl B rule flush -q && own_start --lifetime 1h && peer_start && announce "$HOST" discard &&
		announce 'destination 203.0.113.9/32' discard && eventually 9 in_force 'dst 203.0.113.7 deny' 'dst 203.0.113.9 deny' && own_stop &&
		withdraw 'destination 203.0.113.9/32' discard && in_force 'dst 203.0.113.7 deny' 'dst 203.0.113.9 deny' &&
		own_start --lifetime 1h && meets 0 100 && eventually 9 in_force 'dst 203.0.113.7 deny' && eventually 9 meets 0 100
}

# The session ends with the peer.
test_peer_dies() { stop "$PEER" && soon && meets 100 0; }

# Rules are renewed while the program runs, and end by themselves without it.
test_lifetime() {
	own_stop && own_start --lifetime 8s && peer_start && announce "$HOST" discard && soon 'dst 203.0.113.7 deny' && sleep 9 &&
		meets 0 100 && own_stop && in_force 'dst 203.0.113.7 deny' && eventually 9 meets 100 0
}

# No more routes than --max, of which a withdrawn one makes room for another.
test_max() {
	own_start --max 2 && soon 'dst 203.0.113.7 deny' && announce 'destination 203.0.113.1/32' discard &&
		soon 'dst 203.0.113.1 deny' 'dst 203.0.113.7 deny' && announce 'destination 203.0.113.2/32' discard &&
		eventually 4 says '203.0.113.2/32 is refused: 2 routes are held (--max)' && withdraw 'destination 203.0.113.1/32' discard &&
		withdraw 'destination 203.0.113.2/32' discard &&
		announce 'destination 203.0.113.3/32' discard && soon 'dst 203.0.113.3 deny' 'dst 203.0.113.7 deny' && own_stop && rl B rule flush
}

# ---- gobgp in B

gobgp_start() {
	cat >"$TMP/gobgpd.conf" <<-'END'
		[global.config]
		as = 65002
		router-id = "10.77.0.2"
		[[neighbors]]
		[neighbors.config]
		neighbor-address = "10.77.0.1"
		peer-as = 65001
		[[neighbors.afi-safis]]
		[neighbors.afi-safis.config]
		afi-safi-name = "ipv4-flowspec"
		[[neighbors.afi-safis]]
		[neighbors.afi-safis.config]
		afi-safi-name = "ipv6-flowspec"
	END
	bg in_ns B gobgpd -f "$TMP/gobgpd.conf" --api-hosts 127.0.0.1:50051 --pprof-disable
	GOBGPD=$BG_PID
	eventually 5 in_ns B gobgp neighbor || return
	# shellcheck disable=SC2016 # for the inner shell
	bg in_ns B sh -c 'gobgp -j monitor global rib -a ipv4-flowspec --current | "$@" 2>>"$0"' "$TMP/said" /usr/bin/python3 "$FLOWSPEC" \
		--from gobgp --allow 203.0.113.0/24 --allow 2001:db8::/32 --rlctl "$TMP/rlctl"
}

test_gobgp() {
	gobgp_start && soon 'dst 203.0.113.3 deny' 'dst 203.0.113.7 deny' && announce "$HOST" 'rate-limit 100000' &&
		announce "$HOST; tcp-flags [ =syn+ack&!fin ]; packet-length [ >=40&<=60 =100 ]" discard &&
		soon 'dst 203.0.113.3 deny' 'dst 203.0.113.7 limit 100kbyte/second burst 10kbyte' \
			'tcp dst 203.0.113.7 flags syn,ack/fin,syn,ack length 40-60 deny' 'tcp dst 203.0.113.7 flags syn,ack/fin,syn,ack length 100 deny' &&
		meets 0 100 --proto tcp-syn-ack && withdraw 'destination 203.0.113.3/32' discard && withdraw "$HOST" discard &&
		soon 'tcp dst 203.0.113.7 flags syn,ack/fin,syn,ack length 40-60 deny' 'tcp dst 203.0.113.7 flags syn,ack/fin,syn,ack length 100 deny' &&
		stop "$PEER" && soon && meets 100 0
}

# ---- FRR in B

frr_start() { # OPTION…
	install -d -o frr -g frr "$TMP/frr" && chmod 711 "$TMP" && cat >"$TMP/frr/bgpd.conf" <<-'END' || return
		router bgp 65002
		 bgp router-id 10.77.0.2
		 no bgp ebgp-requires-policy
		 no bgp default ipv4-unicast
		 neighbor 10.77.0.1 remote-as 65001
		 neighbor 10.77.0.1 passive
		 address-family ipv4 flowspec
		  neighbor 10.77.0.1 activate
		 exit-address-family
		 address-family ipv6 flowspec
		  neighbor 10.77.0.1 activate
		 exit-address-family
	END
	bg in_ns B /usr/lib/frr/bgpd --no_zebra -P 0 --vty_socket "$TMP/frr" -i "$TMP/frr/pid" -f "$TMP/frr/bgpd.conf" --log "file:$TMP/frr/log"
	BGPD=$BG_PID
	eventually 5 frr_shows || return
	# shellcheck disable=SC2016 # for the inner shell
	bg in_ns B sh -c 'while vtysh -E --vty_socket "$0" -c "show bgp ipv4 flowspec detail" -c "show bgp ipv6 flowspec detail"; do sleep 0.3; done |
		"$@" 2>>"$0/said"' "$TMP/frr" /usr/bin/python3 "$FLOWSPEC" --from frr --allow 203.0.113.0/24 --allow 2001:db8::/32 --rlctl "$TMP/rlctl" "$@"
}
frr_shows() { vtysh --vty_socket "$TMP/frr" -c 'show bgp ipv4 flowspec detail'; }

# Its print loses what joins two values, and the meaning of traffic-action: such a route is refused. A bgpd that dies shows
# nothing any more, and the rules end.
test_frr() {
	stop "$GOBGPD" && rl B rule flush -q && frr_start --lifetime 8s && peer_start && announce "$HOST" discard && soon 'dst 203.0.113.7 deny' && meets 0 100 &&
		announce "$HOST" 'rate-limit 100000' && announce 'destination 203.0.113.8/32; protocol =udp; destination-port [ >=1000&<=2000 =53 ]' discard &&
		announce 'destination 2001:db8::7/128/0; next-header =udp' discard && announce "$HOST; tcp-flags [ =syn+ack&!fin ]" discard &&
		soon 'dst 203.0.113.7 limit 100kbyte/second burst 10kbyte' 'udp dport 53,1000-2000 dst 203.0.113.8 deny' 'udp dst 2001:db8::7 deny' \
			'tcp dst 203.0.113.7 flags syn,ack/fin,syn,ack deny' && meets 0 100 --dst 203.0.113.8 --dport 1500 &&
		announce 'destination 203.0.113.9/32' 'action sample-terminal; rate-limit 5000' &&
		eventually 5 grep -F 'Destination Address 203.0.113.9/32 is refused: its "FS:action' "$TMP/frr/said" &&
		withdraw "$HOST; tcp-flags [ =syn+ack&!fin ]" discard && withdraw "$HOST" 'rate-limit 100000' &&
		soon 'udp dport 53,1000-2000 dst 203.0.113.8 deny' 'udp dst 2001:db8::7 deny' && stop "$BGPD" && eventually 12 in_force &&
		meets 100 0 --dst 203.0.113.8 --dport 1500
}

# ---- usage

test_usage() { has "$1" expect_status 2 python3 "$FLOWSPEC" "${@:2}" </dev/null; }

veth_pair A B && veth_quiet A B && ip -n "$(ns A)" route add 203.0.113.0/24 via 10.77.0.2 && rl B attach veth-B || exit 1
t 'a route comes' test_start || exit 1
t 'a route drops' test_drop
t 'a route limits' test_rate
t 'a limit within a drop' test_order
t 'routes go' test_withdraw
t 'IPv6' test_ipv6
t 'refused routes' test_refused
t 'rules of others' test_others
t 'another policy, and an instance that is attached anew' test_applied
t 'the program is killed' test_killed
t 'exabgp is restarted' test_restarted
t 'the peer dies' test_peer_dies
t 'exabgp dies' test_lifetime
t 'more routes than --max' test_max
t 'gobgp' test_gobgp
t 'FRR' test_frr
t 'usage: no --allow' test_usage 'required: --allow'
t 'usage: everybody' test_usage 'is everybody' --allow 0.0.0.0/0
t 'usage: host bits' test_usage 'has host bits set' --allow 203.0.113.7/24
t 'usage: a lifetime' test_usage 'write a time from 4s to 7d' --allow 203.0.113.0/24 --lifetime 3s
t 'usage: a number' test_usage 'write a number from 1' --allow 203.0.113.0/24 --max 0
