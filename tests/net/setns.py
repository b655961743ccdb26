# SPDX-License-Identifier: GPL-2.0-only
"""Network namespaces by their names, entered by the calling thread."""

import contextlib
import ctypes
import socket

CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


def setns(path):
    with open(path, "rb") as namespace:
        if LIBC.setns(namespace.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"{path} cannot be entered")


@contextlib.contextmanager
def inside(name):
    """Meanwhile. A socket stays where it was made."""
    with open("/proc/thread-self/ns/net", "rb") as home:
        setns(f"/run/netns/{name}")
        try:
            yield
        finally:
            setns(f"/proc/self/fd/{home.fileno()}")


def link_in(name, device):
    """A packet socket there."""
    with inside(name):
        link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        link.bind((device, 0))
    return link
