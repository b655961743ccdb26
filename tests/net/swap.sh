# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Sourced by tests: a program on veth-B in B, at HOOK, is replaced under a flood that a rule denies.

program() { rl B status -j --hook "$HOOK" | json '.[0].program_id'; }

flooding() { # what arrives at B, or is to leave it, without an end
	case $HOOK in
	egress) bg in_ns B python3 "$TOP/tests/net/datagrams.py" 10.77.0.1 1000000000 10 ;;
	*) bg in_ns A "$TOP/build/flood" -i veth-A --seconds 60 --rate 20000 --src 10.78.0.0/16 ;;
	esac
}

# arrived: packets that reached the protected side: B's own stack, or A at egress.
arrived() {
	case $HOOK in
	egress) counter A IpInReceives ;;
	*) counter B IpInReceives ;;
	esac
}

denied() { stat_of B .reasons.denied.packets; }
denied_more() { [[ $(denied) -gt $1 ]]; }

# older CMD…: with an rlctl that finds no tcx, as on a kernel before 6.6.
older() {
	printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$TOP/build/older" "$RLCTL_NOW" >"$TMP/older" && chmod +x "$TMP/older"
	RLCTL=$TMP/older "$@"
}
RLCTL_NOW=$RLCTL

# killed CALL N WORD…: rlctl in B is killed at the Nth such system call. True if there was one.
killed() {
	local status=0
	strace -o /dev/null -e "trace=$1" -e "inject=$1:signal=KILL:when=$2" "$RLCTL" -n "$(ns B)" "${@:3}" || status=$?
	echo "call $2 of $1: exit status $status"
	[[ $status -ne 0 ]]
}
