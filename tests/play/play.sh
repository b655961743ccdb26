#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# play.sh [--minutes N | --seconds N] [--bare | --unshared] [NAME…]: plays the policies that come with rlctl, each with a server and its
# client in namespaces of their own: the client must not lose a packet to the policy, neither in peace nor beside the
# floods that the policy is for, and no more than its limit of a flood may reach the server. Not a part of the check,
# which runs it for some seconds (tests/net/test_play.sh): ten minutes each, all at once. Prints TAP, and on stderr
# a row for docs/policies.md. With --bare no policy is attached: whether the client loses anything by itself, and how many
# newcomers get in beside floods then; with --unshared, how many do with the policy without the word share.
# scripts/deps.sh --play installs what it plays with.
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/../net/dns.sh"
source "$(dirname "$0")/services.sh"
source "$(dirname "$0")/games.sh"
source "$(dirname "$0")/onion.sh"

LENGTH=600                # seconds of peace
STRANGERS=11.0.0.0/8      # forged, each once
FEW=192.0.2.16/28         # sixteen sources
ONE=192.0.2.17            # one of them
BOTNET=100.64.0.0         # addresses that each stay below their limit
BESIDE=''                 # set beside a flood
BARE=''                   # set with --bare
UNSHARED=''               # set with --unshared
FLOOD=(--rate 40000 --batch 16)

# ---- what passed

# The packets that the program let pass, by who sent them.
counters() {
	in_ns B nft -f - <<-END
	table inet play {
	 counter strangers { }
	 counter few { }
	 counter botnet { }
	 chain in {
	  type filter hook prerouting priority -400
	  iifname veth-B ip saddr $STRANGERS counter name strangers
	  iifname veth-B ip saddr $FEW counter name few
	  iifname veth-B ip saddr $BOTNET/10 counter name botnet
	 }
	}
	END
}

reached() { in_ns B nft -j list counter inet play "$1" | json '.nftables[] | .counter? // empty | .packets'; }

dropped() { stat_of B .dropped.packets; }

# watch_rate: packets of the fastest second so far, as $TMP/peak. An answer that is missing is no figure: jq 1.6 takes it
# for success.
watch_rate() {
	local now last=0 at since=0 peak=0
	while sleep 1; do
		{ now=$(stat_of B .passed.packets) && at=$(date +%s%N) && [[ -n $now ]]; } || continue
		((since == 0 || (now - last) * 1000000000 / (at - since) <= peak)) || peak=$(((now - last) * 1000000000 / (at - since)))
		last=$now since=$at
		echo "$peak" >"$TMP/peak"
	done
}

# ---- floods

# scaled 5k: 5000
scaled() { sed 's/k$/000/; s/m$/000000/' <<<"$1"; }

# bound RULE KEYS SECONDS: how much the limit of the rule that begins so admits; RULE has no limit, or the rate of the
# one that is meant of several.
bound() {
	local rate='[0-9]+[km]?' burst
	[[ $1 != *' limit '* ]] || rate=${1##* }
	read -r rate burst < <(sed -nE "s|^rule ${1% limit *} limit ($rate)/second burst ([0-9]+[km]?).*|\1 \2|p" "$POLICY") &&
		jq -n "$2 * ($(scaled "$burst") + $(scaled "$rate") * ($3 + 0.01) + 1) | floor"
}

# sends ARG…: what was sent, in how many seconds, as JSON; pulses of half a second where PULSES is set.
sends() {
	local began
	[[ -n $PULSES ]] || { flood A --seconds "$FLOOD_SECONDS" "${FLOOD[@]}" "$@"; return; }
	began=$(date +%s.%N)
	for _ in $(seq "$FLOOD_SECONDS"); do
		flood A --count "$((FLOOD[1] / 2))" "${FLOOD[@]}" "$@" && sleep 0.5 || return
	done | jq -s --argjson began "$began" '{sent: (map(.sent) | add), seconds: (((now - $began) * 1000 | round) / 1000)}'
}

# calm: no alarm is on, so that each flood begins by itself.
calm() { is "$(stat_of B '[.alarms[]? | select(.on)] | length')" 0; }

# flooded WHO RULE KEYS ARG…: no more than the limit passes, some of it is dropped, and nobody else loses a packet.
flooded() {
	local who=$1 rule=$2 keys=$3 before was sent seconds reached lost most
	shift 3
	eventually 20 calm || return
	before=$(dropped) && was=$(reached "${who%_*}") && sends "$@" >"$TMP/sent" || return
	sleep 1
	sent=$(json .sent <"$TMP/sent") && seconds=$(json .seconds <"$TMP/sent") && most=$(bound "$rule" "$keys" "$seconds") || return
	reached=$(($(reached "${who%_*}") - was)) lost=$(($(dropped) - before - (sent - reached)))
	echo "$who: sent $sent in $seconds s, $reached reached the server, at most $most may; others lost $lost" | tee -a "$TMP/floods"
	[[ $reached -le $most && $most -lt $sent && $lost -eq 0 ]] || { rl B stats && return 1; }
}

# ---- a policy

peace() {
	local before
	before=$(dropped) && is "$before" 0 || return
	local end=$((SECONDS + LENGTH))
	while [[ $SECONDS -lt $end ]]; do
		sleep 1
		[[ $(dropped) -eq 0 ]] || break
	done
	kill -- "-$WATCH" && total=$(stat_of B .passed.packets) && bytes=$(stat_of B '.passed | .bytes / .packets | round') && refused=$(dropped)
	"${NAME}_plays" || return
	rl B stats && is "$(dropped)" 0
}

# alone: as in peace, but without a policy.
alone() { sleep "$LENGTH" && "${NAME}_plays" >"$TMP/alone" 2>&1; }

beside() { # FLOOD-ROW
	local words BESIDE=1 PULSES=
	[[ $1 != botnet_pulses* ]] || PULSES=1
	read -ra words <<<"${1#*|}"
	flooded "${1%% *}" "$(sed 's/^[a-z_0-9]* //; s/|.*//' <<<"$1")" "${words[@]}" &&
		"${NAME}_plays"
}

# floods: those of the policy, and the first of them from a botnet of 1,022 addresses, of 8,190, and in pulses.
floods() {
	local first
	"${NAME}_floods" && first=$("${NAME}_floods" | head -n 1) || return
	[[ $NAME != router ]] || return 0 # no source says how much is too much there
	first=${first#strangers }
	first=${first/$STRANGERS --sequential/$BOTNET}
	echo "botnet_1022 ${first/$BOTNET/$BOTNET/22}"
	echo "botnet_8190 ${first/$BOTNET/$BOTNET/19}"
	echo "botnet_pulses ${first/$BOTNET/$BOTNET/22}"
}

# ---- newcomers: clients that come during a flood, each at an address that was not there before

NEWCOMERS=10
NEXT_ADDRESS=130 # of 10.77.0.0/24

# asked_udp PORT HEX ADDRESS…, asked_tcp URL ADDRESS…, asked_names ADDRESS…, greeted PORT ADDRESS…, called ADDRESS…: how
# many had their answers.
asked_udp() { in_ns A python3 "$TOP/tests/play/newcomers.py" 10.77.0.2 "$@"; }
asked_tcp() {
	local address
	for address in "${@:2}"; do
		in_ns A curl -sk -m 3.5 -o /dev/null -w '%{http_code}\n' --interface "$address" "$1" &
	done | grep -c '^[1-9]'
}

asked_names() {
	local address
	for address in "$@"; do
		in_ns A timeout 3.5 dig +short +time=1 +tries=3 -b "$address" @10.77.0.2 www.example A &
	done | grep -c '^[0-9]'
}

# greeted PORT ADDRESS…: a handshake of TLS, with which a client of Mumble begins.
greeted() {
	local address
	for address in "${@:2}"; do
		in_ns A curl -sk -m 3.5 -o /dev/null -w '%{time_appconnect}\n' --interface "$address" "https://10.77.0.2:$1" &
	done | grep -c '[1-9]'
}

# A call of one address, which rings, is taken up, and ends.
called() {
	local address
	for address in "$@"; do
		in_ns A timeout 3.5 sipp -sn uac -i "$address" -p 5060 -m 1 -d 100 -nostdin -skip_rlimit 10.77.0.2:5060 >/dev/null 2>&1 && echo took &
	done | grep -c took
}

# beside_newcomers WHO ARG…: most of them get in beside such a flood.
beside_newcomers() {
	local n address came addresses=() flood
	[[ -n $BARE ]] || eventually 20 calm || return
	for n in $(seq "$NEWCOMERS"); do
		address=10.77.0.$((NEXT_ADDRESS++))
		ip -n "$(ns A)" addr add "$address/24" dev veth-A && addresses+=("$address") || return
	done
	bg flood A --seconds 20 "${FLOOD[@]}" "${@:2}"
	flood=$BG_PID
	sleep 0.5
	came=$("${NAME}_newcomers" "${addresses[@]}")
	kill -- "-$flood" || { echo 'the flood ended before them' && return 1; }
	echo "newcomers beside $1: $came of $NEWCOMERS" | tee -a "$TMP/floods"
	[[ -n $BARE$UNSHARED || $came -ge $((NEWCOMERS * 8 / 10)) ]] || { rl B stats && return 1; }
}

play_newcomers() {
	local words first PULSES='' status=0
	declare -F "${NAME}_newcomers" >/dev/null || return 0
	first=$("${NAME}_floods" | head -n 1)
	read -ra words <<<"${first#*|}"
	t "$NAME: newcomers beside strangers" beside_newcomers strangers "${words[@]:1}" || status=1
	first=${first/$STRANGERS --sequential/$BOTNET/19}
	read -ra words <<<"${first#*|}"
	t "$NAME: newcomers beside a botnet" beside_newcomers botnet "${words[@]:1}" || status=1
	return "$status"
}

# row: of the table.
row() {
	local versions
	# shellcheck disable=SC2046 # packages
	versions=$(dpkg-query -W -f '${Package} ${Version}, ' $("${NAME}_packages") 2>/dev/null)
	echo "$NAME|${versions%, }|$LENGTH|$total|$(<"$TMP/peak")|$bytes|$refused|$(date -u +%F)|$(paste -sd ';' "$TMP/floods")" >&2
}

play_bare() {
	local status=0
	t "$NAME: the client begins" "${NAME}_joins" || status=1
	t "$NAME: the client goes on for $LENGTH seconds without a policy" alone || status=1
	sed "s/^/# $NAME: /" "$TMP/alone"
	play_newcomers || status=1
	[[ ! -e $TMP/floods ]] || echo "$NAME|$(paste -sd ';' "$TMP/floods")" >&2
	return "$status"
}

play_unshared() {
	grep -q ' share$' "$POLICY" || { skip "$NAME" 'no limit is shared'; return; }
	sed 's/ share$//' "$POLICY" >"$TMP/unshared.policy"
	t "$NAME: the policy without shares" rl B attach veth-B --policy "$TMP/unshared.policy" || return
	t "$NAME: the client begins" "${NAME}_joins" && play_newcomers || return
	[[ ! -e $TMP/floods ]] || echo "$NAME|unshared|$(paste -sd ';' "$TMP/floods")" >&2
}

play() {
	NAME=$1 POLICY=$TOP/policies/$1.policy
	local missing flood status=0
	missing=$("${NAME}_missing" 2>/dev/null)
	[[ -z $missing ]] || { skip "$NAME" "$missing"; return; }
	veth_pair A B && in_ns B ethtool -K veth-B gro on || return # takes frames of the generator without a program, too
	in_ns B sysctl -qw net.ipv4.tcp_syncookies=1 &&
		{ ip -n "$(ns B)" route replace default via 10.77.0.1 && counters; } || return
	t "$NAME: the server starts" "${NAME}_serves" || return
	[[ -z $BARE ]] || { play_bare; return; }
	[[ -z $UNSHARED ]] || { play_unshared; return; }
	t "$NAME: the policy is found by its name" rl B attach veth-B --policy "$NAME" || return
	bg watch_rate
	WATCH=$BG_PID
	t "$NAME: the client begins" "${NAME}_joins" || status=1
	t "$NAME: nothing is refused in $LENGTH seconds" peace || status=1
	while read -r flood; do
		t "$NAME: flood of ${flood%%|*}" beside "$flood" || status=1
	done < <(floods)
	play_newcomers || status=1
	row
	return "$status"
}

NAMES=()
while [[ $# -gt 0 ]]; do
	case "$1" in
	--minutes) LENGTH=$(($2 * 60)) && shift ;;
	--seconds) LENGTH=$2 && shift ;;
	--bare) BARE=1 ;;
	--unshared) UNSHARED=1 ;;
	*) NAMES+=("$1") ;;
	esac
	shift
done

FLOOD_SECONDS=$((LENGTH < 10 ? 1 : 4)) # of each

# Each in a process of its own, whose namespaces go with it.
if [[ ${#NAMES[@]} -eq 1 ]]; then
	play "${NAMES[0]}"
	exit
fi
[[ ${#NAMES[@]} -gt 0 ]] || mapfile -t NAMES < <(cd "$TOP/policies" && printf '%s\n' *.policy | sed 's/\.policy$//')
for name in "${NAMES[@]}"; do
	bash "$0" --seconds "$LENGTH" ${BARE:+--bare} ${UNSHARED:+--unshared} "$name" &
done
failed=0
for _ in "${NAMES[@]}"; do
	wait -n || failed=1
done
exit "$failed"
