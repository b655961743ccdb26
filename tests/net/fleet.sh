# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Helpers of the fleet tests: a Redis of their own on a unix socket, members as namespaces that a cable joins
# to the sender's, and sums over all members.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

REDIS=$TMP/redis
export STATE_DIRECTORY=$TMP/state # not the machine's
ns_new S && ns_mute S || exit 1
MEMBERS=() LOADS=()
FIRST=(nice -n -15) # as the senders: on machines of their own none would wait for another
# shellcheck disable=SC2034 # for those who source this
declare -A AGENT=() # member: pid of its agent

# redis_start: and waits until it answers. Never the system's service, port or files. In a namespace
# of its own it may have a port as well.
redis_start() { redis_run --port 0; }
redis_run() { # OPTION…
	mkdir -p "$REDIS"
	bg in_ns S "${FIRST[@]}" redis-server --unixsocket "$REDIS/socket" --dir "$REDIS" --save '' --appendonly no "$@"
	eventually 10 redis ping
	# shellcheck disable=SC2034
	REDIS_PID=$(redis info server | sed -n 's/^process_id:\([0-9]*\).*/\1/p')
}
redis() { redis-cli -s "$REDIS/socket" "$@"; }

# member NAME: a namespace with a device that limits, cabled to S, where the senders are.
member() {
	ns_new "$1" && ns_mute "$1" || return
	ip -n "$(ns S)" link add "s-$1" type veth peer name "d-$1" netns "$(ns "$1")" &&
		ip -n "$(ns S)" link set "s-$1" addrgenmode none up &&
		ip -n "$(ns "$1")" link set "d-$1" addrgenmode none up &&
		rl "$1" -q attach "d-$1" || return
	MEMBERS+=("$1")
}

# join NAME OPTION…: its agent, until the test ends.
join() {
	bg "${FIRST[@]}" "$RLCTL" -n "$(ns "$1")" fleet join --redis "${URL:-unix://$REDIS/socket}" --name f --node "$1" "${@:2}"
	# shellcheck disable=SC2034
	AGENT[$1]=$BG_PID
}

# each CMD…: for every member, with its name as the last word.
each() {
	local m
	for m in "${MEMBERS[@]}"; do
		"$@" "$m" || return
	done
}

# Servers on an address of a namespace of their own, which each member has a cable to.
HERE=10.8.0.1
servers_begin() { ns_new R && ip -n "$(ns R)" addr add "$HERE/32" dev lo; }
server() { # PORT OPTION…
	mkdir -p "$TMP/$1"
	bg in_ns R "${FIRST[@]}" redis-server --port "$1" --bind "$HERE" --protected-mode no --dir "$TMP/$1" --save '' --appendonly no "${@:2}"
	eventually 10 in_ns R redis-cli -h "$HERE" -p "$1" ping
}

agent_cable() { # MEMBER NUMBER
	ip -n "$(ns R)" link add "r-$1" type veth peer name "c-$1" netns "$(ns "$1")" &&
		ip -n "$(ns R)" addr add "10.8.$2.1/24" dev "r-$1" && ip -n "$(ns R)" link set "r-$1" up &&
		ip -n "$(ns "$1")" addr add "10.8.$2.2/24" dev "c-$1" && ip -n "$(ns "$1")" link set "c-$1" up &&
		ip -n "$(ns "$1")" route add "$HERE" via "10.8.$2.1"
}

# policy RULE: the whole policy of all members, with fresh state.
policy() { each _policy "$1"; }
_policy() { rl "$2" -q rule flush && rl "$2" -q apply - <<<"rule $1"; }

# fleet_is MEMBER FILTER
fleet_is() { rl "$1" fleet status -j | json ".[0] | $2" >/dev/null; }

# together N: all members report that N share.
together() { each _together "$1"; }
_together() { fleet_is "$2" ".mode == \"shared\" and .member_count == $1"; }

_leave() { rl "$1" fleet leave; }
agent_gone() { ended "${AGENT[$1]}"; }

# load MEMBER PPS SECONDS [FLOOD-ARG…]: in the background, until `unload`; of one source unless told.
load() {
	local source=(--src 10.9.0.1)
	[[ $# -eq 3 ]] || source=("${@:4}")
	bg in_ns S "${FIRST[@]}" "$TOP/build/flood" -i "s-$1" -j --rate "$2" --seconds "$3" --cpu "${CPU:-0}" "${source[@]}"
	LOADS+=("$BG_PID")
}
unload() {
	local pid
	for pid in ${LOADS[@]+"${LOADS[@]}"}; do
		kill -KILL -- "-$pid" && wait "$pid"
	done 2>/dev/null
	LOADS=()
}

# passed: packets that the one rule of all members let through.
passed() {
	local m sum=0
	for m in "${MEMBERS[@]}"; do
		sum=$((sum + $(rule_stat "$m" any .passed.packets)))
	done
	echo "$sum"
}

# meter SECONDS: samples of what all members let through; see fleet_meter.py.
meter() {
	local m folders=()
	for m in "${MEMBERS[@]}"; do
		folders+=("$(ns_pins "$m")/d-$m-xdp")
	done
	python3 "$TOP/tests/bench/fleet_meter.py" "$1" "${folders[@]}"
}

# most <SAMPLES: packets a second, in the second with most of them (of 0.95 to 1.1 s, by the clock).
most() {
	awk '{ t[NR] = $1; c[NR] = $2 } END {
		for (i = 1; i <= NR; i++)
			for (j = i + 1; j <= NR && t[j] - t[i] <= 1.1; j++)
				if (t[j] - t[i] >= 0.95 && (c[j] - c[i]) / (t[j] - t[i]) > most)
					most = (c[j] - c[i]) / (t[j] - t[i])
		printf "%d\n", most
	}'
}

# mean FROM TO <SAMPLES: packets a second from FROM to TO, in seconds.
mean() {
	awk -v from="$1" -v to="$2" '
		$1 >= from && !seen { t = $1; c = $2; seen = 1 }
		$1 <= to { u = $1; d = $2 }
		END { printf "%d\n", (d - c) / (u - t) }'
}

# measure SECONDS PPS MEMBER…: samples into $TMP/samples, once these have been loaded for a while.
measure() {
	local seconds=$1 pps=$2 m
	shift 2
	for m in "$@"; do
		load "$m" "$pps" 20
	done
	sleep 0.8 # so long it may take until each has its part
	meter "$seconds" >"$TMP/samples"
	unload
}

# judge LOW MOST: the mean of the samples is at least LOW (status 2 if not, as when the machine delayed a
# process), and no second has more than MOST.
judge() {
	local mean
	mean=$(mean 0 100 <"$TMP/samples")
	[[ $mean -ge $1 ]] || { _say "only $mean a second: $(paste -sd' ' <"$TMP/samples")" || return 2; }
	between "$mean" "$1" 1100 && between "$(most <"$TMP/samples")" 1 "$2"
}

# sum LOW SECONDS PPS MEMBER…: as judge; no second has more than rate and burst.
sum() {
	measure "${@:2}" && judge "$1" 1110
}
