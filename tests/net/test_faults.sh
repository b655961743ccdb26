#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Every system call of a command may fail, and the command may be killed at it: faults.py has the
# rows. Here a stride through the calls; FAULTS=all tries all (hours). The pins are on a bpffs of
# their own, so that all that is left there is ours. check: timeout 600
source "$(dirname "$0")/../lib.sh"

# The kernel may have no fq: then attach is tried without.
has_fq() { tc -n "$(ns A)" qdisc replace dev veth-A root fq && tc -n "$(ns A)" qdisc del dev veth-A root; }

veth_pair A B && veth_quiet A B && ns_mute A && ns_mute B && mkdir "$TMP/bpffs" || exit 1
FLOOD="nsenter --net=/run/netns/$(ns A) $TOP/build/flood -i veth-A -j"
export FLOOD
if has_fq 2>/dev/null; then export FQ=1; fi
if in_ns B "$TOP/build/tcx" veth-B ingress list 2>/dev/null; then export TCX=1; fi
# shellcheck disable=SC2016 # the words are those of the inner shell
unshare --mount sh -c 'mount -t bpf bpf "$0" && exec "$@"' "$TMP/bpffs" \
	python3 "$TOP/tests/net/faults.py" "$(ns B)" veth-B "$TMP/bpffs" "$RLCTL" "$TOP/build/inject" "$@"
