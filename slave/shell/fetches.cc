// Read begin() first. A run waits for another fetch only if both have the same user, so that no
// user can delay or influence the fetches of another.

#include "slave/shell/fetches.h"

#include <algorithm>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/printable.h"
#include "common/text.h"
#include "net/fd.h"
#include "proto/fetched_files.h"

namespace proffer::agent {
namespace {

constexpr size_t kProblemBytesMax = 1'024;

// The error that proffer-fetch wrote; the folder belongs to the task's user.
std::string told_problem(const Supervisor::Place& place) {
  constexpr int kEnter = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  const Fd sandbox(open(place.sandbox.c_str(), kEnter));
  const Fd work(openat(sandbox.get(), fetcher::kWorkFolder, kEnter));
  const Fd file(openat(work.get(), fetcher::kErrorFile,
                       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (file.get() < 0 || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_uid != place.uid) {
    return "";
  }
  std::string told(kProblemBytesMax, '\0');
  const ssize_t got = read(file.get(), told.data(), told.size());
  told.resize(got < 0 ? 0 : static_cast<size_t>(got));
  // The text goes to the master and to terminals, and other processes of the user may have written
  // it.
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
  return std::all_of(told.begin(), told.end(), is_plain) ? told : printable(told);
}

}  // namespace

Fetches::Fetches(Loop& loop, Supervisor& supervisor, FileCache& cache, Options options,
                 Handlers handlers)
    : loop_(loop),
      supervisor_(supervisor),
      cache_(cache),
      options_(options),
      handlers_(std::move(handlers)) {}

Fetches::~Fetches() { *is_there_ = false; }

void Fetches::start(const FetchFiles& asked) {
  Fetch fetch{.asked = asked,
              .plan = {.cache = cache_.path(),
                       .bytes_max = options_.bytes_max,
                       .disk_reserve = options_.disk_reserve,
                       .agent = getpid()}};
  for (const proto::FetchedFile& file : asked.files) {
    const bool may_be_cached = !cache_.path().empty() && proto::is_shareable(file);
    fetch.plan.items.push_back(
        {.uri = file.uri,
         .sha256 = file.sha256,
         .name = proto::stored_name(file),
         .executable = file.is_executable,
         .extract = file.is_extracted,
         .key = may_be_cached ? fetcher::cache_key(file.sha256, file.uri) : std::string()});
  }
  begin(fetches_.insert_or_assign(asked.run, std::move(fetch)).first);
}

void Fetches::begin(All::iterator at) {
  Fetch& fetch = at->second;
  fetch.fetches.clear();
  for (const fetcher::Item& item : fetch.plan.items) {
    if (item.key.empty() || cache_.use(item.key)) continue;
    if (fetchers_.contains({fetch.asked.user, item.key})) {
      fetch.phase = Phase::kWaiting;
      return;
    }
    fetch.fetches.push_back(item.key);
  }
  fetch.phase = Phase::kFetching;
  for (const std::string& key : fetch.fetches) fetchers_[{fetch.asked.user, key}] = at->first;
  const Result<std::vector<std::string>> variables = fetcher::encode_plan(fetch.plan);
  if (!variables) return finish(at, variables.error().message());
  Result<Supervisor::Place> place = supervisor_.start_fetch(fetch.asked, *variables);
  if (!place) return finish(at, text("files cannot be fetched: ", place.error().message()));
  fetch.place = *std::move(place);
}

void Fetches::ended(const ExecutorExited& exited) {
  const auto at = fetches_.find(exited.run);
  if (at == fetches_.end()) return supervisor_.let_run_go(exited.run);
  Fetch& fetch = at->second;
  if (fetch.killed || exited.exit_code != 0) return finish(at, problem_of(fetch, exited));
  std::vector<FileCache::Candidate> candidates;
  for (const fetcher::Item& item : fetch.plan.items) {
    // Cached files also leave a copy in the work folder.
    if (item.key.empty()) continue;
    candidates.push_back({.sandbox = fetch.place.sandbox, .key = item.key, .uid = fetch.place.uid});
  }
  if (candidates.empty()) return finish(at, "");
  // Before its tasks can alter the files.
  fetch.phase = Phase::kStoring;
  cache_.take_in(std::move(candidates), [this, run = exited.run, alive = is_there_, &loop = loop_] {
    loop.post([this, run, alive] {
      if (*alive) stored(run);
    });
  });
}

void Fetches::stored(uint64_t run) {
  const auto at = fetches_.find(run);
  if (at != fetches_.end()) finish(at, "");
}

void Fetches::stop(const KillExecutor& kill) {
  const auto at = fetches_.find(kill.run);
  if (at == fetches_.end()) return;
  at->second.killed = true;
  if (at->second.phase == Phase::kWaiting) finish(at, "");
}

void Fetches::finish(All::iterator at, std::string problem) {
  const Fetch fetch = std::move(at->second);
  fetches_.erase(at);
  std::erase_if(fetchers_, [run = fetch.asked.run](const auto& one) { return one.second == run; });
  if (fetch.killed || !problem.empty()) supervisor_.let_run_go(fetch.asked.run);
  if (fetch.killed) {
    handlers_.on_exited({.framework = fetch.asked.framework,
                         .executor = fetch.asked.executor,
                         .run = fetch.asked.run});
  } else {
    if (!problem.empty()) ++failed_;
    handlers_.on_fetched({.framework = fetch.asked.framework,
                          .executor = fetch.asked.executor,
                          .run = fetch.asked.run,
                          .problem = std::move(problem)});
  }
  wake();
}

// The waiting runs find their files in the cache, or the first of them fetches.
void Fetches::wake() {
  std::vector<uint64_t> waiting;
  for (const auto& [run, fetch] : fetches_) {
    if (fetch.phase == Phase::kWaiting) waiting.push_back(run);
  }
  for (const uint64_t run : waiting) {
    const auto at = fetches_.find(run);
    if (at != fetches_.end() && at->second.phase == Phase::kWaiting) begin(at);
  }
}

std::string Fetches::problem_of(const Fetch& fetch, const ExecutorExited& exited) const {
  if (exited.out_of_memory) {
    constexpr int64_t kMebi = int64_t{1} << 20;
    return text("fetching its files needed more memory than its ",
                exited.out_of_memory->limit_bytes / kMebi, " MiB");
  }
  std::string told = told_problem(fetch.place);
  if (!told.empty()) return told;
  if (exited.signal) return text("the fetcher of its files was ended by signal ", *exited.signal);
  return text("the fetcher of its files ended with exit code ", exited.exit_code.value_or(0),
              "; see stderr in the sandbox");
}

}  // namespace proffer::agent
