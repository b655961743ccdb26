#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The benchmark: rlctl beside a bare XDP_DROP, the floors of any limiter and the limiters of other packages,
# in turns and within one run, so that drift hits all alike. Prints a table, writes docs/bench.json and has
# figures.py write the documents from it; OUT=DIR writes both there instead, to try it. Goals are shown as met
# or missed; only a malfunction makes it fail. Needs root; `make bench` builds what it needs. ROUNDS (9; about
# half as many where no goal hangs on it) and MS (150, of one flood) make it longer or shorter.
source "$(dirname "$0")/bed.sh"
source "$TOP/tests/bench/peers.sh"
source "$TOP/tests/bench/mechanisms.sh"
source "$TOP/tests/bench/effects.sh"
cd "$TOP" || exit 1

ONE='rule any limit 1/second burst 1'
NEW='rule device new-source limit 10000/second burst 1000'
ALL='rule device limit 10000/second burst 1000'
LIMITS='limit 1/second burst 1'
MILLION=1048576
MANY=16777216
FLOORS=(floor line-1m line-4m)
declare -A ALGORITHM=(
	[window]='sliding-window 1/second' [log]='sliding-log 1/second'
	[warm-up]='warm-up 1/second ramp 2s'
)
declare -A RETURNING=([hot]=$ONE [window]='rule any limit sliding-window 10/second')

no_arguments "$@"
./scripts/deps.sh --missing ip jq nsenter python3 gnuplot ethtool ping >&2 || exit 1

# ---- candidates

candidates_setup() {
	local name
	say 'setting up'
	ns_new A B N I J F || die 'cannot make network namespaces'
	helper bare "$RECEIVER" --bare
	helper floor "$FLOOR" --keys 65536
	helper line-1m "$FLOOR" --array $((1 << 20))
	helper line-4m "$FLOOR" --array $((1 << 22))
	for name in hot lru cpu; do
		limiter "$name" "$ONE" --table "$name"
	done
	limiter device "$ONE"$'\n'"$ALL"
	limiter new-source "$ONE"$'\n'"$NEW"
	for name in "${!ALGORITHM[@]}"; do
		limiter "$name" "rule any limit ${ALGORITHM[$name]}" --log-depth 2 # for there is one in a log
	done
	peers_setup
}

# strangers_limited: from now on the policies of the candidates hold 16 million sources, too.
strangers_limited() {
	local name
	for name in hot lru cpu; do
		policy "$name" "$ONE"$'\n'"$NEW"
	done
	for name in "${!ALGORITHM[@]}"; do
		policy "$name" "rule any limit ${ALGORITHM[$name]}"$'\n'"$NEW"
	done
}

# ---- sections

throughput() {
	local n
	local often=(bare "${FLOORS[@]}" hot device new-source lru cpu) few=(bare "${FLOORS[@]}" hot device lru cpu)
	section flood4 4 1 "${often[@]}"
	TURNS=$FEWER section flood4 4 16 "${few[@]}"
	section flood4 4 256 "${often[@]}" "${PEERS[@]}"
	TURNS=$FEWER section flood4 4 4096 "${few[@]}"
	section flood4 4 65536 "${often[@]}" window log warm-up "${PEERS[@]}"
	[[ $CPUS -lt 2 ]] || cpus
	for n in 1 256 65536; do
		TURNS=$FEWER section flood6 6 "$n" bare line-1m line-4m hot lru cpu
	done
	mechanisms
	strangers_limited
	TURNS=$FEWER section flood4 4 $MILLION "${few[@]}"
	section flood4 4 $MANY "${few[@]}" window log warm-up
	TURNS=$FEWER section flood6 6 $MANY bare line-1m line-4m hot device
	[[ $CPUS -lt 2 ]] || TURNS=$FEWER section_cpus $MANY lru cpu
	aged
}

# The same strangers for a table to which 300,000 sources, more than it has slots, have come back: their
# states have been spilled, and have run out when the flood begins.
aged() {
	local name n
	local -A TOTAL=()
	say '300,000 sources come back'
	for name in hot window; do
		policy "$name" "${RETURNING[$name]}"
		for n in 1 2 3; do
			flood_one "$name" --src 10.0.0.0/14 --count 800000 --cpu "$CPU" --seed "$n"
			flood_one "$name" --src 10.4.0.0/17 --count 100000 --cpu "$CPU" --seed "$n"
		done
		policy "$name" "${RETURNING[$name]}"$'\n'"$NEW"
	done
	sleep 3
	TURNS=$FEWER section aged 4 $MANY bare "${FLOORS[@]}" hot window
}

cpus() {
	section_cpus 1 bare floor hot
	section_cpus 65536 bare floor line-4m hot
	TURNS=$FEWER section_cpus 65536 lru cpu
}

# prefixes KIND N ACTION: N prefixes that together cover the 65,536 sources of a flood (in), or none of them
# (out). Covering ones are as long as it takes, at most single addresses; those beyond 65,536 lie elsewhere.
prefixes() {
	awk -v kind="$1" -v n="$2" -v action="$3" '
		function rule(net, a, len) {
			printf "rule %d.%d.%d.%d/%d %s\n", net, a / 65536, a / 256 % 256, a % 256, len, action
		}
		BEGIN {
			len = 16
			blocks = kind == "in"
			while (blocks && 2 * blocks <= n && len < 32) {
				blocks *= 2
				len++
			}
			size = blocks ? 65536 / blocks : 0
			halved = len < 32 && blocks ? n - blocks : 0 # so many blocks are two prefixes each
			for (i = 0; i < blocks; i++) {
				rule(10, i * size, i < halved ? len + 1 : len)
				if (i < halved)
					rule(10, i * size + size / 2, len + 1)
			}
			for (i = blocks + halved; i < n; i++)
				rule(100, i, 32)
		}'
}

# prefix_policy KIND N: limits, as many as a device may have; what is beyond that and elsewhere is denied.
prefix_policy() {
	echo "$ONE"
	if [[ $2 -le 100000 ]]; then
		prefixes "$1" "$2" "$LIMITS"
	else
		prefixes "$1" "$2" deny | sed "1,65536s|deny$|$LIMITS|"
	fi
}

prefix_costs() {
	local n kind list=(bare "${FLOORS[@]}" p0)
	limiter p0 "$ONE" --prefixes 131072
	for n in 1 10 1000 100000 1000000; do
		for kind in in out; do
			prefix_policy "$kind" "$n" >"$TMP/prefixes"
			cable "$kind$n" B && limiter_on "$kind$n" --prefixes 1048576 --policy "$TMP/prefixes"
			list+=("$kind$n")
		done
	done
	section prefixes 4 65536 "${list[@]}"
}

# generous N: N limits that admit all packets, each by another key.
generous() {
	local i
	for ((i = 0; i < $1; i++)); do
		echo "rule any limit 100m/second burst 100m per source/$((32 - 3 * i)),64"
	done
}

# The admit path without the stack behind it: programs run over one packet in a loop.
admit_costs() {
	local name names=(hot lru cpu)
	local -A LIMITS_OF=([hot]=1 [lru]=1 [cpu]=1 [two]=2 [four]=4 [eight]=8 [and-bytes]=2 [and-device]=2)
	say 'the admit path, and several limits a packet'
	for name in hot lru cpu; do
		policy "$name" "$(generous 1)"
	done
	for name in two four eight; do
		limiter "$name" "$(generous "${LIMITS_OF[$name]}")" && names+=("$name")
	done
	limiter and-bytes "$(generous 1)"$'\n''rule any limit 1gibyte/second burst 1gibyte'
	limiter and-device "$(generous 1)"$'\n''rule device limit 100m/second burst 100m'
	loops admit "${names[@]}" and-bytes and-device
}

SECONDS=0
python3 tests/bench/busy.py $$ >"$TMP/busy-before" || die 'cannot tell how busy the machine is'
candidates_setup
throughput
prefix_costs
admit_costs
accuracy
innocent
applies
python3 tests/bench/busy.py $$ >"$TMP/busy-after" || die 'cannot tell how busy the machine was'
record run seconds - - "$SECONDS" "$("$RLCTL" --version)" "$ROUNDS" "$MS"
if [[ $OUT != "$TOP" ]]; then
	mkdir -p "$OUT" || die "cannot make $OUT"
	cp -r ./*.md docs "$OUT" || die "cannot write to $OUT"
fi
python3 tests/bench/report.py "$RAW" "$OUT/docs/bench.json" "$TMP" || die 'cannot make the report'
python3 tests/bench/figures.py "$OUT" || die 'cannot write the figures into the documents'
echo "figures: docs/bench.json, docs/performance.md, README.md, SECURITY.md; drawn: docs/bench.svg; $SECONDS s"
