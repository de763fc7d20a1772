#!/bin/bash
# Prints the project's files, one per line and sorted, from its root: tracked ones and new ones that
# are not ignored. In a copy without git, everything but build trees.

set -euo pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/.."

listed() { git -c core.quotePath=false ls-files --cached --others --exclude-standard 2>/dev/null; }
# Files that are deleted but still tracked are left out.
existing() { while IFS= read -r file; do [ ! -f "$file" ] || printf '%s\n' "$file"; done; }

if [ -e .git ] && list=$(listed); then
  existing <<<"$list"
else
  find . \( -path ./build -o -path './build-*' -o -path ./.git \) -prune -o -type f -print |
    sed 's|^\./||'
fi | sort -u
