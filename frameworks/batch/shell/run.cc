// One job from the command line to its result. `run` checks and prepares; `Runner` joins the job's
// core with the SDK: notifications in, commands out, and a timer for what waits.

#include "frameworks/batch/shell/run.h"

#include <cstdio>
#include <utility>

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/text.h"
#include "frameworks/batch/core/job_core.h"
#include "frameworks/batch/shell/output.h"
#include "frameworks/batch/shell/progress.h"
#include "frameworks/batch/shell/submit.h"
#include "proto/json/json.h"
#include "sdk/scheduler.h"

namespace proffer::batch {
namespace {

constexpr Duration kMasterWait = seconds(10);
constexpr int kRefusedCode = 1;
constexpr int kUsageCode = 2;
constexpr int kUnreachableCode = 3;

int exit_code_of(const Error& error) {
  return error.code() == ErrorCode::kInvalidArgument ? kUsageCode : kRefusedCode;
}

sdk::SchedulerOptions scheduler_options(const JobSpec& job, const RunOptions& options) {
  sdk::SchedulerOptions scheduler;
  scheduler.name = job.name;
  scheduler.role = job.role;
  scheduler.master = options.master;
  const char* user = ::getenv("USER");
  scheduler.user = user != nullptr ? user : "";
  // Attached: should we be killed, no task outlives us for long.
  scheduler.failover_timeout = kAttachedFailoverTimeout;
  return scheduler;
}

class Runner {
 public:
  Runner(JobOptions job, OutputDirectory output, const RunOptions& options)
      : options_(options),
        parts_(job.spec.reducers > 0 ? job.spec.reducers : static_cast<int64_t>(job.splits.size())),
        output_(std::move(output)),
        scheduler_(scheduler_options(job.spec, options)),
        job_(std::move(job)),
        progress_(form(options), scheduler_.now()) {}

  int run() {
    scheduler_.on_notification([this](const sdk::Notification& what) { step(what); });
    // The core hears of it too and ends the job with the error.
    scheduler_.on_refused([](const Error&) {});
    scheduler_.on_signal(SIGINT, [this] { interrupt(SIGINT); });
    scheduler_.on_signal(SIGTERM, [this] { interrupt(SIGTERM); });
    scheduler_.on_signal(SIGHUP, [this] { interrupt(SIGHUP); });
    scheduler_.after(kMasterWait, [this] { give_up_unless_subscribed(); });
    show_again();
    scheduler_.run();
    if (!succeeded_) output_.abandon();
    if (error_) print_error(*error_, options_.json);
    return exit_code_;
  }

 private:
  static ProgressForm form(const RunOptions& options) {
    if (options.json) return ProgressForm::kJson;
    return ::isatty(STDOUT_FILENO) != 0 ? ProgressForm::kBars : ProgressForm::kLines;
  }

  void step(const JobEvent& event) {
    const JobPhase before = job_.status(scheduler_.now()).phase;
    JobOutbox out;
    job_.handle(event, scheduler_.now(), out);
    for (sdk::Command& command : out.commands) scheduler_.command(std::move(command));
    for (const TraceEvent& happened : out.trace) {
      if (happened.level != TraceLevel::kMisbehaved || options_.json) continue;
      progress_.note(text("note: ", printable_tail(to_text(happened), kReasonTextBytesMax)));
    }
    if (out.finished) return finish(*std::move(out.finished));
    const JobStatus status = job_.status(scheduler_.now());
    if (status.phase != before) progress_.show(status, scheduler_.now());
    if (status.cannot_fit != cannot_fit_told_) {
      cannot_fit_told_ = status.cannot_fit;
      if (!cannot_fit_told_.empty() && !options_.json) {
        progress_.note(text("note: no agent of the cluster could run a task now: ",
                            cannot_fit_told_, "; waiting for one that can"));
      }
    }
    arm();
  }

  // Called at the latest when the core wants it. A timer that fires early finds nothing to do.
  void arm() {
    const std::optional<Time> deadline = job_.next_deadline();
    if (!deadline || armed_) return;
    armed_ = true;
    const Duration left = *deadline > scheduler_.now() ? *deadline - scheduler_.now() : Duration();
    scheduler_.after(left + milliseconds(1), [this] {
      armed_ = false;
      if (!job_.over()) step(Tick{});
    });
  }

  void show_again() {
    if (ending_) return;
    progress_.show(job_.status(scheduler_.now()), scheduler_.now());
    scheduler_.after(progress_.interval(), [this] { show_again(); });
  }

  void finish(Result<void> result) {
    if (std::exchange(ending_, true)) return;
    const JobStatus status = job_.status(scheduler_.now());
    if (result) result = output_.commit(parts_);
    if (result) {
      succeeded_ = true;
      progress_.finish(status, output_.path(), scheduler_.now());
    } else {
      progress_.show(status, scheduler_.now());
      error_ = std::move(result).error();
      exit_code_ = kRefusedCode;
    }
    scheduler_.stop(exit_code_);
  }

  void give_up_unless_subscribed() {
    if (!scheduler_.framework().empty() || std::exchange(ending_, true)) return;
    error_ = Error::unavailable(text("cannot reach a master at ", options_.master))
                 .with_hint(
                     "start one with `proffer dev`, or name one with --master SOCKET or --master "
                     "HOST:PORT");
    exit_code_ = kUnreachableCode;
    scheduler_.stop(exit_code_);
  }

  // The first takes the job back; a second does not wait for anybody.
  void interrupt(int signal) {
    exit_code_ = 128 + signal;
    if (std::exchange(interrupted_, true)) {
      output_.abandon();
      ::_exit(exit_code_);
    }
    if (std::exchange(ending_, true)) return;
    if (!options_.json) progress_.note("interrupted: ending the job's tasks");
    scheduler_.stop(exit_code_);
  }

  const RunOptions& options_;
  const int64_t parts_;
  OutputDirectory output_;
  sdk::Scheduler scheduler_;
  Job job_;
  Progress progress_;
  bool armed_ = false;
  bool ending_ = false;
  bool interrupted_ = false;
  bool succeeded_ = false;
  std::optional<Error> error_;
  std::string cannot_fit_told_;
  int exit_code_ = 0;
};

}  // namespace

void print_error(const Error& error, bool json) {
  if (json) {
    std::fprintf(stderr, "%s\n", proto::error_json(error).c_str());
    return;
  }
  std::fprintf(stderr, "error: %s\n", error.message().c_str());
  if (!error.hint().empty()) std::fprintf(stderr, "  hint: %s\n", error.hint().c_str());
}

int run(const RunOptions& options) {
  ::signal(SIGPIPE, SIG_IGN);
  const auto refuse = [&](const Error& error) {
    print_error(error, options.json);
    return exit_code_of(error);
  };
  JobText file;
  if (!options.job_file.empty()) {
    Result<JobText> read = read_job_file(options.job_file);
    if (!read) return refuse(read.error());
    file = *std::move(read);
  }
  Result<JobSpec> job = make_job(file, options.flags);
  if (!job) return refuse(job.error());
  const Result<std::vector<InputFile>> input = find_input(job->inputs);
  if (!input) return refuse(input.error());
  Result<std::vector<Split>> splits = make_splits(*input, job->split_bytes);
  if (!splits) return refuse(splits.error());
  Result<OutputDirectory> output = OutputDirectory::prepare(job->output);
  if (!output) return refuse(output.error());
  Runner runner(JobOptions{.spec = *std::move(job), .splits = *std::move(splits)},
                *std::move(output), options);
  return runner.run();
}

}  // namespace proffer::batch
