#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Completion from living instances: devices, attached devices, prefixes and rules in force, network
# namespaces. Completion from tables is tested in tests/unit/test_completion.sh.
source "$(dirname "$0")/../lib.sh"

# offers WANTED WORD…: the candidates for the last word in namespace B, sorted and joined by blanks.
offers() {
	local wanted=$1
	shift
	is "$("$RLCTL" complete -- -n "$(ns B)" "$@" | cut -f1 | sort | paste -sd' ')" "$wanted"
}

veth_pair A B && ip -n "$(ns B)" link add other type veth peer name another || exit 1
rl B attach veth-B && rl B apply - <<-'END' || exit 1
	rule any limit 1000/second burst 200
	rule 192.0.2.0/24 deny
	rule 192.0.2.7 udp dport 53 limit 5/second burst 5 over ban 10m
	rule 192.0.2.7 tcp allow
	rule 2001:db8::/32 deny
	rule 2001:db8::9 allow
END

t 'attach: every device' offers 'another lo other veth-B' attach ''
t 'detach: attached devices' offers 'veth-B' detach ''
t '-i: attached devices' offers 'veth-B' show -i ''
t 'one device is enough' offers '' show veth-B ''
t '-n: namespaces' offers "$(ns A) $(ns B)" -n "${_prefix}"
t 'rule del: prefixes that are there' offers '192.0.2.0/24 192.0.2.7 2001:db8::/32 2001:db8::9 any' rule del ''
t 'rule del: a prefix that has begun' offers '2001:db8::/32 2001:db8::9' rule del 2001:
t 'rule del: what follows there' offers 'tcp udp' rule del 192.0.2.7 ''
t 'rule del: the rest of the rule' offers '10m' rule del 192.0.2.7 udp dport 53 limit 5/second burst 5 over ban ''
t 'rule del: a prefix that is not there' offers '' rule del 198.51.100.1 ''
t 'a user' offers nobody events --user nobo
t 'rule list: prefixes that are there' offers '192.0.2.0/24 192.0.2.7' rule list 192
t 'rule get: addresses' offers '192.0.2.0 192.0.2.7 2001:db8:: 2001:db8::9' rule get ''
t 'explain: addresses' offers '192.0.2.0 192.0.2.7' explain 192
t 'explain: what a packet may have' offers 'dport dscp dst' explain 192.0.2.7 udp d
t 'explain: its length' offers 'length' explain 192.0.2.7 udp l
t 'source forgive: addresses' offers '192.0.2.0 192.0.2.7' source forgive 1
t 'rule add: the prefixes that are there, and words' \
	offers '192.0.2.0/24 192.0.2.7 2001:db8::/32 2001:db8::9 any device' rule add ''
t 'rule add: the instance named by -i' offers 'allow' rule add -i veth-B any al

test_bash_cuts_addresses() {
	local COMPREPLY COMP_LINE COMP_POINT COMP_WORDS=(rlctl) COMP_CWORD=0
	# shellcheck source=/dev/null
	source <("$RLCTL" completion bash) || return
	COMP_LINE="rlctl -n $(ns B) rule del 2001:db8::"
	COMP_POINT=${#COMP_LINE}
	_rlctl "$RLCTL" && is "${COMPREPLY[*]}" '/32 9'
}
t 'bash: the rest of an IPv6 address' test_bash_cuts_addresses

# ---- sets

rl B apply - <<-'END' || exit 1
	set bad
	set badguys
	set customers
	rule @bad deny
	rule any src @customers limit 1000/second burst 200
END
t 'rule add: sets in the place of a prefix' offers '@bad @badguys @customers' rule add @
t 'rule add: sets that have begun' offers '@bad @badguys' rule add @bad
t 'rule add: sets behind src' offers '@customers' rule add any src @c
t 'rule add: sets behind not dst, with nothing typed' offers '@bad @badguys @customers' rule add any not dst ''
t 'rule add: no set elsewhere' offers '' rule add any tcp @
t 'rule del: the set of a rule' offers '@bad' rule del @
t 'set add: sets' offers 'bad badguys' set add b
t 'set add: no set behind the set' offers '' set add bad b
t 'set list: sets' offers 'bad badguys customers' set list ''

# bash_set LINE REPLIES: where bash cuts words at @, and where it does not.
bash_set() {
	local COMPREPLY COMP_LINE COMP_POINT COMP_WORDS=(rlctl) COMP_CWORD=0
	COMP_LINE="rlctl -n $(ns B) $1"
	# shellcheck source=/dev/null
	source <("$RLCTL" completion bash) || return
	COMP_POINT=${#COMP_LINE}
	_rlctl "$RLCTL" && is "${COMPREPLY[*]}" "$2" || return
	COMP_WORDBREAKS=${COMP_WORDBREAKS//@}
	_rlctl "$RLCTL" && is "${COMPREPLY[*]}" "${2//bad/@bad}"
}
t 'bash: the rest of a set' bash_set 'rule add @ba' 'bad badguys'

test_gone() { rl B detach veth-B && offers 'another lo other veth-B' detach ''; }
t 'every device where none is attached' test_gone
