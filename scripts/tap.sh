# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Sourced by scripts that run test files: reads TAP, prints one line per file, and the sum as the last
# line.

passed=0 failed=0 skipped=0 tests_run=0
refused=()  # skipped, but must run here
failures=() # said once more at the end, where whoever reads a long output looks first

# line NAME PASSED FAILED SKIPPED SECONDS: prints the line of one file.
line() {
	printf '%-36s %4d passed %4d failed %4d skipped %5d s\n' "$@"
	passed=$((passed + $2)) failed=$((failed + $3)) skipped=$((skipped + $4))
}

# count <LOG: "PASSED FAILED SKIPPED MISSING" of TAP output. cmocka 1.1 spells a skip
# `not ok N # SKIP NAME`; MISSING are tests that a plan `1..N` promised.
count() {
	awk '
	/^(not )?ok( .*)?# SKIP/ { skipped++; next }
	/^not ok( |$)/ { failed++; next }
	/^ok( |$)/ { passed++; next }
	/^1\.\.[0-9]+$/ { planned += substr($0, 4) }
	END {
		missing = planned - passed - failed - skipped
		print passed + 0, failed + 0, skipped + 0, (missing > 0 ? missing : 0)
	}'
}

# skips <LOG: "NAME reason" of each skipped test, in either spelling.
skips() {
	sed -nE -e 's/^(not )?ok ([0-9]+ )?(- )?# SKIP *(.*)/\4/p; t' \
		-e 's/^(not )?ok ([0-9]+ )?(- )?(.*[^ ]) *# SKIP *(.*)/\4 \5/p'
}

may_skip() { # NAME: the first word of a line of tests/may-skip
	[[ -f tests/may-skip ]] && awk -v name="$1" '$1 == name { found = 1 } END { exit !found }' tests/may-skip
}

# failing_rows <LOG: each row that failed, with the first lines of its reason.
failing_rows() {
	awk '
	/^(not )?ok/ { shown = /^not ok/ && !/# SKIP/ ? 1 : 0 }
	shown && shown++ <= 20'
}

note_failures() { # FILE LOG COMPLAINT
	failures+=("failed: $1${3:+: $3}" "$(failing_rows <"$2" | sed 's/^/    /')")
}

note_skips() { # FILE LOG
	local skip
	while read -r skip; do
		may_skip "${skip%% *}" || refused+=("$1: $skip")
	done < <(skips <"$2")
}

# Prints why the TAP output of a program cannot be trusted, or nothing.
complaint() { # STATUS PASSED FAILED SKIPPED MISSING LIMIT
	if [[ $1 -eq 124 || $1 -eq 137 ]]; then
		echo "ended after $6 s (time limit) or killed"
	elif [[ $5 -gt 0 ]]; then
		echo "$5 planned tests did not report"
	elif [[ $1 -ne 0 && $3 -eq 0 ]]; then
		echo "exit status $1 without a failed test"
	elif [[ $(($2 + $3 + $4)) -eq 0 ]]; then
		echo "no TAP line"
	fi
}

finish() {
	local line
	[[ ${#failures[@]} -eq 0 ]] || printf '%s\n' "${failures[@]}"
	for line in ${refused[@]+"${refused[@]}"}; do
		echo "must not be skipped here: $line"
	done
	[[ $tests_run -gt 0 ]] || echo "no test ran"
	echo "$passed passed, $failed failed, $skipped skipped"
	[[ $failed -eq 0 && $tests_run -gt 0 && ${#refused[@]} -eq 0 ]]
	exit
}
