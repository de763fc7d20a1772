#!/usr/bin/env python3
"""Puts the word of its range before each line.

usage: add_range.py RANGES <LINES
"""

import bisect
import sys


def main():
    ranges = [line.rstrip("\n").split("\t") for line in open(sys.argv[1])]
    words = [word for word, _ in ranges]
    least = [key for _, key in ranges[1:]]
    for line in sys.stdin:
        key = line.rstrip("\n").split("\t", 1)[0]
        sys.stdout.write("%s\t%s" % (words[bisect.bisect_right(least, key)], line))


main()
