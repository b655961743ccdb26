#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# attach --replace: another program replaces the running one. No packet escapes meanwhile; policy, state,
# counters and options stay; a replacement that could not keep them is refused; a crash leaves the old program
# or the new. Behind libxdp's dispatcher it is tested in tests/vm. check: timeout 400
source "$(dirname "$0")/../lib.sh"
source "$(dirname "$0")/swap.sh"

HOOK=xdp

replace() { rl B attach veth-B --hook "$HOOK" --replace "$@"; }
no_pins() { [[ ! -e $(ns_pins B) ]]; }

# ---- under flood

SWAPS=2

attach_denying() {
	echo 'rule any deny' >"$TMP/policy"
	rl B attach veth-B --hook "$@" --policy "$TMP/policy"
}

# Between any two swaps packets were denied, so that the flood was there at each.
test_flood() { # HOOK ATTACH-OPTION…
	HOOK=$1
	attach_denying "$@" && flood_swaps
}

# From a filter of clsact to tcx, and then in its place.
test_flood_moves() { # HOOK
	HOOK=$1
	older attach_denying "$1" && [[ -n $(filters) ]] && flood_swaps && is "$(filters)" ''
}
filters() { tc -n "$(ns B)" filter show dev veth-B "$HOOK" 2>/dev/null; }

flood_swaps() {
	local n before first id seen
	first=$(arrived) && flooding || return
	id=$(program) && seen=$(denied) || return
	for ((n = 0; n < SWAPS; n++)); do
		eventually 10 denied_more $((seen + 500)) && before=$(denied) && replace && seen=$(denied) || return
		[[ $seen -ge $before ]] || _say "counted $before, then $seen" || return
	done
	eventually 10 denied_more $((seen + 500)) && kill -TERM -- "-$BG_PID" || return
	[[ $(program) -ne $id ]] && eventually 5 unloaded "$id" && is "$(arrived)" "$first" &&
		rl B detach veth-B --hook "$HOOK" && no_pins
}

# ---- what stays

PINGS=3

# pings N: so many of PINGS are answered.
pings() { answers "$1" "$PINGS"; }

# kept: counters, rules and options; the time that a rule has left differs.
kept() {
	stats_of B | jq '.[0] | .rules |= map(.rule |= sub(" for .*"; " for a while"))' &&
		rl B status -j | json '.[0] | .device, .hook, .mode, .since, .table, .sources'
}

# A limit that is spent stays spent, a ban holds, a rule expires when it would have.
test_stays() { # HOOK ATTACH-OPTION…
	local before id said
	HOOK=$1
	rl B attach veth-B --hook "$@" --sources 1000 --table lru && rl B apply - <<-'END' || return
	rule 10.77.0.1 icmp limit sliding-window 2/day
	rule any udp limit 1/hour burst 1 over ban 1h
	rule 192.0.2.1 deny for 1d
	END
	pings 2 && kept >"$TMP/before" && id=$(program) || return
	said=$(replace 2>&1) && is "$said" "rlctl: veth-B: program $id at $HOOK replaced by $(program); $KEPT" &&
		kept >"$TMP/after" && diff "$TMP/before" "$TMP/after" || return
	[[ $(program) -ne $id ]] && pings 0 && is "$(stat_of B .reasons.over.packets)" 4 &&
		rl B rule flush && pings 3 && rl B detach veth-B && no_pins && eventually 5 unloaded "$id"
}
KEPT='policy, state and counters stay'

# Whoever was known stays so: the limit for new sources is spent.
test_stays_known() {
	HOOK=xdp
	echo 'rule device new-source limit 1/day burst 1' >"$TMP/policy"
	rl B attach veth-B --policy "$TMP/policy" && pings $PINGS && filter_is_made && replace && pings $PINGS && filter_is_made || return
	rl B apply "$TMP/policy" && replace && pings $PINGS && rl B detach veth-B && no_pins
}

filter_pin() { echo "$(ns_pins B)/veth-B-xdp/known_filter"; }
filter_is_made() { [[ $(bpftool -j map dump pinned "$(filter_pin)" | json '[.[] | select(.value | type == "array")] | length') -eq 1 ]]; }

# All instances of the device where no hook is named, and programs keep their places; where one cannot be
# replaced, none is.
test_several() {
	local before id
	HOOK=xdp
	rl B attach veth-B --hook xdp --hook ingress --hook egress && before=$(places) || return
	rl B attach veth-B --replace 2>"$TMP/said" && is "$(grep -c replaced "$TMP/said")" 3 && is "$(places)" "$before" &&
		rl B attach veth-B --replace --hook ingress 2>"$TMP/said" && is "$(grep -c replaced "$TMP/said")" 1 || return
	id=$(program) && put_aside egress batches && has 'with that version' expect_status 1 rl B attach veth-B --replace &&
		is "$(program)" "$id" && put_back egress batches && rl B detach veth-B --hook xdp &&
		rl B detach veth-B --hook ingress && rl B detach veth-B --hook egress && no_pins
}
places() {
	tc -n "$(ns B)" filter show dev veth-B ingress | grep -o 'pref.*handle [^ ]*'
	stat -c %i "$(ns_pins B)/veth-B-ingress/link" # as long as the link of tcx is the same one
}

# The pin of a map, moved away and back.
put_aside() { mv "$(ns_pins B)/veth-B-$1/$2" "$BPFFS/$(ns "$2")"; }
put_back() { rm -f "$(ns_pins B)/veth-B-$1/$2" && mv "$BPFFS/$(ns "$2")" "$(ns_pins B)/veth-B-$1/$2"; }

# ---- refused

# refused STATUS TEXT OPTION…: and everything is as it was.
refused() {
	local id status=$1 text=$2
	id=$(program) && has "$text" expect_status "$status" replace "${@:3}" && is "$(program)" "$id" &&
		is "$(rl B show)" 'rule any tcp deny'
}

refusing() {
	HOOK=xdp
	rl B attach veth-B --mode generic --log-depth 100 && rl B rule add any tcp deny && echo >"$TMP/policy"
}

test_options() {
	refused 1 'attached with --table hot, which --replace keeps' --table cpu &&
		refused 1 'attached with --by source' --by dest &&
		refused 1 'attached with --mode generic' --mode native &&
		refused 1 'attached with --sources 262144' --sources 1000 &&
		refused 1 'attached with --prefixes 262144, which --replace can only raise' --prefixes 1000 &&
		refused 1 'attached with --bans 65536, which --replace can only raise' --bans 1000 &&
		refused 1 'attached with --log-depth 128' --log-depth 200 &&
		refused 1 'attached with --state sockets, which --replace keeps' --state conntrack &&
		refused 1 'attached with --challenge-rate 1000000' --challenge-rate 5 &&
		refused 2 'keeps the policy' --policy "$TMP/policy" &&
		refused 2 'leave one out' --or-apply && refused 2 '--fq applies only to --hook egress' --fq || return
	replace --table hot --by source --mode generic --sources 262144 --prefixes 262144 --bans 65536 --log-depth 100 --state sockets --challenge-rate 1000000 &&
		is "$(rl B show)" 'rule any tcp deny' && is "$(rl B status -j | json '.[0].mode')" generic
}

test_nothing() {
	has 'nothing to replace on veth-A: attach without --replace' expect_status 1 rl A attach veth-A --replace &&
		has 'nothing to replace' expect_status 1 rl B attach nosuch --replace &&
		has 'nothing to replace on veth-B --hook egress' expect_status 1 rl B attach veth-B --hook egress --replace
}

# A map of another layout replaces one of ours; the running program continues.
test_layout() { # PIN MAP-WORD…
	local id status=0
	id=$(program) && put_aside xdp "$1" || return
	[[ $# -eq 1 ]] || bpftool map create "$(ns_pins B)/veth-B-xdp/$1" name other key 4 "${@:2}" || return
	has 'rlctl attach veth-B --policy FILE' expect_status 1 replace && is "$(xdp_program B veth-B)" "$id" || status=1
	put_back xdp "$1" && is "$(program)" "$id" && is "$(rl B show)" 'rule any tcp deny' && return "$status"
}

# The same of a map in a map.
test_layout_slot() {
	local slot outer status=0
	slot=$BPFFS/$(ns slot) outer=$(ns_pins B)/veth-B-xdp/tries
	bpftool map create "$slot" name other type lpm_trie key 24 value 32 entries 10 flags 1 && put_aside xdp tries &&
		bpftool map create "$outer" name other type array_of_maps key 4 value 4 entries 2 inner_map pinned "$slot" &&
		bpftool map update pinned "$outer" key 0 0 0 0 value pinned "$slot" && rm "$slot" || return
	has 'with that version' expect_status 1 replace || status=1
	put_back xdp tries && replace && return "$status"
}

test_gone() {
	ip -n "$(ns B)" link set dev veth-B xdpgeneric off &&
		has 'no longer on the device' expect_status 1 replace && rl B detach veth-B && no_pins
}

# ---- crashes

# The instance is one that works, with one program, its rules and its counters.
whole() {
	is "$(rl B status -j | json length)" 1 && is "$(program)" "$(on_device)" && is "$(rl B show)" 'rule any icmp deny' &&
		is "$(stat_of B .reasons.denied.packets)" "$DENIED" && pings 0 && DENIED=$((DENIED + 3))
}
on_device() {
	case $HOOK in
	xdp) xdp_program B veth-B ;;
	*) tcx list | cut -d ' ' -f 1 && filters | sed -nE 's/.* id ([0-9]+) .*/\1/p' ;;
	esac
}

tcx() { in_ns B "$TOP/build/tcx" veth-B "$HOOK" "$@"; }

# Before each message to the kernel, the one that swaps among them, now and then while maps and program are
# prepared, and at each call from the one that swaps them at tcx.
test_crash() { # HOOK
	local call n step killed=0
	HOOK=$1 DENIED=0
	rl B attach veth-B --hook "$HOOK" && rl B rule add any icmp deny && whole || return
	for call in sendto bpf; do
		[[ $call == bpf ]] && step=120 || step=1
		for ((n = 1; n < 400; n += step)); do
			killed "$call" "$n" attach veth-B --hook "$HOOK" --replace || break
			killed=$((killed + 1))
		done
		whole || return
	done
	[[ $HOOK == xdp || $RLCTL != "$RLCTL_NOW" ]] || ! tcx list || crash_swaps || return
	echo "$killed killed" && [[ $killed -ge 6 ]] && rl B detach veth-B --hook "$HOOK" && no_pins
}

crash_swaps() {
	local n first
	strace -o "$TMP/calls" -e trace=bpf "$RLCTL" -n "$(ns B)" attach veth-B --hook "$HOOK" --replace &&
		first=$(grep -n BPF_LINK_UPDATE "$TMP/calls" | cut -d : -f 1) || return
	for ((n = first; n < first + 4; n++)); do
		killed bpf "$n" attach veth-B --hook "$HOOK" --replace && whole && killed=$((killed + 1)) || return
	done
}

# Another one stands before ours, so that the new program comes beside the old one: killed before that one
# leaves, both are there, and the next command mends it.
test_crash_between() { # detach|replace
	HOOK=ingress DENIED=0
	rl B attach veth-B --hook ingress && rl B rule add any icmp deny && tcx next-first && killed renameat 2 attach veth-B --hook "$HOOK" --replace || return
	is "$(tcx_names)" 'rlctl_tc alien_next rlctl_tc' && has 'ours a second time' rl B doctor veth-B && pings 0 && is "$(rl B status -j | json length)" 1 || return
	if [[ $1 == replace ]]; then
		replace && is "$(tcx_names)" 'rlctl_tc alien_next' && is "$(program)" "$(on_device | head -n 1)" && pings 0 || return
	fi
	rl B detach veth-B && is "$(tcx_names)" alien_next && tcx clear && no_pins && pings 3
}
tcx_names() { tcx list | cut -d ' ' -f 2 | paste -sd ' '; }

veth_pair A B && veth_quiet A B && ns_mute A && ns_mute B && in_ns B ethtool -K veth-B gro on || exit 1
t 'no packet escapes, native' test_flood xdp --mode native
t 'no packet escapes, generic' test_flood xdp --mode generic
t 'no packet escapes, ingress' test_flood ingress
t 'no packet escapes, egress' test_flood egress
t 'no packet escapes, ingress, clsact' older test_flood ingress
if tcx list >/dev/null 2>&1; then
	t 'no packet escapes, ingress, from clsact to tcx' test_flood_moves ingress
	t 'no packet escapes, egress, from clsact to tcx' test_flood_moves egress
fi
t 'what stays, native' test_stays xdp --mode native
t 'what stays, ingress' test_stays ingress
t 'who is known stays known' test_stays_known
t 'several hooks' test_several
refusing || exit 1
t 'options that contradict' test_options
t 'nothing to replace' test_nothing
t 'a map whose values are larger' test_layout reasons type percpu_array value 24 entries 10
t 'a map with more elements' test_layout pressure type percpu_array value 8 entries 5
t 'a map of another type' test_layout pressure type array value 8 entries 4
t 'a map that is missing' test_layout batches
t 'an instance that is larger' test_layout instance type array value 4096 entries 1
t 'a map in a map that is larger' test_layout_slot
t 'a program that is gone' test_gone
t 'killed anywhere, xdp' test_crash xdp
t 'killed anywhere, egress' test_crash egress
t 'killed anywhere, egress, clsact' older test_crash egress
if tcx list >/dev/null 2>&1; then
	t 'killed while both are there, then replaced' test_crash_between replace
	t 'killed while both are there, then detached' test_crash_between detach
fi
