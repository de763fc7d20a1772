// A reduce task: shares of all maps → merge → reducer → part of the output. Read `run_reduce`
// first.

#include <thread>

#include <signal.h>

#include "common/text.h"
#include "frameworks/batch/executor/fetch.h"
#include "frameworks/batch/executor/posix.h"
#include "frameworks/batch/executor/sort.h"
#include "frameworks/batch/executor/task.h"

namespace proffer::batch {
namespace {

// Passes lines on, and counts them for the progress.
class CountedLines final : public LineSink {
 public:
  CountedLines(LineSink& to, int64_t records, const TaskSetting& setting)
      : to_(to), records_(records), setting_(setting) {}
  Result<bool> put(uint32_t partition, std::string_view line) override {
    if (++count_ % kNotedEvery == 0) note_done(setting_, kReducePhase, count_, records_);
    return to_.put(partition, line);
  }

 private:
  static constexpr int64_t kNotedEvery = 1'024;
  LineSink& to_;
  const int64_t records_;
  const TaskSetting& setting_;
  int64_t count_ = 0;
};

// Merges the shares of all maps and writes the lines to the reducer, on a separate thread. Lines of
// equal keys keep the order of the maps, for any number of files.
class MergedFeeder {
 public:
  // `records`: of all runs.
  MergedFeeder(std::vector<Run> runs, int64_t records, const ReduceWork& work,
               const TaskSetting& setting, Fd to)
      : to_(std::move(to)) {
    const int64_t bytes =
        work.shuffle.sort_bytes > 0 ? work.shuffle.sort_bytes : setting.sort_bytes;
    thread_ = std::thread([this, runs = std::move(runs), records, &work, &setting, bytes,
                           directory = scratch_directory(setting)]() mutable {
      LineWriter writer(to_.get());
      CountedLines counted(writer, records, setting);
      outcome_ =
          merge_runs(std::move(runs), work.shuffle.keys, merge_width(bytes), directory, counted);
      if (outcome_) outcome_ = writer.finish();
      to_.reset();
    });
  }
  ~MergedFeeder() { join(); }
  MergedFeeder(const MergedFeeder&) = delete;
  MergedFeeder& operator=(const MergedFeeder&) = delete;

  // The error, if any; a reducer that reads no more is no error.
  const Result<void>& join() {
    if (thread_.joinable()) thread_.join();
    return outcome_;
  }

 private:
  Fd to_;
  Result<void> outcome_;
  std::thread thread_;
};

}  // namespace

std::optional<TaskTrouble> run_reduce(const ReduceWork& work, const TaskSetting& setting,
                                      int stderr_fd, TaskResult& result) {
  if (Result<void> ok = make_scratch_directory(setting); !ok) return trouble(ok.error());
  const Fetched fetched = fetch_share(
      FetchPlan{
          .framework = setting.framework,
          .job = JobId(work.common.job),
          .partition = work.common.number,
          .addresses = work.addresses,
          .own = setting.agent,
          .maps = work.maps,
          .directory = scratch_directory(setting),
          .on_fetched =
              [&](int64_t maps) { note_done(setting, kFetchPhase, maps, std::ssize(work.maps)); }},
      *setting.stopped);
  if (fetched.error) return trouble(*fetched.error);
  if (!fetched.missing.empty()) {
    return TaskTrouble{
        .message = text("cannot fetch ", fetched.missing.size(), " map outputs; ", fetched.why),
        .fetch_failed = fetched.missing};
  }
  result.records_in = fetched.records;
  result.bytes_in = fetched.bytes;

  Result<Pipe> to_reducer = make_pipe();
  if (!to_reducer) return trouble(to_reducer.error());
  Result<Pipe> from_reducer = make_pipe();
  if (!from_reducer) return trouble(from_reducer.error());
  Result<Child> reducer = Child::start(
      {"/bin/sh", "-c", work.common.command}, command_environment(work.common, setting),
      to_reducer->read.get(), from_reducer->write.get(), stderr_fd);
  if (!reducer) return trouble(reducer.error());
  to_reducer->read.reset();
  from_reducer->write.reset();

  MergedFeeder feeder(fetched.runs, fetched.records, work, setting, std::move(to_reducer->write));
  const Result<void> written = write_part(work.common, setting, from_reducer->read.get(), result);
  if (!written) signal_group(SIGKILL);
  from_reducer->read.reset();
  const ExitStatus reduced = reducer->wait();
  const Result<void>& merged = feeder.join();
  if (!written) return trouble(written.error());
  if (std::optional<TaskTrouble> wrong = trouble_of("the reducer", reduced, work.common)) {
    return wrong;
  }
  if (!merged) return trouble(merged.error());
  if (setting.stopped->load()) return TaskTrouble{.message = "the task was killed"};
  if (Result<void> ok = commit_part(work.common, setting); !ok) return trouble(ok.error());
  return std::nullopt;
}

}  // namespace proffer::batch
