# SPDX-License-Identifier: GPL-2.0-only
"""The namespaces of a test and sockets that listen there. The test's first arguments are NAMESPACES RLCTL FLOOD; its server
is in NAMESPACES-B."""

import socket
import sys

from setns import setns

FAMILY = {4: socket.AF_INET, 6: socket.AF_INET6}
PREFIX, RLCTL, FLOOD = sys.argv[1:4]


def enter(name):
    setns(f"/run/netns/{PREFIX}-{name}")


def listen(port, family=4, both=False):
    """In B. Both: a socket of IPv6 that takes IPv4 too."""
    enter("B")
    listener = socket.socket(FAMILY[6 if both else family])
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if listener.family == socket.AF_INET6:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, not both)
    listener.bind(("", port))
    listener.listen(4096)
    return listener
