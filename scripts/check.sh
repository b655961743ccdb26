#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The whole check: dependencies, build with -Werror, lint, all tests. The last line of output is
# always `N passed, N failed, N skipped`. The tests speak TAP; each file's output stays in build/log.
# One more at once than there are processors, for many wait. A file may ask for another time limit (of an idle machine)
# with a comment `check: timeout SECONDS` in its source, for a processor of its own with `check: processor`,
# for the whole machine with `check: alone`, and, if it lasts long and does little, for a place beside
# all others with `check: beside`. A CPU-bound one, as lint, asks for idle priority with `check: idle`.
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
LONGEST=2400
IDLE_LIMIT=4500
source scripts/tap.sh
source scripts/root.sh
ARGUMENTS=("$@")
unit_only=0 quick=0 lint=0
# Tests of tests/unit that --quick leaves out because they take long, and the tests of other directories that
# it runs: rules and limits of each hook, and a device that is attached, given rules, flooded and detached.
QUICK_NOT='unit/(test_sanitize|test_concurrency|test_import|test_sliding_log)'
QUICK_TOO='prog/test_(packet|rules|bucket|bans|skb)|net/test_(attach|policy)'
TOGETHER=() PROCESSOR=() ALONE=() BESIDE=() IDLE=()

usage() {
	cat <<-'END'
	Usage: check.sh [--quick] [--unit] [--slow] [NAME…]
	It needs root, and calls itself by sudo where it is not.
	  --quick  while editing, under two minutes: build, format and shellcheck of what changed since
	           origin/main, most of tests/unit, a few of tests/prog and tests/net
	  --unit   only what needs no root: build, lint and tests/unit
	  --slow   the soak lasts for five minutes
	  NAME     only test files whose names contain NAME, and no lint; builds only what they need
	END
}

# Running tests, and lint, by number: source, process, start time and time limit; which of them take no place among
# the others. Each writes its number and exit status into the pipe ENDED, for bash forgets the status of a process
# whose id is used again before it is asked for.
declare -A source_of=() process_of=() began_at=() limit_of=() is_apart=()
job=0

interrupted() {
	trap '' INT TERM
	for job in "${!source_of[@]}"; do
		pkill -TERM -P "${process_of[$job]}" # timeout hands it on
	done
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
	"$@" >"$LOG/$name.log" 2>&1 </dev/null {LOCK}>&-
	step_ended "$name" $? $((SECONDS - start))
}

step_ended() { # NAME STATUS SECONDS
	if [[ $2 -eq 0 ]]; then
		line "$1" 1 0 0 "$3"
		return 0
	fi
	line "$1" 0 1 0 "$3"
	sed 's/^/    /' "$LOG/$1.log"
	failures+=("failed: $1" "$(tail -n 20 "$LOG/$1.log" | sed 's/^/    /')")
	return 1
}

# It ends a file that hangs: three times what it needs on an idle machine, as `eventually` of tests/lib.sh, and
# no later than the longest of them may last.
time_limit() {
	local limit
	if asks_for idle "$1"; then
		echo "$IDLE_LIMIT"
		return
	fi
	limit=$(sed -nE 's/.*check: timeout ([0-9]+).*/\1/p' "$1" | head -n 1)
	limit=$((3 * ${limit:-$TIMEOUT}))
	echo $((limit < LONGEST ? limit : LONGEST))
}

program_of() { # SOURCE: how to run it
	case "$1" in
	*.sh) echo bash "$1" ;;
	*) echo "build/${1%.c}" ;;
	esac
}

log_of() { echo "$LOG/${1#tests/}.log"; } # SOURCE: one each for test_lint.c and test_lint.sh

# start SOURCE LIMIT LOG CMD…: in the background, where an interrupt reaches it. LOG.cpu gets the seconds of processor
# time, user and system.
start() {
	mkdir -p "${3%/*}"
	job=$((job + 1))
	{
		TIMEFORMAT='%0U %0S'
		{ time CMOCKA_MESSAGE_OUTPUT=TAP timeout -k 10 "$2" "${@:4}" >"$3" 2>&1 </dev/null {ENDED}>&- {LOCK}>&-; } 2>"$3.cpu"
		echo "$job $?" >&"$ENDED"
	} &
	source_of[$job]=$1 process_of[$job]=$! began_at[$job]=$SECONDS limit_of[$job]=$2
}

# launch SOURCE [CMD…]: a test, run by CMD.
launch() {
	local command
	read -ra command <<<"$(program_of "$1")"
	tests_run=$((tests_run + 1))
	start "$1" "$(time_limit "$1")" "$(log_of "$1")" "${@:2}" "${command[@]}"
}

# collect: waits for the next to end, and reports it.
collect() {
	local ended status
	read -r ended status <&"$ENDED"
	case ${source_of[$ended]} in
	lint) step_ended lint "$status" $((SECONDS - began_at[$ended])) ;;
	*) test_ended "${source_of[$ended]}" "$status" "${limit_of[$ended]}" $((SECONDS - began_at[$ended])) ;;
	esac
	unset "source_of[$ended]" "is_apart[$ended]"
}

test_ended() { # SOURCE STATUS LIMIT SECONDS
	local name=${1#tests/} log why p f s m
	log=$(log_of "$1")
	read -r p f s m <<<"$(count <"$log")"
	why=$(complaint "$2" "$p" "$f" "$s" "$m" "$3")
	[[ -z $why ]] || f=$((f + 1))
	line "$name" "$p" "$f" "$s" "$4"
	[[ $f -eq 0 ]] || sed 's/^/    /' "$log"
	[[ -z $why ]] || echo "    $name: $why (whole output: $log)"
	[[ $f -eq 0 ]] || note_failures "$name" "$log" "$why"
	note_skips "$name" "$log"
}

# collect_to N: until no more than N are running, not counting those apart.
collect_to() {
	while [[ $((${#source_of[@]} - ${#is_apart[@]})) -gt $1 ]]; do
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

longest_first() { # FILE…: by their time limits, so that no long test is left over at the end
	local file
	for file in "$@"; do
		echo "$(time_limit "$file") $file"
	done | sort -s -k 1,1nr | cut -d ' ' -f 2-
}

# sort_tests NAME…: into TOGETHER, PROCESSOR, ALONE, BESIDE and IDLE.
sort_tests() {
	local file
	while read -r file; do
		if asks_for alone "$file"; then
			ALONE+=("$file")
		elif asks_for processor "$file"; then
			PROCESSOR+=("$file")
		elif asks_for beside "$file"; then
			BESIDE+=("$file")
		elif asks_for idle "$file"; then
			IDLE+=("$file")
		else
			TOGETHER+=("$file")
		fi
	done < <(selected "$@")
	mapfile -t TOGETHER < <(longest_first ${TOGETHER[@]+"${TOGETHER[@]}"})
	mapfile -t PROCESSOR < <(longest_first ${PROCESSOR[@]+"${PROCESSOR[@]}"})
}

begin_beside() {
	local file
	for file in ${BESIDE[@]+"${BESIDE[@]}"}; do
		apart beside launch "$file"
	done
}

# apart KIND START ARG…: takes no place among the others.
apart() {
	"${@:2}"
	is_apart[$job]=$1
}

# By a command that the scheduler gives only what others leave: how long it lasts depends on them.
begin_idle() {
	local file idle=(chrt --idle 0)
	[[ $lint == 0 ]] || apart idle start lint "$IDLE_LIMIT" "$LOG/lint.log" "${idle[@]}" make WERROR=1 lint
	for file in ${IDLE[@]+"${IDLE[@]}"}; do
		apart idle launch "$file" "${idle[@]}"
	done
}

# Tests that measure time run last: first those that send at a pace, then those that flood or need both
# processors.
run_tests() {
	run_some $(($(nproc) + 1)) ${TOGETHER[@]+"${TOGETHER[@]}"}
	while [[ " ${is_apart[*]} " == *' beside '* ]]; do
		collect
	done
	run_some "$(nproc)" ${PROCESSOR[@]+"${PROCESSOR[@]}"}
	run_some 1 ${ALONE[@]+"${ALONE[@]}"}
	while [[ ${#source_of[@]} -gt 0 ]]; do
		collect
	done
}

# Prints the targets of make for the tests that were sorted.
targets() {
	local file
	echo all
	[[ $lint == 0 ]] || printf '%s\n' tests benches
	for file in "${TOGETHER[@]}" "${PROCESSOR[@]}" "${ALONE[@]}" "${BESIDE[@]}" "${IDLE[@]}"; do
		case "$file" in
		*.sh) echo benches && sed -nE 's/.*check: builds ([^ ]+).*/\1/p' "$file" ;;
		*) program_of "$file" ;;
		esac
	done | sort -u
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
mkdir -p build && exec {LOCK}<build || exit 1
flock -n "$LOCK" || { echo 'check.sh: another check runs in this tree: wait for it, or check a clone' >&2 && exit 1; }
rm -rf "$LOG" && mkdir -p "$LOG" && mkfifo "$LOG/ended" && exec {ENDED}<>"$LOG/ended" || exit 1
step deps ./scripts/deps.sh || finish
[[ $quick == 1 || $# -gt 0 ]] || lint=1
sort_tests "$@"
mapfile -t TARGETS < <(targets)
step build make -j"$(nproc)" WERROR=1 "${TARGETS[@]}" || finish
begin_beside
[[ $quick == 0 ]] || step lint ./scripts/lint.sh --changed
begin_idle
run_tests
finish
