# SPDX-License-Identifier: GPL-2.0-only
"""The documents of docs/*.json that benches write."""

import json
from pathlib import Path


def document_write(path, document):
    """JSON whose last key is "rows": each row is a line."""
    head = json.dumps({key: value for key, value in document.items() if key != "rows"}, indent=1).removesuffix("\n}")
    lines = ",\n".join(f"  {json.dumps(row)}" for row in document["rows"])
    Path(path).write_text(f'{head},\n "rows": [\n{lines}\n ]\n}}\n')
