#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Packets of real senders meet the rules with matches that they should, and no others, in each mode. Each rule
# is to match three of them; all cases are in tests/prog/test_matches.c.
source "$(dirname "$0")/../lib.sh"

UDP='udp dport 7001 length 60-128
udp dport 7002 ttl 9
udp dport 7003 dscp ef
udp dport 7004,7006
udp dport 7008 payload 2 cafe
udp dport 7009 not payload 0 01'
FLAGS='tcp dport 7010 flags fin,ack'

# The rules of PREFIX with MATCHES, one a line.
rules() { sed "s|.*|rule $1 & deny|"; }
policy() {
	rules 10.0.0.0/8 <<<"$UDP"$'\nicmp icmp-type echo-request\n'"$FLAGS"
	rules fd00::/8 <<<"$UDP"$'\nicmp6 icmp-type echo-request'
}

pings() { ! in_ns A ping -q -c 3 -i 0.01 -W 0.1 "$1" >"$TMP/ping" && grep -q ' 0 received' "$TMP/ping"; }

senders() { # ADDRESS4 ADDRESS6
	in_ns A python3 "$TOP/tests/net/matches.py" "$1" && in_ns A python3 "$TOP/tests/net/matches.py" "$2" &&
		pings "$1" && pings "$2" && in_ns A python3 "$TOP/tests/net/forge.py" "$1" 7010 3
}

denied() { rl B stats -j | jq -r '.[0].rules[] | "\(.dropped.packets) \(.rule)"'; }
each_denied() { # COUNT
	local wanted
	wanted=$(policy | sed "s/^rule /$1 /")
	[[ $(denied | sort) == "$(sort <<<"$wanted")" ]]
}

each() { # COUNT
	eventually 5 each_denied "$1" || diff <(denied | sort) <(policy | sed "s/^rule /$1 /" | sort)
}

test_mode() { # OPTION…
	local status=0
	rl B attach veth-B "$@" --policy <(policy) || return
	senders 10.77.0.2 fd77::2 && each 3 || status=1
	rl B detach veth-B && return "$status"
}

# ---- a datagram whose header or bytes do not stand where they are looked for

PAYLOAD='rule any udp dport 7021 payload 0 deadbeef deny'
FILTER='rule any filter "udp dst port 7021" deny'

listen() { in_ns B python3 "$TOP/tests/net/hidden.py" listen 7021 >"$TMP/heard"; }
listens() { [[ $(in_ns B ss -Hlun 'sport = :7020' | wc -l) -eq 1 ]]; }
# hears WORDS KIND ADDRESS: what the socket gets of that datagram and of the last.
hears() {
	local before
	before=$(wc -l <"$TMP/heard")
	in_ns A python3 "$TOP/tests/net/hidden.py" "$2" "$3" 7021 && eventually 5 heard_last "$before" &&
		is "$(tail -n "+$((before + 1))" "$TMP/heard" | paste -sd ' ')" "$1"
}
heard_last() { tail -n "+$(($1 + 1))" "$TMP/heard" | grep -qx last; }

# hidden RULE KIND ADDRESS: it reaches the socket, but not past the rule.
hidden() {
	local hook status=0
	hears 'more last' "${@:2}" || return
	for hook in xdp ingress; do
		rl B attach veth-B --hook "$hook" --policy - <<<"$1" && hears last plain "$3" && hears last "${@:2}" || status=1
		rl B detach veth-B || return
	done
	return "$status"
}

veth_pair A B || exit
t 'native' test_mode --mode native
t 'generic' test_mode --mode generic
t 'ingress' test_mode --hook ingress
bg listen
eventually 5 listens || exit
t 'payload, fragments of IPv4' hidden "$PAYLOAD" fragments 10.77.0.2
t 'payload, fragments of IPv6' hidden "$PAYLOAD" fragments fd77::2
t 'filter, an extension header' hidden "$FILTER" extension fd77::2
t 'filter, fragments of IPv6' hidden "$FILTER" fragments fd77::2
