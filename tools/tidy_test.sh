#!/bin/bash
# tools/tidy must fail on each kind of violation and pass without one: a small tree is made, one
# line is planted in it at a time, and the finding must name that line's rule.

set -euo pipefail
export LC_ALL=C
tools=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(mktemp -d "${TMPDIR:-/tmp}/proffer-tidy-test-XXXXXX")
trap 'rm -rf "$tree"' EXIT

failed=0
fail() {
  echo "tidy_test: $*" >&2
  failed=$((failed + 1))
}

# A tree in which every layer has a file, without a finding.
fresh() {
  rm -rf "${tree:?}"/*
  mkdir -p "$tree"/{tools,common,proto/codec,master/core,net,tests/net,examples}
  cp "$tools"/{files.sh,tidy,tidy.awk,layers.txt} "$tree/tools/"
  printf '#pragma once\n#include <string>\n' >"$tree/common/ids.h"
  printf '#pragma once\n#include "common/ids.h"\n' >"$tree/master/core/offers.h"
  printf '#include "net/loop.h"\n#include <uv.h>\n#include <unistd.h>\n' >"$tree/net/loop.cc"
  printf '#include "net/loop.h"\n#include <gtest/gtest.h>\n' >"$tree/tests/net/loop_test.cc"
  printf '#include "sdk/scheduler.h"\n' >"$tree/examples/hello.cc"
  printf 'proffer_library(common PURE DEPS fmt::fmt)\n' >"$tree/common/CMakeLists.txt"
  printf 'proffer_library(net DEPS proffer_common PkgConfig::UV)\n' >"$tree/net/CMakeLists.txt"
  printf 'proffer_library(master_core PURE DIR ${CMAKE_CURRENT_SOURCE_DIR}/core\n  DEPS %s)\n' \
    proffer_common >"$tree/master/CMakeLists.txt"
}

# refuses RULE FILE TEXT: with TEXT added to FILE, the finding contains RULE and names FILE.
refuses() {
  fresh
  mkdir -p "$tree/$(dirname "$2")"
  printf "$3\n" >>"$tree/$2"
  local out
  if out=$("$tree/tools/tidy" "$tree" 2>/dev/null); then
    fail "accepted in $2: $3"
  elif ! grep -F "$2" <<<"$out" | grep -qF "$1"; then
    fail "expected '$1' for $2, got: $out"
  fi
}

accepts() {
  fresh
  printf "$2\n" >>"$tree/$1"
  local out
  out=$("$tree/tools/tidy" "$tree" 2>&1) || fail "refused in $1: $2: $out"
}

word="sla""ve"
accepts common/ids.h '// nothing wrong'
accepts common/ids.h '#include "common/time.h"'
accepts common/ids.h 'double seconds();  // for printing'
accepts common/ids.h 'std::string s = "throw double";'
accepts net/loop.cc "// see $word/README.md"
accepts net/loop.cc '#include <fmt/format.h>'
accepts net/loop.cc "// …$(printf '…%.0s' {1..90})"

refuses 'may not include "master/core/offers.h"' common/ids.h '#include "master/core/offers.h"'
refuses 'may not include "net/loop.h"' master/core/offers.h '#include "net/loop.h"'
refuses 'may not include "common/ids.h"' examples/hello.cc '#include "common/ids.h"'
refuses 'may not include <uv.h>' master/core/offers.h '#include <uv.h>'
refuses 'may not include <unistd.h>' master/core/offers.h '#include <unistd.h>'
refuses 'may not include <capnp/' net/loop.cc '#include <capnp/message.h>'
refuses 'may not include <glog/' net/loop.cc '#include <glog/logging.h>'
refuses 'may not include <thread>' master/core/offers.h '#include <thread>'
accepts proto/codec/wire.cc '#include "wire.capnp.h"'
refuses 'may not include "proto/schema/wire.capnp.h"' net/loop.cc '#include "wire.capnp.h"'
refuses 'include from the root' net/loop.cc '#include "loop.h"'
refuses 'no row' elsewhere/x.cc 'int x;'
refuses 'may not link proffer_net' master/CMakeLists.txt \
  'proffer_library(master_core DIR ${CMAKE_CURRENT_SOURCE_DIR}/core DEPS proffer_net)'
refuses 'may not link PkgConfig::ZMQ' common/CMakeLists.txt \
  'proffer_library(common DEPS PkgConfig::ZMQ)'
refuses 'the word is agent' net/loop.cc "int ${word}_count;"
refuses 'unfinished' net/loop.cc '// TO''DO later'
refuses 'tab' net/loop.cc 'int\tx;'
refuses 'columns' net/loop.cc "// $(printf 'x%.0s' {1..100})"
refuses 'at most 1000' net/loop.cc "$(printf '//\\n%.0s' {1..1001})"
refuses 'do not sleep' tests/net/loop_test.cc 'std::this_thread::sleep_for(x);'
refuses 'throw nothing' net/loop.cc 'throw 1;'
refuses '#pragma once' net/timer.h 'int x;'
refuses 'floating point' master/core/offers.h 'double share = 0;'
refuses 'cores do not log' master/core/offers.h 'LOG(INFO) << 1;'
refuses 'std::chrono' master/core/offers.h 'std::chrono::seconds s;'

[ "$failed" -eq 0 ] || exit 1
echo "tidy_test: every planted violation was found"
