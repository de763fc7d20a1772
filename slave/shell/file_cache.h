#pragma once

// Files that were fetched for tasks, kept for other tasks with the same sum and URI
// (fetcher::cache_key): <work_dir>/cache/<key>. A user who knows its key can read an entry; no task
// can write it. The least recently used entries are removed when the cache exceeds its size or the
// disk is short.

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
    int64_t bytes_max = int64_t{4} << 30;     // of all entries; 0: no cache
    int64_t disk_reserve = int64_t{1} << 28;  // bytes that must stay free
  };
  // A file that proffer-fetch left in the work folder of a sandbox.
  struct Candidate {
    std::string sandbox = {};
    std::string key = {};
    uint32_t uid = 0;  // its owner
  };
  // If the folder cannot be made, this is logged and there is no cache.
  FileCache(const std::string& work_dir, Options options);
  ~FileCache();
  FileCache(const FileCache&) = delete;
  FileCache& operator=(const FileCache&) = delete;

  // Empty: there is no cache.
  const std::string& path() const { return path_; }
  // Whether the entry exists; it becomes the most recently used one.
  bool use(const std::string& key) const;
  // Adds the candidates whose content matches the sum in their key, removes them and their work
  // folders, and calls `done` in its own thread. Entries are copies, so tasks cannot change them
  // later.
  void take_in(std::vector<Candidate> candidates, std::function<void()> done);
  // Removes entries above the limits. Any thread.
  void make_room();
  // As last measured.
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
  bool is_over_ = false;  // guarded by mutex_
  int64_t bytes_ = 0;     // guarded by mutex_
  std::mutex collecting_;
  std::thread thread_;
};

}  // namespace proffer::agent
