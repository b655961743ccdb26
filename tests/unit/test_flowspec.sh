#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The rules that rlctl-flowspec makes of routes, hostile and odd ones too. Real peers are in tests/net/test_flowspec.sh.
source "$(dirname "$0")/../lib.sh"

# The rows speak TAP themselves.
python3 "$TOP/tests/unit/flowspec_rows.py" "$TOP/scripts" "$RLCTL" "$TMP" || _failed=1
