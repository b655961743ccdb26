#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Limits on open connections, on real sockets: connections.py.
source "$(dirname "$0")/../lib.sh"

# Received by threads of their own: a kernel may run no tracing program on top of a task that nobody may trace, so that
# the end of a connection goes unseen: two of a million that ftrace saw.
received_by_threads() {
	in_ns "$1" ethtool -K "veth-$1" gro on &&
		ip netns exec "$(ns "$1")" sh -c "echo 1 >/sys/class/net/veth-$1/threaded"
}

veth_pair A B 2 && veth_quiet A B && received_by_threads A && received_by_threads B || exit 1
python3 "$TOP/tests/net/connections.py" "$_prefix" "$RLCTL" "$TOP/build/flood" "$@" || _failed=1
