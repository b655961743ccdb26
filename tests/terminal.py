# SPDX-License-Identifier: GPL-2.0-only
"""terminal.py [TYPED] [TEXT KEYS]… -- CMD…: runs CMD on a terminal of its own, as a person would: waits
until TEXT was shown, then presses KEYS (\\n for Enter; HANGUP takes the terminal away, RUN … runs a
shell command elsewhere). TYPED was typed before CMD began. CMD's output goes to stdout; the exit status
is CMD's, 128 + N after signal N. The terminal is as large as LINES and COLUMNS say, if they are set."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time

PATIENCE = 20  # seconds


def shown(master, text, seen):
    """Reads until text was shown."""
    end = time.monotonic() + PATIENCE
    while text not in seen:
        left = end - time.monotonic()
        if left <= 0 or not select.select([master], [], [], left)[0]:
            sys.exit(f"terminal.py: never shown: {text!r} in {seen!r}")
        seen += read(master)
    return seen


def read(master):
    try:
        return os.read(master, 4096)
    except OSError:  # nobody has the terminal open any more
        return b""


def drain(master, seen):
    while more := read(master):
        seen += more
    return seen


def start(command, typed):
    """The child waits until everything was typed that is to be typed before it."""
    ready, go = os.pipe()
    pid, master = pty.fork()
    if not pid:
        os.read(ready, 1)
        os.execvp(command[0], command)
    size = [int(os.environ.get(name, 0)) for name in ("LINES", "COLUMNS")]
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    os.write(master, typed)
    os.write(go, b"x")
    return pid, master


def main():
    signal.alarm(3 * PATIENCE)
    split = sys.argv.index("--")
    script = [word.encode().decode("unicode_escape").encode() for word in sys.argv[1:split]]
    typed = script.pop(0) if len(script) % 2 else b""
    pid, master = start(sys.argv[split + 1:], typed)
    seen = b""
    for text, keys in zip(script[::2], script[1::2]):
        seen = shown(master, text, seen)
        if keys == b"HANGUP":
            os.close(master)
            master = None
            break
        if keys.startswith(b"RUN "):
            subprocess.run(keys[4:], shell=True, check=True)
        else:
            os.write(master, keys)
    if master is not None:
        seen = drain(master, seen)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    sys.stdout.write(seen.decode(errors="replace"))
    sys.exit(status if status >= 0 else 128 - status)


main()
