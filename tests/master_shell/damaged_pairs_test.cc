// Two files of a master's data directory are damaged at once. The law: the master refuses to start
// and says what is wrong and what to do; or all acknowledged data is there; or it reports that some
// may be missing. It never silently makes a new registry in a used directory.

#include <filesystem>

#include <gtest/gtest.h>

#include "common/text.h"
#include "master/shell/event_log.h"
#include "master/shell/history.h"
#include "master/shell/log_check.h"
#include "master/shell/master_id.h"
#include "store/sqlite_store.h"
#include "tests/store/support.h"

namespace proffer::master::damaged_pairs_test {
namespace {

namespace fs = std::filesystem;
using store_test::TemporaryDirectory;
using Records = std::vector<StoreRecord>;

HistoryLogOptions log_in(const std::string& directory, const std::string& name) {
  return {.directory = directory + "/" + name};
}

TracesOfAMaster traces_in(const std::string& directory) {
  Loop loop;
  return traces_of_a_master(directory, log_in(directory, "events"), loop.now());
}

void copy(const std::string& from, const std::string& to) {
  fs::remove_all(to);
  fs::copy(from, to, fs::copy_options::recursive);
}

// One run of a master in which a role is acknowledged. `killed` gets a copy of the files as after a
// kill -9.
void live(const std::string& directory, const std::string& role, const std::string& killed) {
  store_test::Worker worker;
  auto store =
      SqliteStore::open(directory, worker.run_off_loop(), {.traces = traces_in(directory)});
  ASSERT_TRUE(store) << store.error();
  const LeaderEpoch leader = (*store)->begin_epoch().value();
  ASSERT_TRUE(own_master_id(directory));
  Loop loop;
  const History history(loop, {.log = log_in(directory, "history"), .leader = leader});
  const EventLog events(loop, {.log = log_in(directory, "events"), .leader = leader});
  (*store)->append({store_test::put("role", role, "1")},
                   [](const Result<void>& done) { ASSERT_TRUE(done); });
  worker.run();
  copy(directory, killed);
}

const char* const kFiles[] = {"registry.db", "registry.db-wal",          "registry.seal",
                              "master_id",   "history/000000000001.log", "events/000000000001.log"};
const char* const kDamages[] = {"missing", "empty", "older"};

void damage(const std::string& directory, const std::string& older, const std::string& file,
            const std::string& how) {
  const std::string path = text(directory, "/", file);
  if (how == "missing") fs::remove(path);
  if (how == "empty") store_test::write_file(path, "");
  if (how == "older") {
    fs::copy_file(text(older, "/", file), path, fs::copy_options::overwrite_existing);
  }
}

// The violation; empty if the law holds.
std::string broken_law(const std::string& directory) {
  store_test::Worker worker;
  const auto store =
      SqliteStore::open(directory, worker.run_off_loop(), {.traces = traces_in(directory)});
  if (!store) {
    const std::string message = store.error().message();
    const bool is_named = message.find(directory + "/") != std::string::npos;
    return is_named && !store.error().hint().empty() ? "" : "refused without a word: " + message;
  }
  const Records all = {store_test::put("role", "early", "1"), store_test::put("role", "late", "1")};
  if ((*store)->load().value() == all || !(*store)->remark().empty()) return "";
  return text("something is missing in silence: ", (*store)->load().value().size(), " rows");
}

TEST(DamagedPairs, OfFilesLoseNothingInSilence) {
  const TemporaryDirectory home;
  live(home / "first", "early", home / "older");
  copy(home / "older", home / "second");
  live(home / "second", "late", home / "killed");
  const std::string damaged = home / "damaged";
  copy(home / "killed", damaged);
  ASSERT_EQ(broken_law(damaged), "") << "nothing is damaged";
  int pairs = 0;
  for (const char* const* one = std::begin(kFiles); one != std::end(kFiles); ++one) {
    for (const char* const* two = one + 1; two != std::end(kFiles); ++two) {
      for (const char* const first : kDamages) {
        for (const char* const second : kDamages) {
          copy(home / "killed", damaged);
          damage(damaged, home / "older", *one, first);
          damage(damaged, home / "older", *two, second);
          EXPECT_EQ(broken_law(damaged), "")
              << *one << " " << first << ", " << *two << " " << second;
          ++pairs;
        }
      }
    }
  }
  EXPECT_EQ(pairs, 15 * 9);
}

// If the registry is gone, each of the other files proves that it existed.
TEST(DamagedPairs, ARegistryThatIsGoneIsToldByEachOtherFile) {
  const TemporaryDirectory home;
  live(home / "first", "early", home / "killed");
  for (const char* const left : {"events", "history", "master_id"}) {
    const std::string damaged = home / left;
    fs::create_directories(damaged);
    fs::copy(home / "killed" + "/" + left, damaged + "/" + left, fs::copy_options::recursive);
    store_test::Worker worker;
    const auto store =
        SqliteStore::open(damaged, worker.run_off_loop(), {.traces = traces_in(damaged)});
    ASSERT_FALSE(store) << left;
    EXPECT_EQ(store.error().code(), ErrorCode::kCorruption);
    EXPECT_NE(store.error().message().find(text("is missing: a master has run here, as '", left)),
              std::string::npos)
        << store.error();
    EXPECT_NE(store.error().hint().find("--accept_older_registry"), std::string::npos);
  }
}

}  // namespace
}  // namespace proffer::master::damaged_pairs_test
