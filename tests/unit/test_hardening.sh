#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Hardening by the compiler and the linker that makes faults harder to exploit, as built by default. Needs no
# root.
# shellcheck source=tests/lib.sh
source "$(dirname "$0")/../lib.sh"

elf() { readelf --wide "$@" "$RLCTL"; }

# of OPTION PATTERN: the output of readelf OPTION matches; not_of: it does not.
of() { elf "$1" | grep -qE -- "$2"; }
not_of() { ! of "$@"; }

t "position independent" of --dynamic 'FLAGS_1.*\bPIE\b'
t "relocations are read-only" of --segments '^ *GNU_RELRO'
t "all of them, from the start" of --dynamic '\bBIND_NOW\b'
t "no code on the stack" of --segments '^ *GNU_STACK .* RW  '
t "nothing to write and to run" not_of --segments '^ *LOAD .* RWE '
t "the stack is guarded" of --dyn-syms ' __stack_chk_fail'
t "libc checks sizes" of --dyn-syms ' __v?snprintf_chk'
t "libc checks sizes that are known only at run time" grep -qw -- -D_FORTIFY_SOURCE=3 "$TOP/build/.flags"
t "the stack is guarded strongly" grep -qw -- -fstack-protector-strong "$TOP/build/.flags"
t "libraries are found where the system has them" not_of --dynamic 'R(UN)?PATH'
