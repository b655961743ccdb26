#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The short part of `make check-vm`: the most important tests on the oldest kernel. It may have to download
# that kernel first. check: idle check: timeout 1200
exec "$(dirname "$0")/run.sh" --tap --kernel 6.1 --test guest/test_basics
