#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The whole check: dependencies, build with -Werror, lint, all tests. The last line of output is
# always `N passed, N failed, N skipped`. The tests speak TAP; each file's output stays in build/log.
# One more at once than there are processors, for many wait. A file may ask for another time limit with
# a comment `check: timeout SECONDS` in its source, for a processor of its own with `check: processor`,
# for the whole machine with `check: alone`, and, if it lasts long and does little, for a place beside
# all others with `check: beside`.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

# The caller's environment has no effect, except for how to reach the network.
if [[ -z ${RLCTL_CHECK:-} ]]; then
	keep=(RLCTL_CHECK=1 LC_ALL=C PYTHONDONTWRITEBYTECODE=1 HOME="${HOME:-/root}" TERM="${TERM:-dumb}"
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
	for name in http_proxy https_proxy no_proxy SUDO_UID; do
		[[ -z ${!name:-} ]] || keep+=("$name=${!name}")
	done
	exec env -i "${keep[@]}" bash ./scripts/check.sh "$@"
fi

LOG=build/log
TIMEOUT=120
source scripts/tap.sh
source scripts/root.sh
ARGUMENTS=("$@")
unit_only=0 quick=0
# Tests of tests/unit that --quick leaves out because they take long, and the tests of other directories that
# it runs: rules and limits of each hook, and a device that is attached, given rules, flooded and detached.
QUICK_NOT='unit/(test_sanitize|test_concurrency|test_import|test_sliding_log)'
QUICK_TOO='prog/test_(packet|rules|bucket|bans|skb)|net/test_(attach|policy)'
TOGETHER=() PROCESSOR=() ALONE=() BESIDE=()

usage() {
	cat <<-'END'
	Usage: check.sh [--quick] [--unit] [--slow] [NAME…]
	It needs root, and calls itself by sudo where it is not.
	  --quick  while editing, under two minutes: build, format and shellcheck of what changed since
	           origin/main, most of tests/unit, a few of tests/prog and tests/net
	  --unit   only what needs no root: build, lint and tests/unit
	  --slow   the soak lasts for five minutes
	  NAME     only test files whose names contain NAME (and no lint)
	END
}

# Running tests by process id: source, start time and time limit.
declare -A source_of=() began_at=() limit_of=()

interrupted() {
	trap '' INT TERM
	[[ ${#source_of[@]} -eq 0 ]] || kill -TERM "${!source_of[@]}" 2>/dev/null # timeout hands it on
	wait
	failed=$((failed + 1))
	echo interrupted
	finish
}
trap interrupted INT TERM

# step NAME CMD…: a step that is one test by itself.
step() {
	local name=$1 start=$SECONDS
	shift
	if "$@" >"$LOG/$name.log" 2>&1 </dev/null; then
		line "$name" 1 0 0 $((SECONDS - start))
		return 0
	fi
	line "$name" 0 1 0 $((SECONDS - start))
	sed 's/^/    /' "$LOG/$name.log"
	return 1
}

time_limit() {
	local limit
	limit=$(sed -nE 's/.*check: timeout ([0-9]+).*/\1/p' "$1" | head -n 1)
	echo "${limit:-$TIMEOUT}"
}

program_of() { # SOURCE: how to run it
	case "$1" in
	*.sh) echo bash "$1" ;;
	*) echo "build/${1%.c}" ;;
	esac
}

log_of() { # SOURCE
	local name=${1#tests/}
	echo "$LOG/${name%.*}.log"
}

# launch SOURCE: in the background, where an interrupt reaches it.
launch() {
	local log command limit
	log=$(log_of "$1") limit=$(time_limit "$1")
	mkdir -p "${log%/*}"
	read -ra command <<<"$(program_of "$1")"
	tests_run=$((tests_run + 1))
	CMOCKA_MESSAGE_OUTPUT=TAP timeout -k 10 "$limit" "${command[@]}" >"$log" 2>&1 </dev/null &
	source_of[$!]=$1 began_at[$!]=$SECONDS limit_of[$!]=$limit
}

# collect: waits for the next test to end, and reports it.
collect() {
	local pid status=0 name log why p f s m
	wait -n -p pid "${!source_of[@]}" || status=$?
	name=${source_of[$pid]#tests/} log=$(log_of "${source_of[$pid]}")
	read -r p f s m <<<"$(count <"$log")"
	why=$(complaint "$status" "$p" "$f" "$s" "$m" "${limit_of[$pid]}")
	[[ -z $why ]] || f=$((f + 1))
	line "$name" "$p" "$f" "$s" $((SECONDS - began_at[$pid]))
	[[ $f -eq 0 ]] || sed 's/^/    /' "$log"
	[[ -z $why ]] || echo "    $name: $why (whole output: $log)"
	note_skips "$name" "$log"
	unset "source_of[$pid]"
}

# collect_to N: until no more than N are running.
collect_to() {
	while [[ ${#source_of[@]} -gt $1 ]]; do
		collect
	done
}

asks_for() { grep -q "check: $1" "$2"; } # KIND SOURCE

test_files() {
	find tests -mindepth 2 -maxdepth 2 \( -name 'test_*.sh' -o -path 'tests/unit/test_*.c' -o -path 'tests/prog/test_*.c' \) |
		sort | if [[ $unit_only == 1 ]]; then grep '^tests/unit/'; else cat; fi | if [[ $quick == 1 ]]; then only_quick; else cat; fi
}
only_quick() { grep -E "^tests/(unit/|($QUICK_TOO)\.)" | grep -vE "^tests/$QUICK_NOT\."; }

# selected NAME…: unit tests first, then those of the programs, then the rest.
selected() {
	local file name
	while read -r file; do
		[[ $# -gt 0 ]] || echo "$file"
		for name in "$@"; do
			[[ $file != *"$name"* ]] || { echo "$file" && break; }
		done
	done < <(
		test_files | grep '^tests/unit/'
		test_files | grep '^tests/prog/'
		test_files | grep -vE '^tests/(unit|prog)/'
	)
}

# run_some N FILE…: N at once.
run_some() {
	local file
	for file in "${@:2}"; do
		collect_to $(($1 - 1))
		launch "$file"
	done
	collect_to 0
}

# sort_tests NAME…: into TOGETHER, PROCESSOR, ALONE and BESIDE. Tests with longer time limits start first, so
# that no long test is left over at the end.
sort_tests() {
	local file
	while read -r file; do
		if asks_for alone "$file"; then
			ALONE+=("$file")
		elif asks_for processor "$file"; then
			PROCESSOR+=("$file")
		elif asks_for beside "$file"; then
			BESIDE+=("$file")
		elif asks_for timeout "$file"; then
			TOGETHER=("$file" ${TOGETHER[@]+"${TOGETHER[@]}"})
		else
			TOGETHER+=("$file")
		fi
	done < <(selected "$@")
}

begin_beside() {
	local file
	for file in ${BESIDE[@]+"${BESIDE[@]}"}; do
		launch "$file"
	done
}

# Tests that measure time run last: first those that send at a pace, then those that flood or need both
# processors.
run_tests() {
	run_some $(($(nproc) + 1 + ${#BESIDE[@]})) ${TOGETHER[@]+"${TOGETHER[@]}"}
	run_some "$(nproc)" ${PROCESSOR[@]+"${PROCESSOR[@]}"}
	run_some 1 ${ALONE[@]+"${ALONE[@]}"}
}

become_root() {
	as_root ./scripts/check.sh ${ARGUMENTS[@]+"${ARGUMENTS[@]}"} || {
		echo 'check.sh: --unit runs what needs no root'
		failed=1
		finish
	}
	# The machine's init mounts it, or rlctl does; in a container neither does.
	[[ $(stat -f -c %T /sys/fs/bpf 2>/dev/null) == bpf_fs ]] || mount -t bpf bpf /sys/fs/bpf
}

umask 022
while [[ ${1:-} == -* ]]; do
	case "$1" in
	--quick) quick=1 ;;
	--unit) unit_only=1 ;;
	--slow) export SLOW=1 ;;
	-h | --help) usage && exit 0 ;;
	*) usage >&2 && exit 2 ;;
	esac
	shift
done

[[ $unit_only == 1 ]] || become_root
rm -rf "$LOG" && mkdir -p "$LOG" || exit 1
step deps ./scripts/deps.sh || finish
step build make -j"$(nproc)" WERROR=1 all tests benches || finish
sort_tests "$@"
begin_beside
if [[ $quick == 1 ]]; then
	step lint ./scripts/lint.sh --changed
elif [[ $# -eq 0 ]]; then
	step lint make WERROR=1 lint
fi
run_tests
finish
