#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Style and static analysis of every C file, script and manual page; needs the skeletons that `make
# lint` builds. Runs all linters before it fails, so that one run shows everything. With --changed only
# clang-format and shellcheck, of the files that differ from origin/main or, where there is none, from HEAD.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."

./scripts/deps.sh --missing clang-format clang-tidy cppcheck shellcheck mandoc >&2 || exit 1

mapfile -t c_files < <(find include bpf user tests -name '*.[ch]' ! -name 'vmlinux*.h' | sort)
mapfile -t host_files < <(printf '%s\n' "${c_files[@]}" | grep -E '^(user|tests)/.*\.c$' | grep -v '\.bpf\.c$')
mapfile -t scripts < <(find scripts tests debian -name '*.sh' -o -name '*.prerm' -o -name '*.postrm' | sort &&
	echo .ci/run)
mapfile -t user_files < <(find user -name '*.c' | sort)
INCLUDES='-iquote user -Iinclude -Ibpf -Itests -Ibuild -isystem /usr/include/json-c'
failed=0

if [[ ${1:-} == --changed ]]; then
	base=$(git merge-base HEAD origin/main 2>/dev/null || echo HEAD)
	changed=$(git diff --name-only --diff-filter=d "$base" && git ls-files --others --exclude-standard)
	mapfile -t c_files < <(grep -xFf <(printf '%s\n' "${c_files[@]}") <<<"$changed")
	mapfile -t scripts < <(grep -xFf <(printf '%s\n' "${scripts[@]}") <<<"$changed")
fi

run() { # NAME CMD…
	local name=$1
	shift
	"$@" || {
		echo "lint: $name failed"
		failed=1
	}
}

# Disabled: missing headers of the system (it need not read them), functions that only tests or BPF call, its
# demand for const on pointers that a callback's type prescribes, and its warnings on void pointers in
# parse.h, skb_parse.h and xdp.h, to which gcc and clang add bytes; its leaks of streams, which scope.h closes: gcc's
# analyzer sees that, and looks for leaks, too; and scripts.c, page.c and object_bytes.c, which
# include what make generates.
lint_cppcheck() {
	cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,performance,portability \
		--inline-suppr --suppress=missingIncludeSystem --suppress=unusedFunction \
		--suppress=constParameterCallback --suppress=resourceLeak --suppress=arithOperationsOnVoidPointer:bpf/packet/parse.h \
		--suppress=arithOperationsOnVoidPointer:bpf/packet/skb_parse.h --suppress=arithOperationsOnVoidPointer:bpf/packet/xdp.h \
		--suppress=syntaxError:user/fleet/scripts.c --suppress=internalAstError:user/cli/report/page.c \
		--suppress=internalAstError:user/kernel/attach/object_bytes.c \
		-D_GNU_SOURCE -DRLCTL_VERSION='""' -D__x86_64__ \
		'-DLIBBPF_OPTS(type,name,...)=struct type name' \
		'-DDECLARE_LIBXDP_OPTS(type,name,...)=struct type name' \
		-Iuser -Iinclude -Ibpf -Itests -j "$(nproc)" "${host_files[@]}"
}

# The analyzer and the checks that find bugs; no style or layout checks, no warning on strcmp() as a
# condition, and no demand for C11's Annex K. Leaks are left to gcc, whose analyzer knows cleanup attributes. Uninitialised values are left to gcc: the analyzer takes `return
# -errno` for a possible 0 and then misses every *out that is filled only on success.
TIDY_CHECKS='-*,clang-analyzer-*,bugprone-*,-bugprone-easily-swappable-parameters'
TIDY_CHECKS+=',-bugprone-reserved-identifier,-bugprone-narrowing-conversions,-bugprone-branch-clone'
TIDY_CHECKS+=',-bugprone-macro-parentheses,-bugprone-implicit-widening-of-multiplication-result'
TIDY_CHECKS+=',-bugprone-assignment-in-if-condition,-bugprone-suspicious-string-compare'
TIDY_CHECKS+=',-clang-analyzer-optin.performance.Padding,-clang-analyzer-core.uninitialized.*'
TIDY_CHECKS+=',-clang-analyzer-core.UndefinedBinaryOperatorResult,-clang-analyzer-unix.Malloc'
TIDY_CHECKS+=',-clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling'

# each N FUNCTION FILE…: as many at once as there are processors, N files in a row.
each() {
	# shellcheck disable=SC2016 # for the inner shell
	printf '%s\0' "${@:3}" | xargs -0 -n "$1" -P "$(nproc)" bash -c '"$0" "$@"' "$2"
}

# quiet COMMAND…: shown only where it fails, as a whole.
quiet() {
	local output
	output=$("$@" 2>&1) || { echo "$output" && return 1; }
}

# SC2317: functions handed to a runner by name look unreachable to it.
shellcheck_some() { quiet shellcheck --external-sources --source-path=SCRIPTDIR --exclude=SC2317 "$@"; }

# The analyzer stops at 20,000 states of a function, not 225,000: a fifth of the time, and as many planted
# bugs found.
NODES='-Xclang -analyzer-config -Xclang max-nodes=20000'
# One file a process: in the second, its analyzer takes every va_list for one without a value.
tidy_one() {
	local includes
	read -ra includes <<<"$INCLUDES $NODES"
	quiet clang-tidy --quiet --checks="$TIDY_CHECKS" --warnings-as-errors='*' "$1" -- -std=gnu11 \
		-D_GNU_SOURCE -DRLCTL_VERSION='""' "${includes[@]}"
}

# gcc's analyzer, over the command alone. Disabled: leaks, since gcc 12 does not track the members of an array
# of pointers; valgrind and the sanitizers find those.
analyze_one() {
	local includes
	read -ra includes <<<"$INCLUDES"
	quiet gcc -fanalyzer -Wno-analyzer-malloc-leak -Werror -std=gnu11 -D_GNU_SOURCE -DRLCTL_VERSION='""' -O2 \
		"${includes[@]}" -S -o /dev/null "$1"
}
export TIDY_CHECKS INCLUDES NODES
export -f quiet shellcheck_some tidy_one analyze_one

[[ ${#c_files[@]} -eq 0 ]] || run clang-format clang-format --dry-run -Werror "${c_files[@]}"
[[ ${#scripts[@]} -eq 0 ]] || run shellcheck each 12 shellcheck_some "${scripts[@]}"
[[ ${1:-} != --changed ]] || exit "$failed"
run mandoc mandoc -Tlint -Wwarning user/man/*.[58]
if [[ ${#host_files[@]} -gt 0 ]]; then
	run cppcheck lint_cppcheck
	run clang-tidy each 1 tidy_one "${host_files[@]}"
	run analyzer each 1 analyze_one "${user_files[@]}"
	run layers ./scripts/layers.py
	run lines ./scripts/lines.py
fi
exit "$failed"
