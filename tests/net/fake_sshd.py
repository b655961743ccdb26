#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Looks like sshd: fake_sshd.py PORT FROM COUNT TITLE. Listens on PORT and connects there from COUNT
addresses, FROM and the next ones. A child with this TITLE holds the accepted connections. Both run
the program of this process: it is to have the name sshd."""
import ipaddress
import os
import socket
import subprocess
import sys
import time

HOLD = "import time; print('holds', flush=True); time.sleep(100)"


def main():
    port, first, count = int(sys.argv[1]), ipaddress.ip_address(sys.argv[2]), int(sys.argv[3])
    listener = socket.create_server(("", port))
    clients, held = [], []
    for i in range(count):
        clients.append(socket.create_connection((str(first), port),
                                                source_address=(str(first + i), 0)))
        held.append(listener.accept()[0].detach())
    subprocess.Popen([sys.argv[4], "-IS", "-c", HOLD], executable=os.readlink("/proc/self/exe"),
                     pass_fds=held)
    time.sleep(100)


main()
