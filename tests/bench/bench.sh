#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The benchmark: rlctl beside a bare XDP_DROP, a look-up and the limiters of other packages, in turns
# and within one run, so that drift hits all alike. Prints a table, writes docs/bench.json and has
# figures.py write the documents from it. Goals are shown as met or missed; only a malfunction makes
# it fail. Needs root; `make bench` builds what it needs. ROUNDS (5) and MS (150, of one flood) make it longer or shorter.
source "$(dirname "$0")/bed.sh"
cd "$TOP" || exit 1

ONE='rule any limit 1/second burst 1'
NEW='rule device new-source limit 10000/second burst 1000'
ALL='rule device limit 10000/second burst 1000'
MANY=16777216
PEERS=()
declare -A ALGORITHM=(
	[window]='sliding-window 1/second' [log]='sliding-log 1/second'
	[warm-up]='warm-up 1/second ramp 2s'
)
declare -A RETURNING=([hot]=$ONE [window]='rule any limit sliding-window 10/second')

[[ ${1:-} != --help && ${1:-} != -h ]] || {
	sed -n '3,7s/^# //p' "$0"
	exit 0
}
[[ $# -eq 0 ]] || { echo 'bench: no arguments, please' >&2 && exit 2; }
[[ $EUID -eq 0 ]] || die 'needs root'
./scripts/deps.sh --missing ip jq nsenter python3 gnuplot ethtool ping >&2 || exit 1

# ---- candidates

# peer NAME COMMAND PACKAGE: whether it is installed; reports a missing peer.
peer() {
	command -v "$2" >/dev/null && return
	record peer "$1" - - "not installed (package $3)"
	return 1
}

peer_setup() { # NAME FUNCTION
	if "$2" >"$TMP/peer" 2>&1; then
		PEERS+=("$1")
	else
		record peer "$1" - - "does not load here: $(tail -n 1 "$TMP/peer")"
	fi
}

nft_load() {
	in_ns N ethtool -K b-nft gro on && in_ns N nft -f - <<-'END'
		table netdev bench {
		  set meters { type ipv4_addr; size 131072; flags dynamic; timeout 60s; }
		  chain in {
		    type filter hook ingress device "b-nft" priority 0;
		    update @meters { ip saddr limit rate over 1/second burst 1 packets } drop
		  }
		}
	END
}

hashlimit_load() { # CANDIDATE NS HASHLIMIT-OPTION…
	in_ns "$2" ethtool -K "b-$1" gro on &&
		in_ns "$2" iptables -t raw -A PREROUTING -i "b-$1" -m hashlimit --hashlimit-above 1/sec \
			--hashlimit-burst 1 --hashlimit-mode srcip --hashlimit-name bench "${@:3}" -j DROP
}

# As many buckets as sources; and the default: at most 8,192.
iptables_load() {
	hashlimit_load iptables I --hashlimit-htable-size 65536 --hashlimit-htable-max 262144 \
		--hashlimit-htable-expire 60000
}
iptables_plain_load() { hashlimit_load iptables-8k J; }

# It has no rate limit: it denies all, after its look-ups. Its pins stay in a bpffs of its own.
xdp_filter_load() {
	# shellcheck disable=SC2016 # for the inner shell
	in_ns F unshare --mount sh -c 'mount -t bpf bpf /sys/fs/bpf &&
		exec xdp-filter load b-xdp-filter --mode native --policy deny'
}

peers_setup() {
	if peer nft nft nftables; then
		cable nft N && peer_setup nft nft_load
	fi
	if peer iptables iptables iptables; then
		cable iptables I && peer_setup iptables iptables_load
		cable iptables-8k J && peer_setup iptables-8k iptables_plain_load
	fi
	if peer xdp-filter xdp-filter xdp-tools; then
		cable xdp-filter F && peer_setup xdp-filter xdp_filter_load
	fi
}

candidates_setup() {
	local name
	say 'setting up'
	ns_new A B N I J F || die 'cannot make network namespaces'
	helper bare "$RECEIVER" --bare
	helper floor "$FLOOR" --keys 65536
	for name in hot lru cpu; do
		limiter "$name" "$ONE" --table "$name"
	done
	for name in "${!ALGORITHM[@]}"; do
		limiter "$name" "rule any limit ${ALGORITHM[$name]}" --log-depth 2 # for there is one in a log
	done
	if [[ $QUEUES -gt 1 ]]; then
		limiter_in generic generic "$ONE"
		limiter_in tc mode-tc "$ONE"
	fi
	peers_setup
}

# ---- sections

# Where the driver has no XDP: tc's program at ingress, beside the generic XDP that it replaces.
modes() {
	section modes 4 1 hot generic mode-tc
	section modes 4 65536 hot generic mode-tc
}

throughput() {
	local name
	section flood4 4 1 bare floor hot lru cpu
	section flood4 4 256 bare floor hot lru cpu "${PEERS[@]}"
	section flood4 4 4096 bare hot lru cpu
	section flood4 4 65536 bare floor hot lru cpu window log warm-up "${PEERS[@]}"
	[[ $CPUS -lt 2 ]] || cpus
	[[ $QUEUES -lt 2 ]] || modes
	for name in 1 256 65536; do
		section flood6 6 "$name" bare hot lru cpu
	done
	for name in hot lru cpu; do
		policy "$name" "$ONE"$'\n'"$NEW"
	done
	for name in "${!ALGORITHM[@]}"; do
		policy "$name" "rule any limit ${ALGORITHM[$name]}"$'\n'"$NEW"
	done
	limiter device "$ONE"$'\n'"$ALL"
	section flood4 4 $MANY bare hot device lru cpu window log warm-up
	section flood6 6 $MANY bare hot device
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
	section aged 4 $MANY bare hot window
}

cpus() {
	section_cpus 1 bare floor hot
	section_cpus 65536 bare floor hot lru cpu
}

# prefixes KIND N ACTION: a policy of N prefixes that match no source of the flood or cover its sources: up to
# 1024 as /26 networks of it, more as single addresses, beyond 65,536 without any source of the flood.
prefixes() {
	echo "$ONE"
	awk -v kind="$1" -v n="$2" -v action="$3" 'BEGIN {
		for (i = 0; i < n; i++) {
			if (kind == "in" && n <= 1024) {
				a = i * 64; length_ = 26; net = 10
			} else {
				a = i; length_ = 32; net = kind == "in" && i < 65536 ? 10 : 100
			}
			printf "rule %d.%d.%d.%d/%d %s\n", net, a / 65536, a / 256 % 256, a % 256, length_, action
		}
	}'
}

prefix_costs() {
	local n kind list=(bare p0)
	limiter p0 "$ONE" --prefixes 131072
	for n in 10 1000 100000; do
		for kind in in out; do
			[[ $n$kind != 10out ]] || continue
			prefixes "$kind" "$n" 'limit 1/second burst 1' >"$TMP/prefixes"
			cable "$kind$n" B && limiter_on "$kind$n" --prefixes 131072 --policy "$TMP/prefixes"
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
	local round name ns verdict i=0 ids=() names=(hot lru cpu two four eight)
	local -A on=([hot]=hot [lru]=lru [cpu]=cpu [two]=p0 [four]=in10 [eight]=in1000)
	local -A limits=([hot]=1 [lru]=1 [cpu]=1 [two]=2 [four]=4 [eight]=8) name_of=()
	say "the admit path, and several limits a packet"
	for name in "${names[@]}"; do
		policy "${on[$name]}" "$(generous "${limits[$name]}")"
		ids+=("$(program_of "${on[$name]}")")
		name_of[${ids[i++]}]=$name
	done
	nice -n -15 taskset -c "$CPU" "$FLOOR" --run --rounds "$(rounds)" "${ids[@]}" >"$TMP/admit" ||
		die 'cannot run the programs'
	while read -r round name ns verdict; do
		name=${name_of[$name]:-$name}
		[[ $verdict == 2 ]] || die "$name does not pass the packet: $verdict"
		record admit "${limits[$name]:-0}" "$name" "$round" "$ns"
	done <"$TMP/admit"
}

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
		{ cat "$TMP/policy" && prefixes out "$n" "$action"; } >"$TMP/$n-${action%% *}"
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

SECONDS=0
candidates_setup
throughput
prefix_costs
admit_costs
accuracy
innocent
applies
record run seconds - - "$SECONDS" "$("$RLCTL" --version)" "$ROUNDS" "$MS"
python3 tests/bench/report.py "$RAW" docs/bench.json "$TMP" || die 'cannot make the report'
python3 tests/bench/figures.py || die 'cannot write the figures into the documents'
echo "figures: docs/bench.json, docs/performance.md, README.md, SECURITY.md; drawn: docs/bench.svg; $SECONDS s"
