// `proffer registry restore --zk` is killed at each of its requests to ZooKeeper: afterwards either
// the whole registry exists, or none of it.

#include <csignal>
#include <filesystem>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "common/text.h"
#include "store/registry_file.h"
#include "store/zookeeper_registry.h"
#include "tests/store/support.h"
#include "tests/store/zookeeper_support.h"
#include "tests/support/zookeeper_proxy.h"

namespace proffer::killed_restore_test {
namespace {

using store_test::put;
using test::Process;
using test::ZooKeeperFault;
using test::ZooKeeperProxy;
using Rows = std::vector<StoreRecord>;

class KilledRestore : public testing::Test {
 protected:
  KilledRestore() {
    // More rows than one transaction holds, so that they are written through the journal.
    for (int i = 0; i < 40; ++i)
      rows_.push_back(put("kv", text(100 + i), std::string(50'000, 'x')));
    const Result<RegistrySnapshot> made = RegistryFile::write_dump(
        {.progress = {.epoch = 3, .commits = 1}, .records = rows_}, home_ / "dump");
    EXPECT_TRUE(made) << made.error();
    test::write_file(home_ / "secret", options().secret + "\n");
    std::filesystem::permissions(home_ / "secret", std::filesystem::perms::owner_read);
  }

  static ZooKeeperOptions options() {
    return store_test::fresh_zookeeper(store_test::shared_zookeeper());
  }

  // Kills the command after its request with this number, which is carried out or not. False if the
  // command ends before, with all its work done.
  bool restores_and_is_killed(const ZooKeeperOptions& at, int request, bool is_carried_out) {
    const ZooKeeperProxy proxy(
        at.servers,
        {.kind = ZooKeeperFault::Kind::kSilence, .is_carried_out = is_carried_out, .lasting = {}},
        request);
    Process restore({test::program("proffer-registry"), "restore", home_ / "dump",
                     text("--zk=", proxy.address(), at.root),
                     text("--zk-secret-file=", home_ / "secret")});
    const bool is_there = test::eventually(
        [&] { return proxy.requests() >= request || !test::is_alive(restore.pid()); });
    EXPECT_TRUE(is_there) << "at request " << request;
    if (proxy.requests() < request) {
      EXPECT_EQ(restore.wait().code, 0) << restore.err();
      return false;
    }
    restore.kill(SIGKILL);
    restore.wait();
    return true;
  }

  bool is_whole_or_nothing(const Rows& found) const { return found.empty() || found == rows_; }

  test::TemporaryDirectory home_;
  Rows rows_;
};

TEST_F(KilledRestore, LeavesTheWholeRegistryOrNone) {
  std::vector<ZooKeeperOptions> places;
  for (const bool is_carried_out : {false, true}) {
    for (int request = 1;; ++request) {
      const ZooKeeperOptions place = options();
      const bool is_killed = restores_and_is_killed(place, request, is_carried_out);
      if (testing::Test::HasFailure()) return;
      if (!is_killed) break;
      places.push_back(place);
    }
  }
  EXPECT_GT(places.size(), 20u);
  size_t whole = 0;
  for (const ZooKeeperOptions& place : places) {
    const ZooKeeperRegistry registry(place);
    // As an operator's read finds it, and as the next master does.
    const Result<RegistrySnapshot> found = registry.read();
    if (!found) {
      EXPECT_EQ(found.error().code(), ErrorCode::kNotFound) << found.error();
    } else {
      EXPECT_TRUE(is_whole_or_nothing(found->records)) << place.root;
    }
    const Result<RegistrySnapshot> led = registry.change(1, [](const Rows&) { return Rows(); });
    ASSERT_TRUE(led) << led.error();
    EXPECT_TRUE(is_whole_or_nothing(led->records)) << place.root;
    if (found) {
      EXPECT_EQ(found->records, led->records) << place.root;
    }
    whole += led->records.empty() ? 0 : 1;
  }
  EXPECT_GT(whole, 0u);
  EXPECT_LT(whole, places.size());
}

}  // namespace
}  // namespace proffer::killed_restore_test
