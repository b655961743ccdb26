# SPDX-License-Identifier: GPL-2.0-only
"""The documents of docs/*.json that benches write."""

import json
import platform
import subprocess
import time
from pathlib import Path


def cpu_model():
    with open("/proc/cpuinfo") as f:
        return next((line.split(":")[1].strip() for line in f if line.startswith("model name")), platform.machine())


def circumstances():
    """The version that is measured, the day and the machine."""
    version = subprocess.run(["build/rlctl", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    return {"version": version, "date": time.strftime("%Y-%m-%d"), "cpu": cpu_model(), "kernel": platform.release()}


def document_write(path, document):
    """JSON whose last key is "rows": each row is a line."""
    head = json.dumps({key: value for key, value in document.items() if key != "rows"}, indent=1).removesuffix("\n}")
    lines = ",\n".join(f"  {json.dumps(row)}" for row in document["rows"])
    Path(path).write_text(f'{head},\n "rows": [\n{lines}\n ]\n}}\n')
