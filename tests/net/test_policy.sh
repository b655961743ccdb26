#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The policy of a living instance by the command line: rule add, del, get, list, flush, apply, show; a wrong
# command changes nothing and its message says where the error is. The language itself is tested in
# tests/unit.
source "$(dirname "$0")/../lib.sh"

empty() { rl B rule flush && is "$(rl B show)" ''; }

# unchanged STATUS CMD…: CMD ends with STATUS and the policy is what it was.
unchanged() {
	local before after status=$1
	shift
	before=$(rl B show) && expect_status "$status" "$@" && after=$(rl B show) && is "$after" "$before"
}

# ---- add and show

# shows LINE WORD…: a rule of these words is shown as LINE.
shows() {
	local line=$1
	shift
	empty && rl B rule add "$@" && is "$(rl B show)" "rule $line" && rl B show | rl B apply - &&
		is "$(rl B show)" "rule $line"
}

test_spelling() {
	shows '192.0.2.7 deny' 192.0.2.7 deny && shows '192.0.2.0/24 allow' 192.0.2.0/24 allow &&
		shows '2001:db8::/32 deny' 2001:DB8:0::/32 deny &&
		shows 'any tcp dport 22 syn limit 3/minute burst 5' any tcp syn dport 22 limit 3/m burst 5 &&
		shows 'any udp deny' any proto 17 deny &&
		shows 'any udp sport 53 dport 1024-65535 deny' any udp sport 53 dport 1024-65535 deny &&
		shows '192.0.2.0/24 limit 100/second burst 10 per rule' 192.0.2.0/24 limit token-bucket 100pps per rule &&
		shows 'device limit 100/second burst 10' device limit 100/s per rule
}

test_replace() {
	empty && rl B rule add 192.0.2.1 limit 10/second burst 5 &&
		rl B rule add 192.0.2.1 limit 20/second burst 7 &&
		is "$(rl B show)" 'rule 192.0.2.1 limit 20/second burst 7' &&
		rl B rule add 192.0.2.1 udp deny && rl B rule add 192.0.2.1 udp allow &&
		is "$(rl B show | sort | paste -sd';')" \
			'rule 192.0.2.1 limit 20/second burst 7;rule 192.0.2.1 udp allow'
}

# A prefix may have a ninth rule, but no packet a ninth limit, which is refused by its own words.
test_ninth() {
	seq -f 'rule 192.0.2.1 udp dport 1-%.0f limit 5/second' 2 9 | rl B apply - && rl B rule add 192.0.2.1 udp dport 1 deny &&
		rl B rule del 192.0.2.1 udp dport 1 deny || return
	has 'dport 1 limit 5/second burst 5: a packet of "udp dport 1 src 192.0.2.1" would meet this limit and 8 others' \
		unchanged 1 rl B rule add 192.0.2.1 udp dport 1 limit 5/second
}

# noted WORD…: a command's stderr.
noted() { { "$@" >/dev/null; } 2>&1; }

# A rule that must remember for longer than its states last in a flood is noted, once.
test_forgets() {
	empty && rl B rule add any limit sliding-log 10/second || return # which says how many logs fit
	is "$(noted rl B rule add any icmp limit sliding-log 10/second)" '' &&
		has '8,184 states: a flood of 2,046 or more returning sources per second replaces them within 3s' \
			noted rl B rule add any tcp limit sliding-log 10/10m &&
		has 'before its period of 1m ends: attach with more --sources' noted rl B rule add any limit sliding-window 9/m &&
		is "$(noted rl B rule add any udp deny)" '' && is "$(noted rl B rule add any udp limit sliding-log 9/m)" '' &&
		is "$(noted rl B rule add any limit fixed-window 9/3s)" '' &&
		is "$(noted rl B rule add any limit fixed-window 9/h per rule)" '' &&
		is "$(noted rl B rule add any limit warm-up 9/s ramp 1h)" '' &&
		is "$(noted rl B -q rule add any limit fixed-window 9/h)" '' &&
		has 'before its period of 1d ends' noted rl B rule add any tcp limit fixed-window 9/d
}

# Another unit or another key is another rule.
test_beside() {
	empty && rl B rule add any limit 10/second && rl B rule add any limit 1mbit &&
		rl B rule add any limit 10/second per rule && is "$(rl B show | wc -l)" 3
}

test_del() {
	empty && rl B apply - <<-'END' || return
	rule 192.0.2.1 deny
	rule 192.0.2.1 udp dport 53 limit 5/second
	rule 192.0.2.0/24 deny
	END
	unchanged 1 rl B rule del 192.0.2.9 && unchanged 1 rl B rule del 192.0.2.1 tcp &&
		rl B rule del 192.0.2.1 udp dport 53 && is "$(rl B show | wc -l)" 2 &&
		rl B rule del 192.0.2.1 && is "$(rl B show)" 'rule 192.0.2.0/24 deny' &&
		rl B rule del 192.0.2.0/24 deny && is "$(rl B show)" ''
}

test_del_if_exists() {
	empty && rl B rule add 192.0.2.1 deny || return
	unchanged 0 rl B rule del --if-exists 192.0.2.9 && unchanged 0 rl B rule del --if-exists 192.0.2.1 udp &&
		unchanged 2 rl B rule del --if-exists 192.0.2.300 && rl B rule del --if-exists 192.0.2.1 && is "$(rl B show)" ''
}

# ---- rules of a file

slot_of() { rl B rule list -j | json --arg rule "$1" ".rules[] | select(.rule | startswith(\$rule)) | .slot"; }

# A file adds what so many calls would, beside the rules in force, whose states and counters stay.
test_add_file() {
	local slot
	empty && rl B apply - <<-'END' && rl B rule add 192.0.2.3 limit 9/second for 1h || return
	rule any limit 10/second burst 5
	rule 192.0.2.1 deny
	END
	slot=$(slot_of 'any limit') || return
	printf '# two, and one that is there\nrule 192.0.2.2 deny for 1h\nrule 192.0.2.1 allow\nrule any udp deny\n' >"$TMP/add"
	rl B rule add -f "$TMP/add" && is "$(slot_of 'any limit')" "$slot" || return
	is "$(rl B show | sed 's/ for .*/ for/' | paste -sd';')" \
		'rule any udp deny;rule any limit 10/second burst 5;rule 192.0.2.1 allow;rule 192.0.2.2 deny for;rule 192.0.2.3 limit 9/second burst 5 for' &&
		rl B rule add --file - <<<'rule any tcp deny' && is "$(rl B show | wc -l)" 6
}

# All or none: an error in a line, more than fit.
test_add_file_bad() {
	empty && rl B rule add 192.0.2.9 deny || return # no rule whose time runs while it is compared
	printf 'rule 192.0.2.7 deny\nrule 192.0.2.8 dny\n' >"$TMP/bad" && seq -f 'rule 10.1.%.0f.1 deny' 0 200 >"$TMP/many" || return
	has "$TMP/bad:2:" unchanged 1 rl B rule add -f "$TMP/bad" && has prefixes unchanged 1 rl B rule add -f "$TMP/many" &&
		unchanged 1 rl B rule add -f "$TMP/nosuch" && unchanged 0 rl B rule add -f /dev/null
}

# The file that added rules deletes them; a rule of it that is not there, or has another action, is named.
test_del_file() {
	empty && rl B rule add any limit 10/second burst 5 && rl B rule add -f "$TMP/add" && rl B rule add 192.0.2.1 deny || return
	has "$TMP/add:3: no such rule: 192.0.2.1 allow" unchanged 1 rl B rule del -f "$TMP/add" &&
		rl B rule del -f "$TMP/add" --if-exists &&
		is "$(rl B show | paste -sd';')" 'rule any limit 10/second burst 5;rule 192.0.2.1 deny' &&
		has "$TMP/add:2: no such rule: 192.0.2.2 deny for 1h, and 2 more: --if-exists" unchanged 1 rl B rule del -f "$TMP/add"
}

# ---- get and list

# decides ADDRESS: the rules that do, without remarks, joined by ;
decides() { rl B rule get "$1" | sed 's/[[:space:]]*#.*//' | paste -sd';'; }

test_get() {
	empty && rl B apply - <<-'END' || return
	rule any limit 5/second burst 1
	rule device limit 1000/second burst 100
	rule 192.0.2.0/24 deny
	rule 192.0.2.7 udp allow
	rule 2001:db8::/32 allow
	END
	is "$(decides 192.0.2.7)" '192.0.2.7 udp allow;192.0.2.0/24 deny' &&
		is "$(decides 192.0.2.8)" '192.0.2.0/24 deny' &&
		is "$(decides 2001:db8::9)" '2001:db8::/32 allow' &&
		is "$(decides 198.51.100.1)" \
			'any limit 5/second burst 1;device limit 1000/second burst 100' &&
		is "$(rl B rule get 192.0.2.8 -j | json '.rules | length')" 1 &&
		expect_status 2 rl B rule get && expect_status 2 rl B rule get 192.0.2.0/24
}

test_list() {
	is "$(rl B rule list | sort)" "$(rl B show | sed 's/^rule //' | sort)" &&
		is "$(rl B rule list 192.0.2.0/24)" '192.0.2.0/24 deny' &&
		is "$(rl B rule list -j | json '.rules | length')" 5 &&
		is "$(rl B rule list -j | json '[.rules[] | select(.clock)] | length')" 2 &&
		has tick rl B rule list -v
}

# ---- apply

test_apply_file() {
	printf '# mine\n\nrule 192.0.2.1 deny # that one\nrule any limit 7/second burst 3\n' >"$TMP/p"
	empty && rl B apply "$TMP/p" && is "$(rl B show | sort | paste -sd';')" \
		'rule 192.0.2.1 deny # that one;rule any limit 7/second burst 3'
}

# A file without rules replaces none of them unasked; where there are none it is only noted.
test_apply_empty() {
	local none='no rules: every packet passes'
	printf '# mine\n\n' >"$TMP/none" && rl B apply - <<<'rule 192.0.2.1 deny' || return
	for file in /dev/null "$TMP/none"; do
		has 'delete the 1 rule in force' unchanged 1 rl B apply "$file" &&
			has 'rlctl rule flush' unchanged 1 rl B apply "$file" || return
	done
	has "$TMP/none: $none" unchanged 0 rl B apply --check "$TMP/none" &&
		has "$none" unchanged 1 rl B apply --try 1s "$TMP/none" &&
		has "$none" rl B apply --yes "$TMP/none" && is "$(rl B show)" '' &&
		has "$none" rl B apply "$TMP/none"
}

# apply replaces the whole policy.
test_apply_replaces() {
	rl B apply - <<<'rule 192.0.2.1 deny' && rl B apply - <<<'rule 192.0.2.2 deny' &&
		is "$(rl B show)" 'rule 192.0.2.2 deny'
}

test_apply_bad() {
	printf 'rule any deny\nrule 192.0.2.2 allow  never\nrule any limit\n' >"$TMP/bad"
	rl B apply - <<<'rule 192.0.2.1 deny' || return
	has "$TMP/bad:2:23:" unchanged 1 rl B apply "$TMP/bad" && has "$TMP/bad:3:15:" unchanged 1 rl B apply "$TMP/bad" &&
		unchanged 1 rl B apply "$TMP/nosuch" &&
		unchanged 1 rl B apply "$TMP" && unchanged 1 rl B apply - <<<'limit 5/second' &&
		printf 'rule any deny\0\n' | unchanged 1 rl B apply - && unchanged 2 rl B apply
}

# More than --prefixes fit is refused, and the old policy stays.
test_apply_too_many() {
	seq -f 'rule 10.1.%.0f.1 deny' 0 200 >"$TMP/many"
	rl B apply - <<<'rule 192.0.2.1 deny' && has 'prefixes' unchanged 1 rl B apply "$TMP/many"
}

test_apply_most() {
	seq -f 'rule 10.1.%.0f.1 deny' 0 99 >"$TMP/most"
	rl B apply "$TMP/most" && is "$(rl B show | wc -l)" 100 &&
		is "$(rl B show | sort)" "$(sort "$TMP/most")"
}

test_check() {
	printf 'rule any deny\n' >"$TMP/good" && printf 'rule any dny\n' >"$TMP/bad" || return
	unchanged 0 rl B apply --check "$TMP/good" && unchanged 1 rl B apply --check "$TMP/bad" &&
		expect_status 0 unprivileged apply --check - <"$TMP/good" &&
		expect_status 1 unprivileged apply --check - <"$TMP/bad"
}

# unprivileged ARG…: rlctl as nobody, in no namespace of ours; the command may be where only root can reach
# it.
unprivileged() {
	install -m 755 "$RLCTL" /tmp/"$_prefix-rlctl" || return
	setpriv --reuid=65534 --regid=65534 --clear-groups -- /tmp/"$_prefix-rlctl" "$@"
	local status=$?
	rm -f /tmp/"$_prefix-rlctl"
	return "$status"
}

test_unprivileged() {
	has root expect_status 1 unprivileged rule add any deny &&
		has root expect_status 1 unprivileged attach lo
}

# ---- rules that are rarely intended

# warns WANTED CMD…: CMD succeeds and its warnings on standard error, without their text, are these.
warns() {
	local wanted=$1 stderr
	shift
	stderr=$("$@" 2>&1 >/dev/null) || _say "$stderr" || return
	is "$(sed -n 's/^rlctl: \(.*warning: \)\(.*forge\|.*innocent\).*/\1/p' <<<"$stderr" | paste -sd,)" "$wanted"
}

test_warns() {
	cat >"$TMP/bans" <<-'END'
	rule any limit 1000/second
	rule any tcp syn limit 50/second over ban 10m

	rule any tcp dport 25 limit 500/second over ban 10m
	rule device udp limit 5000/second over ban 10m source
	END
	# in canonical order: device before any
	local wanted="$TMP/bans:5: warning: ,$TMP/bans:5: warning: ,$TMP/bans:2: warning: "
	local checked="$wanted,$TMP/bans:1: warning: " # of --check alone: nothing holds forged sources
	warns "$wanted" rl B apply "$TMP/bans" && warns "$checked" rl B apply --check "$TMP/bans" &&
		warns "$checked" "$RLCTL" apply --check "$TMP/bans" && warns '' rl B apply -q "$TMP/bans" &&
		warns "$wanted" rl B attach veth-B --hook ingress --policy "$TMP/bans" && rl B detach veth-B --hook ingress &&
		warns '' rl B attach veth-B --hook ingress -q --policy "$TMP/bans" && rl B detach veth-B --hook ingress
}

# The warning is about the added rule only, whatever else is in force.
test_warns_rule() {
	empty && warns 'warning: ' rl B rule add any udp limit 9/second over ban 1m &&
		warns '' rl B rule add any tcp limit 9/second over ban 1m && warns '' rl B rule del any udp &&
		warns '' rl B -q rule add any udp limit 9/second over ban 1m
}

# For an instance that limits the packets the machine sends.
test_egress_ban() {
	local file=$TMP/egress
	echo 'rule any limit 9/second over ban 1m source' >"$file"
	has "$file:1:37: \"source\" would ban this machine itself" expect_status 1 "$RLCTL" apply --check --hook egress "$file" &&
		has 'would ban this machine itself' expect_status 1 rl B attach veth-B --hook egress --policy "$file" &&
		expect_status 0 "$RLCTL" apply --check --hook ingress "$file"
}

# ---- wrong words

test_words() {
	rl B apply - <<<'rule 192.0.2.1 deny' || return
	unchanged 2 rl B rule add && unchanged 2 rl B rule add any &&
		unchanged 2 rl B rule add any limit &&
		unchanged 2 rl B rule add 300.0.0.1 deny &&
		unchanged 2 rl B rule add any limit 0/second &&
		unchanged 2 rl B rule add any limit 10bps &&
		unchanged 2 rl B rule add any limit 99999999999999999999/s &&
		unchanged 2 rl B rule add any limit 1mbit burst 100byte &&
		unchanged 2 rl B rule add any dport 80 deny deny &&
		unchanged 2 rl B rule frob any && unchanged 2 rl B rule flush any &&
		unchanged 2 rl B show veth-B lo && unchanged 2 rl B rule add device limit 9/second over ban 1m &&
		has 'write per source, or over drop' unchanged 2 rl B rule add any limit 9/second per rule over ban 1m &&
		has 'bit' unchanged 2 rl B rule add any limit 10bps
}

test_interface() {
	unchanged 0 rl B show -i veth-B && unchanged 1 rl B show -i lo &&
		unchanged 1 rl B rule add any deny -i lo &&
		unchanged 1 rl B rule add any deny --hook egress && unchanged 2 rl B rule add any deny -i
}

# calls WORD…: how many calls of bpf() the command makes, and how many pins and files it opens. Those of the guard
# in /proc follow the machine's processes.
calls() {
	strace -f -o "$TMP/calls" -e trace=bpf,openat "$RLCTL" -n "$(ns B)" "$@" && grep -vc 'openat(AT_FDCWD, "/proc' "$TMP/calls"
}

# The cost of a rule does not grow with the policy around it: changes of one prefix, of any and of the device
# take as many calls beside 10,000 prefixes as beside two, except for the chunks that hold their slots
# then: these are opened, and the first limit per rule creates them.
test_beside_many() {
	local words few many
	local -a changes=('rule add 192.0.2.1 deny for 1h' 'rule add 192.0.2.1 allow' 'rule add 192.0.2.0/24 limit 5/s'
		'rule add 192.0.0.0/8 udp deny' 'rule get 192.0.2.1' 'rule del 192.0.2.1' 'rule del 192.0.2.0/24'
		'rule add any limit 9/s' 'rule add device limit 9/s' 'rule del 192.0.0.0/8 udp')
	rl B detach veth-B && rl B attach veth-B && printf 'rule %s\n' '10.0.0.1 deny' '10.0.0.2 limit 5/second' | rl B apply - || return
	for words in "${changes[@]}"; do
		# shellcheck disable=SC2086 # several words
		calls $words || return
	done >"$TMP/few"
	seq -f 'rule 10.0.%.0f.0/24 deny' 0 255 >"$TMP/many" &&
		seq -f 'rule fd78:%.0f::/48 limit 5/second' 1000 9999 >>"$TMP/many" && rl B apply "$TMP/many" || return
	for words in "${changes[@]}"; do
		# shellcheck disable=SC2086 # several words
		calls $words || return
	done >"$TMP/many"
	while read -r few <&3 && read -r many <&4; do
		between "$many" 50 $((few + 45)) || return
	done 3< <(grep -E '^[0-9]+$' "$TMP/few") 4< <(grep -E '^[0-9]+$' "$TMP/many")
	is "$(grep -cE '^[0-9]+$' "$TMP/many")" "${#changes[@]}"
}

# Every second it looks up the attached instances again, and closes everything that it opened for that.
test_watch() {
	local before
	bg "$RLCTL" -n "$(ns B)" stats --watch 1
	eventually 9 told 2 && before=$(descriptors_of "$BG_PID") && eventually 9 told 4 && is "$(descriptors_of "$BG_PID")" "$before"
}
told() { [[ $(grep -c "veth-B xdp" "$TMP/bg") -ge $1 ]]; }

veth_pair A B && veth_quiet A B && rl B attach veth-B --prefixes 100 || exit 1
t 'rules as show spells them' test_spelling
t 'a rule replaces that of its prefix and match' test_replace
t 'a ninth limit of a packet' test_ninth
t 'a rule that a flood makes forget too soon is noted' test_forgets
t 'rules beside each other' test_beside
t 'rule del' test_del
t 'del --if-exists' test_del_if_exists
t 'add --file' test_add_file
t 'add --file: all or none' test_add_file_bad
t 'del --file' test_del_file
t 'rule get' test_get
t 'rule list' test_list
t 'apply a file' test_apply_file
t 'apply a file without rules' test_apply_empty
t 'apply replaces the whole policy' test_apply_replaces
t 'a bad file changes nothing' test_apply_bad
t 'too many prefixes change nothing' test_apply_too_many
t 'as many prefixes as fit' test_apply_most
t 'apply --check' test_check
t 'without root' test_unprivileged
t 'warnings of a policy' test_warns
t 'warnings of a rule' test_warns_rule
t 'a ban of what the machine sends' test_egress_ban
t 'wrong words change nothing' test_words
t 'which instance' test_interface
t 'one rule beside many' test_beside_many
t 'stats --watch leaves nothing open' test_watch
