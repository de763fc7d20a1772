#pragma once

// The files of runs that are about to start: the cached ones, the run that fetches a file for
// several tasks of one user, the process that fetches, and its outcome. The input is FetchFiles;
// the output is FilesFetched, or ExecutorExited if the run was killed meanwhile.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/loop.h"
#include "slave/core/agent.h"
#include "slave/fetcher/plan.h"
#include "slave/shell/file_cache.h"
#include "slave/shell/supervisor.h"

namespace proffer::agent {

class Fetches {
 public:
  struct Options {
    int64_t bytes_max = int64_t{16} << 30;    // limit on bytes fetched and unpacked for one run
    int64_t disk_reserve = int64_t{1} << 28;  // bytes that must stay free
  };
  // May be called from within start(), stop() and ended().
  struct Handlers {
    std::function<void(const FilesFetched&)> on_fetched = {};
    std::function<void(const ExecutorExited&)> on_exited = {};
  };
  // `supervisor` and `cache` must outlive it.
  Fetches(Loop& loop, Supervisor& supervisor, FileCache& cache, Options options, Handlers handlers);
  ~Fetches();
  Fetches(const Fetches&) = delete;
  Fetches& operator=(const Fetches&) = delete;

  void start(const FetchFiles& fetch);
  // Used with Supervisor::kill(), for a run that has no process at that moment. Other runs are
  // ignored.
  void stop(const KillExecutor& kill);
  // A fetch process has ended, as the supervisor reports.
  void ended(const ExecutorExited& exited);

  size_t running() const { return fetches_.size(); }
  uint64_t failed() const { return failed_; }

 private:
  enum class Phase : uint8_t {
    kWaiting,   // another run of the same user fetches the same file
    kFetching,  // it has a process
    kStoring,   // the cache stores the fetched files
  };
  struct Fetch {
    FetchFiles asked = {};
    fetcher::Plan plan = {};
    Phase phase = Phase::kWaiting;
    Supervisor::Place place = {};
    std::vector<std::string> fetches = {};  // keys that are missing in the cache
    bool killed = false;
  };
  using All = std::map<uint64_t, Fetch>;             // by run
  using Want = std::pair<std::string, std::string>;  // user and key

  void begin(All::iterator at);
  void stored(uint64_t run);
  // Ends the fetch; `problem` is empty if all files are there.
  void finish(All::iterator at, std::string problem);
  void wake();
  std::string problem_of(const Fetch& fetch, const ExecutorExited& exited) const;

  Loop& loop_;
  Supervisor& supervisor_;
  FileCache& cache_;
  Options options_;
  Handlers handlers_;
  All fetches_;
  std::map<Want, uint64_t> fetchers_;  // the run that fetches the file
  uint64_t failed_ = 0;
  std::shared_ptr<bool> is_there_ = std::make_shared<bool>(true);  // used in the loop's thread only
};

}  // namespace proffer::agent
