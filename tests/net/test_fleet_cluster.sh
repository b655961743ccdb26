#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# check: timeout 180
# A fleet of three members on a Redis Cluster of three masters, each with a replica: eight shards, a slot that
# moves and a master that dies under load, slots that nobody has, and nodes that redirect wrongly.
source "$(dirname "$0")/fleet.sh"

RULE='any limit 1000/second burst 100 fleet'
SECRET=Geheimes-Wort
N=3 MASTERS=3 SHARDS=8
declare -A NODE=() # port: the process group of its server

cli() { in_ns R redis-cli -h "$HERE" -a "$SECRET" --no-auth-warning -p "$@"; }

node_start() { # PORT
	mkdir -p "$TMP/$1"
	bg in_ns R "${FIRST[@]}" redis-server --port "$1" --bind "$HERE" --dir "$TMP/$1" --save '' --appendonly no \
		--cluster-enabled yes --cluster-node-timeout 1000 --requirepass "$SECRET" --masterauth "$SECRET"
	NODE[$1]=$BG_PID
	eventually 10 has PONG cli "$1" ping
}

cluster_begin() {
	local port nodes=()
	for ((port = 7001; port <= 7000 + 2 * MASTERS; port++)); do
		node_start "$port" || return
		nodes+=("$HERE:$port")
	done
	cli 7001 --cluster create "${nodes[@]}" --cluster-replicas 1 --cluster-yes >"$TMP/create" && eventually 20 cluster_is_whole
}
cluster_is_whole() {
	local port
	for port in "${!NODE[@]}"; do
		has cluster_state:ok cli "$port" cluster info && has cluster_known_nodes:$((2 * MASTERS)) cli "$port" cluster info || return
	done
	is "$(cli 7001 cluster nodes | grep -c ' slave .* connected')" "$MASTERS" && each_replica_follows
}
each_replica_follows() {
	local port
	for port in $(cli 7001 cluster nodes | awk '/ slave / { split($2, a, /[:@]/); print a[2] }'); do
		has master_link_status:up cli "$port" info replication || return
	done
}

url() { echo "redis+cluster://:$SECRET@$HERE:7009,$HERE:$1,$HERE:$2/$SHARDS" >"$TMP/url"; } # 7009: nobody is there
shared_mode() { fleet_is "$1" '.mode == "shared"'; }
local_mode() { fleet_is "$1" '.mode == "local"'; }
never_lost() { fleet_is "$1" '.lost == 0'; }
lost() { rl m1 fleet status -j | json '.[0].lost'; }

test_join() {
	url 7001 7002 && URL=@$TMP/url each join && eventually 10 together $N && expect_fail grep "$SECRET" "$TMP/bg"
}

# Shards are on all masters, and so are the keys of many sources.
test_spread() {
	local port
	load m1 4000 30 --src 10.12.0.0/26 --sequential
	for port in 7001 7002 7003; do
		eventually 5 has 'rlctl:{f' cli "$port" keys 'rlctl:{f*:10.12.*' || return
	done
	unload
}

# Another number of shards would have another one lease the same limit.
test_disagreement() {
	_leave m3 && eventually 5 agent_gone m3 && sed 's/8$/4/' "$TMP/url" >"$TMP/other" && URL=@$TMP/other join m3 &&
		eventually 5 has 'has 8 shards for other members, and 4 for this one' cat "$TMP/bg" && local_mode m3 &&
		_leave m3 && eventually 5 agent_gone m3 && URL=@$TMP/url join m3 && eventually 10 together $N
}

# A node that has another password is named. Those who are connected stay.
test_password() {
	local status right=$SECRET
	_leave m3 && eventually 5 agent_gone m3 && : >"$TMP/bg" && cli 7003 config set requirepass other >/dev/null || return
	URL=@$TMP/url join m3
	eventually 5 has "$HERE:7003: error from Redis: WRONGPASS" cat "$TMP/bg" && local_mode m3 && never_lost m1
	status=$?
	SECRET=other cli 7003 config set requirepass "$right" >/dev/null && [[ $status -eq 0 ]] && eventually 10 together $N
}

# Members that come back to others with another number say so, and not only that Redis was lost.
test_others_changed() {
	local node
	node=$(at m1)
	cli "$node" hset 'rlctl:{f}:members' other "$(($(cli "$node" time | head -1) * 1000)) token/4" &&
		eventually 5 grep -q 'fleet f: the fleet has 4 shards for other members, and 8 .* of each$' "$TMP/bg" && eventually 10 together $N
}

# slot_move FROM TO SLOT: with its keys, as redis-cli --cluster reshard does.
slot_move() {
	local from to keys
	from=$(cli "$1" cluster myid) to=$(cli "$2" cluster myid)
	cli "$2" cluster setslot "$3" importing "$from" && cli "$1" cluster setslot "$3" migrating "$to" || return
	while keys=$(cli "$1" cluster getkeysinslot "$3" 100) && [[ -n $keys ]]; do
		# shellcheck disable=SC2086
		cli "$1" migrate "$HERE" "$2" '' 0 1000 auth "$SECRET" keys $keys || return
	done
	cli "$2" cluster setslot "$3" node "$to" && cli "$1" cluster setslot "$3" node "$to"
}

# The first shard goes to another master: its node is what `fleet status` names.
test_slot_moves() {
	local m from to slot meter
	from=$(at m1) slot=$(cli 7001 cluster keyslot '{f}') to=$((from == 7001 ? 7002 : 7001))
	for m in "${MEMBERS[@]}"; do
		load "$m" 600 30
	done
	sleep 0.8
	meter 4 >"$TMP/samples" &
	meter=$!
	sleep 1 && slot_move "$from" "$to" "$slot" && wait "$meter" && unload && each shared_mode && each moved_to "$to" &&
		judge 980 1200
}
at() { rl "$1" fleet status -j | json -r '.[0].server | split(":")[-1]'; }

moved_to() { is "$(at "$2")" "$1"; }

# ---- the master of the first shard dies

test_failover() {
	local m from lost meter
	each_dead node_start && eventually 30 cluster_is_whole && eventually 10 together $N || return
	from=$(at m1) lost=$(lost)
	for m in "${MEMBERS[@]}"; do
		load "$m" 600 40
	done
	sleep 0.8
	meter 12 >"$TMP/samples" &
	meter=$!
	sleep 1
	kill -KILL -- "-${NODE[$from]}" && eventually 3 local_mode m1 && eventually 10 each shared_mode && wait "$meter" && unload &&
		has $((lost + 1)) lost && expect_fail is "$(at m1)" "$from" && judge 980 1200 && between "$(mean 0 100 <"$TMP/samples")" 980 1020
}
each_dead() {
	local port
	for port in "${!NODE[@]}"; do
		kill -0 -- "-${NODE[$port]}" 2>/dev/null || "$@" "$port" || return
	done
}

# ---- a slot that nobody has, and its return

test_no_slot() {
	local port slot
	port=$(at m1) slot=$(cli "$port" cluster keyslot '{f:3}')
	each_node cluster delslots "$slot" && eventually 5 each local_mode && has CLUSTERDOWN cat "$TMP/bg" &&
		each_node cluster setslot "$slot" node "$(cli "$port" cluster myid)" && eventually 15 together $N
}
each_node() {
	local port
	for port in "${!NODE[@]}"; do
		! kill -0 -- "-${NODE[$port]}" 2>/dev/null || cli "$port" "$@" || return
	done
}

# ---- nodes that redirect to anywhere, and the plain URL of a node

# redirected HOW URL: m1's agent, by two nodes in its namespace before one Redis.
REDIRECTS=0
redirected() {
	_leave m1 && eventually 5 agent_gone m1 && : >"$TMP/bg" || return
	[[ $REDIRECTS -eq 0 ]] || kill -KILL -- "-$REDIRECTS"
	bg in_ns m1 python3 "$TOP/tests/net/redirects.py" "$REDIS/socket" "$1"
	REDIRECTS=$BG_PID
	eventually 10 has PONG in_ns m1 redis-cli -p 7001 ping && URL=$2 join m1
}
follows() { redirected "$1" redis+cluster://127.0.0.1:7001/2 && eventually 5 shared_mode m1 && sleep 1 && shared_mode m1 && is "$(lost)" 0; }
refuses() { redirected "$1" redis+cluster://127.0.0.1:7001/2 && eventually 3 has "$2" cat "$TMP/bg" && local_mode m1; }
plain() { redirected moved redis://127.0.0.1:7001 && eventually 10 has 'use redis+cluster://' cat "$TMP/bg" && local_mode m1; }

servers_begin || exit 1
for ((i = 1; i <= N; i++)); do
	member "m$i" && agent_cable "m$i" "$i" || exit 1
done
policy "$RULE" && cluster_begin || exit 1
t 'members find one another' test_join
t 'keys are on all masters' test_spread
t 'all members loaded' patiently sum 980 1.3 600 "${MEMBERS[@]}"
t 'one member loaded' patiently sum 970 1.3 3000 m2
t 'another number of shards' test_disagreement
t 'a node with another password' test_password
t 'others with another number' test_others_changed
t 'the slot of a shard moves' patiently test_slot_moves
t 'a master dies' patiently test_failover
t 'a slot that nobody has' test_no_slot
redis_start || exit 1
t 'a redirection without a host' follows moved
t 'a redirection for one call' follows ask
t 'redirections in a circle' refuses circle 'circle of redirections'
t 'a node without an address' refuses unknown ': MOVED 1 ?:7002'
t 'a port that there is none' refuses wrong ': MOVED 1 127.0.0.1:70002'
t 'a node where nobody listens' refuses closed '127.0.0.1:7003: Connection refused'
t 'a slot that does not arrive' refuses moving ': TRYAGAIN'
t 'redis:// of a node' plain
