#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Every source is held to a thousand packets a second, `unless established`: downloads beside a flood with the forged
# address of their server, and clients beside floods of TCP without connections, lose nothing to the limits.
source "$(dirname "$0")/../lib.sh"

PORT=8080
FAMILIES=(4 6)

address() { if [[ $2 == 4 ]]; then echo "10.77.0.$1"; else echo "fd77::$1"; fi; }
host() { if [[ $2 == 4 ]]; then address "$@"; else echo "[$(address "$@")]"; fi; }

policy() {
	cat <<-'END'
	rule any limit 1000/second burst 2000 over drop unless established
	rule any tcp established limit 1m/second per flow
	rule device limit 10k/second over drop unless established
	END
}

dropped() { stat_of B .dropped.packets; }
dropped_more() { [[ $(dropped) -gt $1 ]]; }
spared() { stat_of B .reasons.established.packets; }
spared_more() { [[ $(spared) -gt $1 ]]; }

# ---- downloads

# The flood is of UDP to a port where nobody listens.
arrived() { if [[ $1 == 4 ]]; then counter B UdpNoPorts; else counter B Udp6NoPorts; fi; }

# Counts the FINs of the server.
count_fins() {
	in_ns A nft -f - <<-'END'
	table inet sent {
		counter fins {}
		chain out {
			type filter hook output priority 0
			tcp flags & fin == fin counter name fins
		}
	}
	END
}
fins() { in_ns A nft -j list counter inet sent fins | json '.nftables[] | .counter // empty | .packets'; }

# The flood lost all that did not arrive, and the download nothing. A FIN that comes after the client has closed finds
# TIME_WAIT, which proves nothing, and may be dropped.
test_download() { # FAMILY CMD…
	local family=$1 dropped_before arrived_before fins_before sent
	shift
	dropped_before=$(dropped) arrived_before=$(arrived "$family") fins_before=$(fins) && : >"$TMP/bg" || return
	bg flood A --src "$(address 1 "$family")" --dst "$(address 2 "$family")" --rate 50000 --count 100000
	eventually 5 dropped_more "$dropped_before" && in_ns B "$@" || return
	wait "$BG_PID" && sent=$(grep '"sent"' "$TMP/bg" | json .sent) && rl B stats || return
	between $(($(dropped) - dropped_before - sent + $(arrived "$family") - arrived_before)) 0 $(($(fins) - fins_before)) &&
		is "$(rule_stat B 'any tcp established' .dropped.packets)" 0
}

# A server that ends each connection later than its client has closed it.
serve_late() {
	bg in_ns A strace -f -o /dev/null -e trace=close -e inject=close:delay_enter=60000 iperf3 --server
	eventually 5 listens A 5201
}

serve_file() {
	truncate -s 100M "$TMP/file" && bg in_ns A python3 -m http.server --directory "$TMP" --bind :: "$PORT"
	eventually 5 listens A "$PORT"
}

# ---- clients of a web server

FORGED=12500

# The clients' connections are there, and used.
clients_begin() { # FAMILY
	local before
	before=$(spared) || return
	bg in_ns A wrk --connections 20 --threads 1 --duration 60 --timeout 10 "http://$(host 2 "$1"):$PORT/"
	CLIENTS=$BG_PID
	eventually 10 spared_more $((before + 2000))
}

# Counts what comes from no client: from port 1, or from other addresses.
count_forged() {
	in_ns B nft -f - <<-END
	table inet seen {
		counter forged {}
		chain in {
			type filter hook prerouting priority 0
			tcp sport 1 counter name forged accept
			ip saddr 10.78.0.0/16 counter name forged
			ip6 saddr fd78::/48 counter name forged
		}
	}
	END
}
forged_seen() { in_ns B nft -j list counter inet seen forged | json '.nftables[] | .counter // empty | .packets'; }

# forged RATE BURST PROTO ARG…: no more than the limit admits arrives, and what is lost is all of the flood.
forged() {
	local rate=$1 burst=$2 result sent seen dropped spared ms
	seen=$(forged_seen) && dropped=$(dropped) && spared=$(spared) || return
	result=$(flood A --proto "$3" --dport "$PORT" --rate 50000 --count "$FORGED" "${@:4}") && echo "$result" || return
	sent=$(json .sent <<<"$result") && ms=$(json '.seconds * 1000 | ceil' <<<"$result") || return
	eventually 5 spared_more "$spared" && seen=$(($(forged_seen) - seen)) && echo "$seen of $sent arrived" || return
	is $(($(dropped) - dropped)) $((sent - seen)) && between "$seen" 1 $((burst + rate * (ms + 10) / 1000))
}

floods() { # FAMILY
	local proto many=10.78.0.0/16
	[[ $1 == 4 ]] || many=fd78::/48
	for proto in ack rst fin xmas null; do
		t "IPv$1: $proto of a client's address" forged 1000 2000 "tcp-$proto" --sport 1 \
			--src "$(address 1 "$1")" --dst "$(address 2 "$1")"
		t "IPv$1: $proto of many addresses and ports" forged 10000 1000 "tcp-$proto" --sport 0 \
			--src "$many" --dst "$(address 2 "$1")"
	done
}

# Every request of the clients was answered. wrk names errors only where there are some.
clients_end() {
	kill -INT -- "-$CLIENTS"
	wait "$CLIENTS"
	cat "$TMP/bg"
	[[ $(sed -nE 's/^ *([0-9]+) requests in .*/\1/p' "$TMP/bg") -gt 1000 ]] && ! grep -E 'errors|Non-2xx' "$TMP/bg"
}

veth_pair A B 2 && veth_quiet A B && policy >"$TMP/policy" && rl B attach veth-B --policy "$TMP/policy" || exit 1
serve_late && serve_file && count_fins || exit 1
for family in "${FAMILIES[@]}"; do
	t "a download by iperf3, IPv$family" test_download "$family" \
		iperf3 --client "$(address 1 "$family")" --reverse --bytes 200M --connect-timeout 5000
	t "a download by curl, IPv$family" test_download "$family" \
		curl -sS --max-time 60 -o "$TMP/got" "http://$(host 1 "$family"):$PORT/file"
done
bg in_ns B python3 "$TOP/tests/net/http_server.py" "$PORT"
eventually 5 listens B "$PORT" && count_forged || exit 1
for family in "${FAMILIES[@]}"; do
	: >"$TMP/bg"
	clients_begin "$family" || exit 1
	floods "$family"
	t "IPv$family: clients lose no request" clients_end
done
