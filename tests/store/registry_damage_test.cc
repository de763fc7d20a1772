// A registry whose files are damaged, restored from a copy, or missing: either all acknowledged
// data is there, or it is refused, with the problem and its solution.

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "common/prng.h"
#include "common/text.h"
#include "store/sqlite_store.h"
#include "tests/store/support.h"
#include "tests/support/seeds.h"

namespace proffer::registry_damage_test {
namespace {

namespace fs = std::filesystem;
using store_test::erase;
using store_test::put;
using store_test::TemporaryDirectory;
using store_test::Worker;
using Records = std::vector<StoreRecord>;

const char* const kFiles[] = {"registry.db", "registry.db-wal", "registry.seal"};

void copy_registry(const std::string& from, const std::string& to) {
  fs::create_directories(to);
  for (const char* const name : kFiles) {
    fs::remove(fs::path(to) / name);
    if (fs::exists(fs::path(from) / name))
      fs::copy_file(fs::path(from) / name, fs::path(to) / name);
  }
}

// A directory with a master that writes.
class Registry {
 public:
  explicit Registry(std::string path, const RegistryFileOptions& options = {})
      : path_(std::move(path)) {
    Result<std::unique_ptr<SqliteStore>> opened =
        SqliteStore::open(path_, worker_.run_off_loop(), options);
    if (!opened) {
      error_ = opened.error();
      return;
    }
    store_ = *std::move(opened);
    epoch_ = store_->begin_epoch().value();
    records_ = store_->load().value();
  }

  void append(Records batch) {
    store_->append(std::move(batch), [](const Result<void>& result) { ASSERT_TRUE(result); });
    worker_.run();
  }

  const std::string& path() const { return path_; }
  const std::optional<Error>& error() const { return error_; }
  LeaderEpoch epoch() const { return epoch_; }
  const std::string& remark() const { return store_->remark(); }
  const Records& records() const { return records_; }
  Records now() { return store_->load().value(); }

 private:
  std::string path_;
  Worker worker_;
  std::unique_ptr<SqliteStore> store_;
  std::optional<Error> error_;
  LeaderEpoch epoch_;
  Records records_;
};

void write_history(Registry& registry) {
  for (int i = 0; i < 40; ++i) {
    registry.append({put("framework", text("f-", i), std::string(static_cast<size_t>(i) * 40, 'x')),
                     put("agent", text("a-", i % 7), text("seen ", i))});
    if (i % 5 == 4) registry.append({erase("framework", text("f-", i - 2))});
  }
}

// Flips one bit of a file, or cuts the file there.
std::string damage(const std::string& path, Prng& random) {
  const bool is_log = random.chance(2, 3);
  const std::string name = kFiles[is_log ? 1 : 0];
  std::string bytes = store_test::read_file((fs::path(path) / name).string());
  const size_t at = random.below(bytes.size());
  const bool cuts = random.chance(1, 8);
  const uint64_t bit = random.below(8);
  if (cuts) bytes.resize(at);
  if (!cuts) bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
  store_test::write_file((fs::path(path) / name).string(), bytes);
  return text(cuts ? "cut" : "flipped", " ", name, " at ", at);
}

TEST(RegistryDamage, AllThatWasAcknowledgedIsThereOrItIsRefused) {
  const TemporaryDirectory directory;
  int refused = 0;
  for (const bool is_in_log : {true, false}) {
    const std::string source = directory / (is_in_log ? "log" : "pages");
    Registry first(source);
    write_history(first);
    std::optional<Registry> second;
    if (!is_in_log) {  // by now the first run's records are in the database
      const std::string moved = directory / "moved";
      copy_registry(source, moved);
      second.emplace(moved);
      second->append({put("role", "late", "1")});
    }
    Registry& living = second ? *second : first;
    const Records acknowledged = living.now();
    for (const uint64_t seed : Seeds(100)) {
      Prng random(seed);
      const std::string copy = directory / "copy";
      copy_registry(living.path(), copy);
      const std::string done = damage(copy, random);
      const Registry found(copy);
      if (found.error()) {
        ++refused;
        EXPECT_EQ(found.error()->code(), ErrorCode::kCorruption) << done << ": " << *found.error();
        EXPECT_FALSE(found.error()->hint().empty()) << done;
      } else {
        EXPECT_EQ(found.records(), acknowledged) << done;
      }
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(refused, 20);
}

// A disk that lost one write, of a page whose old content was valid too.
TEST(RegistryDamage, APageFromBeforeIsFound) {
  constexpr size_t kPage = 4'096;
  const TemporaryDirectory directory;
  const std::string path = directory / "live/registry.db";
  const auto live = [&](const std::string& value) {
    Registry registry(directory / "live");
    for (int i = 0; i < 60; ++i)
      registry.append({put("role", text("r-", i), std::string(500, value[0]))});
  };
  live("a");
  { Registry again(directory / "live"); }
  const std::string before = store_test::read_file(path);
  live("b");
  Records acknowledged;
  {
    Registry again(directory / "live");
    acknowledged = again.now();
  }
  const std::string after = store_test::read_file(path);
  ASSERT_EQ(before.size(), after.size());
  int found = 0;
  for (size_t at = 0; at < after.size(); at += kPage) {
    std::string mixed = after;
    mixed.replace(at, kPage, before, at, kPage);
    if (mixed == after) continue;
    const std::string copy = directory / "copy";
    copy_registry(directory / "live", copy);
    store_test::write_file(copy + "/registry.db", mixed);
    const Registry refused(copy);
    ASSERT_TRUE(refused.error() || refused.records() == acknowledged) << "page " << at / kPage;
    if (refused.error()) ++found;
  }
  EXPECT_GT(found, 5);
}

TEST(RegistryDamage, ARowThatIsNotWhatWasWrittenIsNamed) {
  const TemporaryDirectory directory;
  {
    Registry registry(directory.path());
    registry.append(
        {put("framework", "batch-1", "its value, whole and well"), put("role", "a", "1")});
  }
  { Registry again(directory.path()); }  // brings it into the database
  const std::string path = directory / "registry.db";
  std::string bytes = store_test::read_file(path);
  const size_t at = bytes.find("whole and well");
  ASSERT_NE(at, std::string::npos);
  bytes[at] = 'W';
  store_test::write_file(path, bytes);

  const Registry damaged(directory.path());

  ASSERT_TRUE(damaged.error());
  EXPECT_EQ(damaged.error()->code(), ErrorCode::kCorruption);
  EXPECT_NE(damaged.error()->message().find("framework 'batch-1'"), std::string::npos)
      << *damaged.error();
}

TEST(RegistryDamage, AnOlderCopyIsRefusedAndGoneOnFromByAFlagWithALaterEpoch) {
  const TemporaryDirectory directory;
  const std::string path = directory / "live";
  {
    Registry registry(path);
    registry.append({put("role", "early", "1")});
  }
  fs::copy_file(path + "/registry.db", directory / "copy");
  {
    Registry registry(path);
    registry.append({put("role", "late", "1")});
    EXPECT_EQ(registry.epoch(), LeaderEpoch(2));
  }
  fs::copy_file(directory / "copy", path + "/registry.db", fs::copy_options::overwrite_existing);
  fs::remove(path + "/registry.db-wal");

  const Registry refused(path);
  ASSERT_TRUE(refused.error());
  EXPECT_EQ(refused.error()->code(), ErrorCode::kCorruption);
  EXPECT_NE(refused.error()->message().find(
                "it is at epoch 1 and commit 2, and was at epoch 2 and commit 4"),
            std::string::npos)
      << *refused.error();
  EXPECT_NE(refused.error()->hint().find("--accept_older_registry"), std::string::npos);

  {
    Registry accepted(path, {.accepts_older = true});
    ASSERT_FALSE(accepted.error()) << *accepted.error();
    EXPECT_EQ(accepted.records(), (Records{put("role", "early", "1")}));
    EXPECT_EQ(accepted.epoch(), LeaderEpoch(3));
    accepted.append({put("role", "new", "1")});
  }
  const Registry later(path);
  ASSERT_FALSE(later.error()) << *later.error();
  EXPECT_EQ(later.epoch(), LeaderEpoch(4));
}

// An empty registry would start with epoch 1 again, and would not know the agents' tasks.
TEST(RegistryDamage, ADatabaseThatIsGoneIsNoNewCluster) {
  const TemporaryDirectory directory;
  {
    Registry registry(directory.path());
    registry.append({put("role", "a", "1")});
  }
  fs::remove(directory / "registry.db");
  fs::remove(directory / "registry.db-wal");
  const Registry refused(directory.path());
  ASSERT_TRUE(refused.error());
  EXPECT_EQ(refused.error()->code(), ErrorCode::kCorruption);
}

TEST(RegistryDamage, ASealThatSaysNothingIsRefused) {
  const TemporaryDirectory directory;
  { Registry registry(directory.path()); }
  for (const char* const line :
       {"", "epoch", "\n", "epoch 000000000000000000 commits 000000000000000001 crc 00000000\n"}) {
    store_test::write_file(directory / "registry.seal", line);
    const Registry refused(directory.path());
    ASSERT_TRUE(refused.error()) << line;
    EXPECT_EQ(refused.error()->code(), ErrorCode::kCorruption) << line;
  }
  fs::remove(directory / "registry.seal");
  const Registry taken(directory.path());
  EXPECT_FALSE(taken.error());
  EXPECT_EQ(taken.epoch(), LeaderEpoch(2));
  EXPECT_NE(taken.remark().find("without \"registry.seal\""), std::string::npos) << taken.remark();
}

// A power failure may have emptied the seal, and the registry may be an old one.
TEST(RegistryDamage, AnEmptySealIsGoneOnFromByAFlagInAnEpochFarAbove) {
  const TemporaryDirectory directory;
  {
    Registry registry(directory.path());
    registry.append({put("role", "a", "1")});
  }
  store_test::write_file(directory / "registry.seal", "");
  const Registry refused(directory.path());
  ASSERT_TRUE(refused.error());
  EXPECT_NE(refused.error()->message().find("registry.seal"), std::string::npos);
  EXPECT_NE(refused.error()->message().find("is empty"), std::string::npos) << *refused.error();
  EXPECT_NE(refused.error()->hint().find("--accept_older_registry"), std::string::npos);
  {
    const Registry accepted(directory.path(), {.accepts_older = true});
    ASSERT_FALSE(accepted.error()) << *accepted.error();
    EXPECT_EQ(accepted.records(), (Records{put("role", "a", "1")}));
    EXPECT_EQ(accepted.epoch(), LeaderEpoch(1'000'002));
  }
  const Registry later(directory.path());
  ASSERT_FALSE(later.error()) << *later.error();
  EXPECT_EQ(later.epoch(), LeaderEpoch(1'000'003));
}

// All of the registry is missing, and only the master's other files show that there was one.
TEST(RegistryDamage, ARegistryThatIsGoneIsNoNewOneWhereAMasterHasBeen) {
  for (const bool is_empty : {false, true}) {
    const TemporaryDirectory directory;
    if (is_empty) store_test::write_file(directory / "registry.db", "");
    const RegistryFileOptions options = {.traces = {.files = {"events", "master_id"}, .epoch = 4}};
    const Registry refused(directory.path(), options);
    ASSERT_TRUE(refused.error());
    EXPECT_EQ(refused.error()->code(), ErrorCode::kCorruption);
    EXPECT_NE(refused.error()->message().find("'events', 'master_id' beside it say"),
              std::string::npos)
        << *refused.error();
    // A new file would prevent a later start with --zk.
    EXPECT_EQ(fs::exists(directory / "registry.db"), is_empty);
    RegistryFileOptions accepts = options;
    accepts.accepts_older = true;
    const Registry accepted(directory.path(), accepts);
    ASSERT_FALSE(accepted.error()) << *accepted.error();
    EXPECT_EQ(accepted.epoch(), LeaderEpoch(5));
  }
}

// Database and seal were restored together: only the event log shows that they are old.
TEST(RegistryDamage, ARegistryBeforeTheEpochOfTheEventsIsRefused) {
  const TemporaryDirectory directory;
  { Registry registry(directory.path()); }
  const RegistryFileOptions options = {.traces = {.files = {"events"}, .epoch = 3}};
  const Registry refused(directory.path(), options);
  ASSERT_TRUE(refused.error());
  EXPECT_NE(refused.error()->message().find("lacks its latest commits: it is at epoch 1, and "
                                            "the event log beside it at epoch 3"),
            std::string::npos)
      << *refused.error();
  RegistryFileOptions accepts = options;
  accepts.accepts_older = true;
  const Registry accepted(directory.path(), accepts);
  ASSERT_FALSE(accepted.error()) << *accepted.error();
  EXPECT_EQ(accepted.epoch(), LeaderEpoch(4));
}

// A kill at any time of a first start leaves files that the next start accepts.
TEST(RegistryDamage, AFirstStartThatWasKilledLeavesNoSealWithoutALine) {
  const TemporaryDirectory directory;
  { ASSERT_TRUE(RegistryFile::open(directory.path())); }
  EXPECT_FALSE(fs::exists(directory / "registry.seal"));
  store_test::write_file(directory / "registry.seal.new", "epoch 0000");
  const Registry next(directory.path(), {.traces = {.files = {"master_id"}}});
  ASSERT_FALSE(next.error()) << *next.error();
  EXPECT_EQ(next.epoch(), LeaderEpoch(1));
}

// A master of the previous version reads only one line.
TEST(RegistryDamage, ASealThatWasClosedHasOneLineAndSaysTheSame) {
  for (int commits = 0; commits < 3; ++commits) {
    const TemporaryDirectory directory;
    std::string newest;
    {
      Registry registry(directory.path());
      for (int i = 0; i < commits; ++i) registry.append({put("role", "a", std::to_string(i))});
      const std::string two = store_test::read_file(directory / "registry.seal");
      const size_t second = two.find('\n') + 1;
      newest = std::max(two.substr(0, second), two.substr(second));
    }
    EXPECT_EQ(store_test::read_file(directory / "registry.seal"), newest) << commits;
    EXPECT_EQ(std::count(newest.begin(), newest.end(), '\n'), 1) << newest;
    EXPECT_FALSE(Registry(directory.path()).error());
  }
}

// A kill -9 between a commit and its note in the seal leaves a seal that is behind.
TEST(RegistryDamage, ASealThatIsBehindIsFine) {
  const TemporaryDirectory directory;
  Registry registry(directory / "live");
  const std::string before = store_test::read_file(directory / "live/registry.seal");
  registry.append({put("role", "a", "1")});
  copy_registry(registry.path(), directory / "killed");
  store_test::write_file(directory / "killed/registry.seal", before);

  const Registry after(directory / "killed");

  ASSERT_FALSE(after.error()) << *after.error();
  EXPECT_EQ(after.records(), (Records{put("role", "a", "1")}));
}

TEST(RegistryDamage, ARegistryFromBeforeChecksumsGetsThem) {
  const TemporaryDirectory directory;
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open((directory / "registry.db").c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db,
                         "CREATE TABLE record (kind TEXT NOT NULL, key TEXT NOT NULL,"
                         "  value BLOB NOT NULL, PRIMARY KEY (kind, key)) WITHOUT ROWID;"
                         "CREATE TABLE leader (id INTEGER PRIMARY KEY CHECK (id = 1),"
                         "  epoch INTEGER NOT NULL);"
                         "INSERT INTO leader (id, epoch) VALUES (1, 41);"
                         "INSERT INTO record VALUES ('role', 'a', x'00ff'), ('role', 'b', 'x');"
                         "PRAGMA user_version = 1;",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(db);
  const Records rows{put("role", "a", std::string("\0\xff", 2)), put("role", "b", "x")};
  {
    Registry upgraded(directory.path());
    ASSERT_FALSE(upgraded.error()) << *upgraded.error();
    EXPECT_EQ(upgraded.epoch(), LeaderEpoch(42));
    EXPECT_EQ(upgraded.records(), rows);
    upgraded.append({put("role", "c", "1"), erase("role", "b")});
  }
  const Registry again(directory.path());
  ASSERT_FALSE(again.error()) << *again.error();
  EXPECT_EQ(again.records(), (Records{rows[0], put("role", "c", "1")}));
}

}  // namespace
}  // namespace proffer::registry_damage_test
