#!/usr/bin/env python3
"""Writes input for the jobs of this directory, the same each time.

usage: generate.py rows|orders|requests DIRECTORY [LINES]

rows      keys of 10 characters and values, as TeraSort sorts them
orders    customers.tsv and orders.tsv: two tables with the customer's number in common
requests  what a web server logs, in several files; every second one is packed
"""

import gzip
import os
import random
import sys


def rows(directory, lines):
    rng = random.Random(1)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    for part in range(4):
        with open(os.path.join(directory, "rows-%d" % part), "w") as out:
            for number in range(part, lines, 4):
                # Few keys begin after M, so ranges of equal width would be of unequal size.
                key = letters[min(rng.randrange(26), rng.randrange(26))]
                key += "".join(rng.choice(letters) for _ in range(9))
                out.write("%s\trow %d\n" % (key, number))


def orders(directory, lines):
    rng = random.Random(2)
    customers = max(lines // 4, 1)
    with open(os.path.join(directory, "customers.tsv"), "w") as out:
        for number in range(customers):
            out.write("c%d\tcustomer %d\n" % (number, number))
    with open(os.path.join(directory, "orders.tsv"), "w") as out:
        for number in range(lines):
            # Some customers have no order, and some orders have a customer that is not known.
            out.write("c%d\to%d\t%d\n" % (rng.randrange(customers + customers // 10 + 1), number,
                                          rng.randrange(1, 50000)))


def requests(directory, lines):
    rng = random.Random(3)
    paths = ["/", "/search", "/cart", "/images/logo.png", "/api/items", "/api/orders"]
    for part in range(4):
        name = os.path.join(directory, "access-%d.log" % part)
        if part % 2 == 1:
            out = gzip.open(name + ".gz", "wt")
        else:
            out = open(name, "w")
        with out:
            for number in range(part, lines, 4):
                if rng.randrange(200) == 0:
                    out.write("a line that no web server has written\n")
                    continue
                seconds = number * 86400 // lines
                # Clients with a small last number come more often.
                out.write('10.0.%d.%d - - [26/Nov/2026:%02d:%02d:%02d +0000] "GET %s HTTP/1.1" %d %d\n' % (
                    rng.randrange(4), min(rng.randrange(1, 40), rng.randrange(1, 40)), seconds // 3600, seconds // 60 % 60, seconds % 60,
                    rng.choice(paths), rng.choice([200, 200, 200, 200, 304, 404, 500]), rng.randrange(20000)))


def main():
    kinds = {"rows": rows, "orders": orders, "requests": requests}
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in kinds:
        sys.stderr.write(__doc__)
        return 2
    os.makedirs(sys.argv[2], exist_ok=True)
    kinds[sys.argv[1]](sys.argv[2], int(sys.argv[3]) if len(sys.argv) == 4 else 20000)
    return 0


if __name__ == "__main__":
    sys.exit(main())
