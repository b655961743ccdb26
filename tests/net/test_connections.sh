#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Limits on open connections, on real sockets: connections.py.
source "$(dirname "$0")/../lib.sh"

veth_pair A B 2 && veth_quiet A B && in_ns A ethtool -K veth-A gro on && in_ns B ethtool -K veth-B gro on || exit 1
python3 "$TOP/tests/net/connections.py" "$_prefix" "$RLCTL" "$TOP/build/flood" "$@" || _failed=1
