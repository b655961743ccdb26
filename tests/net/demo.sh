# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Sourced by the tests of scripts/demo.sh: runs it, and looks for what it left behind.
RUNNING='' # the demo's pid
# With the flags of what is built: others would build all of it anew.
! grep -q -e -Werror "$TOP/build/.flags" || export WERROR=1
# The library kills without warning, and the demo could not clean up after itself.
trap 'status=$?; demo_stop; (exit "$status"); _cleanup' EXIT

# demo_start CMD…: the demo in the background, by CMD, from another directory; its namespace's inode in
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
