#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# apply --check: what it warns of and sums up, and that the policies that are shipped as examples have nothing
# to warn of. tests/unit/test_lint.c has the warnings one by one.
source "$(dirname "$0")/../lib.sh"

cd "$TMP" || exit 1

# says WANTED: the messages of a check of standard input, which succeeds and prints nothing else.
says() {
	"$RLCTL" apply --check "${@:2}" - >stdout 2>stderr || _say "$(cat stderr)" || return
	is "$(cat stdout)" '' && is "$(sed 's/^rlctl: stdin//' stderr)" "$1"
}

POLICY='rule any limit 1000/second
rule any udp allow
rule 10.0.0.0/8 limit 10mbit over count
rule any udp dport 53 limit 9/second'

test_warnings() {
	says ':4: warning: the rule on line 2 allows every packet that matches, so this rule has no effect: remove one of them
:3: warning: packets of this rule are not held to the limit on line 1, as its prefix is longer: write such a limit for this prefix too, if it is to hold
:1: warning: limits each source by itself, so a flood of forged sources passes: add for example "rule device new-source not established limit 2000/second"
: 4 rules, 2 prefixes, 1 limit only counts' <<<"$POLICY"
}

# Another rule is named by its own file and line.
test_includes() {
	printf '%s\n' '# ours' '' 'rule any limit 1mbit' 'rule device limit 1gbit' >base
	printf '%s\n' 'rule any udp limit 9/second' 'rule any udp dport 53 limit 9/second' >dead
	printf '%s\n' 'include base' 'rule any udp deny' 'rule 10.0.0.0/8 limit 5/second' 'include dead' >main
	"$RLCTL" apply --check main 2>messages || return
	grep warning messages | sed 's/^rlctl: //; s/ \(every\|,\).*//; s/, as its.*//' >short
	is "$(cat short)" 'dead:1: warning: the rule on line 2 of main denies
dead:2: warning: the rule on line 2 of main denies
main:3: warning: packets of this rule are not held to the limit on line 3 of base'
}

test_looser() {
	says ':3: warning: packets of this rule are held to its limit instead of the one on line 2, not to both: leave it if that is intended
: 3 rules, 3 prefixes' <<<$'rule device limit 1gbit\nrule any limit 9/second\nrule 10.0.0.0/8 limit 99/second'
}

test_quiet() { says '' -q <<<"$POLICY"; }

test_empty() {
	says ': no rules: every packet passes
: 0 rules, 0 prefixes' </dev/null
}

# The sum stands in place of the count of rules that apply -v prints.
test_one() {
	says ': 1 rule, 1 prefix' <<<'rule any udp deny' &&
		says ': 1 rule, 1 prefix' -v <<<'rule any udp deny'
}

# Only --check warns of what is probably a mistake, so that apply and attach say what they did before.
test_errors_first() {
	has '2 errors' expect_status 1 "$RLCTL" apply --check - <<<$'rule any limit 9/second\nrule\nrule' &&
		is "$("$RLCTL" apply --check - 2>&1 <<<$'rule any limit 9/second\nrule' | grep -c warning)" 0
}

# clean FILE: no warning, and at least five rules.
clean() {
	between "$(grep -c '^rule ' "$1")" 5 50 && "$RLCTL" apply --check "$1" 2>stderr &&
		is "$(grep warning stderr)" ''
}

# The displays of the examples, as example.N.
awk '
	/^\.Sh / { examples = /EXAMPLES/ }
	/^\.Bd -literal/ { inside = examples; n++ }
	/^\.Ed/ { inside = 0 }
	inside && /^rule / { print > ("example." n) }' "$TOP/user/man/rlctl-policy.5"

grep -E "^(rule|alarm) " "$TOP/README.md" >readme

t 'warnings and the sum' test_warnings
t 'rules of included files' test_includes
t 'a limit that lets more pass' test_looser
t 'nothing with -q' test_quiet
t 'no rules' test_empty
t 'one rule' test_one
t 'errors come alone' test_errors_first
t 'example.policy is clean' clean "$TOP/packaging/example.policy"
t 'the policy in README.md is clean' clean readme
for file in "$TOP"/policies/*; do
	t "${file##*/} is clean" clean "$file"
done
t 'three examples of the manual or more' between "$(grep -lc . example.* | wc -l)" 4 9
for file in example.*; do
	[[ $(wc -l <"$file") -lt 5 ]] || t "rlctl-policy.5: $(head -n 1 "$file")" clean "$file"
done
