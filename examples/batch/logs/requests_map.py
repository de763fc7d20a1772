#!/usr/bin/env python3
"""Lines of an access log in, "hour path<TAB>requests errors bytes" out."""

import re
import sys

LINE = re.compile(r'^\S+ \S+ \S+ \[([^:]+):(\d\d):[^]]*\] "\S+ (\S+)[^"]*" (\d{3}) (\d+)$')

for line in sys.stdin:
    found = LINE.match(line)
    if not found:
        sys.stderr.write("reporter:counter:Requests,Malformed,1\n")
        continue
    day, hour, path, status, size = found.groups()
    print("%s:%s %s\t1 %d %s" % (day, hour, path, status >= "500", size))
