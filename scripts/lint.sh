#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Style and static analysis of every C file, script and manual page; needs the skeletons that `make
# lint` builds. Runs all linters before it fails, so that one run shows everything.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."

./scripts/deps.sh --missing clang-format clang-tidy cppcheck shellcheck mandoc >&2 || exit 1

mapfile -t c_files < <(find include bpf user tests -name '*.[ch]' ! -name 'vmlinux*.h' | sort)
mapfile -t host_files < <(printf '%s\n' "${c_files[@]}" | grep -E '^(user|tests)/.*\.c$' | grep -v '\.bpf\.c$')
mapfile -t scripts < <(find scripts tests debian -name '*.sh' -o -name '*.prerm' -o -name '*.postrm' | sort &&
	echo .ci/run)
INCLUDES='-Iinclude -Iuser -Ibpf -Itests -Ibuild -isystem /usr/include/json-c'
failed=0

run() { # NAME CMD…
	local name=$1
	shift
	"$@" || {
		echo "lint: $name failed"
		failed=1
	}
}

# Off: missing headers of the system (it need not read them), functions that only tests or BPF
# call, its wish for const on pointers that a callback's type prescribes, and its doubts about void
# pointers in packet.h, to which gcc and clang add bytes.
lint_cppcheck() {
	cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,performance,portability \
		--inline-suppr --suppress=missingIncludeSystem --suppress=unusedFunction \
		--suppress=constParameterCallback --suppress=arithOperationsOnVoidPointer:bpf/packet.h \
		-D_GNU_SOURCE -DRLCTL_VERSION='""' -D__x86_64__ \
		'-DLIBBPF_OPTS(type,name,...)=struct type name' \
		'-DDECLARE_LIBXDP_OPTS(type,name,...)=struct type name' \
		-Iinclude -Iuser -Ibpf -Itests -j "$(nproc)" "${host_files[@]}"
}

# The analyzer and what finds bugs; no opinions on style, layout or strcmp() as a condition, and no
# demand for C11's Annex K. Uninitialised values are left to gcc: the analyzer takes `return -errno`
# for a possible 0 and then misses every *out that is filled only on success.
TIDY_CHECKS='-*,clang-analyzer-*,bugprone-*,-bugprone-easily-swappable-parameters'
TIDY_CHECKS+=',-bugprone-reserved-identifier,-bugprone-narrowing-conversions,-bugprone-branch-clone'
TIDY_CHECKS+=',-bugprone-macro-parentheses,-bugprone-implicit-widening-of-multiplication-result'
TIDY_CHECKS+=',-bugprone-assignment-in-if-condition,-bugprone-suspicious-string-compare'
TIDY_CHECKS+=',-clang-analyzer-optin.performance.Padding,-clang-analyzer-core.uninitialized.*'
TIDY_CHECKS+=',-clang-analyzer-core.UndefinedBinaryOperatorResult'
TIDY_CHECKS+=',-clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling'

tidy_one() { # FILE: quiet unless it finds something
	local output includes
	read -ra includes <<<"$INCLUDES"
	output=$(clang-tidy --quiet --checks="$TIDY_CHECKS" --warnings-as-errors='*' "$1" -- -std=gnu11 \
		-D_GNU_SOURCE -DRLCTL_VERSION='""' "${includes[@]}" 2>&1) || { echo "$output" && return 1; }
}

lint_tidy() {
	# shellcheck disable=SC2016 # for the inner shell
	printf '%s\0' "${host_files[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -c 'tidy_one "$1"' _
}

# gcc's analyzer, over the command alone. Off: leaks, for gcc 12 loses sight of what an array of
# pointers owns; valgrind and the sanitizers look for those.
analyze_one() { # FILE
	local includes
	read -ra includes <<<"$INCLUDES"
	gcc -fanalyzer -Wno-analyzer-malloc-leak -Werror -std=gnu11 -D_GNU_SOURCE -DRLCTL_VERSION='""' -O2 \
		"${includes[@]}" -c -o /dev/null "$1"
}

lint_analyzer() {
	# shellcheck disable=SC2016 # for the inner shell
	printf '%s\0' user/*.c | xargs -0 -n 1 -P "$(nproc)" bash -c 'analyze_one "$1"' _
}
export TIDY_CHECKS INCLUDES
export -f tidy_one analyze_one

[[ ${#c_files[@]} -eq 0 ]] || run clang-format clang-format --dry-run -Werror "${c_files[@]}"
# SC2317: functions handed to a runner by name look unreachable to it.
run shellcheck shellcheck --external-sources --source-path=SCRIPTDIR --exclude=SC2317 "${scripts[@]}"
run mandoc mandoc -Tlint -Wwarning user/*.[58]
if [[ ${#host_files[@]} -gt 0 ]]; then
	run cppcheck lint_cppcheck
	run clang-tidy lint_tidy
	run analyzer lint_analyzer
fi
exit "$failed"
