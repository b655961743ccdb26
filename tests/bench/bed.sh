# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# The test bed of bench.sh: a cable for each candidate, from namespace A to a namespace of its own, so that
# candidates can alternate; floods whose figures go to $RAW, one line each; and a cross-check that all packets
# that should have been dropped were. It judges nothing: report.py does.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

FLOOD=${FLOOD:-$TOP/build/flood}
FLOOR=${FLOOR:-$TOP/build/floor}
RECEIVER=${RECEIVER:-$TOP/build/receiver}
ROUNDS=${ROUNDS:-9}
# shellcheck disable=SC2034 # for bench.sh
FEWER=$(((ROUNDS + 1) / 2)) # where no goal hangs on it: TURNS=$FEWER section …
MS=${MS:-150}               # how long one flood is to last
CPUS=$(nproc)
CPU=$((CPUS > 1)) # where a single flood runs; 0 is left to everything else
QUEUES=$((CPUS > 1 ? 2 : 1))
RAW=$TMP/raw
OUT=${OUT:-$TOP}

declare -A HOME_OF=() # candidate: the namespace of its receiving end
SENT=0 SECONDS_SENT=0 PPS=0

die() {
	echo "$(basename "$0" .sh): $*" >&2
	exit 1
}

# no_arguments "$@": of a bench that takes none, and whose first comment says how to use it.
no_arguments() {
	[[ ${1:-} != --help && ${1:-} != -h ]] || { sed -n '3,/^[^#]/s/^# //p' "$0" && exit 0; }
	[[ $# -eq 0 ]] || { echo "$(basename "$0" .sh): no arguments, please" >&2 && exit 2; }
	[[ $EUID -eq 0 ]] || die 'needs root'
}

# publish NAME [ARG…]: what was measured into NAME.json, and from there into the documents.
publish() {
	mkdir -p "$OUT/docs" && python3 tests/bench/rows.py "$1" "$RAW" "${@:2}" "$OUT/docs/$1.json" || exit 1
	[[ $OUT != "$TOP" ]] || python3 tests/bench/figures.py
}

say() { printf '%4d s  %s\n' "$SECONDS" "$*" >&2; }

# record SECTION CASE CANDIDATE ROUND VALUE…: one line of raw results, tab-separated.
record() {
	local IFS=$'\t'
	echo "$*" >>"$RAW"
}

# ---- cables and what hangs on them

# cable CANDIDATE NS: a-CANDIDATE in A, b-CANDIDATE in NS. No addresses: packets that a candidate admits end
# at a routing table without a route.
cable() {
	local queues="numtxqueues $QUEUES numrxqueues $QUEUES" end
	# shellcheck disable=SC2086 # queues is several words
	ip -n "$(ns A)" link add "a-$1" $queues type veth peer name "b-$1" $queues \
		netns "$(ns "$2")" || die "cannot make a veth pair for $1"
	for end in "A a-$1" "$2 b-$1"; do
		ip -n "$(ns "${end% *}")" link set "${end#* }" addrgenmode none up || die "cannot set ${end#* } up"
	done
	HOME_OF[$1]=$2
}

attached() { grep -q "$1: attached" "$TMP/bg"; }

# helper CANDIDATE CMD…: a program that stays while the bench lasts and says when it is in place.
helper() {
	local name=$1
	shift
	cable "$name" B
	bg in_ns B "$@" -i "b-$name"
	eventually 10 attached "b-$name" || die "$1 does not attach: $(tail -n 3 "$TMP/bg")"
}

# limiter CANDIDATE POLICY ATTACH-OPTION…
limiter() {
	cable "$1" B
	echo "$2" >"$TMP/policy"
	limiter_on "$1" --policy "$TMP/policy" "${@:3}"
}

limiter_on() { rl B -q attach "b-$1" --mode native "${@:2}" || die "cannot attach rlctl for $1"; }

# limiter_in MODE CANDIDATE POLICY: at xdp, but not in native mode; tc's program takes its place where the
# device has fewer queues than its peer sends into. Without GRO, a veth delivers packets sent from an XDP
# program only to native XDP.
limiter_in() {
	local option=(--mode "$1")
	cable "$2" B
	in_ns B ethtool -K "b-$2" gro on || die "no GRO on b-$2"
	[[ $1 != tc ]] || { in_ns B ethtool -L "b-$2" rx 1 && option=(); } || die "b-$2 keeps its queues"
	rl B -q attach "b-$2" "${option[@]}" --policy - <<<"$3" || die "cannot attach rlctl for $2"
	[[ $(rl B status "b-$2" -j | json '.[0].mode') == "$1" ]] || die "$2 is not in mode $1"
}

# policy CANDIDATE TEXT: another policy on a limiter, with fresh state.
policy() {
	if ! rl B -q rule flush -i "b-$1" || ! rl B -q apply -i "b-$1" - <<<"$2"; then
		die "cannot apply: $2"
	fi
}

program_of() { xdp_program B "b-$1"; }

# link LOCAL PEERS/LEN: a cable for connections, where no limiter is, between an address of B and peers that are A.
link() {
	ip -n "$(ns A)" link add a-link type veth peer name b-link netns "$(ns B)" &&
		ip -n "$(ns A)" link set a-link up && ip -n "$(ns B)" link set b-link up &&
		ip -n "$(ns A)" addr add 10.78.0.1/30 dev a-link && ip -n "$(ns B)" addr add 10.78.0.2/30 dev b-link &&
		ip -n "$(ns B)" addr add "$1/32" dev lo && ip -n "$(ns A)" route add "$1/32" via 10.78.0.2 &&
		ip -n "$(ns A)" route add local "$2" dev lo && ip -n "$(ns B)" route add "$2" via 10.78.0.1
}

listening() { in_ns B ss -Hltn "sport = :9" | grep -q .; }

# ---- floods

rounds() { echo "${TURNS:-$ROUNDS}"; }

# bits N: of N addresses, a power of two.
bits() {
	local bits=0 n=$1
	while [[ $n -gt 1 ]]; do
		n=$((n / 2)) bits=$((bits + 1))
	done
	echo "$bits"
}

# sources FAMILY N: the prefix of N sources; of IPv6 they are /64 networks.
sources() {
	local bits
	bits=$(bits "$2")
	if [[ $1 == 4 ]]; then
		[[ $bits -eq 0 ]] && echo 10.0.0.1 || echo "10.0.0.0/$((32 - bits))"
	else
		[[ $bits -eq 0 ]] && echo 2001:db8::1 || echo "2001:db8::/$((64 - bits))"
	fi
}

send() { # CANDIDATE FLOOD-ARG…: the flood's JSON
	in_ns A nice -n -15 "$FLOOD" -j -i "a-$1" "${@:2}"
}

taken() { # JSON: into SENT, SECONDS_SENT, PPS
	[[ $1 =~ \"sent\":([0-9]+).*\"seconds\":([0-9.]+),\"pps\":([0-9]+) ]] || die "flood says: $1"
	SENT=${BASH_REMATCH[1]} SECONDS_SENT=${BASH_REMATCH[2]} PPS=${BASH_REMATCH[3]}
}

flood_one() { # CANDIDATE FLOOD-ARG…
	local answer
	answer=$(send "$@") || die "the flood into $1 fails"
	taken "$answer"
	TOTAL[$1]=$((${TOTAL[$1]:-0} + SENT))
}

# prime CANDIDATE FAMILY N: every source has spent its burst, and is known, before the measurement. 16 million
# sources are strangers however often they come.
prime() {
	[[ $3 -le 1000000 ]] || return 0
	flood_one "$1" --src "$(sources "$2" "$3")" --sequential --count $(($3 * 2)) --cpu "$CPU"
	TOTAL[$1]=$((TOTAL[$1] - SENT)) # these may pass
	PASSING[$1]=$((${PASSING[$1]:-0} + SENT))
}

# frames_for PPS: how many frames last for a flood's time.
frames_for() { echo $(($1 * MS / 1000 + 1000)); }

# pilot CANDIDATE FAMILY N: FRAMES for it, from a first flood that also warms it up.
pilot() {
	prime "$@"
	flood_one "$1" --src "$(sources "$2" "$3")" --cpu "$CPU" --count $(($3 > 1000000 ? 1000000 : 100000))
	FRAMES[$1]=$(frames_for "$PPS")
}

# section NAME FAMILY N CANDIDATE…: rounds of short floods in turns.
section() {
	local name=$1 family=$2 n=$3 round rounds candidate
	local -A FRAMES=() TOTAL=() PASSING=() BEFORE=()
	shift 3
	rounds=$(rounds)
	say "$name, IPv$family, $n sources: $*"
	for candidate in "$@"; do
		BEFORE[$candidate]=$(dropped "$candidate") || exit 1
		pilot "$candidate" "$family" "$n"
	done
	for ((round = 1; round <= rounds; round++)); do
		for candidate in "$@"; do
			prime "$candidate" "$family" "$n"
			flood_one "$candidate" --src "$(sources "$family" "$n")" --cpu "$CPU" --seed "$round" \
				--count "${FRAMES[$candidate]}"
			record "$name" "$n" "$candidate" "$round" "$PPS"
		done
	done
	for candidate in "$@"; do
		crosscheck "$candidate" "${BEFORE[$candidate]}" "${TOTAL[$candidate]}" "${PASSING[$candidate]:-0}"
	done
}

# pair ROUND CANDIDATE N: floods on CPU 0 alone, on 1 alone and on both, each of its own receive
# queue; the two are processes that start together.
pair() {
	local round=$1 candidate=$2 source cpu
	source=$(sources 4 "$3")
	for cpu in 0 1; do
		prime "$candidate" 4 "$3"
		flood_one "$candidate" --src "$source" --cpu "$cpu" --count "${FRAMES[$candidate]}"
		record cpus "$3" "$candidate alone$cpu" "$round" "$PPS"
	done
	prime "$candidate" 4 "$3"
	both "$candidate" --src "$source" --count "${FRAMES[$candidate]}"
	for cpu in 0 1; do
		record cpus "$3" "$candidate both$cpu" "$round" "${BOTH_PPS[$cpu]}"
	done
}

# both CANDIDATE FLOOD-ARG…: from both CPUs at once, into BOTH_PPS, BOTH_SENT and BOTH_SECONDS; where
# TIMELINE is set, with a timeline of that name for each.
both() {
	local cpu other
	send "$@" --cpu 0 --seed 11 ${TIMELINE:+--timeline "$TIMELINE-0"} >"$TMP/cpu0" &
	other=$!
	send "$@" --cpu 1 --seed 12 ${TIMELINE:+--timeline "$TIMELINE-1"} >"$TMP/cpu1" || die "the flood into $1 fails"
	wait "$other" || die "the flood into $1 fails"
	for cpu in 0 1; do
		taken "$(<"$TMP/cpu$cpu")"
		BOTH_PPS[cpu]=$PPS BOTH_SENT[cpu]=$SENT BOTH_SECONDS[cpu]=$SECONDS_SENT
	done
}
# shellcheck disable=SC2034 # for bench.sh
declare -a BOTH_PPS=() BOTH_SENT=() BOTH_SECONDS=()

section_cpus() { # N CANDIDATE…
	local n=$1 round candidate MS=330 # longer, for the two start a little apart
	local -A FRAMES=() TOTAL=() PASSING=()
	shift
	say "one and two CPUs, $n sources: $*"
	for candidate in "$@"; do
		pilot "$candidate" 4 "$n"
	done
	for ((round = 1; round <= $(rounds); round++)); do
		for candidate in "$@"; do
			pair "$round" "$candidate" "$n"
		done
	done
}

# ---- did they do their work?

# dropped CANDIDATE: how many packets it has dropped, where it can say.
dropped() {
	case "$1" in
	bare | floor | line-* | xdp-filter) echo 0 ;;
	nft | iptables*) echo 0 ;; # see crosscheck
	*) rl B stats "b-$1" -j | json '.[0].dropped.packets' || die "no statistics of $1" ;;
	esac
}

# crosscheck CANDIDATE BEFORE SENT PASSING: nearly all of SENT was dropped, except for PASSING, which may
# pass; otherwise the figures do not measure dropping.
crosscheck() {
	local passed
	case "$1" in
	bare | floor | line-* | xdp-filter) return ;;
	nft | iptables*) passed=$(delivered "$1") ;;
	*) passed=$(($3 + $4 + $2 - $(dropped "$1"))) || exit 1 ;;
	esac
	[[ $passed -lt $(($4 + $3 / 4)) ]] || die "$1 let $passed of $3 and $4 packets pass: it does not limit"
}

# delivered CANDIDATE: packets that got past it since the last call, by the counters of the stack.
delivered() {
	local home=${HOME_OF[$1]} now name=IpInReceives
	# hashlimit drops after IpInReceives, before the failing route look-up
	[[ $1 == nft ]] || name=IpInAddrErrors
	now=$(counter "$home" "$name")
	echo $((now - ${DELIVERED[$1]:-0}))
	DELIVERED[$1]=$now
}
declare -A DELIVERED=()
