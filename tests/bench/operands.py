# SPDX-License-Identifier: GPL-2.0-only
"""Which memory an instruction of x86-64 touches, from what objdump says of its bytes."""

import re
import subprocess
import tempfile
from dataclasses import dataclass

BYTES_MAX = 15
SLOT = 32  # an instruction, and no-operations in which a reading that began in its rest ends
ADDRESS = re.compile(r"(?:%(?P<segment>[a-z]s):)?(?P<offset>-?0x[0-9a-f]+)?"
                     r"(?:\((?P<base>%\w+)?(?:,(?P<index>%\w+)(?:,(?P<scale>\d))?)?\))?$")
TOUCHES_NOTHING = re.compile(r"(lea|nop|endbr)")
READS_LAST = re.compile(r"(cmp(?!xchg)|test|bt[lqw]?$|push|call|jmp|mul|div|idiv|prefetch)")
SIZES = {"b": 1, "w": 2, "l": 4, "q": 8}
NARROW = (re.compile(r"%([abcd][lh]|[sd]il|[sb]pl|r\d+b)$"),
          re.compile(r"%([abcd]x|[sd]i|[sb]p|r\d+w)$"),
          re.compile(r"%(e\w\w|r\d+d)$"))


@dataclass
class Operand:
    segment: str
    base: str
    index: str
    scale: int
    offset: int
    size: int
    written: bool

    def address(self, registers, behind):
        """BEHIND is where the next instruction is."""
        def value(name):
            return behind if name == "rip" else registers[name] if name else 0
        base = registers["gs"] if self.segment == "gs" else 0
        return (base + value(self.base) + value(self.index) * self.scale + self.offset) & (1 << 64) - 1


@dataclass
class Instruction:
    text: str
    length: int
    operands: list


def split(operands):
    """At the commas outside of parentheses."""
    return re.findall(r"(?:[^,(]|\([^)]*\))+", operands)


def size_of(mnemonic, others):
    if mnemonic.startswith(("set", "prefetch")):
        return 1
    for other in others:
        for size, narrow in zip((1, 2, 4), NARROW):
            if narrow.match(other):
                return size
        if other.startswith("%x"):
            return 16
        if other.startswith("%"):
            return 8
    return SIZES.get(mnemonic[-1], 8)


def operand_of(mnemonic, operands, at):
    match = ADDRESS.match(operands[at].lstrip("*"))
    if not match or not match["offset"] and not match["base"] and not match["index"]:
        return None  # a register, or a number
    extended = re.match(r"mov[sz]([bwl])[wlq]", mnemonic)
    others = [o for i, o in enumerate(operands) if i != at and re.fullmatch(r"%\w+", o)]
    return Operand(segment=match["segment"] or "", base=(match["base"] or "")[1:], index=(match["index"] or "")[1:],
                   scale=int(match["scale"] or 1), offset=int(match["offset"] or "0", 16),
                   size=SIZES[extended[1]] if extended else size_of(mnemonic, others),
                   written=at == len(operands) - 1 and not READS_LAST.match(mnemonic))


def instruction(text, length):
    text = re.sub(r"\s*(#|<).*", "", text)
    words = re.sub(r"^((lock|rep\w*|cs|ds|data16|notrack|bnd|addr32) )+", "", text).split(None, 1)
    if len(words) < 2 or TOUCHES_NOTHING.match(words[0]) or re.match(r"(j\w+|call\w*) +[0-9a-fx]", " ".join(words)):
        return Instruction(text, length, [])
    operands = split(words[1])
    found = [operand_of(words[0], operands, i) for i in range(len(operands))]
    return Instruction(text, length, [o for o in found if o])


def disassemble(codes):
    """Takes {address: bytes that begin with an instruction}; returns {address: Instruction}."""
    addresses = sorted(codes)
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"".join(codes[a][:BYTES_MAX].ljust(SLOT, b"\x90") for a in addresses))
        file.flush()
        listing = subprocess.run(["objdump", "-D", "-w", "-b", "binary", "-m", "i386:x86-64", file.name], check=True,
                                 capture_output=True, text=True).stdout
    result = {}
    for line in listing.splitlines():
        match = re.match(r" *([0-9a-f]+):\t([0-9a-f ]+?) *\t(.*)", line)
        if match and int(match[1], 16) % SLOT == 0:
            result[addresses[int(match[1], 16) // SLOT]] = instruction(match[3].strip(), len(match[2].split()))
    return result
