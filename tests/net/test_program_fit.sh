#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The running program follows the policy: one that begins to use `established`, or ceases to, replaces the
# program. No packet passes meanwhile, and the counters stay. check: timeout 240
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/swap.sh"

HOOK=xdp
PROVING='rule any tcp established limit 1/hour burst 1 over count
rule any udp deny'
PLAIN='rule any udp deny'

put() { rl B apply -i veth-B --hook "$HOOK" - <<<"$1"; }

# proves: the running program calls bpf_skc_lookup_tcp, which only that of a policy with `established` does.
proves() { is "$(looks_up)" yes; }
plain() { is "$(looks_up)" no; }
looks_up() {
	local listing
	listing=$(bpftool prog dump xlated id "$(program)") || return
	if grep -q 'call bpf_skc_lookup_tcp\|call bpf_sk_lookup_udp\|call bpf_sk_release' <<<"$listing"; then echo yes; else echo no; fi
}

# ---- under flood

# changed POLICY JUDGE: the policy brings another program under the flood, of which nothing passes.
changed() {
	local before seen
	before=$(program) && seen=$(denied) && eventually 10 denied_more $((seen + 200)) && put "$1" &&
		"$2" && [[ $(program) -ne $before ]] && eventually 5 unloaded "$before" &&
		[[ $(denied) -ge $seen ]] && seen=$(denied) && eventually 10 denied_more $((seen + 200))
}

test_flood() { # HOOK ATTACH-OPTION…
	local first
	HOOK=$1
	echo "$PLAIN" >"$TMP/policy" && rl B attach veth-B --hook "$@" --policy "$TMP/policy" && plain || return
	first=$(arrived) && flooding && changed "$PROVING" proves && changed "$PLAIN" plain &&
		kill -TERM -- "-$BG_PID" && is "$(arrived)" "$first" && rl B detach veth-B --hook "$HOOK"
}


# ---- killed, on trial

# settled: the program has what the policy in force asks, and the companion is there where it asks.
settled() {
	case $(rl B show) in
	"$ASKING") proves && [[ $(companions) -eq 1 ]] && is_own peers ;;
	"$LOGS") is_own logs ;;
	"$WINDOWS") is_own windows ;;
	"$LIMIT") is_own hot ;;
	"$PLAIN" | "$SHARED") true ;;
	*) rl B show && return 1 ;;
	esac
}

# Around each change of the program, of its maps and of its companion, in both directions; the next policy settles it.
test_crash() { # POLICY OTHER
	local n policy first last kills=0
	HOOK=xdp
	rl B attach veth-B && put "$2" || return
	for policy in "$1" "$2"; do
		echo "$policy" >"$TMP/next" && strace -o "$TMP/calls" -e trace=bpf,sendto "$RLCTL" -n "$(ns B)" apply "$TMP/next" &&
			put "$([[ $policy == "$1" ]] && echo "$2" || echo "$1")" || return
		first=$(calls_of 'BPF_LINK_CREATE\|sendto' | head -n 1) && last=$(grep -c '^bpf' "$TMP/calls") || return
		for ((n = first - 1; n <= last; n += 1 + (last - first) / 8)); do
			! killed bpf "$n" apply "$TMP/next" || kills=$((kills + 1))
			settled || return
		done
		put "$policy" && settled || return
	done
	put "$PLAIN" && plain && is "$(companions)" 0 && maps_are '' && [[ $kills -ge 8 ]] && rl B detach veth-B && nothing_left
}
# calls_of PATTERN: the numbers of the bpf calls at or before lines that match.
calls_of() { awk -v want="${1//\\/}" '/^bpf/ { n++ } $0 ~ want { print n }' "$TMP/calls"; }

# A change to less code fails at any netlink call, perhaps when the new program is there: the next policy is held to all the
# same, and reads the maps of the program.
test_failed() {
	local n count failures=0
	HOOK=ingress
	echo "$PLAIN" >"$TMP/next" && rl B attach veth-B --hook "$HOOK" && put "$PROVING" &&
		strace -o "$TMP/calls" -e trace=sendto "$RLCTL" -n "$(ns B)" apply "$TMP/next" && put "$PROVING" || return
	count=$(grep -c '^sendto' "$TMP/calls")
	for ((n = 1; n <= count; n++)); do
		strace -o /dev/null -e trace=sendto -e "inject=sendto:error=ENOMEM:when=$n" "$RLCTL" -n "$(ns B)" apply "$TMP/next" 2>"$TMP/complaint" || :
		[[ ! -s $TMP/complaint ]] || failures=$((failures + 1))
		put "$PROVING" && proves && is_own peers || return
	done
	[[ $failures -ge 1 ]] && put "$PLAIN" && plain && rl B detach veth-B --hook "$HOOK"
}

# The same with a companion, which stays where the change fails: it and the program note in the same tables.
test_failed_companion() {
	local n count failures=0
	HOOK=xdp
	echo "$PLAIN" >"$TMP/next" && rl B attach veth-B && put "$ASKING" &&
		strace -o "$TMP/calls" -e trace=bpf "$RLCTL" -n "$(ns B)" apply "$TMP/next" && put "$ASKING" || return
	count=$(grep -c '^bpf' "$TMP/calls")
	for ((n = 1; n <= count; n += 1 + count / 25)); do
		strace -o /dev/null -e trace=bpf -e "inject=bpf:error=ENOMEM:when=$n" "$RLCTL" -n "$(ns B)" apply "$TMP/next" 2>"$TMP/complaint" || :
		[[ ! -s $TMP/complaint ]] || failures=$((failures + 1))
		put "$ASKING" && proves && is_own asked && is_own peers && is_own asked "$(companion)" && is_own peers "$(companion)" || return
	done
	[[ $failures -ge 3 ]] && put "$PLAIN" && plain && maps_are '' && is "$(companions)" 0 && rl B detach veth-B && nothing_left
}

test_trial_undone() {
	HOOK=xdp
	echo "$ASKING" >"$TMP/next" && rl B attach veth-B && put "$PLAIN" && bg rl B apply --try 1m "$TMP/next" || return
	eventually 5 proves && eventually 5 prints 1 companions && kill -TERM -- "-$BG_PID" && eventually 10 plain && is "$(rl B show)" "$PLAIN" && eventually 5 prints 0 companions
}

# The former program stays as long as its policy may come back.
test_trial_kept() {
	echo "$PLAIN" >"$TMP/next" && put "$ASKING" && bg rl B apply --try 1m "$TMP/next" && eventually 5 prints "$PLAIN" rl B show && proves &&
		is "$(companions)" 1 && rl B confirm && eventually 5 plain && eventually 5 prints 0 companions && rl B detach veth-B && nothing_left
}

# ---- maps that are there while the policy uses them

LOGS='rule any udp limit sliding-log 3/day'
WINDOWS='rule any udp limit sliding-window 3/day slots 10'
SHARED='rule device limit 20000/second burst 2000'
LIMIT='rule any limit 3/day burst 3'
HOT='hot spilled refusals'
MAPS="sources $HOT prefix_cache fleet_limits fleet_grants asked peers answers known_filter flows windows logs fleet_keys
fleet_events sets member_layout set_counts"
pin() { echo "$(ns_pins B)/veth-B-$HOOK/$1"; }

# maps_are "NAME…" [unread]: these are there, and the program has each of them that packets read.
maps_are() {
	local name there=()
	for name in $MAPS; do
		[[ ! -e $(pin "$name") ]] || there+=("$name")
	done
	is "${there[*]}" "$1" || return
	for name in $1; do
		[[ $name == sets || -n ${2:-} ]] || is_own "$name" || return
	done
}
is_own() { bpftool -j prog show id "${2:-$(program)}" | json .map_ids[] | grep -qx "$(bpftool -j map show pinned "$(pin "$1")" | json .id)"; }

# admitted N: so many of 5 more datagrams of one source are let through.
admitted() {
	local before
	before=$(counter B UdpNoPorts) && in_ns A python3 "$TOP/tests/net/datagrams.py" 10.77.0.2 5 10 &&
		eventually 5 counter_is UdpNoPorts $((before + $1)) && sleep 0.2 && counter_is UdpNoPorts $((before + $1))
}
counter_is() { is "$(counter B "$1")" "$2"; }

# Each policy has its own; the state of a limit that stays outlasts the programs.
test_maps() {
	HOOK=xdp
	rl B attach veth-B && maps_are '' && put "$WINDOWS" && maps_are "$HOT windows" && admitted 3 || return
	put "$WINDOWS
rule any tcp limit sliding-log 3/day
rule any sctp limit fixed-window 3/day per flow" && maps_are "$HOT flows windows logs" && admitted 0 || return
	put "$WINDOWS
rule any tcp new-source deny" && maps_are "$HOT known_filter windows" && admitted 0 || return
	put 'rule any tcp new-source deny' && maps_are 'hot known_filter' || return
	put 'rule any limit fixed-window 3/day' && maps_are "sources $HOT" || return
	put 'set bad
rule any tcp established src @bad deny' && maps_are 'peers sets member_layout set_counts' || return
	put "set bad
$PLAIN" && maps_are 'sets member_layout set_counts' unread && put "$PLAIN" && maps_are '' || return
	put 'rule any limit 9/s fleet' && maps_are 'sources fleet_limits fleet_grants fleet_keys fleet_events' && put "$PLAIN" &&
		maps_are 'fleet_limits fleet_grants fleet_keys fleet_events' unread && rl B detach veth-B && nothing_left
}

# Single rules bring the tables and end them: each program has what its policy needs, a limit that stays keeps its
# state, and where there is no table its readers find nothing.
test_tables() {
	HOOK=xdp
	rl B attach veth-B && small && rl B rule add device limit 20000/second && small && reads_none || return
	rl B rule add any limit 3/day burst 3 && maps_are "$HOT" && admitted 3 && is "$(sources)" 1 && is "$(rl B source show -j 10.77.0.1 | json '.states | length')" 2 || return
	rl B rule add 10.78.0.0/16 deny && maps_are "$HOT prefix_cache" && admitted 0 && rl B rule add 10.79.0.0/16 limit 9/day || return
	rl B rule del any limit 3/day burst 3 && maps_are "$HOT prefix_cache" && rl B rule del 10.79.0.0/16 limit 9/day &&
		rl B rule del 10.78.0.0/16 deny && small && reads_none && rl B detach veth-B && nothing_left
}
small() { maps_are '' && between "$(rl B status -j | json '.[0] | .memory_bytes - .cpus.memory_bytes')" 1 $((6 << 20)); }
sources() { rl B status -j | json '.[0].sources.used'; }
reads_none() {
	is "$(sources)" 0 && is "$(rl B source list -j | json '.states | length')" 0 && rl B source show 10.77.0.1 && rl B source forgive 10.77.0.1 &&
		rl B stats && rl B top --once
}

# ---- the array of rules grows with the policy

# some N: so many rules that need an entry each; the packets of the flood meet the first prefix alone.
some() { awk -v n="$1" 'BEGIN { print "rule 10.78.0.0/16 udp deny"; for (i = 1; i < n; i++) printf "rule 10.200.%d.%d udp deny\n", i / 256, i % 256 }'; }
room() { bpftool -j map show pinned "$(pin rules)" | json '.max_entries / 2'; }
grown() { is_own rules && is "$(room)" 1024; }

# Under flood, and the rules keep their counters; then rules come one by one, until there is no room after the others.
test_growth() {
	local first
	HOOK=xdp
	some 2 >"$TMP/policy" && rl B attach veth-B --policy "$TMP/policy" && is "$(room)" 256 && first=$(arrived) && flooding &&
		changed "$(some 600)" grown && [[ $(rule_stat B 10.78.0.0/16 .dropped.packets) -ge $(($(denied) - 20000)) ]] &&
		some 1100 | tail -n 500 >"$TMP/more" && rl B rule add -f "$TMP/more" && is_own rules && is "$(room)" 2048 &&
		is "$(rl B show)" "$(some 1100)" || return
	kill -TERM -- "-$BG_PID" && is "$(arrived)" "$first" && rl B rule flush && rl B rule add 10.78.0.0/16 udp deny && is "$(room)" 2048 &&
		is_own rules && rl B detach veth-B && nothing_left
}

# Killed at some calls from that which makes the larger array on: the next policy is what packets meet.
test_growth_killed() {
	local n first last kills=0
	HOOK=xdp
	some 600 >"$TMP/next" && rl B attach veth-B && put "$(some 2)" && strace -o "$TMP/calls" -e trace=bpf "$RLCTL" -n "$(ns B)" apply "$TMP/next" &&
		grown && first=$(calls_of 'map_name="rules"' | tail -n 1) && last=$(grep -c '^bpf' "$TMP/calls") || return
	for ((n = first; n <= last; n += 1 + (last - first) / 12)); do
		rl B detach veth-B && rl B attach veth-B && put "$(some 2)" || return
		! killed bpf "$n" apply "$TMP/next" || kills=$((kills + 1))
		[[ $(rl B show) == "$(some 2)" || $(rl B show) == "$(some 600)" ]] && put "$(some 3)" && is_own rules &&
			is "$(rl B show)" "$(some 3)" && flood A --count 9 --src 10.200.0.2 >/dev/null && is "$(rule_stat B 10.200.0.2 .dropped.packets)" 9 || return
	done
	[[ $kills -ge 8 ]] && rl B detach veth-B && nothing_left
}

# As many as the option says, and no more: the policy in force stays.
test_growth_most() {
	HOOK=xdp
	rl B attach veth-B --prefixes 700 && put "$(some 699)" && has 'at most 700' expect_status 1 put "$(some 800)" && is "$(rl B show)" "$(some 699)" &&
		rl B detach veth-B && nothing_left
}

# Other tables have the states of all keys in one map.
test_tables_lru() {
	HOOK=xdp
	rl B attach veth-B --table lru && put "$SHARED" && maps_are '' && put "$LIMIT" && maps_are sources && admitted 3 || return
	put "$LIMIT
rule any tcp new-source deny" && maps_are sources && admitted 0 && put 'rule any tcp new-source deny' && maps_are sources && put "$PLAIN" &&
		maps_are '' && rl B detach veth-B && nothing_left
}

# Both are there until it is known which policy stays.
test_maps_trial() {
	HOOK=xdp
	echo "$LOGS" >"$TMP/next" && rl B attach veth-B && put "$WINDOWS" && admitted 3 && bg rl B apply --try 1m "$TMP/next" || return
	eventually 5 prints "$LOGS" rl B show && maps_are "$HOT windows logs" && admitted 3 && kill -TERM -- "-$BG_PID" &&
		eventually 10 prints "$WINDOWS" rl B show && eventually 5 maps_are "$HOT windows" && admitted 0 && rl B detach veth-B && nothing_left
}

# The logs are as many as fitted the CPUs when the map was made: another number stays, and so does the state.
test_maps_size() {
	local sizes
	HOOK=xdp
	rl B attach veth-B && put "$LOGS" && read -ra sizes <<<"$(bpftool -j map show pinned "$(pin logs)" | jq -r '"\(.bytes_key) \(.bytes_value)"')" &&
		rm "$(pin logs)" && bpftool map create "$(pin logs)" type lru_hash key "${sizes[0]}" value "${sizes[1]}" entries 3000 name logs &&
		rl B attach veth-B --replace && is_own logs && put "$LOGS
rule any tcp new-source deny" && maps_are "$HOT known_filter logs" && put "$PLAIN" && maps_are '' && rl B detach veth-B && nothing_left
}

# A check loads the program with maps of its own.
test_maps_check() {
	HOOK=xdp
	echo "$LOGS" >"$TMP/next" && rl B attach veth-B && put "$PLAIN" && rl B apply --check "$TMP/next" && maps_are '' &&
		rl B detach veth-B && nothing_left
}

# ---- the companion at egress

ASKING='rule any not established deny'
at_egress() {
	in_ns B "$TOP/build/tcx" veth-B egress list 2>/dev/null | cut -d ' ' -f 2
	tc -n "$(ns B)" filter show dev veth-B egress | grep -o 'rlctl_[a-z]*:\[\|alien' | tr -d ':['
}
companions() { at_egress | grep -c rlctl_sent; }
companion() { rl B status -j --hook "$HOOK" | json ".[0].companion.program_id"; }
nothing_left() { is "$(at_egress)" '' && [[ ! -e $(ns_pins B) ]] && ! tc -n "$(ns B)" qdisc show dev veth-B | grep clsact; }

# It comes and goes with the policies that ask for more than TCP, and with the instance.
test_companion() {
	local id
	HOOK=xdp
	rl B attach veth-B && put "$PROVING" && is "$(companions)" 0 && put "$ASKING" && is "$(companions)" 1 || return
	id=$(companion) && put "$ASKING" && is "$(companion)" "$id" && rl B attach veth-B --replace && is "$(companions)" 1 &&
		[[ $(companion) -ne $id ]] && put "$PLAIN" && is "$(companions)" 0 && put "$ASKING" && rl B detach veth-B || return
	nothing_left && rl B attach veth-B --policy - <<<"$ASKING" && is "$(companions)" 1 && rl B rule del any not established &&
		is "$(companions)" 0 && plain && rl B rule add any udp not established deny && is "$(companions)" 1 && proves &&
		rl B detach veth-B && nothing_left
}

# Where the hook or the kernel is another one.
test_companion_there() { # HOOK
	HOOK=$1
	rl B attach veth-B --hook "$1" --policy - <<<"$ASKING" && is "$(companions)" 1 && rl B attach veth-B --hook "$1" --replace &&
		is "$(companions)" 1 && put "$PLAIN" && nothing_at_egress && put "$ASKING" && is "$(companions)" 1 &&
		rl B detach veth-B --hook "$1" && nothing_left
}
nothing_at_egress() { is "$(at_egress)" '' && { [[ $HOOK != xdp ]] || ! tc -n "$(ns B)" qdisc show dev veth-B | grep clsact; }; }

# A clsact of others stays.
test_companion_foreign() {
	HOOK=xdp
	tc -n "$(ns B)" qdisc add dev veth-B clsact &&
		rl B attach veth-B --policy - <<<"$ASKING" && is "$(companions)" 1 && rl B detach veth-B && is "$(companions)" 0 &&
		tc -n "$(ns B)" qdisc del dev veth-B clsact && nothing_left
}

# Beside an instance at egress, which has none, and filters of others.
test_companion_others() {
	HOOK=xdp
	rl B attach veth-B --hook egress --policy - <<<"$ASKING" && is "$(companions)" 0 && rl B attach veth-B --hook xdp --policy - <<<"$ASKING" &&
		is "$(companions)" 1 && rl B detach veth-B --hook egress && is "$(companions)" 1 || return
	rl B attach veth-B --hook egress && rl B detach veth-B --hook xdp && is "$(at_egress)" rlctl_tc && rl B detach veth-B --hook egress && nothing_left
}

# A program that a crash leaves at egress goes with the next command.
test_companion_orphan() {
	HOOK=xdp
	rl B attach veth-B --policy - <<<"$ASKING" && ip -n "$(ns B)" link set veth-B xdp off && is "$(companions)" 1 || return
	rl B attach veth-B && is "$(companions)" 0 && rl B detach veth-B && nothing_left
}

# One that others removed comes back with the next policy.
test_companion_removed() {
	HOOK=xdp
	rl B attach veth-B --policy - <<<"$ASKING" && rm "$(ns_pins B)/veth-B-xdp/companion/link" && eventually 5 prints 0 companions &&
		put "$ASKING" && is "$(companions)" 1 && rl B detach veth-B && nothing_left
}

# One that others detached, whose link stays pinned: status says so, and each of these repairs it.
test_companion_detached() {
	HOOK=xdp
	rl B attach veth-B --policy - <<<"$ASKING" || return
	detached && rl B apply -i veth-B - <<<"$ASKING" && is "$(companions)" 1 || return
	detached && rl B rule add any udp sport 5353 deny && is "$(companions)" 1 || return
	detached && rl B attach veth-B --replace && is "$(companions)" 1 && rl B detach veth-B && nothing_left
}
detached() {
	bpftool link detach pinned "$(ns_pins B)/veth-B-xdp/companion/link" && is "$(companions)" 0 && is "$(companion)" null &&
		has missing rl B status
}

veth_pair A B 2 && veth_quiet A B && ns_mute A && ns_mute B && in_ns B ethtool -K veth-B gro on || exit 1
t 'under flood at xdp, native' test_flood xdp --mode native
t 'under flood at egress' test_flood egress
t 'killed anywhere' test_crash "$ASKING" "$PLAIN"
t 'killed anywhere, from map to map' test_crash "$LOGS" "$WINDOWS"
t 'killed anywhere, from table to none' test_crash "$LIMIT" "$SHARED"
t 'maps come and go' test_maps
t 'tables come and go with single rules' test_tables
t 'tables, --table lru' test_tables_lru
t 'rules grow under flood' test_growth
t 'rules grow, killed anywhere' test_growth_killed
t 'rules, as many as there may be' test_growth_most
t 'maps, on trial' test_maps_trial
t 'maps of another size' test_maps_size
t 'maps that a check makes' test_maps_check
t 'failed, at ingress' test_failed
t 'failed, with a companion' test_failed_companion
t 'on trial, undone' test_trial_undone
t 'on trial, kept' test_trial_kept
t 'the companion, at xdp' test_companion
t 'the companion, at ingress' test_companion_there ingress
t 'the companion, clsact' older test_companion_there xdp
t 'the companion, clsact of others' older test_companion_foreign
t 'the companion, beside egress' test_companion_others
t 'the companion, beside egress, clsact' older test_companion_others
t 'the companion, of an instance that is gone' test_companion_orphan
if in_ns B "$TOP/build/tcx" veth-B egress list >/dev/null 2>&1; then
	t 'the companion, removed' test_companion_removed
	t 'the companion, detached' test_companion_detached
fi
