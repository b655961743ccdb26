# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# For bench.sh: how exactly each algorithm keeps to its rate, and what a flood does to a known source, to
# `apply` and to a ping.

# ---- accuracy

# A source for each algorithm, all in one flood that takes them in turns; its other sources are denied.
# Overload comes from full speed and a limit to suit it; only 1.01 times needs a pace. The expected number of
# passed packets is computed from the flood's own timeline, since pauses of the machine are not the limiter's
# fault.

# admitted_by: "NUMBER PACKETS" of their rules, from the counters.
admitted_by() {
	rl B stats b-accuracy -j | json '.[0].rules[] | select(.rule | startswith("10.88.0.")) |
		"\(.rule | ltrimstr("10.88.0.") | split(" ")[0]) \(.passed.packets)"'
}

# offer PERCENT CPUS FRAMES FLOOD-ARG…: into OFFERED, OFFERED_SECONDS and a timeline for each CPU.
offer() {
	local each=$(($3 / $2)) TIMELINE=$TMP/timeline-$1-$2
	if [[ $2 == 1 ]]; then
		flood_one accuracy "${@:4}" --sequential --count "$each" --cpu "$CPU" --timeline "$TIMELINE-0"
		OFFERED=$SENT OFFERED_SECONDS=$SECONDS_SENT
	else
		both accuracy "${@:4}" --sequential --count "$each"
		OFFERED=$((BOTH_SENT[0] + BOTH_SENT[1]))
		OFFERED_SECONDS=$(printf '%s\n' "${BOTH_SECONDS[@]}" | sort -n | tail -n 1)
	fi
}

accuracy_policy() { # RATE
	python3 tests/bench/accuracy.py "$1" >"$TMP/accuracy" || die 'no policy to test accuracy with'
	policy accuracy "$(<"$TMP/accuracy")"
}

# outcome PERCENT CPUS SOURCES RATE
outcome() {
	local number packets
	while read -r number packets; do
		record accuracy "$1" "$number" "$2" "$4" "$3" "$OFFERED" "$OFFERED_SECONDS" "$packets"
	done < <(admitted_by)
}

# paced PERCENT CPUS: three seconds, so that one percent too much is more than a burst.
paced() {
	local rate=2000 all
	all=$((8 * rate * $1 / 100))
	accuracy_policy "$rate"
	offer "$1" "$2" $((3 * all)) --src 10.88.0.0/29 --rate $((all / $2))
	outcome "$1" "$2" 8 "$rate"
}

# full_speed PERCENT CPUS BITS: over 2^BITS sources, for 1.2 s.
full_speed() {
	local n=$((1 << $3)) source=10.88.0.0/$((32 - $3)) pps rate
	accuracy_policy 1000
	offer "$1" "$2" 400000 --src "$source"
	pps=$(awk -v n="$OFFERED" -v s="$OFFERED_SECONDS" 'BEGIN { printf "%d", n / s }')
	rate=$((pps * 100 / $1 / n))
	rate=$((rate < 5000 ? rate : 5000)) # a sliding log holds 1024
	accuracy_policy "$rate"
	offer "$1" "$2" $((pps * 12 / 10)) --src "$source"
	outcome "$1" "$2" "$n" "$rate"
}

accuracy() {
	local n
	# shellcheck disable=SC2034 # for flood_one()
	local -A TOTAL=()
	say 'accuracy'
	limiter accuracy 'rule any deny'
	for ((n = 1; n <= QUEUES; n++)); do
		paced 101 "$n"
		full_speed 200 "$n" 10
		full_speed 1000 "$n" 8
		full_speed 10000 "$n" 4
	done
}

# ---- under load: effects on other traffic

known_passed() {
	rl B stats b-known -j | json '.[0].rules[] | select(.rule | startswith("any udp dport 7")) | .passed.packets'
}

# A source that keeps to half its limit, among 16 million strangers at full speed.
innocent() {
	local before after
	# shellcheck disable=SC2034 # for flood_one()
	local -A TOTAL=()
	say 'a known source beside 16 million strangers'
	limiter known "rule any udp dport 7 limit 1000/second burst 100"$'\n'"rule any udp dport 9 limit 1/second burst 1"$'\n'"$NEW"
	set -- known --src 192.0.2.1 --dport 7 --rate 500 --cpu 0
	flood_one "$@" --count 500 # it becomes known
	bg send known --src 10.0.0.0/8 --cpu "$CPU" --seconds 4
	sleep 0.5
	before=$(known_passed)
	flood_one "$@" --count 1500
	after=$(known_passed)
	wait "$BG_PID" || die "the flood fails: $(tail -n 1 "$TMP/bg")"
	record innocent "$SENT" known 1 $((after - before))
}

big_setup() {
	cable big B
	echo 'rule 10.77.0.1 allow' >"$TMP/policy"
	cat "$TMP/policy" - <<<"$ONE" >"$TMP/few"
	limiter_on big --prefixes 1048576 --policy "$TMP/few"
	ip -n "$(ns A)" addr add 10.77.0.1/24 dev a-big || die 'cannot set an address'
	ip -n "$(ns B)" addr add 10.77.0.2/24 dev b-big || die 'cannot set an address'
	in_ns A ping -c 1 -W 2 10.77.0.2 >/dev/null || die 'no answer to a ping'
}

# on_0 CMD…: on a CPU other than the flood's, if there are two, since there it would starve.
on_0() { taskset -c 0 "$@"; }

apply_big() { on_0 "$RLCTL" -n "$(ns B)" -q apply -i b-big "$1" || die "cannot apply $1"; }

# apply_timed ROUND N ACTION: under flood, with a ping beside it.
apply_timed() {
	local from to ping
	: >"$TMP/gap" # or the last one's answer would be taken for this one's
	set -m # it then has a process group of its own
	on_0 nsenter --net="/run/netns/$(ns A)" nice -n -15 python3 tests/bench/gap.py 10.77.0.2 >"$TMP/gap" 2>&1 </dev/null &
	ping=$!
	set +m
	eventually 10 grep -q answered "$TMP/gap" || die "no answer to a ping: $(<"$TMP/gap")"
	from=${EPOCHREALTIME/./}
	apply_big "$TMP/$2-$3"
	to=${EPOCHREALTIME/./}
	kill -TERM -- "-$ping"
	wait "$ping"
	record apply "$2" "$3" "$1" $(((to - from) / 1000)) "$(sed -n 2p "$TMP/gap")"
}

# apply_back ROUND N ACTION: to a policy of no more than two rules.
apply_back() {
	local from=${EPOCHREALTIME/./}
	apply_big "$TMP/few"
	record back "$2" "$3" "$1" $(((${EPOCHREALTIME/./} - from) / 1000))
}

# rule_timed ROUND N: one rule, ten times over, beside N prefixes; microseconds for each.
rule_timed() {
	local from=${EPOCHREALTIME/./} n
	for n in {1..10}; do
		on_0 "$RLCTL" -n "$(ns B)" rule add -i b-big "192.0.2.$n" deny for 1h || die 'cannot add a rule'
	done
	record rule "$2" deny "$1" $(((${EPOCHREALTIME/./} - from) / 10))
}

applies() {
	local round n action
	say 'apply under flood'
	big_setup
	while read -r n action; do
		{ cat "$TMP/few" && prefixes out "$n" "$action"; } >"$TMP/$n-${action%% *}"
	done <<-'END'
		100000 limit 1/second burst 1
		100000 deny
		1000000 deny
	END
	bg send big --src 10.0.0.0/16 --cpu "$CPU" --seconds 3600
	for round in 1 2 3; do
		apply_timed "$round" 100000 limit
		apply_back "$round" 100000 limit
		rule_timed "$round" 2
		apply_timed "$round" 100000 deny
		rule_timed "$round" 100000
		apply_back "$round" 100000 deny
	done
	apply_timed 1 1000000 deny
	kill -TERM -- "-$BG_PID"
}
