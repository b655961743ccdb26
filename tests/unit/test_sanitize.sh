#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The unit tests once more, built with the address and undefined behaviour sanitizers; their first
# finding ends a program. Needs no root.
# check: idle check: timeout 2400 check: builds sane
# shellcheck source=tests/lib.sh
source "$(dirname "$0")/../lib.sh"

# Looking at the whole string at each strstr() makes walking over a large text quadratic.
export ASAN_OPTIONS=intercept_strstr=0

# `make tests` built them; a leftover of a renamed test has no source any more.
for source in "$TOP"/tests/unit/test_*.c; do
	name=$(basename "$source" .c)
	t "sanitized: $name" "$TOP/build/sane/tests/unit/$name"
done
