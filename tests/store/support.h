#pragma once

// Common code of the store tests: a directory, a disk that fills up, and a worker that runs on
// request.

#include <csignal>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <utility>

#include <sys/resource.h>

#include "common/check.h"
#include "store/store.h"
#include "tests/support/temporary_directory.h"

namespace proffer::store_test {

using test::TemporaryDirectory;

// During its lifetime, no file of this process grows beyond `bytes`: writers see a full disk. The
// signal stays ignored afterwards: a thread may be about to receive it.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    CHECK_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    CHECK_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FullDisk() { CHECK_EQ(::setrlimit(RLIMIT_FSIZE, &before_), 0); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_ = {};
};

// A worker and a loop in one: its work waits until run().
class Worker {
 public:
  RunOffLoop run_off_loop() {
    return [this](std::function<void()> work, std::function<void()> done) {
      waiting_.emplace_back(std::move(work), std::move(done));
    };
  }
  // Does one piece of work, as the worker thread and then the loop would. False if there is none.
  bool run_one() {
    if (waiting_.empty()) return false;
    auto [work, done] = std::move(waiting_.front());
    waiting_.pop_front();
    work();
    done();
    return true;
  }
  // Runs until no work waits. Returns the number of pieces.
  int run() {
    int count = 0;
    while (run_one()) ++count;
    return count;
  }

 private:
  std::deque<std::pair<std::function<void()>, std::function<void()>>> waiting_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

inline void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << bytes;
  CHECK(out.good()) << path;
}

inline StoreRecord put(std::string table, std::string key, std::string value) {
  return StoreRecord{.table = std::move(table), .key = std::move(key), .value = std::move(value)};
}
inline StoreRecord erase(std::string table, std::string key) {
  return StoreRecord{.table = std::move(table), .key = std::move(key)};
}

}  // namespace proffer::store_test
