#pragma once

// Files that tasks had fetched, for other tasks that name the same sum and the same place
// (fetcher::cache_key): <work_dir>/cache/<key>. An entry may be read by those that know its key,
// and written by nobody. What is used least recently goes first, when all are more than a bound, or
// when the disk is short.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "net/fd.h"

namespace proffer::agent {

class FileCache {
 public:
  struct Options {
    int64_t bytes_max = int64_t{4} << 30;     // of all entries; 0: there is no cache
    int64_t disk_reserve = int64_t{1} << 28;  // bytes that are to be free
  };
  // A file that proffer-fetch left in the work folder of a sandbox.
  struct Candidate {
    std::string sandbox = {};
    std::string key = {};
    uint32_t uid = 0;  // of its owner
  };
  // Without a cache if its folder cannot be made, which is logged.
  FileCache(const std::string& work_dir, Options options);
  ~FileCache();
  FileCache(const FileCache&) = delete;
  FileCache& operator=(const FileCache&) = delete;

  // Empty: there is no cache.
  const std::string& path() const { return path_; }
  // Whether it is there; it is the most recently used one then.
  bool use(const std::string& key) const;
  // Takes those in whose content has the sum of their key, removes them and their work folders, and
  // calls `done` in a thread of its own. Copies: what a task does to its file later is its own.
  void take_in(std::vector<Candidate> candidates, std::function<void()> done);
  // Removes what is too much. Any thread.
  void make_room();
  // As of the last look.
  int64_t bytes() const;

 private:
  struct Job {
    std::vector<Candidate> candidates = {};
    std::function<void()> done = {};
  };
  void go();
  void take_in_one(const Candidate& candidate);
  bool copy(const Fd& from, const std::string& to, const Candidate& candidate, int64_t size) const;
  bool is_short_of_disk(int64_t wanted) const;

  const Options options_;
  std::string path_;
  Fd folder_;
  uint64_t temporary_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable wakes_;
  std::deque<Job> jobs_;  // guarded by mutex_
  bool is_over_ = false;  // likewise
  int64_t bytes_ = 0;     // likewise
  std::mutex collecting_;
  std::thread thread_;
};

}  // namespace proffer::agent
