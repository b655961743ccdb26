#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The demonstration, ended in the middle: it says so by its status and leaves nothing behind.
# check: timeout 180 check: processor
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/demo.sh"

# The second flood is the one that is limited.
floods() { is "$(grep -cF 'flood -i veth-world' "$TMP/bg")" "$1"; }

demo_is_ended() {
	demo_start env && eventually 60 floods 2 && sleep 0.3 &&
		test -d "$BPFFS/rlctl/$INODE" && kill -TERM "$RUNNING" && demo_ends 143
}

t "ended in the middle of the flood, says so by its status" demo_is_ended
t "ended in the middle, left nothing behind" nothing_left
