#!/usr/bin/env python3
"""Where x -> x * x + C modulo a prime, from 2 on, begins to repeat itself (Brent's algorithm).

usage: cycle.py C
"""

import sys

PRIME = 1000003


def step(x, c):
    return (x * x + c) % PRIME


def main():
    c = int(sys.argv[1])
    power = length = 1
    slow, fast = 2, step(2, c)
    while slow != fast:
        if power == length:
            slow, power, length = fast, power * 2, 0
        fast = step(fast, c)
        length += 1
    slow = fast = 2
    for _ in range(length):
        fast = step(fast, c)
    start = 0
    while slow != fast:
        slow, fast, start = step(slow, c), step(fast, c), start + 1
    print("c=%d start=%d length=%d" % (c, start, length))


main()
