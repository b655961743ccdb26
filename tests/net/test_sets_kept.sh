#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Members of a set outlive policies that have a set of its name: apply, a trial that is undone, and another
# program in the place of the running one. Without a set there are no maps of sets. check: timeout 120
source "$(dirname "$0")/../lib.sh"

veth_pair A B && veth_quiet A B && ns_mute A && ns_mute B || exit 1

apply() { rl B -q apply -i veth-B "${@:2}" - <<<"$1"; }
members() { rl B set list -i veth-B "$1" | sort | tr '\n' ' '; }
denied() { stat_of B .reasons.denied.packets; }
# is_denied N: of 3 packets from 10.9.1.1 so many are denied.
is_denied() { is "$(growth denied flood A --count 3 --src 10.9.1.1)" "$1"; }

WITH=$'set bad max 10\nrule @bad deny\nrule any allow'

begin() {
	rl B detach veth-B 2>/dev/null
	rl B -q attach veth-B --policy - <<<"$WITH" && rl B -q set add -i veth-B bad 10.9.1.1 2001:db8::/32
}
kept() { is "$(members bad)" '10.9.1.1 2001:db8::/32 ' && is_denied 3; }

test_apply() {
	begin && kept && apply $'set other\nset bad max 10\nrule @other allow\nrule @bad udp deny' && kept
}

test_larger() {
	begin && apply $'set bad max 2000000\nrule @bad deny' && kept &&
		rl B -q set add -i veth-B bad 10.9.{2..9}.{1..9} && is_denied 3 && is "$(members bad | wc -w)" 74
}

# By number 0 there is another set afterwards; what the first had is not its own.
test_removed() {
	begin && apply $'set zoo\nrule @zoo deny' && is "$(members zoo)" '' && is_denied 0 &&
		apply "$WITH" && is "$(members bad)" '' && is_denied 0
}

test_trial_undone() {
	begin && expect_fail apply $'set new\nrule @new deny' --try 1s && kept
}

test_trial_kept() {
	begin || return
	apply $'set new\nset bad max 20\nrule @new deny\nrule @bad deny' --try 30s &
	eventually 10 has_set new && kept && rl B -q confirm -i veth-B && wait $! && kept
}
has_set() { rl B show -i veth-B | grep -q "^set $1"; }

test_replace() { begin && rl B -q attach veth-B --replace && kept; }

# Maps of sets that the instance has pinned; tests beside this one have such maps, too.
maps_of_sets() {
	local pin
	for pin in "$(ns_pins B)"/veth-B-xdp/*; do
		bpftool -j map show pinned "$pin" 2>/dev/null | jq -r '.name // ""'
	done | grep -cE '^(rlctl_(members|setg)|sets$|member_layout$|set_counts$)'
}

test_no_maps() {
	rl B detach veth-B 2>/dev/null
	rl B -q attach veth-B --policy - <<<'rule any deny' && is "$(maps_of_sets)" 0 &&
		apply "$WITH" && [[ $(maps_of_sets) -ge 5 ]] && apply 'rule any deny' &&
		is "$(maps_of_sets)" 0 && is_denied 3
}

t 'apply keeps the members of a set of the same name' test_apply
t 'more room keeps them' test_larger
t 'members of a set that is gone are gone' test_removed
t 'a trial that is undone brings them back' test_trial_undone
t 'a trial that is confirmed keeps them' test_trial_kept
t 'another program keeps them' test_replace
t 'without a set there are no maps of sets' test_no_maps
