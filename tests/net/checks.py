# SPDX-License-Identifier: GPL-2.0-only
"""Demands of tests in Python: the first that is not met ends a test with Bad, which says what was demanded."""

import time


class Bad(Exception):
    pass


def need(condition, text):
    if not condition:
        raise Bad(text)


def same(got, wanted, what):
    need(got == wanted, f"{what}: {got}, wanted {wanted}")


def eventually(condition, what):
    end = time.monotonic() + 60
    while not condition():
        need(time.monotonic() < end, f"still not so: {what}")
        time.sleep(0.01)
