#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# At ingress and egress the generator, stats and the receiver count the same numbers, to the packet and the
# byte; skbs of many segments included.
source "$(dirname "$0")/../lib.sh"

COUNT=${COUNT:-200000}

# ---- ingress: single packets, from the generator

policy() {
	cat <<-'END'
	rule 10.78.0.0/18 deny
	rule 10.78.64.0/18 allow
	rule 10.78.128.0/18 limit 1/day burst 1
	rule fd78::/50 deny
	rule fd78:0:0:4000::/50 allow
	rule fd78:0:0:8000::/50 limit 1/day burst 1
	END
}

decided() { is "$(stat_of B '.passed.packets + .dropped.packets')" "$1"; }

test_ingress() { # SOURCES SIZE COUNTER
	local result sent before passed
	policy >"$TMP/policy"
	rl B attach veth-B --hook ingress --policy "$TMP/policy" && before=$(counter B "$3") || return
	result=$(flood A --count "$COUNT" --src "$1" --size "$2") && sent=$(json .sent <<<"$result") &&
		eventually 10 decided "$sent" || return
	rl B stats
	passed=$(stat_of B .passed.packets)
	is $(($(counter B "$3") - before)) "$passed" &&
		is "$(stat_of B '.passed.bytes + .dropped.bytes')" $((sent * $2)) &&
		is "$(stat_of B '[.reasons[].packets] | add')" "$sent" || return
	stat_of B '.reasons | [.allowed, .within, .unmatched, .denied, .over] | all(.packets > 0)' &&
		rl B detach veth-B
}

# ---- egress: datagrams of sockets, dropped on their way out

send() { in_ns A python3 "$TOP/tests/net/datagrams.py" "$@"; }

# link A tx: the device's counters, as "PACKETS BYTES".
link() { ip -n "$(ns "$1")" -s -j link show "veth-$1" | json ".[0].stats64.$2 | \"\(.packets) \(.bytes)\""; }

# since A tx "PACKETS BYTES": the increase of its counters.
since() {
	local packets bytes before_packets before_bytes
	read -r packets bytes <<<"$(link "$1" "$2")"
	read -r before_packets before_bytes <<<"$3"
	echo "$((packets - before_packets)) $((bytes - before_bytes))"
}
link_is() { is "$(since "$1" "$2" "$3")" "$4"; } # A tx BEFORE WANTED
stats_are() { is "$(stat_of "$1" '"\(.passed.packets) \(.passed.bytes) \(.dropped.packets) \(.dropped.bytes)"')" "$2"; }

# 2000 datagrams of 100 bytes, of which the limit lets 700 out.
test_egress() { # ADDRESS HEADERS
	local before size=$((100 + $2))
	rl A attach veth-A --hook egress && rl A rule add "$1" udp limit 700/day burst 700 || return
	before=$(link B rx) && send "$1" 2000 100 || return
	stats_are A "700 $((700 * size)) 1300 $((1300 * size))" &&
		eventually 5 link_is B rx "$before" "700 $((700 * size))" && rl A detach veth-A
}

# Twenty datagrams in each skb, the last one shorter; two fit. The receiver gets them cut apart.
test_egress_segments() { # ADDRESS HEADERS
	local before bytes=$((1950 + 20 * $2))
	rl A attach veth-A --hook egress && rl A rule add any udp limit 1000/day burst 45 || return
	before=$(link B rx) && send "$1" 5 1950 100 || return
	stats_are A "40 $((2 * bytes)) 60 $((3 * bytes))" &&
		eventually 5 link_is B rx "$before" "40 $((2 * bytes))" && rl A detach veth-A
}

# ---- TCP, whose segments are split after egress, and merged before ingress

stream() { in_ns A iperf3 --client "$1" --bytes 20M; }
passed() { stat_of "$1" '"\(.passed.packets) \(.passed.bytes)"'; }

# A veth whose peer takes packets by NAPI counts them without Ethernet's header.
with_ethernet() { # "PACKETS BYTES"
	local packets bytes
	read -r packets bytes <<<"$1"
	echo "$packets $((bytes + 14 * packets))"
}

egress_is() { is "$(passed A)" "$(since B rx "$1")"; }
ingress_is() { is "$(passed B)" "$(with_ethernet "$(since A tx "$1")")"; }

test_tcp_egress() { # ADDRESS
	local before
	rl A attach veth-A --hook egress && before=$(link B rx) && stream "$1" || return
	eventually 5 egress_is "$before" && rl A detach veth-A
}

test_tcp_ingress() { # ADDRESS
	local before
	rl B attach veth-B --hook ingress && before=$(link A tx) && stream "$1" || return
	eventually 5 ingress_is "$before" && rl B detach veth-B
}

# Veths hand over skbs whole where they may: here they are to be cut apart.
cut_apart() { in_ns A ethtool -K veth-A tso off gso on tx-udp-segmentation off; }

veth_pair A B && veth_quiet A B && ns_mute A && in_ns B ethtool -K veth-B gro on || exit 1
t 'ingress, IPv4' test_ingress 10.78.0.0/16 60 IpInReceives
t 'ingress, IPv6' test_ingress fd78::/48 100 Ip6InReceives
in_ns A sysctl -qw net.ipv6.conf.all.disable_ipv6=0 && ip -n "$(ns A)" addr add fd77::1/64 dev veth-A nodad &&
	veth_quiet A B && cut_apart && serve B && in_ns B ethtool -K veth-B gro off || exit 1
t 'egress, IPv4' test_egress 10.77.0.2 42
t 'egress, IPv6' test_egress fd77::2 62
t 'egress, several datagrams in one, IPv4' test_egress_segments 10.77.0.2 42
t 'egress, several datagrams in one, IPv6' test_egress_segments fd77::2 62
t 'egress, TCP, IPv4' test_tcp_egress 10.77.0.2
t 'egress, TCP, IPv6' test_tcp_egress fd77::2
in_ns B ethtool -K veth-B gro on || exit 1
t 'ingress, TCP, IPv4' test_tcp_ingress 10.77.0.2
t 'ingress, TCP, IPv6' test_tcp_ingress fd77::2
