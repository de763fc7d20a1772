#!/usr/bin/python3
"""Compares the HTTP API, the commands and the page with tests/web/lists.txt.

    tests/web/lists_test.py BIN
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def differences(paths, commands, asked, lines):
    """The differences between the three lists and the written one, as sentences."""
    wrong = []
    rows = {}
    known = set()
    for line in lines:
        if line.startswith(":"):
            known.add(line[1:].split("|")[0].strip())
            continue
        path, by, page = (part.strip() for part in line.split("|"))
        rows[path] = page
        for command in by.split() if by != "-" else []:
            known.add(command)
            if command not in commands:
                wrong.append(f"there is no command {command}, which {path} names")
        if page != "page" and not re.fullmatch(r"- \S.*", page):
            wrong.append(f"{path}: the third column is `page`, or `-` and why not; it is `{page}`")
    for path in sorted(paths - set(rows)):
        wrong.append(f"lists.txt has no row for /v1/{path}: which command asks for it, and the page?")
    for path in sorted(set(rows) - paths):
        wrong.append(f"docs/openapi.json has no /v1/{path}, which lists.txt names")
    for command in sorted(commands - known):
        wrong.append(f"lists.txt does not say what `proffer {command}` asks, or why nothing")
    for command in sorted(known - commands):
        wrong.append(f"`proffer --help` has no {command}, which lists.txt names")
    for path in sorted(asked - paths):
        wrong.append(f"the page asks for /v1/{path}, which the API does not have")
    for path, page in rows.items():
        if (page == "page") != (path in asked):
            wrong.append(f"the page asks {'not ' if path not in asked else ''}for /v1/{path}, but "
                         f"lists.txt says `{page}`")
    return wrong


def asked_by(source):
    found = set(re.findall(r"/v1/([a-z_]+)\b(?!/\$)", source)) | set(re.findall(r"list\('([a-z]+)'", source))
    if "/v1/frameworks/${" in source:
        found.add("frameworks/{framework}/requests")
    return found


def main():
    api = json.loads((ROOT / "docs" / "openapi.json").read_text())
    paths = {path.removeprefix("/v1/") for path in api["paths"]}
    shown = subprocess.run([f"{sys.argv[1]}/proffer", "--help"], capture_output=True, text=True,
                           check=True).stdout
    commands = set(re.findall(r"^  ([a-z][a-z-]*)  ", shown, re.MULTILINE))
    source = "\n".join(file.read_text() for file in sorted((ROOT / "web").glob("*.js")))
    lines = [line for line in (ROOT / "tests" / "web" / "lists.txt").read_text().splitlines()
             if line and not line.startswith("#")]
    wrong = differences(paths, commands, asked_by(source), lines)
    # The comparison can fail: without one row, the written list is too short.
    without = lines[1:]
    if not differences(paths, commands, asked_by(source), without):
        wrong.append("a row was left out, and nothing was wrong")
    for sentence in wrong:
        print(sentence)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
