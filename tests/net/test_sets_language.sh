#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Sets in a policy in force: what show, diff, save, rule and explain say of them, and that single rules and files of
# rules leave them alone.
source "$(dirname "$0")/../lib.sh"

cat >"$TMP/policy" <<'END2'
set bad max 9 timeout 1d # by hand
set customers
rule any udp src @customers limit 1000/second burst 100
rule @bad deny # all of them
rule @bad tcp dport 22 limit 5/second burst 5
rule 10.0.0.0/8 allow
END2
veth_pair A B || exit 1
rl B attach veth-B && rl B apply "$TMP/policy" || exit 1

shows() { is "$(rl B show)" "$(cat "$@")"; } # FILE…: in this order

test_show_apply() {
	shows "$TMP/policy" && rl B show >"$TMP/shown" && rl B apply "$TMP/shown" && shows "$TMP/policy" &&
		has 'no difference' rl B diff "$TMP/shown"
}
t 'show is what apply reads, and changes nothing' test_show_apply
t 'show -j has the sets' is "$(rl B show -j | json '.policy[0:2] | join(";")')" 'set bad max 9 timeout 1d;set customers'

test_diff() {
	sed -e 's/max 9/max 8/' -e '/customers/d' "$TMP/policy" >"$TMP/other"
	is "$(rl B diff "$TMP/other")" "- set bad max 9 timeout 1d # by hand
+ set bad max 8 timeout 1d # by hand
- set customers
- rule any udp src @customers limit 1000/second burst 100"
}
t 'diff: sets, then rules' test_diff

test_save() {
	rl B save "$TMP/saved" && cmp "$TMP/policy" "$TMP/saved" && rl B save "$TMP/saved" && [[ ! -e $TMP/saved~ ]] &&
		echo 'set lost' >>"$TMP/saved" && rl B save "$TMP/saved" && [[ -e $TMP/saved~ ]]
}
t 'save: the same text, and a set that is gone is a loss' test_save

test_rule_get() {
	rl B set add bad 192.0.2.0/24 && has 'its member 192.0.2.0/24 is the longest prefix' rl B rule get 192.0.2.1 &&
		has 'no rule applies' rl B rule get 198.51.100.1
}
t 'rule get: a set of the policy' test_rule_get

test_rule() {
	rl B rule add @bad icmp deny && rl B rule del @bad icmp && shows "$TMP/policy" &&
		is "$(rl B rule list @bad)" "@bad deny # all of them
@bad tcp dport 22 limit 5/second burst 5"
}
t 'rule add, del, list: rules of a set' test_rule

test_unknown() {
	has 'unknown set "worse": apply a policy with a line "set worse" first' \
		expect_fail rl B rule add @worse deny && shows "$TMP/policy"
}
t 'rule add: a set that the policy lacks' test_unknown

test_file() {
	printf 'rule @bad icmp deny\n' >"$TMP/rules"
	printf 'set more\n' >"$TMP/wrong"
	rl B rule add -f "$TMP/rules" && has '@bad icmp deny' rl B rule list @bad && rl B rule del -f "$TMP/rules" &&
		shows "$TMP/policy" && has 'stands in a policy, not among rules' expect_fail rl B rule add -f "$TMP/wrong"
}
t 'rule add and del of a file: the sets stay' test_file

# A set that two files define, and one that none does: each at its word, with the name of the other file.
test_places() {
	printf 'set bad\n' >"$TMP/first.policy"
	printf 'include first.policy\n\n  set bad max 9\n' >"$TMP/second.policy"
	has "second.policy:3:7: the set bad is there already: remove one of the two (the other is on line 1 of $TMP/first.policy)" \
		expect_fail rl B apply --check "$TMP/second.policy" &&
		has 'stdin:1:14: unknown set "worse": add a line "set worse"' \
			expect_fail rl B apply --check - <<<'rule any src @worse deny'
}
t 'errors: at the word, and in the file' test_places

test_flush() { rl B rule flush && is "$(rl B show)" "$(grep ^set "$TMP/policy")"; }
t 'rule flush: the sets stay' test_flush

# A set that only a limit's keep names: it is used, and no policy goes without it.
cat >"$TMP/keep" <<'END2'
set gold
rule device limit 100/second burst 20 keep 5 for @gold
END2
test_keep() {
	is "$(rl B apply "$TMP/keep" 2>&1 | grep -c 'no rule names')" 0 && shows "$TMP/keep" && rl B save "$TMP/kept" &&
		cmp "$TMP/keep" "$TMP/kept" && rl B apply "$TMP/kept" && has 'no difference' rl B diff "$TMP/kept" &&
		has 'stdin:1:50: unknown set "gold": add a line "set gold"' \
			expect_fail rl B apply - <<<'rule device limit 100/second burst 20 keep 5 for @gold' &&
		has 'unknown set "worse": apply a policy with a line "set worse" first' \
			expect_fail rl B rule add device udp limit 9/second keep 1 for @worse && shows "$TMP/keep" &&
		rl B rule add device udp limit 9/second keep 1 for @gold && rl B rule del device && rl B rule del device udp &&
		shows <(echo 'set gold')
}
t 'keep for a set: shown, saved, and refused without it' test_keep
