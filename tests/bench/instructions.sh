#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# How many instructions of the JITed program a packet takes, and how many cache lines it touches, under each policy:
# exactly, and however busy the machine is, for qemu runs the program and instructions.py steps through it. The
# kernel is one that `make check-vm` uses (KERNEL: sid, trixie, bookworm). Needs root; some minutes.
set -euo pipefail

usage() {
	cat <<-'END'
	Usage: instructions.sh                writes docs/instructions.json, and prints it as a table
	       instructions.sh --only ROW …   prints the named rows of it; the rows are in tests/vm/guest/instructions.sh
	       instructions.sh --trace ROW …  and writes build/trace-ROW.txt: each line of source and of memory, in order
	END
}

cd "$(dirname "$0")/../.."
options=("$@") rows=()
while [[ $# -gt 0 ]]; do
	[[ $1 =~ ^--(only|trace)$ && $# -gt 1 ]] || { usage && exit 2; }
	rows+=("$2")
	shift 2
done
scripts/deps.sh --missing qemu-system-x86_64 busybox cpio depmod jq objdump >&2
make -s all benches
mkdir -p build/tests/prog # which image.sh looks into
[[ ${#options[@]} -gt 0 ]] || options=(--json docs/instructions.json)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
files=$(tests/vm/fetch.sh "${KERNEL:-sid}")
tests/vm/image.sh programs "$work/programs"
tests/vm/image.sh modules "$files" "$work/modules"
echo '0 tests/vm/guest/instructions.sh' >"$work/list" # without a time limit
printf '%s\n' ${rows[@]+"${rows[@]}"} | sed '/^$/d' >"$work/rows" # the guest attaches no others
(cd "$work" && printf '%s\n' list rows | cpio --quiet -o -H newc >list.cpio)
cat "$work/programs" "$work/modules" "$work/list.cpio" >"$work/initrd"
# The guest's clock goes by instructions (-icount), so that no limit's time passes between two of its packets.
tests/bench/instructions.py "${options[@]}" "$work" \
	qemu-system-x86_64 -accel tcg -icount shift=0,sleep=on -m 3072 -smp 1 -display none -nodefaults \
	-no-user-config -no-reboot -kernel "$files/vmlinuz" -initrd "$work/initrd" \
	-append 'console=ttyS0 quiet panic=-1 mitigations=off nokaslr' -serial "file:$work/console" || {
	tail -n 20 "$work/console" >&2
	exit 1
}
