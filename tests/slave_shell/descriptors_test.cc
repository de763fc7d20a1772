// How an agent divides its limit of descriptors.

#include "slave/shell/descriptors.h"

#include <gtest/gtest.h>

namespace proffer::agent {
namespace {

TEST(Descriptors, NoPartTakesThoseOfAnother) {
  for (const size_t limit : {0, 128, 256, 1'024, 4'096, 20'000, 65'536, 1'048'576}) {
    const DescriptorShares shares = descriptor_shares(limit, 2'000);
    EXPECT_GE(shares.http_connections, 8u) << limit;
    EXPECT_GE(shares.executors, 19u) << limit;
    EXPECT_GE(shares.executor_peers, shares.executors) << limit;
    if (limit < 128) continue;
    // The worst case: all executors reconnected, and each connection reads a file.
    EXPECT_LE(64 + shares.group_files + 2 * shares.http_connections + shares.executor_peers +
                  shares.executors,
              limit);
  }
  EXPECT_EQ(descriptor_shares(1'024, 2'000).executors, 278u);
  EXPECT_EQ(descriptor_shares(65'536, 2'000).executors, kTasksPerAgentMax);
}

}  // namespace
}  // namespace proffer::agent
