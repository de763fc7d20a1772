// The registry on a real file: effects of other processes, full disks and damage.

#include "store/sqlite_store.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>
#include <poll.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/directory_lock.h"
#include "tests/store/support.h"

namespace proffer::sqlite_store_test {
namespace {

using store_test::put;
using store_test::TemporaryDirectory;
using store_test::Worker;

// Writes to the database like another process.
void execute(const std::string& directory, const char* sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open((directory + "/registry.db").c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  sqlite3_close(db);
}

struct Answers {
  Store::Done next() {
    return [this](Result<void> result) {
      codes.push_back(result ? std::nullopt : std::optional(result.error().code()));
    };
  }
  std::vector<std::optional<ErrorCode>> codes = {};
};

TEST(SqliteStore, BatchesThatArriveWhileTheDiskIsBusyShareOneFlush) {
  TemporaryDirectory directory;
  Worker worker;
  auto store = SqliteStore::open(directory.path(), worker.run_off_loop()).value();
  ASSERT_TRUE(store->begin_epoch());
  Answers answers;
  for (int i = 0; i < 100; ++i) {
    store->append({put("role", std::to_string(i), "1")}, answers.next());
  }
  // one commit for the first batch, one for the 99 that arrived meanwhile
  EXPECT_EQ(worker.run(), 2);
  EXPECT_EQ(answers.codes, std::vector<std::optional<ErrorCode>>(100));
}

TEST(SqliteStore, WorksWithARealWorkerThread) {
  TemporaryDirectory directory;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> loop;
  std::vector<std::thread> workers;
  const RunOffLoop run_off_loop = [&](std::function<void()> work, std::function<void()> done) {
    workers.emplace_back([&, work = std::move(work), done = std::move(done)]() mutable {
      work();
      const std::lock_guard<std::mutex> hold(mutex);
      loop.push_back(std::move(done));
      changed.notify_one();
    });
  };
  auto store = SqliteStore::open(directory.path(), run_off_loop).value();
  ASSERT_TRUE(store->begin_epoch());
  Answers answers;
  for (int i = 0; i < 50; ++i) {
    store->append({put("role", std::to_string(i), "1")}, answers.next());
  }
  while (store->pending() > 0) {
    std::function<void()> event;
    {
      std::unique_lock<std::mutex> hold(mutex);
      ASSERT_TRUE(changed.wait_for(hold, std::chrono::seconds(30), [&] { return !loop.empty(); }));
      event = std::move(loop.front());
      loop.pop_front();
    }
    event();
  }
  for (std::thread& thread : workers) thread.join();
  EXPECT_EQ(answers.codes, std::vector<std::optional<ErrorCode>>(50));
  EXPECT_EQ(store->load().value().size(), 50U);
}

TEST(SqliteStore, ADirectoryBelongsToOneStoreAndTheErrorSaysWhichAndWhatToDo) {
  TemporaryDirectory directory;
  Worker worker;
  const auto first = SqliteStore::open(directory.path(), worker.run_off_loop()).value();
  const auto second = SqliteStore::open(directory.path(), worker.run_off_loop());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::kFailedPrecondition);
  EXPECT_NE(second.error().message().find(directory.path()), std::string::npos);
  EXPECT_NE(second.error().message().find(std::to_string(::getpid())), std::string::npos);
  EXPECT_FALSE(second.error().hint().empty());
}

TEST(DirectoryLock, IsHeldByAnotherProcessUntilThatProcessEnds) {
  TemporaryDirectory directory;
  int to_child[2];
  int from_child[2];
  ASSERT_EQ(::pipe(to_child), 0);
  ASSERT_EQ(::pipe(from_child), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::close(to_child[1]);
    const Result<DirectoryLock> lock = DirectoryLock::take(directory.path());
    char byte = lock ? 'y' : 'n';
    if (::write(from_child[1], &byte, 1) != 1) ::_exit(1);
    // Holds the lock until the parent closes its end, then dies without releasing anything.
    (void)!::read(to_child[0], &byte, 1);
    ::_exit(0);
  }
  char locked = 0;
  ASSERT_EQ(::read(from_child[0], &locked, 1), 1);
  EXPECT_EQ(locked, 'y');
  const Result<DirectoryLock> refused = DirectoryLock::take(directory.path());
  EXPECT_FALSE(refused);

  ::close(to_child[1]);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(DirectoryLock::take(directory.path()));
  for (const int fd : {to_child[0], from_child[0], from_child[1]}) ::close(fd);
}

// Found by a kill storm: an agent was killed while it started an executor, and the child held the
// lock for a moment. The restarted agent failed because its directory was in use.
TEST(DirectoryLock, WaitsForTheChildThatAKilledHolderWasAboutToStart) {
  TemporaryDirectory directory;
  const pid_t holder = ::fork();
  ASSERT_GE(holder, 0);
  if (holder == 0) {
    const Result<DirectoryLock> lock = DirectoryLock::take(directory.path());
    if (!lock) ::_exit(1);
    if (::fork() == 0) ::poll(nullptr, 0, 200);  // the child holds it for a moment
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(holder, &status, 0), holder);
  ASSERT_EQ(WEXITSTATUS(status), 0);

  EXPECT_TRUE(DirectoryLock::take(directory.path()));
}

TEST(DirectoryLock, SaysWhyADirectoryCannotBeMade) {
  TemporaryDirectory directory;
  store_test::write_file(directory / "in the way", "");
  const Result<DirectoryLock> lock = DirectoryLock::take(directory / "in the way/master");
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code(), ErrorCode::kUnavailable);
}

TEST(DirectoryLock, MakesWhatIsMissing) {
  TemporaryDirectory directory;
  EXPECT_TRUE(DirectoryLock::take(directory / "a/b/c"));
}

TEST(SqliteStore, ALeaderThatWasDeposedIsFencedInTheSameTransaction) {
  TemporaryDirectory directory;
  Worker worker;
  auto store = SqliteStore::open(directory.path(), worker.run_off_loop()).value();
  ASSERT_TRUE(store->begin_epoch());
  Answers answers;
  store->append({put("role", "in time", "1")}, answers.next());
  worker.run();

  execute(directory.path(), "UPDATE leader SET epoch = epoch + 1");  // as a restore does
  store->append({put("role", "too late", "1")}, answers.next());
  worker.run();
  store->append({put("role", "later still", "1")}, answers.next());
  worker.run();

  const auto fenced = ErrorCode::kFailedPrecondition;
  EXPECT_EQ(answers.codes, (std::vector<std::optional<ErrorCode>>{std::nullopt, fenced, fenced}));
  EXPECT_EQ(store->load().value(), (std::vector<StoreRecord>{put("role", "in time", "1")}));
}

TEST(SqliteStore, FullDiskFailsTheBatchAndLaterOnesButKeepsOlderData) {
  TemporaryDirectory directory;
  Worker worker;
  Answers answers;
  {
    auto store = SqliteStore::open(directory.path(), worker.run_off_loop()).value();
    ASSERT_TRUE(store->begin_epoch());
    store->append({put("role", "before", "1")}, answers.next());
    worker.run();
    {
      store_test::FullDisk full(200'000);
      store->append({put("role", "big", std::string(500'000, 'x'))}, answers.next());
      store->append({put("role", "with it", "1")}, answers.next());
      worker.run();
    }
    // There is room again, but the state after the failed commit is unknown: writes stay refused.
    store->append({put("role", "after", "1")}, answers.next());
    worker.run();
  }
  ASSERT_EQ(answers.codes.size(), 4U);
  EXPECT_EQ(answers.codes[0], std::nullopt);
  for (size_t i = 1; i < 4; ++i) EXPECT_NE(answers.codes[i], std::nullopt) << i;

  auto store = SqliteStore::open(directory.path(), worker.run_off_loop()).value();
  EXPECT_EQ(store->begin_epoch().value(), LeaderEpoch(2));
  EXPECT_EQ(store->load().value(), (std::vector<StoreRecord>{put("role", "before", "1")}));
}

TEST(SqliteStore, ARegistryOfANewerProgramIsRefusedAndLeftAlone) {
  TemporaryDirectory directory;
  Worker worker;
  { ASSERT_TRUE(SqliteStore::open(directory.path(), worker.run_off_loop())); }
  execute(directory.path(), "PRAGMA user_version = 7");
  const std::string before = store_test::read_file(directory / "registry.db");

  const auto store = SqliteStore::open(directory.path(), worker.run_off_loop());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code(), ErrorCode::kUnsupported);
  EXPECT_NE(store.error().message().find("schema 7"), std::string::npos) << store.error().message();
  EXPECT_EQ(store_test::read_file(directory / "registry.db"), before);
}

TEST(SqliteStore, AFileThatIsNoDatabaseIsCalledDamaged) {
  TemporaryDirectory directory;
  Worker worker;
  store_test::write_file(directory / "registry.db", std::string(8'192, 'x'));
  const auto store = SqliteStore::open(directory.path(), worker.run_off_loop());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code(), ErrorCode::kCorruption);
}

TEST(SqliteStore, ADamagedPageIsFoundWhenTheRegistryIsOpened) {
  TemporaryDirectory directory;
  Worker worker;
  Answers answers;
  {
    auto store = SqliteStore::open(directory.path(), worker.run_off_loop()).value();
    ASSERT_TRUE(store->begin_epoch());
    for (int i = 0; i < 200; ++i) {
      store->append({put("role", std::to_string(i), std::string(200, 'x'))}, answers.next());
    }
    worker.run();
  }
  std::string bytes = store_test::read_file(directory / "registry.db");
  ASSERT_GT(bytes.size(), 5U * 4'096);
  bytes.replace(4U * 4'096, 4'096, std::string(4'096, '\xff'));
  store_test::write_file(directory / "registry.db", bytes);

  const auto store = SqliteStore::open(directory.path(), worker.run_off_loop());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code(), ErrorCode::kCorruption);
}

}  // namespace
}  // namespace proffer::sqlite_store_test
