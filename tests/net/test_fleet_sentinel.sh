#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Failover by Redis Sentinel: the master dies under load, limits hold, and sharing is back with the
# replica as the new master. Servers listen on 127.0.0.1 of a namespace of their own.
source "$(dirname "$0")/fleet.sh"

sentinel() {
	cat >"$TMP/sentinel.conf" <<-END
		port 26379
		bind $HERE
		protected-mode no
		sentinel monitor main $HERE 6379 1
		sentinel down-after-milliseconds main 500
		sentinel failover-timeout main 2000
	END
	bg in_ns R "${FIRST[@]}" redis-server "$TMP/sentinel.conf" --sentinel
	eventually 15 knows_replica
}
replicates() { in_ns R redis-cli -h "$HERE" -p 6379 info replication | grep -q connected_slaves:1; }
knows_replica() { in_ns R redis-cli -h "$HERE" -p 26379 sentinel replicas main | grep -q 6380; }

test_failover() {
	local m meter
	for m in "${MEMBERS[@]}"; do
		load "$m" 1500 30
	done
	sleep 0.8
	meter 5 >"$TMP/samples" &
	meter=$!
	kill -KILL -- "-$MASTER" && eventually 5 fleet_is m1 '.lost == 1' && eventually 6 each at_replica &&
		wait "$meter" && unload && between "$(mean 0 100 <"$TMP/samples")" 500 1050 && between "$(most <"$TMP/samples")" 500 1200
}
at_replica() { fleet_is "$1" '.mode == "shared" and (.server | endswith(":6380"))'; }

servers_begin && member m1 && member m2 && agent_cable m1 1 && agent_cable m2 2 || exit 1
server 6379 && MASTER=$BG_PID && server 6380 --replicaof "$HERE" 6379 && eventually 10 replicates && sentinel || exit 1
policy 'any limit 1000/second burst 100 fleet'
URL="redis+sentinel://$HERE:26378,$HERE:26379/main" each join
t 'the sentinels know the master' eventually 10 together 2
t 'the master dies under load' test_failover

# ---- m2 is cut off from Redis, but not from its senders

# m1 keeps half of the limit by itself, and no more; after 3 s it shares with no other member.
test_partition() {
	local result before
	ip -n "$(ns R)" link set r-m2 down && eventually 5 fleet_is m2 '.mode == "local"' && before=$(stat_of m2 .passed.packets) &&
		result=$(in_ns S "${FIRST[@]}" "$TOP/build/flood" -i s-m2 -j --rate 5000 --seconds 1 --src 10.9.0.2) &&
		between $(($(stat_of m2 .passed.packets) - before)) 200 "$(json '.seconds * 500 + 60 | round' <<<"$result")" &&
		eventually 4 fleet_is m1 '.mode == "shared" and .member_count == 1' &&
		ip -n "$(ns R)" link set r-m2 up && eventually 6 together 2
}
t 'a member is cut off' test_partition
