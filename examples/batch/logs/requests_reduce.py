#!/usr/bin/env python3
"""Sums of sorted lines "hour path<TAB>requests errors bytes"."""

import itertools
import sys

pairs = (line.rstrip("\n").split("\t") for line in sys.stdin)
for key, group in itertools.groupby(pairs, key=lambda pair: pair[0]):
    requests = errors = size = 0
    for _, value in group:
        one = value.split(" ")
        requests += int(one[0])
        errors += int(one[1])
        size += int(one[2])
    print("%s\t%d %d %d" % (key, requests, errors, size))
