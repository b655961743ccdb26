#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A kernel that refuses a map or program, simulated by strace, or by a library where it is to refuse one filter: one line in words, and the messages
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

# ---- filters

# A kernel that refuses each program with the port 4242 (and 4243, 4244 and 4245 all three) in an instruction.
cat >"$TMP/kernel.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <sys/syscall.h>

static int has(const union bpf_attr *attr, int imm)
{
	const struct bpf_insn *insns = (const void *)(unsigned long)attr->insns;

	for (unsigned int i = 0; i < attr->insn_cnt; i++)
		if (insns[i].imm == imm && (insns[i].code & 7) == BPF_JMP32)
			return 1;
	return 0;
}

long syscall(long number, ...)
{
	static long (*next)(long, ...);
	long a[6];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_bpf && a[0] == BPF_PROG_LOAD) {
		const union bpf_attr *attr = (const void *)a[1];

		if (has(attr, 4242) || (has(attr, 4243) && has(attr, 4244) && has(attr, 4245))) {
			errno = E2BIG;
			return -1;
		}
	}
	if (!next)
		next = dlsym(RTLD_NEXT, "syscall");
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
END

# filter_refused TEXT POLICY WORD…: that kernel's message, and nothing is changed.
filter_refused() {
	local said
	said=$(expect_status 1 env LD_PRELOAD="$TMP/kernel.so" "$RLCTL" -n "$(ns B)" "${@:3}" - <<<"$2" 2>&1) && has "$1" echo "$said" &&
		is "$(wc -l <<<"$said")" 1 && is "$(rl B status -j | json 'map(.program_id) | @json')" "$PROGRAMS"
}

ONE='rule any filter "udp port 7" deny
rule any filter "tcp dst port 4242 and len > 90" deny'
# shellcheck disable=SC2016 # as it is said
ONE_SAID='uses `filter "tcp dst port 4242 and len > 90"`, but the Linux'
TOGETHER='rule any filter "udp dst port 4243" deny
rule any filter "udp dst port 4244 and len > 90 and ip[8] = 7" deny
rule any filter "udp dst port 4245" deny'
TOGETHER_SAID='it takes each filter alone: use fewer or shorter ones, first of all instead of "udp dst port 4244 and len > 90 and ip[8] = 7"'

test_filters() { # WORD…
	filter_refused "$ONE_SAID" "$ONE" "$@" && filter_refused "$TOGETHER_SAID" "$TOGETHER" "$@"
}
# Attaching leaves nothing.
test_filters_attach() { # HOOK
	PROGRAMS='[]'
	filter_refused "$ONE_SAID" "$ONE" attach veth-B --hook "$1" --policy && filter_refused "$TOGETHER_SAID" "$TOGETHER" attach veth-B --hook "$1" --policy &&
		[[ ! -e $(ns_pins B) ]]
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
"${CC:-cc}" -shared -fPIC -o "$TMP/kernel.so" "$TMP/kernel.c" || exit 1
t 'filters: apply' test_filters apply -i veth-B
t 'filters: apply --check' test_filters apply -i veth-B --check
rl B detach veth-B || exit 1
t 'filters: attach, ingress' test_filters_attach ingress
t 'filters: attach, xdp' test_filters_attach xdp
