#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Which memory an instruction touches, as tests/bench/instructions.py counts it.
source "$(dirname "$0")/../lib.sh"

# The rows speak TAP themselves.
python3 "$TOP/tests/unit/operands_rows.py" || _failed=1
