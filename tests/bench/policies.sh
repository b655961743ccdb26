#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Whole policies under floods of packets that they refuse, in turns with a program that only drops, with the plain policy
# and with the floors: the programs alone, over packets from random sources, without and with 100,000 connections and
# as many UDP sockets on the machine; and floods through a veth. Prints tables, writes docs/bench_policies.json and has
# figures.py write docs/performance.md; OUT=DIR writes the first there instead. ROUNDS (9) and MS (150, of one flood) make
# it longer or shorter. Needs root; `make bench-policies` builds what it needs.
#   policies.sh --quick [--other RLCTL] [--sockets] [POLICY…]  prints a table only, of `quick-start` and the plain policies
#     or of those that are named, by the programs alone and in fewer rounds; --other: beside the same policies by another
#     build; --sockets: with the connections and sockets, rather than without.
#   policies.sh --list  prints their names.
source "$(dirname "$0")/bed.sh"
cd "$TOP" || exit 1
source "$TOP/tests/bench/policy_texts.sh"

STRANGERS=$TOP/build/strangers
SOCKETS=${SOCKETS:-100000} # of each kind
LOCAL=10.77.0.2            # whose packets strangers makes
PEERS=172.16.0.0           # and those after it: no source of a flood
MANY=16777216
YARDSTICK=plain-new
FLOORS=(line line_filter)
export LIBXDP_SKIP_DISPATCHER=1 # so that a tail call reaches our program

# ---- options

BRIEF='' OTHER='' CROWDED=''
usage() { sed -n '3,12s/^# \?//p' "$0"; }
wrong() {
	echo "policies: $*" >&2
	exit 2
}
while [[ ${1:-} == -* ]]; do
	case "$1" in
	--quick) BRIEF=1 ;;
	--other)
		OTHER=$(realpath -e "${2:-}" 2>/dev/null) || wrong '--other: name the rlctl of another build'
		shift
		;;
	--sockets) CROWDED=1 ;;
	--list) printf '%s\n' "${NAMES[@]}" && exit 0 ;;
	--help | -h) usage && exit 0 ;;
	*) wrong "$1: no such option; see --help" ;;
	esac
	shift
done
for name in "$@"; do
	[[ -n ${TEXT[$name]:-} ]] || wrong "$name: no such policy; --list names them"
done
[[ -n $BRIEF || ($# -eq 0 && -z $OTHER$CROWDED) ]] || wrong 'policies, --other and --sockets go with --quick'
[[ $EUID -eq 0 ]] || die 'needs root'
if [[ $# -gt 0 ]]; then
	mapfile -t NAMES < <(printf '%s\n' plain "$YARDSTICK" "$@" | awk '!seen[$0]++')
elif [[ -n $BRIEF ]]; then
	NAMES=(plain "$YARDSTICK" quick-start)
fi

# ---- candidates

# million: as many addresses, none of which is a source of a flood.
million() { awk 'BEGIN { for (i = 0; i < 1000000; i++) printf "100.%d.%d.%d\n", i / 65536, i / 256 % 256, i % 256 }'; }

CANDIDATES=()
declare -A POLICY_OF=()
place() { # CANDIDATE POLICY
	limiter "$1" "${TEXT[$2]}"
	POLICY_OF[$1]=$2
	CANDIDATES+=("$1")
	[[ ${TEXT[$2]} != *'set bad '* ]] || rl B -q set swap -i "b-$1" bad "$TMP/million" || die "cannot fill the set of $1"
}

# The name of a device has 15 characters at most.
candidates_setup() {
	local name n=0
	say "attaching: ${NAMES[*]}"
	ns_new A B || die 'cannot make network namespaces'
	cable idle B
	million >"$TMP/million"
	for name in "${NAMES[@]}"; do
		n=$((n + 1))
		place "p$n" "$name"
		[[ -z $OTHER ]] || RLCTL=$OTHER place "o$n" "$name"
	done
}

title() { # CANDIDATE: its name in the table
	local name=${POLICY_OF[$1]:-$1}
	[[ $1 != o* ]] || name=other:$name
	echo "$name"
}

# dropped_by CANDIDATE: the packets that it has dropped, by the build that attached it.
dropped_by() {
	local build=$RLCTL
	[[ $1 != o* ]] || build=$OTHER
	RLCTL=$build dropped "$1"
}

# ---- the programs alone

# alone PROTO SOURCES SOCKETS: all programs in turns.
alone() {
	local proto=$1 n=$2 case="$1/$2/$3" candidate round name ns words=(bare "${FLOORS[@]}")
	local -A before=()
	[[ $proto == udp ]] && words+=(look_up_udp) || words+=(look_up_tcp)
	say "$proto, $n sources, $3 sockets"
	for candidate in "${CANDIDATES[@]}"; do
		words+=("$candidate=$(program_of "$candidate"),${DPORT[${POLICY_OF[$candidate]}]}")
		before[$candidate]=$(dropped_by "$candidate") || exit 1
	done
	in_ns B nice -n -15 taskset -c "$CPU" "$STRANGERS" -i b-idle --proto "$proto" --sources "$n" --rounds "$(rounds)" \
		--slices "$SLICES" --packets "$PACKETS" --warm "$(warm "$n")" "${words[@]}" >"$TMP/strangers" ||
		die 'cannot run the programs'
	while read -r round name ns; do
		if [[ $round != packets ]]; then
			record alone "$case" "$(title "$name")" "$round" "$ns"
		elif [[ -n ${POLICY_OF[$name]:-} ]]; then
			record refused "$case" "$(title "$name")" 0 "$(($(dropped_by "$name") - ${before[$name]}))/$ns"
		fi
	done <"$TMP/strangers"
}

# warm SOURCES: packets after which nearly every source has spent its burst again.
warm() { echo $(($1 > 1000000 ? 100000 : 50000 + 3 * $1)); }

sections() { # [SOCKETS]
	local n
	for n in 1 65536 $MANY; do
		alone udp "$n" "${1:-0}"
	done
	alone syn $MANY "${1:-0}"
	alone ack $MANY "${1:-0}"
}

# ---- with sockets

ready() { [[ $(grep -cx ready "$TMP/bg") -eq 3 ]]; }

# Until the bench ends. Those of UDP are a resolver's.
sockets() {
	say "$SOCKETS connections from as many peers, and as many UDP sockets"
	link "$LOCAL" "$PEERS/12" || die 'cannot set the addresses'
	bg in_ns B python3 tests/bench/sockets.py listen "$LOCAL" 9 "$SOCKETS"
	eventually 10 listening || die 'nobody listens'
	bg in_ns A python3 tests/bench/sockets.py connect "$LOCAL" 9 "$PEERS" 40000 "$SOCKETS"
	bg in_ns B python3 tests/bench/sockets.py udp-connected "$LOCAL" 1024 "$PEERS" 53 "$SOCKETS"
	eventually 180 ready || die "no $SOCKETS sockets: $(tail -n 2 "$TMP/bg")"
}

# ---- floods

# flooded SOURCES: through a veth, whose far end has no address: packets that pass end at a routing table without a route.
flooded() {
	local n=$1 round candidate before
	local -A FRAMES=() TOTAL=()
	say "flood, $n sources"
	for candidate in bare "${CANDIDATES[@]}"; do
		into "$candidate" "$n" 0 100000
		FRAMES[$candidate]=$(frames_for "$PPS")
	done
	for ((round = 1; round <= $(rounds); round++)); do
		for candidate in bare "${CANDIDATES[@]}"; do
			spent "$candidate" "$n"
			before=$(dropped_by "$candidate") || exit 1
			into "$candidate" "$n" "$round" "${FRAMES[$candidate]}"
			record flood "udp/$n/0" "$(title "$candidate")" "$round" "$PPS"
			record flood-refused "udp/$n/0" "$(title "$candidate")" "$round" "$(($(dropped_by "$candidate") - before))/$SENT"
		done
	done
}

into() { # CANDIDATE SOURCES SEED COUNT FLOOD-ARG…
	flood_one "$1" --src "$(sources 4 "$2")" --dport "${DPORT[${POLICY_OF[$1]:-plain}]}" --cpu "$CPU" --seed "$3" \
		--count "$4" "${@:5}"
}

# spent CANDIDATE SOURCES: each has spent its burst. 16 million sources are strangers however often they come.
spent() { [[ $2 -gt 1000000 ]] || into "$1" "$2" 1 $((2 * $2)) --sequential; }

# ----

SLICES=8 PACKETS=50000
if [[ -n $BRIEF ]]; then
	# shellcheck disable=SC2034 # for rounds()
	ROUNDS=5 SLICES=4 PACKETS=25000
	candidates_setup
	[[ -z $CROWDED ]] || sockets
	sections "${CROWDED:+$SOCKETS}"
	python3 tests/bench/policies.py "$RAW" || exit 1
	exit 0
fi
python3 tests/bench/busy.py $$ >"$TMP/busy-before" || die 'cannot read how busy the machine is'
candidates_setup
helper bare "$RECEIVER" --bare
sections
for n in 1 65536 $MANY; do
	flooded "$n"
done
sockets
sections "$SOCKETS"
python3 tests/bench/busy.py $$ >"$TMP/busy-after" || die 'cannot read how busy the machine was'
mkdir -p "$OUT/docs"
python3 tests/bench/policies.py "$RAW" "$OUT/docs/bench_policies.json" "$TMP" || exit 1
[[ $OUT != "$TOP" ]] || python3 tests/bench/figures.py
