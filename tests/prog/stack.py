# SPDX-License-Identifier: GPL-2.0-only
"""stack.py <DISASSEMBLY: the deepest chain of calls of each program, as `llvm-objdump -dr` shows them:
NAME BYTES CHAIN. A frame is what its function reaches below r10, in steps of 32 bytes, as older
kernels count it (check_max_stack_depth)."""
import re
import sys

frames, calls, name = {}, {}, None
for line in sys.stdin:
    if label := re.match(r"[0-9a-f]+ <(\w+)>:", line):
        if not label[1].startswith("LBB"):
            name = label[1]
            frames[name], calls[name] = 0, set()
    elif call := re.search(r"R_BPF_64_32\s+(\w+)", line):
        calls[name].add(call[1])
    else:
        for offset in re.findall(r"\(r10 - (0x[0-9a-f]+|\d+)\)|r\d+ \+= -(0x[0-9a-f]+|\d+)$", line.rstrip()):
            bytes_ = int(offset[0] or offset[1], 0)
            frames[name] = max(frames[name], bytes_ if bytes_ <= 512 else 0)


def deepest(function):
    below = max((deepest(callee) for callee in calls[function] if callee in frames), default=(0, []))
    return (max(frames[function], 1) + 31) // 32 * 32 + below[0], [f"{function}:{frames[function]}", *below[1]]


for entry in sys.argv[1:]:
    depth, chain = deepest(entry)
    print(entry, depth, *chain)
