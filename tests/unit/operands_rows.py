# SPDX-License-Identifier: GPL-2.0-only
"""operands_rows.py: which memory tests/bench/operands.py finds in an instruction's bytes, as TAP."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
from operands import disassemble

AT = 0x1000  # of the instruction
NAMES = ("rax", "rcx", "rdx", "rdi", "rsi", "r8", "r13", "rbp")
REGISTERS = {name: 0x10000 * i for i, name in enumerate(NAMES, 1)} | {"gs": 0x900000}

# bytes: (address, bytes, is it written) of each operand in memory
ROWS = (
    ("48 8b 47 10", "mov 0x10(%rdi),%rax", [(0x40010, 8, False)]),
    ("89 54 8e 04", "mov %edx,0x4(%rsi,%rcx,4)", [(0x50000 + 0x80000 + 4, 4, True)]),
    ("89 55 fc", "mov %edx,-0x4(%rbp)", [(0x7fffc, 4, True)]),
    ("0f b6 48 0c", "movzbl 0xc(%rax),%ecx", [(0x1000c, 1, False)]),
    ("41 0f b7 7d 00", "movzwl 0x0(%r13),%edi", [(0x70000, 2, False)]),
    ("66 89 02", "mov %ax,(%rdx)", [(0x30000, 2, True)]),
    ("41 88 00", "mov %al,(%r8)", [(0x60000, 1, True)]),
    ("c6 07 01", "movb $0x1,(%rdi)", [(0x40000, 1, True)]),
    ("48 83 07 01", "addq $0x1,(%rdi)", [(0x40000, 8, True)]),
    ("48 83 3f 00", "cmpq $0x0,(%rdi)", [(0x40000, 8, False)]),
    ("f0 48 0f b1 11", "lock cmpxchg %rdx,(%rcx)", [(0x20000, 8, True)]),
    ("f0 0f c1 11", "lock xadd %edx,(%rcx)", [(0x20000, 4, True)]),
    ("0f 18 0e", "prefetcht0 (%rsi)", [(0x50000, 1, False)]),
    ("65 48 8b 04 25 28 00 00 00", "mov %gs:0x28,%rax", [(0x900028, 8, False)]),
    ("65 48 03 0d f8 00 00 00", "add %gs:0xf8(%rip),%rcx", [(0x900000 + AT + 8 + 0xf8, 8, False)]),
    ("48 8b 05 f9 ff ff ff", "mov -0x7(%rip),%rax", [(AT, 8, False)]),
    ("ff 24 c5 00 02 00 00", "jmp *0x200(,%rax,8)", [(0x80200, 8, False)]),
    ("f3 48 ab", "rep stos %rax,%es:(%rdi)", [(0x40000, 8, True)]),
    ("a4", "movsb %ds:(%rsi),%es:(%rdi)", [(0x50000, 1, False), (0x40000, 1, True)]),
    ("48 8d 44 0f 08", "lea 0x8(%rdi,%rcx),%rax", []),
    ("66 0f 1f 44 00 00", "nopw 0x0(%rax,%rax,1)", []),
    ("2e 66 0f 1f 84 00 00 00 00 00", "cs nopw 0x0(%rax,%rax,1)", []),
    ("48 b8 00 00 02 00 80 88 ff ff", "movabs $0xffff888000020000,%rax", []),
    ("48 81 c7 00 01 00 00", "add $0x100,%rdi", []),
    ("e8 00 01 00 00", "call", []),
    ("0f 84 00 01 00 00", "je", []),
    ("55", "push %rbp", []),
    ("c3", "ret", []),
)


def found(code):
    one = disassemble({AT: code})[AT]
    return one, [(o.address(REGISTERS, AT + one.length), o.size, o.written) for o in one.operands]


def main():
    failed = 0
    for text, name, wanted in ROWS:
        code = bytes.fromhex(text)
        one, operands = found(code + b"\xff\x40\x01\x0f\x18")
        good = operands == wanted and one.length == len(code)
        failed |= not good
        print(f"{'ok' if good else 'not ok'} {name}")
        if not good:
            print(f"# {one}: {operands}, not {wanted}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
