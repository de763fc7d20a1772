#!/usr/bin/python3
"""Lays out what the manual is made of: the Markdown files, their pictures, and mkdocs.yml.

Usage: stage.py SOURCE STAGE VERSION

Files keep their places, so links between documents stay as they are. Links to other files of the
sources become plain text: those files are no part of the manual.
"""

import os
import re
import shutil
import subprocess
import sys

# Title, and the documents in their order; a folder is all that is in it.
SECTIONS = [
    ("Proffer", ["README.md", "docs/README.md"]),
    ("Guides", ["docs/guides"]),
    ("Concepts", ["docs/concepts"]),
    ("Reference", ["docs/GLOSSARY.md", "docs/STATES.md", "docs/PROTOCOL.md", "bench/RESULTS.md",
                   "CHANGELOG.md"]),
    ("Runbooks", ["docs/runbooks"]),
    ("Contributors", ["CONTRIBUTING.md", "docs/ARCHITECTURE.md", "docs/TESTING.md",
                      "docs/PITFALLS.md", "examples/README.md", "examples/scenarios/README.md",
                      "docs/adr", "docs/checklists"]),
]
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")


def members(files, entry):
    return [file for file in files if file == entry or file.startswith(entry + "/")]


def without_outer_links(text, file, staged):
    def plain(link):
        label, target = link.groups()
        path = target.partition("#")[0]
        if not path or re.match(r"[a-z+]+:", target):
            return link.group(0)
        where = os.path.normpath(os.path.join(os.path.dirname(file), path))
        return link.group(0) if where in staged else label
    blocks = re.split(r"(```.*?```)", text, flags=re.DOTALL)
    return "".join(part if part.startswith("```") else LINK.sub(plain, part) for part in blocks)


def main():
    source, stage, version = sys.argv[1:4]
    listed = subprocess.run([os.path.join(source, "tools/files.sh")], capture_output=True,
                            text=True, check=True).stdout.split()
    documents = [file for file in listed if file.endswith(".md")]
    sections = []
    for title, entries in SECTIONS:
        sections.append((title, [file for entry in entries for file in members(documents, entry)]))
    pages = {file for _, files in sections for file in files}
    pictures = [file for file in listed if re.match(r"(docs/images/.*|bench/.*[.]svg)$", file)]
    shutil.rmtree(stage, ignore_errors=True)
    for file in sorted(pages) + pictures:
        target = os.path.join(stage, "pages", file)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if file in pages:
            with open(os.path.join(source, file), encoding="utf-8") as text:
                page = without_outer_links(text.read(), file, pages | set(pictures))
            with open(target, "w", encoding="utf-8") as out:
                out.write(page)
        else:
            shutil.copyfile(os.path.join(source, file), target)
    with open(os.path.join(stage, "mkdocs.yml"), "w", encoding="utf-8") as settings:
        settings.write(f"site_name: Proffer {version}\n"
                       "docs_dir: pages\n"
                       "site_dir: html\n"
                       "use_directory_urls: false\n"
                       "theme: {name: material, font: false}\n"
                       "plugins: [search]\n"
                       "markdown_extensions: [tables, fenced_code, {toc: {permalink: true}}]\n"
                       "nav:\n")
        for title, files in sections:
            settings.write(f"  - {title}:\n")
            settings.writelines(f"      - {file}\n" for file in files)


if __name__ == "__main__":
    main()
