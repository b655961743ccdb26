#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The demonstration that strangers run first: it succeeds from any directory, and leaves nothing
# behind, also when it is ended in the middle. check: timeout 180 check: alone
. "$(dirname "$0")/../lib.sh"
RUNNING='' # the demo's pid
# The library kills without warning, and the demo could not clean up after itself.
trap 'status=$?; demo_stop; (exit "$status"); _cleanup' EXIT

# demo_start [CMD…]: the demo in the background, by CMD, from another directory; its namespace's inode in
# INODE, as it sees it.
demo_start() {
	: >"$TMP/bg"
	bg bash -c 'cd / && exec "$@"' _ "$@" "$TOP/scripts/demo.sh"
	DEMO=$BG_PID RUNNING=$BG_PID
	eventually 100 demo_is_there_or_gone
	INODE=$(stat -L -c %i "/proc/$DEMO/root/run/netns/rlctl-demo-$DEMO-host") ||
		_say "no namespace: $(<"$TMP/bg")"
}

demo_is_there_or_gone() { [[ -e /run/netns/rlctl-demo-$DEMO-host ]] || ! kill -0 "$DEMO"; }

demo_stop() { [[ -z $RUNNING ]] || { kill -TERM "$RUNNING" && wait "$RUNNING"; } 2>/dev/null; }

# demo_ends STATUS: shows the output when the status differs.
demo_ends() {
	local status=0
	wait "$RUNNING" || status=$?
	RUNNING=''
	[[ $status -eq $1 ]] || _say "exit status $status, wanted $1: $(<"$TMP/bg")"
}

# In a mount namespace without a bpffs, as the first command in a container or on a machine whose init
# mounts none, and by a root who may not look at other processes.
demo_runs() {
	# shellcheck disable=SC2016 # for the inner shell
	demo_start unshare --mount bash -c '! mountpoint -q "$0" || umount "$0" || exit
		exec setpriv --inh-caps=-all --bounding-set=-sys_ptrace "$@"' "$BPFFS" && demo_ends 0
}

demo_says() { grep -qF "$1" "$TMP/bg"; }

demo_is_ended() { # in the flood that is limited
	demo_start && eventually 60 demo_says 'rlctl rule add any' && sleep 2 &&
		test -d "$BPFFS/rlctl/$INODE" && kill -TERM "$RUNNING" && demo_ends 143
}

# nothing_left: no namespace, no pin, and no process that keeps the namespace alive.
nothing_left() {
	local left
	left=$(
		ip netns list | grep -F "rlctl-demo-$DEMO-"
		ls -d "$BPFFS/rlctl/$INODE" /run/netns/rlctl-demo-"$DEMO"-* 2>/dev/null
		find /proc/[0-9]*/ns/net -maxdepth 0 -lname "net:\[$INODE\]" 2>/dev/null
	)
	is "$left" ''
}

t "runs to its end where there is no bpffs, and what it claims is true" demo_runs
t "left nothing behind" nothing_left
t "ended in the middle of the flood, says so by its status" demo_is_ended
t "ended in the middle, left nothing behind" nothing_left
