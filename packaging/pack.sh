#!/bin/sh
# Makes the Debian packages in BUILD/packages. Every time in them is that of the last commit (or
# $SOURCE_DATE_EPOCH), so that two builds of one commit make the same packages.
# Usage: pack.sh CPACK SOURCE BUILD

set -eu
cpack=$1 source=$2 build=$3
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
  SOURCE_DATE_EPOCH=$(git -C "$source" log -1 --format=%ct 2>/dev/null) ||
    SOURCE_DATE_EPOCH=$(stat -c %Y "$source/CHANGELOG.md")
fi
export SOURCE_DATE_EPOCH
rm -rf "$build/packages"
cd "$build"
"$cpack" -G DEB --config "$build/CPackConfig.cmake"
