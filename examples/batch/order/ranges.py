#!/usr/bin/env python3
"""Divides sorted keys into as many ranges as there are reducers.

usage: ranges.py REDUCERS <KEYS

Writes a line for each range, the first range first: a word that partitioning sends to reducer 0, 1
and so on, and the least key of the range (none for the first one).
"""

import sys


def fnv1a(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def word_for(reducer, reducers):
    """The partition of a line is FNV-1a of its key modulo the number of reducers."""
    number = 0
    while fnv1a("r%d" % number) % reducers != reducer:
        number += 1
    return "r%d" % number


def main():
    reducers = int(sys.argv[1])
    keys = [line.rstrip("\n") for line in sys.stdin]
    for reducer in range(reducers):
        least = "" if reducer == 0 or not keys else keys[len(keys) * reducer // reducers]
        print("%s\t%s" % (word_for(reducer, reducers), least))


main()
