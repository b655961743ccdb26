#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Each policy that the documents show is played against the floods it is for, beside the clients it is for:
# examples.py. A policy that nobody plays, and a row without its policy, are noticed. check: timeout 240
# shellcheck source=tests/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

play() { python3 "$TOP/tests/prog/examples.py" "$1" "$RLCTL"; }

play "$TOP" >"$TMP/rows" || _failed=1
cat "$TMP/rows"

# Another policy, and none that the rows are for.
mkdir -p "$TMP/tree"
cat >"$TMP/tree/README.md" <<'END'
# New
```
sudo rlctl rule add any limit 1/second
sudo rlctl rule add any udp limit 9/second
sudo rlctl rule add any tcp limit 9/second
```
END
play "$TMP/tree" >"$TMP/noticed"
t 'noticed: a policy that nobody plays' grep -A 1 -x 'not ok README.md: New' "$TMP/noticed"
t 'noticed: a row without its policy' grep -x '# README.md: Protect a device' "$TMP/noticed"
