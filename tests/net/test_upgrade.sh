#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A command meets what another call of it left: attach --or-apply.
source "$(dirname "$0")/../lib.sh"

program() { xdp_program B veth-B; }

attached_as() { [[ -n $1 ]] && is "$(program)" "$1"; }

# ---- attach --or-apply

or_apply() { rl B attach veth-B --or-apply "$@"; }

test_or_apply_attaches() {
	echo 'rule any limit 9/second burst 1' >"$TMP/policy"
	or_apply --policy "$TMP/policy" && [[ -n $(program) ]] &&
		is "$(rl B show)" 'rule any limit 9/second burst 1'
}

ping_b() { in_ns A ping -qc "$1" -i 0.01 -W 1 10.77.0.2; }

# A ban of the old policy holds under the new one: state and counters are kept.
test_or_apply_keeps() {
	local id dropped
	rl B rule flush && rl B rule add any icmp limit 1/hour burst 3 over ban 1h && id=$(program) &&
		{ ping_b 5 || true; } && dropped=$(stat_of B .dropped.packets) && between "$dropped" 1 5 || return
	rl B show | sed 's,1/hour burst 3,2/hour burst 4,' >"$TMP/policy" || return
	has 'policy was applied' or_apply --policy "$TMP/policy" && attached_as "$id" &&
		is "$(rl B show)" "$(<"$TMP/policy")" && expect_fail ping_b 1 &&
		between "$(stat_of B .dropped.packets)" $((dropped + 1)) $((dropped + 1))
}

test_or_apply_bad_policy() {
	local id
	rl B rule flush && rl B rule add any deny && id=$(program) && echo 'rule any limi' >"$TMP/policy" &&
		has 'limi' expect_status 1 or_apply --policy "$TMP/policy" &&
		expect_status 1 or_apply --policy "$TMP/none" && attached_as "$id" &&
		is "$(rl B show)" 'rule any deny'
}

test_or_apply_no_policy() {
	local id
	rl B rule flush && rl B rule add any tcp deny && id=$(program) && has 'stays as it is' or_apply &&
		attached_as "$id" && is "$(rl B show)" 'rule any tcp deny'
}

veth_pair A B && veth_quiet A B || exit 1
t '--or-apply attaches where nothing is' test_or_apply_attaches
t '--or-apply keeps program, state and counters' test_or_apply_keeps
t '--or-apply with a bad policy changes nothing' test_or_apply_bad_policy
t '--or-apply without a policy changes nothing' test_or_apply_no_policy
