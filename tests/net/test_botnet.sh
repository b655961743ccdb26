#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A packaged policy beside forged addresses, a few senders, and botnets of 1,000 and 8,000 addresses that each stay below its limit, also
# in pulses, over IPv4 and IPv6: a client that was there before loses nothing to speak of, and no more of the flood arrives than
# strangers may send.
# check: processor
source "$(dirname "$0")/../lib.sh"

# Client and botnet of each family; a limit counts an IPv6 /64 as one source.
declare -A CLIENT=([ip]=10.77.0.101 [ip6]=fd77:0:0:7::1) BOTS=([ip]=100.64.0.0/10 [ip6]=2001:db8::/32)
declare -A FEW=([ip]=100.64.0.0/28 [ip6]=2001:db8::/60)
declare -A BOTS_1K=([ip]=100.64.0.0/22 [ip6]=2001:db8::/54) BOTS_8K=([ip]=100.64.0.0/19 [ip6]=2001:db8::/51)
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

# held FAMILY MOST SOURCES CMD…: the client sends for nine seconds; CMD sends the flood, from the second one on, of which no more than
# MOST packets arrive.
held() {
	local family=$1 most=$2 sources=$3 client
	shift 3
	rl B detach veth-B -q 2>/dev/null
	rl B attach veth-B --policy source -q && { in_ns B nft delete table inet botnet 2>/dev/null || true; } && counters "$family" || return
	bg flood A --count $COUNT --rate $RATE --src "${CLIENT[$family]}" --dport 27015 --size 100
	client=$BG_PID
	sleep 2
	"$@" "$sources" && wait "$client" && sleep 0.5 || return
	echo "client: $(reached client) of $COUNT, bots: $(reached bots) of $SENT" && rl B stats || return
	between "$(reached client)" $((COUNT * 99 / 100)) $COUNT && [[ $SENT -gt 60000 ]] && between "$(reached bots)" 1 "$most"
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
	t "$family: forged addresses" held $family 6000 "${BOTS[$family]}" flow
	t "$family: sixteen senders" held $family 60000 "${FEW[$family]}" flow
	t "$family: a botnet of 1,000" held $family 6000 "${BOTS_1K[$family]}" flow
	t "$family: a botnet of 8,000" held $family 6000 "${BOTS_8K[$family]}" flow
	t "$family: a botnet in pulses" held $family 6000 "${BOTS_1K[$family]}" pulses
done
