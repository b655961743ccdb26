#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# tcx: where the kernel has it (Linux 6.6 and later) the programs of tc's hooks hang there, before those of
# others and before the filters of clsact; they live and go with their instance. Where it has none they are
# filters of clsact, for which test_tc.sh has the rows. check: timeout 240
source "$(dirname "$0")/../lib.sh"

ALIEN=$TOP/build/filter.bpf.o

tcx() { in_ns B "$TOP/build/tcx" veth-B "$@"; }
row() { tcx "$1" list | cut -d ' ' -f 2 | paste -sd ' '; } # HOOK: the names in their order
row_is() { is "$(row "$1")" "$2"; }

# The count of the foreign program, in its only map.
seen() { bpftool -j prog show id "$1" | json '.map_ids[0]' | xargs bpftool -j map dump id | json '.[0].formatted.value'; }
alien_seen() { seen "$(tcx "$1" list | awk '$2 ~ "^alien" { print $1 }')"; }
filter_seen() { seen "$(filters "$1" | sed -nE 's/.* id ([0-9]+) name filter_count .*/\1/p')"; }

qdiscs() { tc -n "$(ns B)" qdisc show dev veth-B; }
filters() { tc -n "$(ns B)" filter show dev veth-B "$1"; }
traceless() { is "$(qdiscs)" "$BEFORE" && [[ ! -e $(ns_pins B) ]]; }
tcx_traceless() { traceless && row_is "$1" ''; }

# older ARG…: rlctl in B as on a kernel without tcx.
older() { "$TOP/build/older" "$RLCTL" -n "$(ns B)" "$@"; }

LIMIT='any icmp limit 1/hour burst 3'
limit() { rl B rule add "$LIMIT"; }

# ---- where it stands

# By the kernel's version, so that nothing falls back unnoticed.
test_place() { # HOOK
	local release
	IFS=.- read -ra release <<<"$(uname -r)"
	rl B attach veth-B --hook "$1" && limit && answers 3 || return
	if [[ ${release[0]} -gt 6 || (${release[0]} -eq 6 && ${release[1]} -ge 6) ]]; then
		row_is "$1" rlctl_tc && is "$(qdiscs)" "$BEFORE" && is "$(filters "$1")" '' || return
	else
		has rlctl_tc filters "$1" || return
	fi
	rl B detach veth-B && traceless
}

# ---- programs of others

# A foreign program that passes packets by all later ones is already attached.
test_pass() { # HOOK
	tcx "$1" pass && rl B attach veth-B --hook "$1" && row_is "$1" 'rlctl_tc alien_pass' && limit &&
		answers 3 && is "$(alien_seen "$1")" 3 && rl B detach veth-B && row_is "$1" alien_pass &&
		answers 5 && tcx "$1" clear && tcx_traceless "$1"
}

# Packets that ours admits go on to the next program, and then to the filters of clsact.
test_next() { # HOOK
	tcx "$1" next && tc -n "$(ns B)" qdisc add dev veth-B clsact &&
		tc -n "$(ns B)" filter add dev veth-B "$1" protocol all bpf da obj "$ALIEN" sec tc &&
		rl B attach veth-B --hook "$1" && limit && answers 3 || return
	is "$(alien_seen "$1")" 3 && is "$(filter_seen "$1")" 3 && rl B detach veth-B && has clsact qdiscs &&
		tc -n "$(ns B)" qdisc del dev veth-B clsact && tcx "$1" clear && tcx_traceless "$1"
}

# doctor: its findings on tcx, into $TMP/found; says HOOK RESULT TEXT checks them.
doctor() { rl B doctor veth-B -j | jq 'map(select(.check == "tcx"))' >"$TMP/found"; }
says() {
	jq -e --arg at "$1: " --arg result "$2" --arg text "$3" 'map(select(.what | startswith($at))) | length == 1 and
		(.[0] | .result == $result and ("\(.what) \(.remedy)" | contains($text)))' "$TMP/found" || _say "$(<"$TMP/found")"
}

# A foreign program attached later runs before ours: doctor reports it, and --replace repairs it.
test_overtaken() {
	rl B attach veth-B --hook ingress && limit && tcx ingress pass-first && answers 5 && doctor || return
	says ingress warn alien_pass && says ingress warn 'rlctl attach veth-B --replace' && says egress ok 'no program' || return
	rl B attach veth-B --replace && row_is ingress 'rlctl_tc alien_pass' && answers 3 && doctor &&
		says ingress ok 'nothing before ours' && rl B detach veth-B && tcx ingress clear && tcx_traceless ingress
}

# The kernel takes 63 programs on a hook: ours becomes a filter, and attach and doctor report it.
test_full() {
	tcx ingress fill && has 'runs after 63 tcx programs' rl B attach veth-B --hook ingress &&
		has rlctl_tc filters ingress && limit && answers 3 && doctor && says ingress warn 'once one of the others' &&
		has '63 tcx programs' rl B attach veth-B --replace && tcx ingress clear || return
	rl B attach veth-B --replace && row_is ingress rlctl_tc && is "$(filters ingress)" '' && answers 0 &&
		rl B detach veth-B && tcx_traceless ingress
}

# In a full row ours stays where it is.
test_full_behind() {
	local id
	rl B attach veth-B --hook ingress && limit && tcx ingress next-first && tcx ingress fill &&
		id=$(rl B status -j | json '.[0].program_id') && rl B attach veth-B --replace || return
	[[ $(rl B status -j | json '.[0].program_id') -ne $id ]] && answers 3 &&
		is "$(row ingress | grep -o rlctl_tc | wc -l)" 1 && is "$(row ingress | cut -d ' ' -f 2)" rlctl_tc &&
		rl B detach veth-B && tcx ingress clear && tcx_traceless ingress
}

# ---- instances of a version that knew clsact alone

old() { older attach veth-B --hook "$1" --policy - <<<"rule $LIMIT"; }

test_old_detached() {
	old ingress && has rlctl_tc filters ingress && answers 3 &&
		is "$(rl B status -j | json '.[0].hook')" ingress && tcx ingress pass && answers 5 || return
	doctor && says ingress warn alien_pass && rl B detach veth-B && tcx ingress clear && tcx_traceless ingress
}

# The limit that is spent stays spent.
test_old_replaced() {
	old egress && answers 3 && tcx egress pass && answers 5 &&
		rl B attach veth-B --replace && row_is egress 'rlctl_tc alien_pass' && is "$(filters egress)" '' || return
	answers 0 && is "$(stat_of B .reasons.over.packets)" 7 && rl B detach veth-B && tcx egress clear &&
		tcx_traceless egress
}

# ---- what becomes of the device

test_renamed() {
	rl B attach veth-B --hook ingress && limit && ip -n "$(ns B)" link set veth-B name other &&
		is "$(rl B status -j | json '.[0].device')" other && answers 3 && rl B attach other --replace &&
		answers 0 && rl B detach other && ip -n "$(ns B)" link set other name veth-B && tcx_traceless ingress
}

device_new() { ip -n "$(ns "$1")" link add "$2" type veth peer name "$2-end" && ip -n "$(ns "$1")" link set "$2" up; }

# A pinned link keeps its program loaded when its device is gone.
test_came_back() {
	local id
	device_new B gone && rl B attach gone --hook ingress && rl B rule add any deny &&
		id=$(rl B status -j | json '.[0].program_id') && ip -n "$(ns B)" link del gone || return
	is "$(rl B status -j)" '[]' && device_new B gone && is "$(rl B status -j)" '[]' &&
		has 'no longer on the device' expect_status 1 rl B show -i gone || return
	rl B attach gone --hook ingress && is "$(rl B show)" '' && eventually 5 unloaded "$id" &&
		rl B detach gone && ip -n "$(ns B)" link del gone && traceless
}

# The leftovers of a deleted namespace are found, though its program is still loaded, and removed; in a bpffs
# of its own, which no test beside this one clears. A namespace of another test gets the lowest number that is free: with
# its own number it would keep the leftovers, so that lower ones are made free first; where it has it all the same, again.
test_namespace_deleted() {
	local status=0 lower=(L{1..16})
	mkdir -p "$TMP/bpf" && mount -t bpf bpf "$TMP/bpf" && ns_new "${lower[@]}" || return
	left_and_cleared || status=$?
	umount "$TMP/bpf" && return "$status"
}
left_and_cleared() {
	local pins=
	cleared && return
	! stat -L -c %i /run/netns/* /proc/[0-9]*/ns/net 2>/dev/null | grep -qx "${pins##*/}" || return 2
	return 1
}
cleared() {
	local id name
	ns_new C && for name in "${lower[@]}"; do ip netns del "$(ns "$name")" 2>/dev/null; done
	device_new C gone && own C attach gone --hook egress && pins=$TMP/bpf/rlctl/$(basename "$(ns_pins C)") &&
		id=$(own C status -j | json '.[0].program_id') && ip netns del "$(ns C)" && eventually 5 left_over || return
	[[ -e $pins/gone-egress/link ]] && ! unloaded "$id" && own B attach veth-B --hook egress &&
		own B detach veth-B && [[ ! -e $pins ]] && eventually 5 unloaded "$id"
}
own() { rl "$1" --bpffs "$TMP/bpf" "${@:2}"; }
left_over() { own B doctor veth-B -j | json 'any(.[]; .check == "leftovers" and (.what | contains("gone-egress")))'; }

# It stays on the device in another namespace, from where detach takes it off.
test_moved() {
	ns_new D && device_new B wanders && rl B attach wanders --hook ingress &&
		ip -n "$(ns B)" link set wanders netns "$(ns D)" || return
	is "$(in_ns D "$TOP/build/tcx" wanders ingress list | cut -d ' ' -f 2)" rlctl_tc && is "$(rl B status -j)" '[]' &&
		has 'in another network namespace' expect_status 1 rl B detach wanders &&
		ip -n "$(ns D)" link set wanders netns "$(ns B)" && rl B detach wanders && traceless
}
is_bare() { is "$(in_ns D "$TOP/build/tcx" wanders ingress list)" ''; }

test_forced() {
	rl B attach veth-B --hook ingress && bpftool link detach pinned "$(ns_pins B)/veth-B-ingress/link" &&
		row_is ingress '' && is "$(rl B status -j)" '[]' &&
		has 'no longer on the device' expect_status 1 rl B show -i veth-B || return
	rl B attach veth-B --hook ingress && rl B detach veth-B && tcx_traceless ingress
}

veth_pair A B && veth_quiet A B && ns_mute A && ns_mute B || exit 1
BEFORE=$(qdiscs)
t 'by tcx where the kernel has it, ingress' test_place ingress
t 'by tcx where the kernel has it, egress' test_place egress
tcx ingress list >/dev/null 2>&1 || exit 0
t 'before one that passes, ingress' test_pass ingress
t 'before one that passes, egress' test_pass egress
t 'what comes next, ingress' test_next ingress
t 'what comes next, egress' test_next egress
t 'one that came before ours later' test_overtaken
t 'no room' test_full
t 'no room before it' test_full_behind
t 'an instance on clsact is detached' test_old_detached
t 'an instance on clsact is replaced' test_old_replaced
t 'a device that was renamed' test_renamed
t 'a device that came back' test_came_back
t 'a namespace that was deleted' patiently test_namespace_deleted
t 'a device that moved' test_moved
t 'taken off by force' test_forced
