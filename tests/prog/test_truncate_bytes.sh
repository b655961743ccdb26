#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# `over truncate`, byte by byte: truncate.py gives the program of an attached instance queries and what resembles
# them, one by one, and compares its answers with those of another implementation of DNS.
source "$(dirname "$0")/../lib.sh"

# All packets but the first are over the limit.
attached() {
	veth_pair A B && ip -n "$(ns B)" link set veth-B address 02:00:00:00:00:53 && rl B attach veth-B --mode native &&
		rl B rule add any limit 1/day burst 1 per rule over truncate
}

# The distribution's Python: it has dnspython.
t 'an instance all of whose packets are over' attached || exit
/usr/bin/python3 "$TOP/tests/prog/truncate.py" "$(xdp_program B veth-B)" || _failed=1
