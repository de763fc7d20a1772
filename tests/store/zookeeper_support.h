#pragma once

// Common code of the ZooKeeper store tests: one server for all, a path for each test, and a loop
// that runs until a condition holds.

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "net/loop.h"
#include "store/zookeeper_session.h"
#include "tests/support/zookeeper_server.h"

namespace proffer::store_test {

// The server ends with the program.
inline test::ZooKeeperServer& shared_zookeeper() {
  static test::ZooKeeperServer server;
  return server;
}

// Uses a path that no other test has.
inline ZooKeeperOptions fresh_zookeeper(const test::ZooKeeperServer& server) {
  static int paths = 0;
  return {.servers = server.address(),
          .root = "/tests/" + std::to_string(++paths),
          .secret = "secret of the tests"};
}

inline std::string next_writer() {
  static int writers = 0;
  return "writer-" + std::to_string(++writers);
}

inline void run_until(Loop& loop, const std::function<bool()>& condition) {
  bool is_late = false;
  Timer deadline(loop, [&] {
    is_late = true;
    loop.stop();
  });
  deadline.arm(loop.now() + seconds(60) * test::slowdown());
  const TurnHook look(loop, [&] {
    if (condition()) loop.stop();
  });
  if (!condition()) loop.run();
  ASSERT_FALSE(is_late);
}

}  // namespace proffer::store_test
