# SPDX-License-Identifier: GPL-2.0-only
"""Demands of tests in Python: the first that is not met ends a test with Bad, which says what was demanded."""

import subprocess
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


def command(*words, given=None):
    """Returns its output."""
    run = subprocess.run(words, input=given, text=True, capture_output=True, check=False)
    need(run.returncode == 0, f"{' '.join(words)}: {run.stderr.strip()}")
    return run.stdout


def passes(name, test, *arguments):
    """Runs a test, and reports it as TAP."""
    try:
        test(*arguments)
    except (Bad, OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"not ok {name}", *(f"# {line}" for line in str(error).splitlines()), sep="\n", flush=True)
        return False
    print(f"ok {name}", flush=True)
    return True
