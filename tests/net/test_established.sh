#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# `established` for TCP on real sockets: established.py.
source "$(dirname "$0")/../lib.sh"

# Native XDP wants a program at the peer, or GRO here; so do frames of the generator.
bed() { # A B
	veth_pair "$1" "$2" 2 && veth_quiet "$1" "$2" && in_ns "$2" ethtool -K "veth-$2" gro on
}

bed A B && bed C D || exit 1
python3 "$TOP/tests/net/established.py" "$_prefix" "$RLCTL" "$TOP/build/flood" || _failed=1
