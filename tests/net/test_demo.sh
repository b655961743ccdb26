#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The demonstration that strangers run first: it succeeds from any directory, and leaves nothing behind. Ended
# in the middle: test_demo_ended.sh. check: timeout 180 check: alone
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/demo.sh"

# In a mount namespace without a bpffs, as the first command in a container or on a machine whose init
# mounts none, and by a root who may not look at other processes.
demo_runs() {
	# shellcheck disable=SC2016 # for the inner shell
	demo_start unshare --mount bash -c '! mountpoint -q "$0" || umount "$0" || exit
		exec setpriv --inh-caps=-all --bounding-set=-sys_ptrace "$@"' "$BPFFS" && demo_ends 0
}

t "runs to its end where there is no bpffs, and what it claims is true" demo_runs
t "left nothing behind" nothing_left
