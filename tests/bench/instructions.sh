#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# How many instructions of the JITed program a packet takes, beyond an empty program: exactly, and
# however busy the machine is. A guest's clock is told to advance by a nanosecond an instruction (qemu
# -icount), so that what BPF_PROG_TEST_RUN says of a program's time is that number. The kernel is one
# that `make check-vm` uses (KERNEL: sid, trixie, bookworm). Needs root; a minute.
set -euo pipefail
cd "$(dirname "$0")/../.."
scripts/deps.sh --missing qemu-system-x86_64 busybox cpio depmod jq >&2
make -s all benches
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
files=$(tests/vm/fetch.sh "${KERNEL:-sid}")
tests/vm/image.sh programs "$work/programs"
tests/vm/image.sh modules "$files" "$work/modules"
echo '1200 tests/vm/guest/instructions.sh' >"$work/list"
(cd "$work" && echo list | cpio --quiet -o -H newc >list.cpio)
cat "$work/programs" "$work/modules" "$work/list.cpio" >"$work/initrd"
timeout --foreground 1200 qemu-system-x86_64 -accel tcg -icount shift=0,sleep=off -m 1536 -smp 1 \
	-display none -nodefaults -no-user-config -no-reboot -kernel "$files/vmlinuz" -initrd "$work/initrd" \
	-append 'console=ttyS0 quiet panic=-1 mitigations=off' -serial "file:$work/console" -serial "file:$work/results"
grep -q '^#### end tests/vm/guest/instructions.sh 0 ' "$work/results" || {
	tail -n 20 "$work/results" "$work/console" >&2
	exit 1
}
tr -d '\r' <"$work/results" | awk '/^#### kernel/ { print "instructions a packet, Linux " $3 }
	!/^####/ { printf "  %-17s %5d\n", $1, $2 }'
