#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# tenants.sh [SECONDS]: eight tenants of one host, each behind a tap with the same policy. One floods at the rate of its
# line, the others run iperf3 and dnsperf: what each of them loses without a flood, beside it, and beside it without the
# limiter, as a table. Not a part of the check, for it measures: on two processors the flood takes one of them.
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/../net/dns.sh"

SECONDS_EACH=${1:-20}
TENANTS=8
RATE=10m # bits per second of iperf3, in packets of 200 bytes
QUERIES=200
POLICY=$TMP/policy
cat >"$POLICY" <<'END'
rule device limit 20000/second burst 2000
END

# tenant N: its namespace, at tapN of the host.
tenant() {
	local host
	host=$(ns B)
	ns_new "T$1" && ip -n "$host" link add "tap$1" type veth peer name "veth-T$1" netns "$(ns "T$1")" &&
		ip -n "$host" link set "tap$1" up && ip -n "$host" addr add "10.9.$1.1/24" dev "tap$1" &&
		ip -n "$(ns "T$1")" link set "veth-T$1" up && ip -n "$(ns "T$1")" addr add "10.9.$1.2/24" dev "veth-T$1" &&
		in_ns B ethtool -K "tap$1" gro on
}

server() { # N
	bg in_ns B iperf3 --server --bind "10.9.$1.1" && eventually 5 in_ns B ping -q -c 1 "10.9.$1.2"
}

# The share of packets and of queries that the seven lost, the worst of each, in percent.
lost() {
	local n
	for n in $(seq 2 "$TENANTS"); do
		jq -rn --argjson packets "$(jq .end.sum.lost_percent "$TMP/iperf.$n")" --argjson sum "[$(dnsperf_sum "$TMP/dns.$n" | tr ' ' ,)]" \
			'"\($packets) \(100 * $sum[1] / ([$sum[0], 1] | max))"'
	done | sort -n | awk '{ a += $1; b += $2; if ($1 > x) x = $1; if ($2 > y) y = $2 } END { printf "%.2f | %.2f | %.2f | %.2f\n", a / NR, x, b / NR, y }'
}

# run NAME [FLOOD]: a row of the table.
run() {
	local n sent=0 tasks=()
	[[ -z ${2:-} ]] || {
		in_ns T1 "$TOP/build/flood" -i veth-T1 -j --seconds "$((SECONDS_EACH + 2))" --dst 10.9.1.1 --src 10.9.1.2 >"$TMP/sent" &
		tasks+=($!)
		sleep 1
	}
	for n in $(seq 2 "$TENANTS"); do
		in_ns "T$n" iperf3 -c "10.9.$n.1" -u -b "$RATE" -l 200 -t "$SECONDS_EACH" -J >"$TMP/iperf.$n" &
		tasks+=($!)
		in_ns "T$n" dnsperf -s "10.9.$n.1" -d "$TMP/names" -l "$SECONDS_EACH" -Q "$QUERIES" -q 50 -t 1 >"$TMP/dns.$n" 2>&1 &
		tasks+=($!)
	done
	wait "${tasks[@]}"
	[[ -z ${2:-} ]] || sent=$(jq '.pps | round' "$TMP/sent")
	echo "| $1 | $sent | $(lost) |"
}

ns_new B && in_ns B sysctl -qw net.ipv6.conf.all.disable_ipv6=1 || exit 1
for n in $(seq "$TENANTS"); do
	tenant "$n" && { [[ $n -eq 1 ]] || server "$n"; } || exit 1
done
resolver B 0.0.0.0 'local-zone: "example." static' 'local-data: "www.example. A 192.0.2.1"' || exit 1
echo 'www.example A' >"$TMP/names"
echo '| | flood, packets/s | packets lost, mean % | worst | queries lost, mean % | worst |'
echo '|---|---|---|---|---|---|'
rl B attach 'tap*' --direction from --policy "$POLICY" --sources 4096 2>"$TMP/attached" || { cat "$TMP/attached" && exit 1; }
run 'no flood'
run 'flood of one tenant, limited' flood
rl B detach all
run 'flood of one tenant, no limiter' flood
