// Each system call of a master's registry, and of an agent's checkpoint, fails once: two runs, and
// a third one that reads their files.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "store/checkpoint_log.h"
#include "store/sqlite_store.h"
#include "tests/store/failing_io.h"
#include "tests/store/support.h"

namespace proffer::disk_faults_test {
namespace {

using store_test::erase;
using store_test::FailingIo;
using store_test::IoFault;
using store_test::put;
using store_test::TemporaryDirectory;
using store_test::Worker;

using Rows = std::map<std::string, std::string>;

// Writes of a master: rows that come and go, and one of many pages.
std::vector<std::vector<StoreRecord>> batches_of(int life) {
  const std::string number = std::to_string(life);
  return {{put("role", "a", number), put("role", "b", number)},
          {put("agent", number, std::string(20'000, 'x')), put("role", "a", number + "+")},
          {erase("role", "b")},
          {put("role", "b", number + "+"), put("role", "c", number)}};
}

Rows with(Rows rows, const std::vector<StoreRecord>& batch) {
  for (const StoreRecord& record : batch) {
    const std::string key = record.table + "/" + record.key;
    if (record.value) {
      rows[key] = *record.value;
    } else {
      rows.erase(key);
    }
  }
  return rows;
}

Rows rows_of(const std::vector<StoreRecord>& records) { return with({}, records); }

// The expected content of the registry.
struct Known {
  Rows rows = {};
  std::optional<Rows> or_rows = {};  // with the batch that was not acknowledged
  uint64_t epoch = 0;
};

// One run of a master until an error. Returns the error.
Result<void> live(const std::string& directory, int life, Known& known) {
  Worker worker;
  Result<std::unique_ptr<SqliteStore>> store = SqliteStore::open(directory, worker.run_off_loop());
  if (!store) return std::move(store).error();
  const Result<LeaderEpoch> epoch = (*store)->begin_epoch();
  if (!epoch) return epoch.error();
  EXPECT_GT(epoch->value(), known.epoch);
  known.epoch = epoch->value();
  const Result<std::vector<StoreRecord>> loaded = (*store)->load();
  if (!loaded) return loaded.error();
  const Rows rows = rows_of(*loaded);
  EXPECT_TRUE(rows == known.rows || (known.or_rows && rows == *known.or_rows));
  known.rows = rows;
  known.or_rows.reset();
  for (const std::vector<StoreRecord>& batch : batches_of(life)) {
    std::optional<Result<void>> answer;
    (*store)->append(batch, [&](const Result<void>& told) { answer = told; });
    worker.run();
    if (!answer) {
      ADD_FAILURE() << "no answer";
      return {};
    }
    if (!*answer) {
      known.or_rows = with(known.rows, batch);
      return answer->error();
    }
    known.rows = with(known.rows, batch);
  }
  return {};
}

// Thousands of flushes would be slow on a disk.
std::filesystem::path place_without_disk() {
  const std::filesystem::path memory = "/dev/shm";
  return ::access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
}

class EachCall : public testing::TestWithParam<IoFault> {
 protected:
  // Two runs with each call failing in turn, and a third one without a fault.
  template <class Known, class Live>
  void expect_that_nothing_is_lost(const Live& live) {
    size_t told = 0;
    for (size_t index = 0;; ++index) {
      TemporaryDirectory directory(place_without_disk());
      Known known;
      std::string failed;
      {
        FailingIo io(GetParam(), index);
        for (const int life : {1, 2}) {
          const bool had_failed = io.has_failed();
          const Result<void> lived = live(directory.path(), life, known);
          if (!lived) ++told;
          EXPECT_TRUE(lived || (io.has_failed() && !had_failed)) << lived.error().message();
        }
        failed = io.failed();
      }
      if (failed.empty()) {
        EXPECT_GT(index, 5U) << "hardly anything can fail";
        break;
      }
      const Result<void> lived = live(directory.path(), 3, known);
      EXPECT_TRUE(lived) << lived.error().message();
      if (HasFailure()) FAIL() << "after call " << index << " that can fail so, " << failed;
    }
    EXPECT_GT(told, 5U);
  }
};

TEST_P(EachCall, OfARegistryThatFailsLosesNothingThatWasAcknowledged) {
  expect_that_nothing_is_lost<Known>(live);
}

// An agent continues after a failed append: it refuses the task, and the log is unchanged.
Result<void> live_as_agent(const std::string& directory, int life,
                           std::vector<std::string>& known) {
  Result<CheckpointLog::Opened> opened = CheckpointLog::open(directory + "/checkpoint.log");
  if (!opened) return std::move(opened).error();
  EXPECT_EQ(opened->records, known);
  known = opened->records;
  Result<void> first_error;
  const auto note = [&](const Result<void>& result) {
    if (!result && first_error) first_error = result;
    return result.has_value();
  };
  CheckpointLog& log = *opened->log;
  for (const int batch : {1, 2, 3}) {
    const std::vector<std::string> records{"task " + std::to_string(life),
                                           std::string(3'000, static_cast<char>('0' + batch))};
    if (note(log.append(records))) known.insert(known.end(), records.begin(), records.end());
    if (batch == 1) note(log.sync());
    if (batch == 2 && note(log.rewrite({"kept"}))) known = {"kept"};
  }
  return first_error;
}

TEST_P(EachCall, OfACheckpointThatFailsLosesNothingThatWasAcknowledged) {
  expect_that_nothing_is_lost<std::vector<std::string>>(live_as_agent);
}

INSTANTIATE_TEST_SUITE_P(Faults, EachCall,
                         testing::Values(IoFault::kNoSpace, IoFault::kError, IoFault::kShortWrite),
                         [](const auto& fault) -> std::string {
                           switch (fault.param) {
                             case IoFault::kNoSpace:
                               return "NoSpace";
                             case IoFault::kError:
                               return "Error";
                             case IoFault::kShortWrite:
                               return "ShortWrite";
                           }
                           return "";
                         });

}  // namespace
}  // namespace proffer::disk_faults_test
