#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A kernel that refuses a map or program of attach, simulated by strace: one line in words, and the messages
# of the kernel and libbpf only with -v. The wording is tested in tests/unit/test_load_failure.c.
source "$(dirname "$0")/../lib.sh"

FIRST=4 # of the system calls bpf() that fail: those before only look for what is there

# refused FAULT WORD…: the message of rlctl in B while bpf() fails as strace's FAULT says.
refused() {
	expect_status 1 strace -o /dev/null -e trace=bpf -e "inject=bpf:$1" "$RLCTL" -n "$(ns B)" "${@:2}" 2>&1
}

# says TEXT FAULT WORD…: one line, and nothing is left or changed.
says() {
	local said
	said=$(refused "${@:2}") && has "$1" echo "$said" || return
	is "$(wc -l <<<"$said") ${said%%: *}" '1 rlctl' && is "$(rl B status -j | json 'map(.program_id) | @json')" "$PROGRAMS"
}

test_attach() { # TEXT ERROR ARG…
	PROGRAMS='[]'
	says "$1" "error=$2:when=$FIRST+" attach veth-B "${@:3}" && [[ ! -e $(ns_pins B) ]]
}

# The program is loaded at a call that is always the same when another is replaced, twice: libbpf asks again
# for the verifier's words.
instance_new() {
	rl B attach veth-B --hook ingress && strace -o "$TMP/calls" -e trace=bpf "$RLCTL" -n "$(ns B)" attach veth-B --replace || return
	LOAD=$(grep -n 'PROG_LOAD.*rlctl_tc' "$TMP/calls" | cut -d: -f1) && PROGRAMS=$(rl B status -j | json 'map(.program_id) | @json')
}

test_program() { # TEXT ERROR
	says "$1" "error=$2:when=$LOAD..$((LOAD + 1))" attach veth-B --replace
}

# The load, and the kernel probes after its failure.
test_feature() { # TEXT ERROR
	says "$1" "error=$2:when=$LOAD..$((LOAD + 16))" attach veth-B --replace
}

test_verbose() {
	local said
	said=$(refused "error=EACCES:when=$LOAD..$((LOAD + 1))" attach veth-B --replace -v) && has 'libbpf: prog' echo "$said" &&
		has 'rejected the program' echo "$said"
}

veth_pair A B || exit 1
t 'a kernel without BPF' test_attach 'is built without BPF' ENOSYS
t 'no privilege' test_attach 'run as root' EPERM
t 'a kernel without our kind of program' test_attach 'no program type sched_cls (since Linux 4.1' EINVAL --hook egress
instance_new || exit 1
t 'the verifier refuses' test_program 'rejected the program (Permission denied)' EACCES
t 'the verifier gives up' test_program 'as too complex' E2BIG
t 'a kernel without maps' test_feature 'no map type ringbuf (since Linux 5.8' EINVAL
t 'with -v all is said' test_verbose
