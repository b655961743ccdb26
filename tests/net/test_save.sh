#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The policy in force and the policy in files: diff.
source "$(dirname "$0")/../lib.sh"

P=$TMP/policy

# in_force LINE…: exactly these rules are.
in_force() { printf '%s\n' "$@" | rl B apply --yes -; }
lines() { printf '%s\n' "$@"; }

# ---- diff

test_diff() {
	in_force 'rule any limit 9/second burst 1' 'rule 192.0.2.1 deny # bob' 'rule 192.0.2.2 deny' &&
		lines 'rule 192.0.2.1 deny # eve' 'rule any limit 9/second burst 1' 'rule 192.0.2.3 allow' >"$P" &&
		is "$(rl B diff "$P")" "$(lines '- rule 192.0.2.1 deny # bob' '+ rule 192.0.2.1 deny # eve' \
			'- rule 192.0.2.2 deny' '+ rule 192.0.2.3 allow')" &&
		is "$(rl B diff - -j <"$P" | json -c '[.device, .added, .removed, .changed]')" \
			'["veth-B",["rule 192.0.2.3 allow"],["rule 192.0.2.2 deny"],[{"from":"rule 192.0.2.1 deny # bob","to":"rule 192.0.2.1 deny # eve"}]]'
}

# What show prints does not differ, with the time left as it is now; what is applied does not differ then.
test_diff_none() {
	in_force 'rule any limit 1mbit over count # x' 'rule 192.0.2.0/24 udp limit leaky-bucket 5/s queue 3ms' 'rule 192.0.2.1 deny for 1h' &&
		is "$(rl B show | rl B diff - 2>&1)" 'rlctl: veth-B: no difference' && is "$(rl B show | rl B diff -q - 2>&1)" '' &&
		is "$(rl B show | rl B diff -j - | json -c '[.added, .removed, .changed]')" '[[],[],[]]' &&
		rl B apply "$P" && has 'no difference' rl B diff "$P"
}

# A diff changes nothing, and says what apply would say.
test_diff_notes() {
	local before
	before=$(rl B show) && lines 'rule any allow' 'rule any deny' >"$P" &&
		has "$P:2: replaces the rule on line 1" rl B diff "$P" &&
		echo 'rule any udp limit 9/s over ban 1m' >"$P" && has "$P:1: warning: a single packet" rl B diff "$P" &&
		echo 'rule any dney' >"$P" && has "$P:1:10: \"dney\" is not" expect_status 1 rl B diff "$P" &&
		is "$(rl B diff "$P" 2>/dev/null)" '' && has 'No such file' expect_status 1 rl B diff "$TMP/none" &&
		expect_status 2 rl B diff && expect_status 1 rl B diff -i lo "$P" && is "$(rl B show)" "$before"
}

test_diff_too_large() {
	seq -f 'rule 10.0.%.0f.0/24 deny' 1 101 >"$P" && has 'too many prefixes' expect_status 1 rl B diff "$P"
}

veth_pair A B && rl B attach veth-B --sources 1024 --prefixes 100 || exit 1
t 'diff: added, removed, changed' test_diff
t 'diff: no difference' test_diff_none
t 'diff: notes and errors of apply' test_diff_notes
t 'diff: a file that does not fit' test_diff_too_large
