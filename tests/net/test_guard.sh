#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The lockout guard: a policy that would cut the SSH session it is applied from needs confirmation on a
# terminal and is refused without one. tests/unit tests which policies do.
source "$(dirname "$0")/../lib.sh"

SESSION='203.0.113.7 50000 10.77.0.2 22'
SESSION6='2001:db8::7 50000 fd77::2 22'

# ssh_rl CONNECTION ARG…: rlctl in B as sshd in B would have started it.
ssh_rl() {
	local connection=$1
	shift
	in_ns B env SSH_CONNECTION="$connection" "$RLCTL" "$@"
}

start() { rl B apply --yes - <<<"${1:-}"; }
policy() { printf '%s\n' "$1" >"$TMP/policy"; }
shows() { is "$(rl B show)" "$1"; }

# ---- without a terminal

# refuses CONNECTION ADDRESS ARG…: names the problem and the remedy, and changes nothing.
refuses() {
	local before connection=$1 address=$2 remedy
	shift 2
	remedy="nothing was changed; to keep this session: add \`rule $address allow\`; to try it: \`rlctl apply"
	remedy+=' --try 1m FILE`; to do it anyway: --yes'
	before=$(rl B show) && has "$address" expect_status 1 ssh_rl "$connection" "$@" &&
		has 'may lock you out' expect_status 1 ssh_rl "$connection" "$@" &&
		has "$remedy" expect_status 1 ssh_rl "$connection" "$@" && shows "$before"
}

test_apply() {
	start 'rule 192.0.2.1 deny' && policy 'rule any deny' &&
		refuses "$SESSION" 203.0.113.7 apply "$TMP/policy" &&
		refuses "$SESSION6" 2001:db8::7 apply "$TMP/policy" &&
		ssh_rl "$SESSION" apply - <<<$'rule any deny\nrule 203.0.113.7 allow'
}

test_rule_add() {
	start && refuses "$SESSION" 203.0.113.7 rule add 203.0.113.0/24 tcp dport 22 deny &&
		refuses "$SESSION" 203.0.113.7 rule add any limit 9/second &&
		ssh_rl "$SESSION" rule add any limit 10/second &&
		ssh_rl "$SESSION" rule add 203.0.113.0/24 udp deny
}

test_rule_del() {
	start $'rule any deny\nrule 203.0.113.7 allow' &&
		refuses "$SESSION" 203.0.113.7 rule del 203.0.113.7 && ssh_rl "$SESSION" rule flush
}

# A set by its members of now; a file that is still to be read may hold any address.
test_sets() {
	local status=0
	start $'set bad\nset good\nrule any deny\nrule @good allow' && rl B set add good 203.0.113.0/24 &&
		rl B set add bad 198.51.100.0/24 && ssh_rl "$SESSION" rule add @bad deny &&
		refuses "$SESSION" 203.0.113.7 rule del @good && rl B set add bad 203.0.113.7 &&
		start $'set bad\nset good' && refuses "$SESSION" 203.0.113.7 rule add @bad deny &&
		policy $'set bad\nrule any src @bad deny' && refuses "$SESSION" 203.0.113.7 apply "$TMP/policy" &&
		ssh_rl "$SESSION" apply - <<<$'set bad\nset new\nrule @new deny' &&
		has 'may deny 203.0.113.7' expect_status 1 \
			ssh_rl "$SESSION" apply - <<<$'set list file /dev/null\nrule @list deny' || status=1
	start && return "$status"
}

test_attach() {
	local status=0
	policy 'rule any deny'
	rl B detach veth-B && has 'lock you out' expect_status 1 \
		ssh_rl "$SESSION" attach veth-B --policy "$TMP/policy" &&
		is "$(xdp_program B veth-B)" '' &&
		ssh_rl "$SESSION" attach veth-B --policy "$TMP/policy" --yes || status=1
	rl B detach veth-B
	rl B attach veth-B && return "$status"
}

# The rules' addresses are destinations there: the server's own address.
test_by_dest() {
	local status=0
	rl B detach veth-B && rl B attach veth-B --by dest || return
	refuses "$SESSION" 10.77.0.2 rule add 10.77.0.2 deny &&
		ssh_rl "$SESSION" rule add 203.0.113.7 deny || status=1
	rl B detach veth-B && rl B attach veth-B && return "$status"
}

test_yes() {
	start && policy 'rule any deny' && has 'lock you out' ssh_rl "$SESSION" apply --yes "$TMP/policy" &&
		shows 'rule any deny' && start && ssh_rl "$SESSION" rule add -y any deny &&
		ssh_rl "$SESSION" rule del -y any
}

# A change that makes nothing worse needs no confirmation.
test_as_before() {
	start 'rule any deny' && policy $'rule any deny\nrule 192.0.2.1 allow' &&
		ssh_rl "$SESSION" apply "$TMP/policy" && ssh_rl "$SESSION" rule add 203.0.113.7 deny &&
		ssh_rl "$SESSION" rule add 192.0.2.2 deny
}

test_try() {
	start && policy 'rule any deny' &&
		has 'lock you out' expect_status 1 ssh_rl "$SESSION" apply --try 1s "$TMP/policy" && shows ''
}

test_check() { policy 'rule any deny' && ssh_rl "$SESSION" apply --check "$TMP/policy"; }

# ---- where the session is found

test_client_only() {
	start && policy 'rule any deny' && has 203.0.113.7 expect_status 1 \
		in_ns B env SSH_CLIENT='203.0.113.7 50000 22' "$RLCTL" apply "$TMP/policy"
}

# without_environment CMD…: below a process that has the environment, as sudo runs commands.
without_environment() {
	env SSH_CONNECTION="$SESSION" bash -c 'env -i "$@"; exit $?' _ "$@"
}

test_below_sudo() {
	start && policy 'rule any deny' &&
		has 203.0.113.7 expect_status 1 in_ns B bash -c "$(declare -f without_environment)
			SESSION='$SESSION' without_environment '$RLCTL' apply '$TMP/policy'; exit \$?"
}

# If the session's namespace cannot be looked up, it may be this one.
test_unknown_namespace() {
	# shellcheck disable=SC2016 # for the inner shell
	start && policy 'rule any deny' &&
		has 203.0.113.7 expect_status 1 in_ns B env SSH_CONNECTION="$SESSION" bash -c '
			env -i strace -qq -o "$1" -P "/proc/$$/ns/net" -e inject=newfstatat:error=EACCES "${@:2}"
			exit $?' _ "$TMP/strace" "$RLCTL" apply "$TMP/policy" && grep -q EACCES "$TMP/strace"
}

# Changes in another network namespace do not cut a session of the host.
test_other_namespace() {
	start && policy 'rule any deny' &&
		without_environment "$RLCTL" -n "$(ns B)" apply "$TMP/policy" && shows 'rule any deny' &&
		start && SSH_CONNECTION=$SESSION bash -c '"$@"; exit $?' _ \
			"$RLCTL" -n "$(ns B)" apply "$TMP/policy" && shows 'rule any deny'
}

# refuses_members ARG…: `set ARG…` would cut the session: it says so, and changes no member.
# shellcheck disable=SC2016 # words of the message
refuses_members() {
	local before
	before=$(rl B set list bad; rl B set list good)
	has 'may lock you out' expect_status 1 ssh_rl "$SESSION" set "$@" </dev/null &&
		has 'nothing was changed; to keep this session: add `rule 203.0.113.7 allow`; to do it anyway: --yes' \
			expect_status 1 ssh_rl "$SESSION" set "$@" </dev/null &&
		is "$(rl B set list bad; rl B set list good)" "$before"
}

test_members() {
	local list="$TMP/list"
	start $'set bad\nset good\nrule @bad deny\nrule any tcp deny\nrule @good allow' &&
		rl B set add good 203.0.113.0/24 198.51.100.1 && refuses_members flush good &&
		printf '192.0.2.0/24\n' >"$list" && refuses_members swap good "$list" &&
		printf '198.51.100.1\n203.0.113.7\n' >"$list" && refuses_members swap bad "$list" &&
		ssh_rl "$SESSION" set del good 198.51.100.1 && ssh_rl "$SESSION" set add bad 203.0.112.0/24 203.0.113.8 &&
		refuses_members add bad 192.0.2.1 203.0.113.7 &&
		has 'may lock you out' expect_status 1 ssh_rl "$SESSION" set add bad - <"$list" &&
		is "$(rl B set list bad | sort)" $'203.0.112.0/24\n203.0.113.8' &&
		ssh_rl "$SESSION" set add bad 203.0.113.0/24 && ssh_rl "$SESSION" set add --yes bad 203.0.113.7 &&
		rl B set test bad 203.0.113.7 && rl B set add bad 203.0.113.7
}

# A file may say what it likes: members that would cut the session off are left out, and a list that lacks those that
# let it in is refused.
list() { printf '%s\n' "$@" >"$TMP/list.new" && touch -d '-1 minute' "$TMP/list.new" && mv "$TMP/list.new" "$TMP/list"; }
members() { is "$(rl B set list list | sort | tr '\n' ' ')" "$1"; }
load_failed() { is "$(rl B stats -j | json '.[0].sets[0] | has("load_failed")')" "$1"; }
# shellcheck disable=SC2016 # backquotes of a message
test_load() {
	list 192.0.2.1 203.0.113.0/24 203.0.113.7 203.0.113.8 && start "set list file $TMP/list"$'\nrule 192.0.2.9 allow' &&
		ssh_rl "$SESSION" set load list && members '192.0.2.1 203.0.113.0/24 203.0.113.7 203.0.113.8 ' &&
		start '' && policy "set list file $TMP/list"$'\nrule any src @list tcp deny' &&
		has 'set list: 203.0.113.0/24 left out: this may lock you out: the rule `any tcp src @list deny`' \
			ssh_rl "$SESSION" apply -q --yes "$TMP/policy" && members '192.0.2.1 203.0.113.8 ' && load_failed true &&
		has '203.0.113.7 left out' expect_status 1 ssh_rl "$SESSION" set load -q list && members '192.0.2.1 203.0.113.8 ' &&
		rl B doctor veth-B -j | json '.[].what' | grep -q 'members of the file of set list are left out' &&
		list 203.0.113.7 192.0.2.1 && ssh_rl "$SESSION" set load list -j 2>/dev/null | json -c '.[0] | [.loaded, .guarded]' | grep -qF '[true,1]' &&
		members '192.0.2.1 ' && ssh_rl "$SESSION" set load --yes list && members '192.0.2.1 203.0.113.7 ' && load_failed false &&
		ssh_rl "$SESSION" set load list && members '192.0.2.1 203.0.113.7 '
}

# shellcheck disable=SC2016 # backquotes of a message
test_load_allow() {
	local status=0
	list 203.0.113.0/24 192.0.2.1 && start '' && start "set list file $TMP/list"$'\nrule any deny\nrule @list allow' && list 192.0.2.1 192.0.2.2 &&
		has 'this may lock you out: the rule `any deny` denies 203.0.113.7' expect_status 1 ssh_rl "$SESSION" set load list -q &&
		members '192.0.2.1 203.0.113.0/24 ' && load_failed true && rl B set load list && members '192.0.2.1 192.0.2.2 ' || status=1
	start && return "$status"
}

test_no_session() { start && rl B rule add any deny && shows 'rule any deny'; }

test_pipe() { start && ssh_rl 'UNKNOWN 65535 UNKNOWN 65535' rule add any deny; }

# ---- on a terminal

# asks STATUS KEYS POLICY: the result of `any deny` when the question is answered by KEYS.
asks() {
	start && policy 'rule any deny' &&
		expect_status "$1" in_ns B env SSH_CONNECTION="$SESSION" python3 "$TOP/tests/terminal.py" \
			'continue? [y/N]' "$2" -- "$RLCTL" apply "$TMP/policy" && shows "$3"
}

# asks_empty STATUS KEYS POLICY: the same for a file without rules; no session is needed for that.
asks_empty() {
	start 'rule any deny' &&
		expect_status "$1" in_ns B python3 "$TOP/tests/terminal.py" \
			'continue? [y/N]' "$2" -- "$RLCTL" apply /dev/null && shows "$3"
}

# The question does not block other writers; after the answer the change that was agreed to is made.
test_others_meanwhile() {
	start && policy 'rule any deny' &&
		in_ns B env SSH_CONNECTION="$SESSION" timeout 20 python3 "$TOP/tests/terminal.py" \
			'continue?' "RUN timeout 10 '$RLCTL' -n '$(ns B)' rule add 192.0.2.1 deny" '' 'y\n' \
			-- "$RLCTL" rule add any deny && shows $'rule any deny\nrule 192.0.2.1 deny'
}

veth_pair A B && rl B attach veth-B || exit 1
t 'apply' test_apply
t 'rule add' test_rule_add
t 'rule del' test_rule_del
t 'sets: members of now, and files that are still to be read' test_sets
t 'members of a set' test_members
t 'members from a file' test_load
t 'members from a file that let the session in' test_load_allow
t 'attach --policy' test_attach
t 'by destination' test_by_dest
t '--yes' test_yes
t 'no worse than before' test_as_before
t '--try only warns' test_try
t '--check only looks' test_check
t 'SSH_CLIENT' test_client_only
t 'below sudo' test_below_sudo
t 'another network namespace' test_other_namespace
t 'a network namespace that cannot be asked' test_unknown_namespace
t 'no session' test_no_session
t 'a session without addresses' test_pipe
t 'asked: y' asks 0 'y\n' 'rule any deny'
t 'asked: yes' asks 0 'yes\n' 'rule any deny'
t 'asked: n' asks 1 'n\n' ''
t 'asked: Enter' asks 1 '\n' ''
t 'asked: interrupt' asks 130 '\x03' ''
t 'asked about a file without rules: y' asks_empty 0 'y\n' ''
t 'asked about a file without rules: n' asks_empty 1 'n\n' 'rule any deny'
t 'other writers while it asks' test_others_meanwhile
