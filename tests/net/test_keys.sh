#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Keys on a live veth: whatever the key of a limit, each key gets its ten packets a day and no more, in every
# table; the counters agree with those of the network stack, to the packet. Then the report of `source show`
# on each key, and that `source forgive` makes it fresh. Most of the time is spent waiting. check: beside
# check: timeout 400
source "$(dirname "$0")/../lib.sh"

TOKENS='1/hour burst 10'
ARRIVED=() LOOKED=

# attach TABLE
attach() {
	LOOKED=
	[[ -z $(xdp_program B veth-B) ]] || rl B detach veth-B || return
	rl B attach veth-B --table "$1"
}

# policy RULE…: with fresh state.
policy() { rl B rule flush && printf 'rule %s\n' "$@" | rl B apply -; }

# look: sets PASSED and DECIDED, and ARRIVED at the IP layer by family.
look() {
	read -r PASSED DECIDED <<<"$(stat_of B '"\(.passed.packets) \(.passed.packets + .dropped.packets)"')" &&
		read -r 'ARRIVED[4]' 'ARRIVED[6]' <<<"$(in_ns B nstat -azs IpInReceives Ip6InReceives |
			awk '{ n[$1] = $2 } END { print n["IpInReceives"], n["Ip6InReceives"] }')"
}

decided() { look && [[ $DECIDED -ge $1 ]]; }

# passes N FAMILY COUNT CMD…: of the COUNT packets that CMD sends N pass, and so many arrive. The counters are those
# at the end of the passes before, unless something else has sent meanwhile (LOOKED is empty): no packet is left out.
passes() {
	local wanted=$1 family=$2 count=$3 before arrived
	shift 3
	[[ -n $LOOKED ]] || look || return
	LOOKED='' before=$PASSED arrived=${ARRIVED[$family]} count=$((DECIDED + count))
	"$@" && eventually 10 decided "$count" || return
	LOOKED=1
	[[ $((PASSED - before)) -eq $wanted && $((ARRIVED[family] - arrived)) -eq $wanted ]] ||
		_say "$((PASSED - before)) passed, $((ARRIVED[family] - arrived)) arrived, not $wanted, of: $*"
}

# sends N FAMILY COUNT FLOOD-ARG…
sends() { passes "$1" "$2" "$3" flood A --count "${@:3}"; }

# under KEY TEST: with each of the table's limits.
under() {
	local limit
	for limit in "${LIMITS[@]}"; do
		policy "any limit $limit per $1" && "$2" || _say "limit $limit per $1" || return
		is "$(stat_of B .passed.packets)" "$(stat_of B .reasons.within.packets)" || return
	done
}

# ---- which packets share a key

source_6() {
	sends 2560 6 5120 --src fd78:0:0:ff00::/56 --sequential &&
		sends 0 6 1000 --src fd78:0:0:ff00::/64 --proto tcp-syn &&
		sends 10 6 1000 --src fd78:0:0:fe00::/64
}
source_56() {
	sends 10 6 1024 --src fd78:0:0:ff00::/56 --sequential &&
		sends 30 6 4096 --src fd78:0:0:fc00::/54 --sequential
}
source_4() {
	sends 2560 4 5120 --src 10.78.1.0/24 --sequential &&
		sends 0 4 100 --src 10.78.1.7 --proto icmp && sends 10 4 100 --src 10.78.2.7
}
source_24() {
	sends 10 4 1024 --src 10.78.1.0/24 --sequential &&
		sends 30 4 4096 --src 10.78.0.0/22 --sequential
}
dest_6() {
	sends 10 6 1000 --src fd78::/56 --dst fd77::2 && sends 0 6 100 --src fd79::1 --dst fd77::3 &&
		sends 10 6 100 --src fd78::1 --dst fd77:0:0:1::2
}
dest_4() {
	sends 10 4 1000 --src 10.78.0.0/16 && sends 10 4 100 --src 10.78.0.1 --dst 10.77.0.3
}
source_dport() {
	sends 10 6 100 --src fd78::1 --dport 53 && sends 10 6 100 --src fd78::1 --dport 54 &&
		sends 0 6 100 --src fd78::/64 --dport 53 --sport 0 --proto tcp-syn &&
		sends 10 6 100 --src fd78:0:0:1::1 --dport 53 && sends 10 4 100 --dport 53
}
source_dest() {
	sends 10 6 100 --src fd78::1 --dst fd77::2 --sport 0 &&
		sends 10 6 100 --src fd78::1 --dst fd77:0:0:1::3 &&
		sends 10 6 100 --src fd78:0:0:1::1 --dst fd77::2 &&
		sends 0 6 100 --src fd78::1 --dst fd77::2 --dport 99 && sends 10 4 100
}
flow() {
	sends 10 6 100 --src fd78::1 --sport 1 && sends 10 6 100 --src fd78::1 --sport 2 &&
		sends 10 6 100 --src fd78::1 --sport 1 --proto tcp-syn &&
		sends 10 6 100 --src fd78::1 --sport 1 --dport 10 &&
		sends 0 6 100 --src fd78::1 --sport 2 && sends 10 4 100 --sport 1
}
dest_dport() {
	sends 10 6 100 --src fd78::/56 --sport 0 --dport 53 && sends 10 6 100 --src fd78::1 --dport 54 &&
		sends 0 6 100 --src fd79::1 --dst fd77::3 --dport 53 --proto tcp-syn &&
		sends 10 6 100 --src fd78::1 --dst fd77:0:0:1::2 --dport 53 && sends 10 4 100 --dport 53
}
rule() {
	sends 10 6 1000 --src fd78::/56 && sends 0 4 100 --src 10.78.0.0/16 --sport 0
}

# Frames that other tools make.
others_send() {
	in_ns A "$@" </dev/null >"$TMP/others" 2>&1 || true # hping3 fails where nobody answers
}
nping_ports() {
	passes 20 4 60 others_send nping --udp -g 1000 -p 53,54 -c 30 --rate 2000 10.77.0.2 &&
		passes 10 4 30 others_send nping --tcp --flags ack -g 1000 -p 55 -c 30 --rate 2000 10.77.0.2 &&
		passes 0 4 30 others_send nping --udp -g 7 -p 55 -c 30 --rate 2000 10.77.0.2
}
hping_flows() {
	local hping='hping3 --keep --destport 53 --count 30 --interval u500 --quiet 10.77.0.2'
	# shellcheck disable=SC2086 # several words
	passes 10 4 30 others_send $hping --udp --baseport 1001 &&
		passes 10 4 30 others_send $hping --udp --baseport 1002 &&
		passes 10 4 30 others_send $hping --fin --baseport 1001
}

# on_cpu N N-WANTED: the generator's first frame comes from where it was started.
on_cpu() { (taskset -pc "$1" "$BASHPID" >/dev/null && sends "$2" 6 100 --src fd78::1 --cpu "$1"); }

# Each CPU holds half; both halves are ten.
halves() {
	attach cpu && policy "any limit $1 per $2" && on_cpu 0 5 && on_cpu 1 5 && on_cpu 0 0 && on_cpu 1 0
}

# ---- the state of an address

# remembered KEY LIMIT ADDRESS TEXT: spent, shown in words and in JSON, forgiven, and fresh again.
remembered() {
	local key=$1 limit=$2 address=$3 text=$4 state
	policy "any limit $limit per $key" && sends 10 6 100 --src fd78::1 || return
	state=$(rl B -j source show "$address") && echo "$state" || return
	is "$(json '.states | length' <<<"$state")" 1 && is "$(json '.states[0].key' <<<"$state")" "$text" &&
		is "$(json '.states[0] | "\(.remaining) \(.unit) \(.wait_ns > 0) \(.ban_ns)"' <<<"$state")" \
			'0 packets true null' || return
	has "$text" rl B source show "$address" && sends 0 6 100 --src fd78::1 &&
		is "$(rl B -j source forgive "$address" | json .forgiven)" 1 &&
		sends 10 6 100 --src fd78::1
}

shown() { # LIMIT KEY…
	local limit=$1 key
	shift
	declare -A text=([source]='fd78::/64' [source/24,56]='fd78::/56' [dest]='fd77::/64'
		['source+dport']='fd78::/64 to port 9' ['source+dest']='fd78::1 to fd77::2'
		[flow]='protocol 17, fd78::1 port 40000 to fd77::2 port 9'
		['dest+dport']='to fd77::/64 port 9' ['source/24,56+proto']='protocol 17, fd78::/56'
		['source+dest/24,48+dport']='fd78::1 to fd77::/48 port 9')
	for key in "$@"; do
		remembered "$key" "$limit" "$([[ $key == dest* ]] && echo fd77::2 || echo fd78::1)" "${text[$key]}" ||
			_say "limit $limit per $key" || return
	done
}

# Another address of the key shows the same state; one of another key shows none.
shown_to_others() {
	policy "any limit $TOKENS per source/24,56" && sends 10 6 100 --src fd78::1 &&
		is "$(rl B -j source show fd78:0:0:ff::9 | json '.states[0].key')" fd78::/56 &&
		is "$(rl B -j source show fd78:0:0:100::9 | json '.states | length')" 0 &&
		has 'no state of' rl B source show fd78:0:0:100::9 &&
		has 'forgot 1 state or ban of fd78::1' rl B source forgive fd78::1
}

# `source show` shows a state that all sources share, and `source forgive` does not reset it.
shown_rule() {
	policy "any limit $TOKENS per rule" && sends 10 6 100 --src fd78::1 &&
		is "$(rl B -j source show fd79::1 | json '.states[0] | "\(.key) \(.remaining)"')" 'all 0' &&
		is "$(rl B -j source forgive fd78::1 | json .forgiven)" 0 && sends 0 6 100 --src fd78::1
}

# Keys by parts are code that only the program of such a policy has; a network and a port are not.
replaced() {
	local plain parts
	policy "any limit $TOKENS per source/24,56+dport" && plain=$(xdp_program B veth-B) && policy "any limit $TOKENS per dest+dport" &&
		parts=$(xdp_program B veth-B) && [[ $parts != "$plain" ]] &&
		policy "any limit $TOKENS per source+dport" && [[ $(xdp_program B veth-B) != "$parts" ]]
}

# The hot table cannot list the buckets of two addresses; a spent one must not be called fresh.
not_called_fresh() {
	local key
	for key in source+dest flow; do
		policy "any limit $TOKENS per $key" && sends 10 6 100 --src fd78::1 || return
		[[ $(rl B source show fd78::1 2>&1) != *fresh* ]] || _say "per $key: $(rl B source show fd78::1 2>&1)" || return
	done
}

# banned KEY TEXT: of the key alone, in words and in JSON, until it is forgiven.
banned() {
	local state
	policy "any udp limit $TOKENS per $1 over ban 10m" && sends 10 6 100 --src fd78::1 || return
	is "$(rule_stat B any .dropped.packets)" 90 && is "$(stat_of B .reasons.over.packets)" $((OVER += 1)) || return
	state=$(rl B -j source show fd78::1) && echo "$state" || return
	is "$(json '[.states[] | select(.ban_ns)] | length' <<<"$state")" 1 &&
		is "$(json '.states[] | select(.ban_ns) | .key' <<<"$state")" "$2" &&
		between "$(json '.states[] | select(.ban_ns) | .ban_ns' <<<"$state")" 540000000000 600000000000 &&
		is "$(json '.states[] | select(.ban_ns) | .next_ns >= .ban_ns' <<<"$state")" true &&
		has 'banned for' rl B source show fd78::1 && sends 100 6 100 --src fd78::1 --proto tcp-syn || return
	rl B source forgive fd78::1 && rl B -j source show fd78::1 &&
		is "$(rl B -j source show fd78::1 | jq '[.states[] | select(.ban_ns)] | length')" 0 &&
		sends "${3:-10}" 6 100 --src fd78::1 && OVER=$((OVER + 1))
}

bans() { # TABLE
	attach "$1" && OVER=0 && banned source fd78::/64 && banned source/24,56 fd78::/56 &&
		banned source+dport 'fd78::/64 to port 9' || return
	# forgiven, but for the bucket that cannot be listed
	[[ $1 == hot ]] || { banned source+dest 'fd78::1 to fd77::2' &&
		banned flow 'protocol 17, fd78::1 port 40000 to fd77::2 port 9'; }
}

banned_source() {
	local state
	attach hot && policy "any udp limit $TOKENS over ban 10m source" && sends 10 6 100 --src fd78::1 &&
		sends 0 6 100 --src fd78::2 --proto tcp-syn && sends 100 6 100 --src fd78:0:0:1::2 --proto tcp-syn || return
	state=$(rl B -j source show fd78::3) && echo "$state" || return
	is "$(json '.states[] | select(.ban_ns) | "\(.key) \(.rule)"' <<<"$state")" 'fd78::/64 everything' &&
		has everything rl B source show fd78::1 &&
		is "$(json '[.states[] | .next_ns >= 540000000000] | all' <<<"$state")" true &&
		has 'forgot 2 states and bans of fd78::1' rl B source forgive fd78::1 &&
		has 'no state or ban of fd78::1 to forget' rl B source forgive fd78::1 &&
		sends 100 6 100 --src fd78::2 --proto tcp-syn && sends 10 6 100 --src fd78::1
}

# The bucket is full again, but the source may not send before its ban ends.
banned_until() { # OVER
	policy "any udp limit 1000/second burst 2 over $1" && rl B source forgive fd78::1 &&
		LOOKED='' && flood A --count 100 --src fd78::1 &&
		eventually 5 prints 2 refilled && has 'next in' rl B source show fd78::1 &&
		is "$(rl B source show fd78::1 | grep -cw now)" 0
}
# A policy that bans no source does not hold those that another one banned.
unbanned() {
	policy "any udp limit 1/hour burst 1 over ban 10m source" && rl B source forgive fd78::1 &&
		sends 1 6 100 --src fd78::1 && has everything rl B source show fd78::1 &&
		policy "any udp limit $TOKENS" && sends 10 6 10 --src fd78::1 &&
		is "$(rl B -j source show fd78::1 | jq '[.states[] | select(.ban_ns)] | length')" 0
}
refilled() { rl B -j source show fd78::1 | jq '[.states[].remaining // 0] | add'; }

# ---- all of it

keys() { # TABLE LIMIT…
	local test
	LIMITS=("${@:2}")
	attach "$1" || exit 1
	for test in source:source_6 source/24,56:source_56 source:source_4 source/24,56:source_24 dest:dest_6 \
		dest:dest_4 source+dport:source_dport source+dest:source_dest flow:flow rule:rule; do
		t "$1: per ${test%:*}: ${test#*:}" under "${test%:*}" "${test#*:}"
	done
}

veth_pair A B 2 && veth_quiet A B && ns_mute A && in_ns B ethtool -K veth-B gro on || exit 1
keys lru 'sliding-log 10/day'
t 'lru: source show and forgive, buckets' shown "$TOKENS" source source/24,56 dest source+dport source+dest flow
t 'lru: source show and forgive, windows' shown 'sliding-window 10/day' source source+dport flow source+dest/24,48+dport
t 'lru: bans are shown and forgiven' bans lru
keys hot "$TOKENS" 'sliding-window 10/day'
LIMITS=("$TOKENS")
t 'per source+dport, by nping' under source+dport nping_ports
t 'per flow, by hping3' under flow hping_flows
t 'hot: source show and forgive, buckets' shown "$TOKENS" source source/24,56 dest source+dport
t 'hot: source show and forgive, windows' shown 'fixed-window 10/day' source source/24,56 dest source+dport source+dest flow
t 'hot: buckets that cannot be listed' not_called_fresh
t 'per dest+dport: live' under dest+dport dest_dport
t 'per dest+dport: shown and forgiven' shown "$TOKENS" dest+dport source/24,56+proto
t 'per dest+dport: the program is replaced, and back' replaced
t 'other addresses of a key' shown_to_others
t 'the state of a rule' shown_rule
t 'hot: bans are shown and forgiven' bans hot
t 'a banned source is shown and forgiven' banned_source
t 'a banned key has no packet next' banned_until 'ban 10m'
t 'a banned source has no packet next' banned_until 'ban 10m source'
t 'a ban that no rule asks for is not shown' unbanned
if [[ $(nproc) -lt 2 ]]; then
	skip 'each CPU its half' 'needs two CPUs'
	exit 0
fi
t 'each CPU its half, buckets per source' halves "$TOKENS" source
t 'each CPU its half, windows per source+dport' halves 'fixed-window 10/day' source+dport
t 'each CPU its half, slots per flow' halves 'sliding-window 10/day' flow
