#pragma once

// What the tests of the ZooKeeper store share: one server for all of them, a path for each, and a
// loop that runs until something holds.

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "net/loop.h"
#include "store/zookeeper_session.h"
#include "tests/support/zookeeper_server.h"

namespace proffer::store_test {

// Ends with the program.
inline test::ZooKeeperServer& shared_zookeeper() {
  static test::ZooKeeperServer server;
  return server;
}

// With a path that no other test has.
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
