#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Long life under a flood: every second another policy, and looks at everything; sources that come and
# go, watchers and a fleet's agent that stay, a member that joins and leaves. At the end the counters are
# the generator's total to the packet, nothing has grown, and the policy in force is the last.
# A minute; five of them in `check.sh --slow`; SOAK_S=1800 tests/net/test_soak.sh for half an hour.
# check: beside
# check: timeout 480
source "$(dirname "$0")/fleet.sh"

SOAK_S=${SOAK_S:-$([[ ${SLOW:-} ]] && echo 300 || echo 60)}
RATE=10000 # packets per second
PORT=

# policy_of N: the policy of the N-th second; each kind of state, and prefixes that come and go.
policy_of() {
	case $(($1 % 4)) in
	0)
		printf 'rule any limit 100/second burst 20\nrule device limit 1000000/second\n'
		echo 'rule 10.64.0.0/28 limit 200/second burst 50 fleet'
		;;
	1) printf 'rule any limit sliding-window 20/second\nrule 10.64.0.0/16 limit sliding-log 50/second\n' ;;
	2)
		echo 'rule any limit warm-up 100/second ramp 1s'
		printf 'rule 10.64.%d.0/24 limit 10/second burst 5 over ban 1s\n' {0..199}
		;;
	3) printf 'rule any limit fixed-window 10/second\nrule 10.65.0.0/16 deny\nrule 10.66.0.0/16 allow\n' ;;
	esac
}

# watch NAME CMD…: runs until the end, and is one of those that may not grow. It says it to $TMP/NAME.
declare -A WATCHERS=()
watch() {
	bg into "$TMP/$1" "$RLCTL" -n "$(ns B)" "${@:2}"
	WATCHERS[$1]=$BG_PID
}

# into FILE CMD…: becomes CMD.
into() { exec "${@:2}" >"$1" 2>"$1.err"; }

exporter_listens() {
	PORT=$(in_ns B ss -Hltnp | sed -n 's/.*127\.0\.0\.1:\([0-9]*\).*"rlctl".*/\1/p' | head -n 1)
	[[ -n $PORT ]]
}

# size_of PID: descriptors, and resident memory that is its own, in KiB.
size_of() { echo "$(descriptors_of "$1") $(awk '/^RssAnon/ { print $2 }' "/proc/$1/status")"; }

# largest_seen: the watchers have seen the policy that takes most memory: on a slow machine it comes late.
largest_seen() {
	policy_of 2 | rl B -q apply - && exported >&2 && eventually 10 prints "$(policy_of 2 | wc -l)" printed_rules
}
printed_rules() { tail -n 1 "$TMP/stats" | json '.[0].rules | length'; }

# sizes: a line for each watcher, and what the pinned maps take, under the policy of second 0, which the agent has read:
# it has three descriptors more while a policy has limits of the fleet.
sizes() {
	local name pin
	largest_seen || return
	policy_of 0 | rl B apply - >&2 && eventually 5 fleet_is B '.limits[0].shared' || return
	for name in "${!WATCHERS[@]}"; do
		echo "$name $(size_of "${WATCHERS[$name]}")" || return
	done
	for pin in "$(ns_pins B)"/*/*; do
		bpftool -j map show pinned "$pin" 2>/dev/null
	done | jq -s '[.[].bytes_memlock | tonumber] | "maps \(length) \(add / 1024 | floor)"' -r
}

# look CMD…: its output is ignored, unless it is an error.
look() { rl B "$@" >/dev/null; }

# one_second N: all others look in each fourth.
one_second() {
	policy_of "$1" | rl B -q apply - && neighbour "$1" || return
	[[ $(($1 / 4 % 4)) -eq $(($1 % 4)) ]] || return 0 # each kind of policy is looked at
	look stats -j && look top --once -j && look source forgive 10.64.0.7 && look fleet status -j &&
		is "$(rl B show | wc -l)" "$(policy_of "$1" | wc -l)" &&
		in_ns B curl -fsS "http://127.0.0.1:$PORT/metrics" -o /dev/null
}

# neighbour N: the other member comes and goes.
neighbour() {
	case $(($1 % 20)) in
	5) join C ;;
	15) rl C -q fleet leave ;;
	esac
}

# One after the other: two at once would count each other's frames.
floods() {
	local source
	for source in 10.64.0.0/26 fd78::/58 10.64.0.0/14 fd78:1::/48; do
		flood A --seconds $((SOAK_S / 4)) --rate "$RATE" --batch 16 --src "$source" --sport 0 >>"$TMP/floods" 2>>"$TMP/floods.err" || return
	done
}

flooding() { kill -0 "$FLOODS" 2>/dev/null; }

# No process substitution in the loop: over hours bash confuses its children, as process ids are reused.
test_soak() {
	local second=0 next=$EPOCHREALTIME begin=$SECONDS
	bg floods
	FLOODS=$BG_PID
	while flooding; do
		one_second $((++second)) >"$TMP/second" 2>&1 || { cat "$TMP/second" && return 1; }
		if [[ ! -e $TMP/sizes-early && $((SECONDS - begin)) -ge $((SOAK_S / 5)) ]]; then
			sizes >"$TMP/sizes-early" || return
		fi
		next=$(jq -n "[$next + 1, now] | max")
		sleep "$(jq -n "[$next - now, 0] | max")"
	done
	wait "$FLOODS" || { echo "the flood ended with $?" && cat "$TMP/floods.err" && return 1; }
	echo "$second policies" && [[ $second -ge $((SOAK_S / 20)) ]] || return
	sizes >"$TMP/sizes-late"
}

all_packets() { stat_of B '.passed.packets + .dropped.packets'; }

test_counters() {
	local sent
	sent=$(jq -s 'if all(.exact) then map(.sent) | add else null end' "$TMP/floods") &&
		rl B stats -j | jq -c '.[0].reasons | map_values(.packets)' && cat "$TMP/floods" &&
		is "$(all_packets)" "$sent" &&
		[[ $sent -gt $((RATE * SOAK_S / 2)) ]]
}

# The numbers of descriptors and maps are unchanged; memory is within the slack of allocators.
test_sizes() {
	local name fds kib name_late fds_late kib_late rows=0
	sort "$TMP/sizes-early" >"$TMP/early" && sort "$TMP/sizes-late" >"$TMP/late" || return
	paste -d ' ' "$TMP/early" "$TMP/late" | tee "$TMP/sizes"
	while read -r name fds kib name_late fds_late kib_late; do
		is "$name_late $fds_late" "$name $fds" && between "$kib_late" 1 $((kib + 512)) || return
		rows=$((rows + 1))
	done <"$TMP/sizes"
	is "$rows" $((${#WATCHERS[@]} + 1))
}

exported() {
	in_ns B curl -fsS "http://127.0.0.1:$PORT/metrics" |
		awk '/^rlctl_(passed|dropped)_packets_total/ { sum += $NF } END { printf "%d\n", sum }'
}
printed() { tail -n 1 "$TMP/stats" | json '.[0] | .passed.packets + .dropped.packets'; }

# Each of them depends on packets that are sent only now; a lease ends soon after the packets that need it.
test_alive() {
	local sent
	flood A --count 100 --src 10.99.0.1 && sent=$(all_packets) || return
	eventually 5 prints "$sent" exported && eventually 5 prints "$sent" printed &&
		eventually 5 grep -F 10.99.0.1 "$TMP/monitor" &&
		bg flood A --seconds 15 --rate 1000 --src 10.64.0.3 && eventually 4 fleet_is B '.leases > 0' && wait "$BG_PID"
}

veth_pair A B && veth_quiet A B && ns_mute A && rl B -q attach veth-B --table hot || exit 1
watch exporter exporter --listen 127.0.0.1:0
watch monitor monitor --rate 10 -j
watch stats stats --watch 1 -j
redis_start && member C && rl C -q rule add 10.64.0.0/28 limit 200/second burst 50 fleet && join B || exit 1
WATCHERS[fleet]=${AGENT[B]}
# A watcher keeps a descriptor from its first question on: before the first sizes, all have asked.
eventually 10 exporter_listens && exported >"$TMP/exported" && eventually 10 fleet_is B '.mode == "shared"' || exit 1
t "$SOAK_S seconds under flood, with an apply in each" test_soak
t 'counters add up to the packet' test_counters
t 'nothing has grown' test_sizes
t 'who watched still does' test_alive
t 'the fleet is shared' fleet_is B '.mode == "shared"'
t 'nothing is left over' has 'leftovers  none' rl B doctor
