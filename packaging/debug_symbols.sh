#!/bin/bash
# debug_symbols.sh BIN OUT PROGRAM…: writes the debug symbols of the programs in BIN, compressed, to
# OUT/.build-id/XX/YYYY.debug, where gdb and perf look for the symbols of a stripped program.

set -euo pipefail
export LC_ALL=C.UTF-8
bin=$1 out=$2
for program in "${@:3}"; do
  id=$(readelf --notes "$bin/$program" | awk '/Build ID:/ { print $3 }')
  [ -n "$id" ] || {
    echo "debug_symbols.sh: $program has no build ID" >&2
    exit 1
  }
  file=$out/.build-id/${id:0:2}/${id:2}.debug
  mkdir -p "${file%/*}"
  objcopy --only-keep-debug --compress-debug-sections "$bin/$program" "$file"
  chmod 644 "$file"
done
