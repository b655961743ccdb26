#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Boots distribution kernels under qemu and runs tests there, as tests/vm/matrix says; all kernels
# at once. The last line is `N passed, N failed, N skipped`; all output stays in build/vm. The
# seconds of a file are the guest's own.
set -uo pipefail
export LC_ALL=C PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
cd "$(dirname "$0")/../.." || exit 1
source scripts/tap.sh

LOG=build/vm
MATRIX=tests/vm/matrix
TEST_SECONDS=240 # of the guest's time
GUEST_SECONDS=3600
GUEST='-accel tcg -m 1536 -display none -nodefaults -no-user-config -no-reboot'
# The guest's time is the number of instructions it ran (-icount), so that no load of this machine makes
# a test late, and waiting takes no time. With several processors not every kernel boots so.
ONE_CPU='-icount shift=1,sleep=off -smp 1'
NEEDS='qemu-system-x86_64 busybox cpio depmod xz jq ip nsenter bpftool ethtool xdp-loader xdp-filter'

usage() {
	cat <<-'END'
	Usage: run.sh [--tap] [--kernel NAME]… [--test NAME]…
	  --tap          print what the tests say, each name with its kernel
	  --kernel NAME  6.1, 6.12, sid, cpus (all)
	  --test NAME    only test files whose names contain NAME
	END
}

# ---- the matrix

kernels() { # "NAME SUITE OPTION…" of each that is wanted
	local kind name rest
	while read -r kind name rest; do
		[[ $kind == kernel ]] || continue
		[[ ${#only_kernels[@]} -eq 0 || " ${only_kernels[*]} " == *" $name "* ]] && echo "$name $rest"
	done <"$MATRIX"
}

wanted() { # FILE
	local name
	[[ ${#only_tests[@]} -gt 0 ]] || return 0
	for name in "${only_tests[@]}"; do
		[[ $1 != *"$name"* ]] || return 0
	done
	return 1
}

# tests_on KERNEL [OPTION…]: "SECONDS FILE" of each test, as the guest reads it.
tests_on() {
	local kind file where
	while read -r kind file where; do
		[[ $kind == test ]] || continue
		[[ $where == all && $# -eq 1 || ",$where," == *",$1,"* ]] || continue
		wanted "$file" && echo "$TEST_SECONDS tests/$file"
	done <"$MATRIX"
}

# ---- guests, each in $WORK/KERNEL

make_initrd() { # FOLDER KERNEL-FILES
	tests/vm/image.sh modules "$2" "$1/modules" &&
		(cd "$1" && echo list | cpio --quiet -o -H newc >list.cpio) &&
		cat "$WORK/programs" "$1/modules" "$1/list.cpio" >"$1/initrd"
}

# boot KERNEL SUITE [OPTION…]: $WORK/KERNEL/results is what the guest says, errors why there is no guest.
boot() {
	local folder=$WORK/$1 files guest
	files=$(tests/vm/fetch.sh "$2") || { touch "$folder/unreachable" && return 1; }
	make_initrd "$folder" "$files" || return
	guest=("${@:3}")
	[[ $# -gt 2 ]] || read -ra guest <<<"$ONE_CPU"
	read -ra guest <<<"$GUEST ${guest[*]}"
	exec timeout --foreground "$GUEST_SECONDS" qemu-system-x86_64 "${guest[@]}" \
		-kernel "$files/vmlinuz" -initrd "$folder/initrd" \
		-append 'console=ttyS0 quiet panic=-1 mitigations=off' \
		-serial "file:$folder/console" -serial "file:$folder/results"
}

declare -A guests=()
start_guests() {
	local kernel suite
	local -a options
	while read -r kernel suite options; do
		read -ra options <<<"$options"
		mkdir -p "$WORK/$kernel"
		tests_on "$kernel" ${options[@]+"${options[@]}"} >"$WORK/$kernel/list"
		[[ -s $WORK/$kernel/list ]] || continue
		boot "$kernel" "$suite" ${options[@]+"${options[@]}"} >"$WORK/$kernel/errors" 2>&1 </dev/null &
		guests[$kernel]=$!
	done < <(kernels)
}

cleanup() {
	trap - EXIT INT TERM
	[[ ${#guests[@]} -eq 0 ]] || kill "${guests[@]}" 2>/dev/null
	wait
	rm -rf "$WORK"
}

# ---- results

# split FOLDER LOG: one log for each test file, and on standard output "FILE STATUS LIMIT SECONDS" of each.
split() {
	tr -d '\r' <"$1/results" | awk -v folder="$2" '
	/^#### begin / { file = $3; sub(/^tests\//, "", file); log_file = file; gsub(/\//, "-", log_file)
		log_file = folder "/" log_file ".log"; printf "" >log_file; next }
	/^#### end / { print file, $4, $5, $6; close(log_file); file = ""; next }
	file != "" { print >log_file }'
}

log_of() { echo "$LOG/$1/${2//\//-}.log"; } # KERNEL FILE

# judge KERNEL FILE STATUS LIMIT SECONDS
judge() {
	local log p f s m why
	log=$(log_of "$1" "$2")
	[[ -e $log ]] || : >"$log"
	read -r p f s m <<<"$(count <"$log")"
	why=$(complaint "$3" "$p" "$f" "$s" "$m" "$4")
	[[ $5 != - ]] || why='the guest ended before it did'
	[[ -z $why ]] || f=$((f + 1))
	tests_run=$((tests_run + 1))
	if [[ $tap == 1 ]]; then
		failed=$((failed + f))
		sed -E "s/^((not )?ok )/\1$1: /" "$log"
		[[ -z $why ]] || echo "not ok $1: $2: $why"
		return
	fi
	line "$1 $2" "$p" "$f" "$s" "${5/-/0}"
	[[ $f -eq 0 ]] || sed 's/^/    /' "$log"
	[[ -z $why ]] || echo "    $1 $2: $why"
	note_skips "$1 $2" "$log"
}

# no_guest KERNEL: why it never spoke.
no_guest() {
	local mark='    '
	tests_run=$((tests_run + 1))
	if [[ $tap == 1 ]]; then
		failed=$((failed + 1)) mark='# '
		echo "not ok $1: the guest boots"
	else
		line "$1" 0 1 0 0
	fi
	cat "$WORK/$1/errors" "$WORK/$1/console" 2>/dev/null | tail -n 30 | tr -d '\r' | sed "s/^/$mark/"
}

# no_kernel KERNEL: it is in no cache, and the mirror does not answer or has no such suite.
no_kernel() {
	local reason
	reason="kernel-$1 cannot be had: $(tail -n 1 "$WORK/$1/errors")"
	tests_run=$((tests_run + 1))
	if [[ $tap == 1 ]]; then
		echo "ok # SKIP $reason"
		return
	fi
	line "$1" 0 0 1 0
	may_skip "kernel-$1" || refused+=("vm $reason")
}

report() { # KERNEL
	local folder=$WORK/$1 file status limit seconds _
	mkdir -p "$LOG/$1"
	cp "$folder"/{errors,console,results} "$LOG/$1/" 2>/dev/null
	if [[ -e $folder/unreachable ]]; then
		no_kernel "$1"
		return
	fi
	if ! grep -q '^#### kernel' "$folder/results" 2>/dev/null; then
		no_guest "$1"
		return
	fi
	[[ $tap == 1 ]] || sed -n 's/^#### kernel //p' "$folder/results" | tr -d '\r'
	split "$folder" "$LOG/$1" >"$folder/records"
	while read -r _ file; do
		file=${file#tests/}
		read -r _ status limit seconds < <(grep "^$file " "$folder/records" || echo "$file 1 0 -")
		judge "$1" "$file" "$status" "$limit" "$seconds"
	done <"$folder/list"
	grep -q '^#### done' "$folder/results" || tail -n 20 "$folder/console" | tr -d '\r' | sed 's/^/#   /'
}

# unable: why this machine cannot do it, if so.
unable() {
	[[ $(uname -m) == x86_64 ]] || { echo "boots kernels for x86-64, this is $(uname -m)" && return; }
	# shellcheck disable=SC2086 # several words
	scripts/deps.sh --missing $NEEDS | head -n 1
}

skip_all() { # REASON
	if [[ $tap == 1 ]]; then
		echo "ok vm # SKIP $1"
		exit 0
	fi
	line vm 0 0 1 0
	refused+=("vm $1")
	finish
}

main() {
	local kernel reason
	tap=0 only_kernels=() only_tests=()
	while [[ $# -gt 0 ]]; do
		case "$1" in
		--tap) tap=1 ;;
		--kernel) shift && only_kernels+=("${1:?--kernel needs a name}") ;;
		--test) shift && only_tests+=("${1:?--test needs a name}") ;;
		-h | --help) usage && exit 0 ;;
		*) usage >&2 && exit 2 ;;
		esac
		shift
	done
	reason=$(unable)
	[[ -z $reason ]] || skip_all "$reason"
	WORK=$(mktemp -d)
	trap cleanup EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	rm -rf "$LOG" && mkdir -p "$LOG"
	tests/vm/image.sh programs "$WORK/programs" || exit 1
	start_guests
	while read -r kernel _; do
		[[ -n ${guests[$kernel]:-} ]] || continue
		wait "${guests[$kernel]}"
		unset "guests[$kernel]"
		report "$kernel"
	done < <(kernels)
	[[ $tap == 1 ]] || finish
	[[ $failed -eq 0 ]]
}

main "$@"
