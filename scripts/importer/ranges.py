# SPDX-License-Identifier: GPL-2.0-only
"""Sets of numbers as sorted ranges ((first, last), …) that do not touch; None is every number."""


def normal(ranges):
    found = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return tuple(found)


def complement(ranges, top):
    found, start = [], 0
    for first, last in normal(ranges):
        if first > start:
            found.append((start, first - 1))
        start = last + 1
    return tuple(found + ([(start, top)] if start <= top else []))


def common(a, b):
    if a is None or b is None:
        return b if a is None else a
    return tuple((max(x[0], y[0]), min(x[1], y[1])) for x in a for y in b if x[0] <= y[1] and y[0] <= x[1])


def within(ranges, value):
    return any(first <= value <= last for first, last in ranges)


def starts(ranges):
    """The first number of every piece that the ranges cut the numbers into."""
    return sorted({0}.union(*({first, last + 1} for first, last in ranges)))


def single(ranges):
    """The only number of the set, or None."""
    return ranges[0][0] if ranges and len(ranges) == 1 and ranges[0][0] == ranges[0][1] else None
