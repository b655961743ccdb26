#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""newcomers.py HOST PORT HEX ADDRESS…: a client at each address asks a server over UDP, and asks three times in a row, each question
again every half second until there is an answer, or for 3.5 seconds in all. Prints how many had all three answers."""
import socket
import sys
import threading
import time


def ask(where, question, address, done):
    end = time.monotonic() + 3.5
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind((address, 0))
        s.settimeout(0.5)
        answers = 0
        while answers < 3 and time.monotonic() < end:
            try:
                s.sendto(question, where)
                s.recvfrom(65536)
                answers += 1
            except OSError:
                pass
    done.append(answers == 3)


def main():
    where, question, done = (sys.argv[1], int(sys.argv[2])), bytes.fromhex(sys.argv[3]), []
    threads = [threading.Thread(target=ask, args=(where, question, address, done)) for address in sys.argv[4:]]
    for thread in threads:
        thread.start()
        time.sleep(0.02)
    for thread in threads:
        thread.join()
    print(sum(done))


if __name__ == "__main__":
    main()
