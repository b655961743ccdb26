#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A packaged policy beside a botnet of 1,000 addresses that each stay below its limit, and in pulses, over IPv4 and IPv6: a client
# that was there before loses nothing to speak of, and no more of the botnet arrives than strangers may send.
# check: processor
source "$(dirname "$0")/../lib.sh"

# Client and botnet of each family; a limit counts an IPv6 /64 as one source.
declare -A CLIENT=([ip]=10.77.0.101 [ip6]=fd77:0:0:7::1) BOTS=([ip]=100.64.0.0/22 [ip6]=2001:db8::/54)
COUNT=900 RATE=100 # of the client

counters() {
	in_ns B nft -f - <<-END
	table inet botnet {
	 counter client { }
	 counter bots { }
	 chain in {
	  type filter hook prerouting priority -400
	  $1 saddr ${CLIENT[$1]} counter name client
	  $1 saddr ${BOTS[$1]} counter name bots
	 }
	}
	END
}
reached() { in_ns B nft -j list counter inet botnet "$1" | json '.nftables[] | .counter? // empty | .packets'; }
alarm_on() { stat_of B '.alarms[0].changes' | grep -qv '^0$'; }

# held FAMILY CMD…: the client sends for nine seconds; CMD sends the flood, from the second one on.
held() {
	local family=$1 client
	shift
	rl B detach veth-B -q 2>/dev/null
	rl B attach veth-B --policy source -q && { in_ns B nft delete table inet botnet 2>/dev/null || true; } && counters "$family" || return
	bg flood A --count $COUNT --rate $RATE --src "${CLIENT[$family]}" --dport 27015 --size 100
	client=$BG_PID
	sleep 2
	"$@" "${BOTS[$family]}" && wait "$client" && sleep 0.5 || return
	echo "client: $(reached client) of $COUNT, bots: $(reached bots) of $SENT" && rl B stats || return
	between "$(reached client)" $((COUNT * 99 / 100)) $COUNT && alarm_on && [[ $SENT -gt 60000 ]] && between "$(reached bots)" 1 6000
}
bots() { # SOURCES ARG…
	SENT=$((SENT + $(flood A --rate 40000 --batch 16 --dport 27015 --size 100 --src "$@" | json .sent)))
}
flow() { SENT=0 && bots "$1" --seconds 4; }
pulses() {
	SENT=0
	for _ in {1..4}; do
		bots "$1" --count 20000 && sleep 0.5 || return
	done
}

veth_pair A B && veth_quiet A B || exit 1
for family in ip ip6; do
	t "$family: a botnet" held $family flow
	t "$family: a botnet in pulses" held $family pulses
done
