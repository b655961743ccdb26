#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The filter of peers on real sockets: peers.py. check: timeout 300
source "$(dirname "$0")/../lib.sh"

veth_pair A B && veth_pair C D || exit 1
python3 "$TOP/tests/net/peers.py" "$_prefix" "$RLCTL" "$BPFFS" || _failed=1
