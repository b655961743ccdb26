#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The commands under valgrind, what they do and what they refuse: no wrong access, nothing that
# depends on what was never written, no leak. It starts slowly, so one of a kind stands for others.
# check: timeout 400
# shellcheck source=tests/lib.sh
source "$(dirname "$0")/../lib.sh"

FOUND=99

vg() {
	valgrind --quiet --error-exitcode="$FOUND" --leak-check=full --errors-for-leak-kinds=definite,indirect \
		--show-leak-kinds=definite,indirect --suppressions="$TOP/tests/net/valgrind.supp" \
		--child-silent-after-fork=yes "$RLCTL" "$@"
}

# The words of a command line, and the expected exit status.
done_by() { expect_status 0 vg "$@"; }
refused_to() { expect_status 1 vg "$@"; }
wrong_words() { expect_status 2 vg "$@"; }

veth_pair A B || exit 1
N=(-n "$(ns A)")
cd "$TMP" || exit 1
cat >policy <<'POLICY'
rule any limit 1000/second burst 2000
rule any udp dport 53 limit 20mbit per source/24,56
rule any tcp syn limit 50/second burst 100 over ban 10m source
rule any tcp dport 443 limit sliding-window 600/minute over count
rule any tcp dport 22 limit sliding-log 10/minute per flow
rule 2001:db8::/32 limit warm-up 500/second ramp 30s
rule 198.51.100.0/24 deny for 1h
rule 203.0.113.7 allow
rule device limit 1gbit
POLICY
printf 'rule any deny\nrule any \e[2J deny\n' >wrong
printf '1 udp 198.51.100.1 times=50 every=0.01\n1.5 udp6 2001:db8::7 cap=30\n2 arp\n3 junk\n' |
	python3 "$TOP/tests/prog/capture.py" ng >capture
head -c 300 capture >short

t "a wrong option" wrong_words status --jsom
t "help" done_by help rule
t "apply --check of what is wrong" refused_to apply --check wrong
t "nothing attached" done_by "${N[@]}" status
t "simulate, JSON" done_by simulate -j policy capture
t "simulate of what is cut off" refused_to simulate --verdicts policy short
t "attach" done_by "${N[@]}" attach veth-A --policy policy
t "rule add" done_by "${N[@]}" rule add any icmp limit 10/second
t "rule add of what is wrong" wrong_words "${N[@]}" rule add any icmp dport 5 deny
t "rule get" done_by "${N[@]}" rule get 198.51.100.9
t "explain" done_by "${N[@]}" explain 198.51.100.9 udp dport 53
t "rule list -v" done_by "${N[@]}" rule list -v
t "apply" done_by "${N[@]}" apply policy
t "show" done_by "${N[@]}" show
in_ns B ping -c 3 -i 0.01 10.77.0.1 >/dev/null
t "status, JSON" done_by "${N[@]}" status -j
t "stats" done_by "${N[@]}" stats
t "stats, Prometheus" done_by "${N[@]}" stats --prometheus
t "source show" done_by "${N[@]}" source show 10.77.0.2
t "source forgive" done_by "${N[@]}" source forgive 10.77.0.2
t "top --once" done_by "${N[@]}" top --once
t "monitor -w" done_by "${N[@]}" monitor --passed --seconds 1 -w watched
t "doctor" done_by "${N[@]}" -q doctor veth-A
t "detach" done_by "${N[@]}" detach veth-A
t "attach to tc" done_by "${N[@]}" attach veth-A --hook egress
