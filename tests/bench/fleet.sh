#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A fleet of MEMBERS on one machine, as namespaces, and one Redis: how well the members hold one limit in sum,
# and the cost. Prints a line for each figure with its expected value; exit 1 when one is missed. Times are
# those of the samples, every 100 ms. Needs root; `make bench-fleet` builds first.
source "$(dirname "${BASH_SOURCE[0]}")/../net/fleet.sh"

COUNT=${MEMBERS_COUNT:-8}
CPU=${CPU:-0} # of the senders
RULE='any limit 1000/second burst 100 fleet'
missed=0

say() { # WHAT GOT LOW HIGH
	local verdict=ok
	[[ $2 -ge $3 && $2 -le $4 ]] || verdict=MISSED missed=$((missed + 1))
	printf '%-58s %7d   %5d to %-5d %s\n' "$1" "$2" "$3" "$4" "$verdict"
}

samples() { meter "$1" >"$TMP/samples"; }

equal() {
	each loaded 1000 && sleep 1 && samples 10
	unload
	say 'all loaded: packets/s in sum' "$(mean 0 100 <"$TMP/samples")" 980 1020
	say 'all loaded: most in any second' "$(most <"$TMP/samples")" 0 1100
}
loaded() { load "$2" "$1" 60; }

alone() {
	load m1 3000 60
	sleep 1
	samples 5
	unload
	say 'one member loaded: packets/s' "$(mean 0 100 <"$TMP/samples")" 980 1020
	say 'one member loaded: most in any second' "$(most <"$TMP/samples")" 0 1100
}

# The load leaves m2 for m3; the first second counts from the first packet there.
moved() {
	load m2 3000 60
	sleep 3
	unload
	load m3 3000 60
	samples 4
	unload
	awk '$2 > 5 { if (!t) t = $1; if ($1 - t >= 1) print }' "$TMP/samples" >"$TMP/later"
	say 'load moved: packets/s from 1 s later on' "$(mean 0 100 <"$TMP/later")" 980 1020
	say 'load moved: most in any second' "$(most <"$TMP/samples")" 0 1100
}

killed() {
	local meter
	each loaded 1000 && sleep 2
	meter 8 >"$TMP/samples" &
	meter=$!
	sleep 2
	kill -KILL "$REDIS_PID"
	sleep 3
	redis_start && wait "$meter"
	unload
	say 'Redis killed and back: packets/s over all' "$(mean 0 100 <"$TMP/samples")" 800 1200
	say 'Redis killed: packets/s in the two seconds after' "$(mean 2 4 <"$TMP/samples")" 800 1200
	say 'Redis killed and back: most in any second' "$(most <"$TMP/samples")" 0 1200
	eventually 10 together "$COUNT"
}

cpu_ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }

# 10,240 keys, each at 2 packets/s on every member; a limit of 10 in sum is exceeded.
many() {
	local m start_ms span_ms most=0 used redis offered lost busy all=0
	local -A before=()
	policy 'any limit 10/second burst 8 fleet' && eventually 5 each shared
	for m in "${MEMBERS[@]}"; do
		load "$m" 16384 90 --src 10.16.0.0/19 --sequential
		load "$m" 4096 90 --src 10.20.0.0/21 --sequential
	done
	sleep 8
	for m in "${MEMBERS[@]}"; do
		before[$m]=$(cpu_ticks "${AGENT[$m]}")
	done
	redis=$(cpu_ticks "$REDIS_PID") start_ms=$(date +%s%3N) offered=$(arrived) lost=$(losses) busy=$(busy_ticks)
	samples 10
	span_ms=$(($(date +%s%3N) - start_ms))
	offered=$((($(arrived) - offered) * 1000 / span_ms)) lost=$(($(losses) - lost))
	busy=$((($(busy_ticks) - busy) * 100000 / CLOCK / span_ms))
	redis=$((($(cpu_ticks "$REDIS_PID") - redis) * 100000 / CLOCK / span_ms))
	for m in "${MEMBERS[@]}"; do
		used=$((($(cpu_ticks "${AGENT[$m]}") - ${before[$m]}) * 100000 / CLOCK / span_ms))
		all=$((all + used))
		[[ $used -le $most ]] || most=$used
	done
	unload
	echo "# all CPUs were busy for $busy %, of which agents $all %, Redis $redis %"
	# The cost of the rest means nothing unless the load was there and was accounted.
	say '10,240 hot keys on every member: packets/s offered' "$offered" 155000 172000
	say '10,240 hot keys: times that a member lost Redis' "$lost" 0 0
	say '10,240 hot keys: packets/s in sum' "$(mean 0 100 <"$TMP/samples")" 97280 107520
	if [[ $offered -lt 155000 || $lost -gt 0 ]]; then
		echo "# no verdict on the cost: the load or Redis was not there all the time"
		return
	fi
	say '10,240 hot keys on every member: agent, % of a core' "$most" 0 5
	say '10,240 hot keys on every member: Redis, % of a core' "$redis" 0 30
}
# arrived: packets at all members. losses: how often they lost Redis. busy_ticks: of all CPUs.
arrived() { each one_arrived | awk '{ sum += $1 } END { print sum }'; }
one_arrived() { stat_of "$1" '.passed.packets + .dropped.packets'; }
losses() { each one_loss | awk '{ sum += $1 } END { print sum }'; }
one_loss() { rl "$1" fleet status -j | json '.[0].lost | tostring'; }
busy_ticks() { awk '$1 == "cpu" { print $2 + $3 + $4 + $7 + $8 }' /proc/stat; }
CLOCK=$(getconf CLK_TCK)
shared() { fleet_is "$1" '.mode == "shared" and .limits[0].shared'; }

redis_start && for ((i = 1; i <= COUNT; i++)); do
	member "m$i" || exit 1
done
policy "$RULE" && each join && eventually 10 together "$COUNT" || exit 1
printf '%-58s %7s   %s\n' "$COUNT members, 1000 packets/s in sum, burst 100" measured 'to be'
for part in ${PARTS:-equal alone moved killed many}; do
	"$part"
done
[[ $missed -eq 0 ]]
