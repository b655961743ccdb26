# SPDX-License-Identifier: GPL-2.0-only
"""Words of the rows of import_rows.py."""
V4 = "0.0.0.0/0"
ONE = f"{V4} limit 100/second burst 50"  # what most rows come to
ND = "carried, but neighbour discovery always passes in a policy"
SYN = "flags syn/fin,syn,rst,ack"  # what iptables calls --syn
LOOSE = "it counts every SYN and nothing else"
CONNECTIONS = "a policy counts TCP sockets of this machine"  # what is said of each limit on connections
# For a row: without --host, with --state conntrack, with --established all, with --ipv6, with --close
FLAGS = {"-host", "-conntrack", "-all", "-ipv6", "-close"}
