#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A program and all functions that it calls have 512 bytes of stack. Kernels such as 6.1 count a frame in
# steps of 32 bytes, newer ones of 16: this computes the result that `make check-vm` would find.
source "$(dirname "$0")/../lib.sh"

fits() { # OBJECT PROGRAM
	local name bytes chain
	read -r name bytes chain < <(llvm-objdump -dr "$TOP/build/$1.bpf.o" |
		python3 "$TOP/tests/prog/stack.py" "$2") || return
	echo "$name takes $bytes bytes: $chain"
	[[ $bytes -ge 128 && $bytes -le 512 ]] # of less the disassembly was not understood
}

t 'the program at xdp' fits rlctl rlctl_xdp
t 'the program at tc' fits rlctl rlctl_tc
t 'the program at xdp that asks what is established' fits rlctl_extended rlctl_xdp
t 'the program at tc that does' fits rlctl_extended rlctl_tc
t 'the program at xdp that answers' fits rlctl_answers rlctl_xdp
t 'its companion' fits sent rlctl_sent
t 'the program at xdp that asks connection tracking' fits rlctl_conntrack rlctl_xdp
t 'that at tc, too' fits rlctl_conntrack rlctl_tc
t 'the program at xdp that answers beside it' fits rlctl_conntrack_answers rlctl_xdp
