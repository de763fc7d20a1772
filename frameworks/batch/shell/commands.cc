// The subcommands of `proffer batch`. Each sends requests to the scheduler through the master.
// `prepare` does the work before a submission, `Watcher` the work until the job has ended.

#include "frameworks/batch/shell/commands.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>

#include <fmt/format.h>
#include <unistd.h>

#include "common/text.h"
#include "frameworks/batch/core/order.h"
#include "frameworks/batch/shell/calls.h"
#include "frameworks/batch/shell/output.h"
#include "frameworks/batch/shell/pipelines.h"
#include "frameworks/batch/shell/prepare.h"
#include "frameworks/batch/shell/progress.h"
#include "frameworks/batch/shell/results.h"
#include "frameworks/batch/shell/signals.h"
#include "frameworks/batch/shell/submit.h"
#include "frameworks/batch/shell/why.h"
#include "proto/json/batch_json.h"
#include "proto/json/batch_schedule_json.h"
#include "sdk/shell/history.h"

namespace proffer::batch {
namespace {

// How long a submission is retried while the master or the scheduler is away.
constexpr Duration kPatience = seconds(10);
constexpr Duration kResultsEvery = milliseconds(250);

// Prints the result of an ended job; returns the exit code for it.
int tell_end(const proto::BatchJob& job, bool json) {
  if (job.phase == proto::BatchPhase::kFinished) return 0;
  return print_error(
      Error::failed_precondition(job.error.empty() ? text("job ", job.job, ": ", to_text(job.phase))
                                                   : job.error)
          .with_hint(job.hint),
      json);
}

void print_answer_or(const CommandOptions& options, std::string_view json, std::string_view line) {
  if (options.json) return print_json(json);
  print_line(line);
}

// A line of columns with tabs between them, as results_line() makes it.
void print_row(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  std::vector<std::string_view> cells;
  for (size_t end = line.find('\t'); end != line.npos; end = line.find('\t')) {
    cells.push_back(line.substr(0, end));
    line.remove_prefix(end + 1);
  }
  cells.push_back(line);
  print_tabbed(cells);
}

// --- submit ------------------------------------------------------------------------------------

int submit_schedule(Prepared& job, const CommandOptions& options) {
  const Result<std::string> answer =
      ask(options, {.verb = "submit", .order = job.encoded()}, job.role, kPatience);
  const Result<proto::BatchSchedule> schedule =
      answer ? proto::parse_batch_schedule(*answer) : answer.error();
  if (!schedule) {
    for (OutputDirectory& output : job.outputs) output.abandon();
    return print_answer(schedule.error(), options.json);
  }
  print_answer_or(options, *answer, schedule->name);
  return 0;
}

// Submits, and returns the exit code of `next`, which receives the job, or the first stage of the
// pipeline; or the exit code of an error.
int submit_and(const SubmitOptions& given, const CommandOptions& options,
               const std::function<int(const proto::BatchJob&, const JobOrder&)>& next) {
  Result<Prepared> job = prepare(given);
  if (!job) return print_error(job.error(), options.json);
  if (!options.json) {
    for (const std::string& one : job->notes) print_note_text(one);
  }
  if (job->schedule) return submit_schedule(*job, options);
  const Result<proto::BatchJob> submitted =
      ask_for_job(options, {.verb = "submit", .order = job->encoded()}, job->role, kPatience);
  if (submitted) return next(*submitted, job->stages.stages.front().order);
  // If it was submitted after all, its tasks do not find their plan, and it fails.
  for (OutputDirectory& output : job->outputs) output.abandon();
  return print_answer(submitted.error(), options.json);
}

// --- watch -------------------------------------------------------------------------------------

Time clock_now() {
  return Time::from_nanos(std::chrono::duration_cast<std::chrono::nanoseconds>(
                              std::chrono::steady_clock::now().time_since_epoch())
                              .count());
}

class Watcher {
 public:
  Watcher(const CommandOptions& options, bool is_silent)
      : options_(options), is_silent_(is_silent), progress_(form(options), clock_now()) {}
  // Prints results in place of progress.
  Watcher(const CommandOptions& options, ResultStream& results)
      : options_(options),
        is_silent_(false),
        progress_(form(options), clock_now()),
        results_(&results) {}

  // Runs until the job has ended, or a signal ends it; returns the exit code.
  int run(proto::BatchJob job) {
    show(job);
    while (!proto::has_ended(job.phase)) {
      if (const int signal = take_signal(); signal != 0) {
        if (const std::optional<int> code = on_signal(signal, job.job)) return *code;
      }
      Result<proto::BatchJob> next = ask_for_job(
          options_, {.verb = "status",
                     .job = job.job,
                     .phase = std::string(to_text(job.phase)),
                     .wait = results_ != nullptr ? kResultsEvery : progress_.interval()});
      if (next) {
        is_away_ = false;
        job = *std::move(next);
        show(job);
        continue;
      }
      if (!is_away(next.error())) return print_error(next.error(), options_.json);
      if (!std::exchange(is_away_, true)) {
        note(text("note: ", next.error().message(), "; the job continues"));
      }
      wait_a_moment();
    }
    const Duration elapsed = job.ended_at - job.submitted_at;
    if (results_ != nullptr) {
      results_->finish();
      note(result_text(job, elapsed));
    } else if (job.phase == proto::BatchPhase::kFinished && !is_silent_) {
      progress_.finish(job, elapsed);
    }
    const int code = tell_end(job, options_.json);
    return cancelled_by_ != 0 ? kSignalCode + cancelled_by_ : code;
  }

 private:
  static ProgressForm form(const CommandOptions& options) {
    if (options.json) return ProgressForm::kJson;
    return ::isatty(STDOUT_FILENO) != 0 ? ProgressForm::kBars : ProgressForm::kLines;
  }

  void show(const proto::BatchJob& job) {
    if (is_silent_ || proto::has_ended(job.phase)) return;
    if (job.note != told_) {
      told_ = job.note;
      if (!told_.empty()) note(text("note: ", told_));
    }
    if (results_ != nullptr) return results_->pump();
    progress_.show(job, clock_now());
  }

  void note(const std::string& line) {
    if (!options_.json && !is_silent_) progress_.note(line);
  }

  // None: continue to watch.
  std::optional<int> on_signal(int signal, const std::string& job) {
    if (cancelled_by_ != 0) {  // A second signal does not wait.
      note(text(job, " is being cancelled"));
      return kSignalCode + signal;
    }
    if (signal == SIGHUP || (signal == SIGINT && wants_to_detach(job))) {
      note(text(job, " keeps running; watch it with: proffer batch watch ", job));
      return kSignalCode + signal;
    }
    cancelled_by_ = signal;
    note(text("interrupted: cancelling ", job));
    const Result<proto::BatchJob> told = ask_for_job(options_, {.verb = "cancel", .job = job});
    if (told) return std::nullopt;
    print_error(told.error(), options_.json);
    return kSignalCode + signal;
  }

  // Asked only on a terminal. Ctrl-C again, the end of the input, or any other answer cancels.
  bool wants_to_detach(const std::string& job) {
    if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDERR_FILENO) == 0 || options_.json) return false;
    note("");
    print_question(text("detach (d) and keep ", job, " running, or cancel it (c, or Ctrl-C)? "));
    if (!wait_for_input(STDIN_FILENO)) return false;
    char buffer[64];
    const ssize_t got = ::read(STDIN_FILENO, buffer, sizeof buffer);
    return got > 0 && (buffer[0] == 'd' || buffer[0] == 'D');
  }

  const CommandOptions& options_;
  const bool is_silent_;
  Progress progress_;
  ResultStream* results_ = nullptr;
  bool is_away_ = false;
  std::string told_;
  int cancelled_by_ = 0;
};

// No job has this name: runs `command` if a pipeline has it, else prints the error.
template <class F>
int of_pipeline(const std::string& name, const Error& no_job, const CommandOptions& options,
                const F& command, Duration patience = {}) {
  const Result<bool> is_one = is_pipeline(name, no_job, options, patience);
  if (!is_one) return print_answer(is_one.error(), options.json);
  return *is_one ? command(name, options) : print_answer(no_job, options.json);
}

int watch_job(const std::string& job, const CommandOptions& options, bool is_silent) {
  const Result<proto::BatchJob> now =
      ask_for_job(options, {.verb = "status", .job = job}, {}, kPatience);
  if (!now) {
    const auto watch_all = [&](const std::string& name, const CommandOptions&) {
      return watch_pipeline(name, options, is_silent);
    };
    return of_pipeline(job, now.error(), options, watch_all, kPatience);
  }
  return Watcher(options, is_silent).run(*now);
}

std::string elements_text(const proto::BatchElements& array) {
  return text(array.done + array.failed, "/", array.total);
}

std::string stage_text(const proto::BatchStage& stage) {
  return stage.total == 0 ? "-" : text(stage.done, "/", stage.total);
}

}  // namespace

int submit(const SubmitOptions& given, const CommandOptions& options) {
  SubmitOptions job = given;
  job.takes_schedule = true;
  return submit_and(job, options, [&](const proto::BatchJob& submitted, const JobOrder&) {
    print_answer_or(options, proto::batch_job_json(submitted),
                    submitted.pipeline.empty() ? submitted.job : submitted.pipeline);
    return 0;
  });
}

int run(const SubmitOptions& job, const CommandOptions& options) {
  ::signal(SIGPIPE, SIG_IGN);  // A reader that has gone must not end the command before the job.
  catch_signals();
  return submit_and(job, options, [&](const proto::BatchJob& submitted, const JobOrder&) {
    if (!submitted.pipeline.empty()) return run_pipeline(submitted.pipeline, options);
    return Watcher(options, false).run(submitted);
  });
}

int run_array(const SubmitOptions& job, const CommandOptions& options) {
  if (options.json) return run(job, options);
  ::signal(SIGPIPE, SIG_IGN);
  catch_signals();
  return submit_and(job, options, [&](const proto::BatchJob& submitted, const JobOrder& order) {
    ResultStream results(order.output, *order.array, job.as_ended);
    return Watcher(options, results).run(submitted);
  });
}

namespace {

// For a running array: prints the results so far, or all of them as they come.
int show_first_results(const ResultsOptions& what, const proto::BatchJob& job,
                       const CommandOptions& options) {
  if (what.index || what.only_failed || what.of_stderr || what.as_table) {
    return print_error(
        Error::failed_precondition(text("job ", job.job, " has not ended"))
            .with_hint(
                text("wait for it with: proffer batch wait ", job.job,
                     "; or follow the output of its elements with: proffer batch results --follow ",
                     job.job)),
        options.json);
  }
  const Result<JobOrder> order = read_order(job.output);
  if (!order) return print_error(order.error(), options.json);
  ResultStream results(job.output, *order->array, what.as_ended, job.retries);
  if (!what.follow) {
    results.pump();
    return 0;
  }
  ::signal(SIGPIPE, SIG_IGN);
  return Watcher(options, results).run(job);
}

}  // namespace

int show_results(const ResultsOptions& what, const CommandOptions& options) {
  const Result<proto::BatchJob> job = ask_for_job(options, {.verb = "status", .job = what.job});
  if (!job) return print_answer(job.error(), options.json);
  const auto refused = [&](const Error& error) { return print_error(error, options.json); };
  if (!job->array) {
    return refused(
        Error::failed_precondition(text("job ", job->job, " is not an array"))
            .with_hint("its result is in the output directory; see `proffer batch status`"));
  }
  if (job->output.empty()) {
    return refused(Error::permission_denied(text(
        "only user ", quoted(job->owner), " and operators may see the results of ", job->job)));
  }
  if (!proto::has_ended(job->phase)) return show_first_results(what, *job, options);
  const Result<std::vector<ElementResult>> results = read_results(job->output);
  if (!results) return refused(results.error());
  if (what.as_table) print_row(results_header());
  bool is_found = !what.index;
  for (const ElementResult& one : *results) {
    if (what.index && one.index != *what.index) continue;
    is_found = true;
    if (what.only_failed && one.is_done) continue;
    if (what.as_table) {
      print_row(results_line(one));
      continue;
    }
    if (const Result<void> ok = copy_output(job->output, one, what.of_stderr, STDOUT_FILENO); !ok) {
      return refused(ok.error());
    }
  }
  if (is_found) return 0;
  return refused(
      Error::not_found(text("job ", job->job, " has no result of element ", *what.index)));
}

int list(const std::string& pipeline, bool with_ended, const CommandOptions& options) {
  if (!pipeline.empty()) return show_pipeline(pipeline, options);
  const Result<std::vector<proto::BatchJob>> all = ask_for_list(options, with_ended);
  if (!all) return print_answer(all.error(), options.json);
  if (options.json) {
    print_json(proto::batch_page_json({.jobs = *all}));
    return 0;
  }
  constexpr const char* kRow = "{:<20} {:<12} {:<20} {:<10} {:>13} {:>11}";
  print_line(fmt::format(kRow, "JOB", "OWNER", "ROLE", "PHASE", "MAPS/ELEMENTS", "REDUCES"));
  for (const proto::BatchJob& job : *all) {
    print_line(fmt::format(kRow, job.job, job.owner, job.role.str(), phase_text(job),
                           job.array ? elements_text(*job.array) : stage_text(job.map),
                           stage_text(job.reduce)));
  }
  return 0;
}

int show_status(const std::string& name, const CommandOptions& options) {
  const Result<proto::BatchJob> job = ask_for_job(options, {.verb = "status", .job = name});
  if (!job) return of_pipeline(name, job.error(), options, show_pipeline);
  if (options.json) {
    print_json(proto::batch_job_json(*job));
    return 0;
  }
  const auto row = [](std::string_view what, const std::string& value) {
    constexpr size_t kBehindHead = 10;
    if (!value.empty()) print_lines(fmt::format("{:<9} {}", what, indented(value, kBehindHead)));
  };
  row("job", job->job);
  row("owner", job->owner);
  row("role", job->role.str());
  if (!job->pipeline.empty()) row("stage", text(job->pipeline, ".", job->stage));
  for (const proto::BatchDependency& one : job->after) {
    row("after", text(one.job, " ", one.on, " (", one.fate, ")"));
  }
  row("phase", std::string(phase_text(*job)));
  row("progress", progress_line(*job));
  row("hosts", places_text(*job));
  row("status", job->task_status);
  if (!proto::has_ended(job->phase)) {
    // Parts that this user may not see are left out.
    const Result<proto::Explanation> why = ask_why(options, *job);
    std::string head = "waits";
    for (const std::string& line : why ? why_lines(job->job, *why) : std::vector<std::string>()) {
      row(std::exchange(head, ""), line);
    }
  }
  row("output", job->output);
  for (const std::string& line : counter_lines(*job)) print_line(line);
  std::string avoided;
  for (const std::string& agent : job->avoided_agents) {
    avoided += text(avoided.empty() ? "" : ", ", agent);
  }
  row("avoids", avoided);
  row("note", job->note);
  row("error", job->error);
  row("hint", job->hint);
  if (job->retry_until != Time()) row("retry", text("until ", sdk::local_time(job->retry_until)));
  return 0;
}

int watch(const std::string& job, const CommandOptions& options) {
  return watch_job(job, options, false);
}

int wait(const std::string& job, const CommandOptions& options) {
  return watch_job(job, options, true);
}

int cancel(const std::string& name, const CommandOptions& options) {
  const Result<proto::BatchJob> job = ask_for_job(options, {.verb = "cancel", .job = name});
  if (!job) return of_pipeline(name, job.error(), options, cancel_pipeline);
  if (options.json) {
    print_json(proto::batch_job_json(*job));
  } else if (proto::has_ended(job->phase)) {
    print_line(text(job->job, " has already ended: ", to_text(job->phase),
                    job->phase == proto::BatchPhase::kFinished ? ""
                    : job->array ? "; its results stay, and it can no longer be retried"
                                 : "; its partial results are deleted"));
  } else {
    print_line(text(job->job, " is ending: its tasks are killed and its output is ",
                    job->array ? "kept as far as it exists" : "removed"));
  }
  return 0;
}

int retry(const std::string& name, const CommandOptions& options) {
  const Result<proto::BatchJob> before = ask_for_job(options, {.verb = "status", .job = name});
  if (!before) return of_pipeline(name, before.error(), options, retry_pipeline);
  // Checked now, not when all is done. The results of an array are in place, and it adds to them.
  if (before->retry_until != Time() && !before->array &&
      ::access(before->output.c_str(), F_OK) == 0) {
    return print_error(
        Error::already_exists(text("output ", quoted(before->output), " already exists"))
            .with_hint("move it away: the job writes its result there"),
        options.json);
  }
  const Result<proto::BatchJob> job = ask_for_job(options, {.verb = "retry", .job = name});
  if (!job) return print_answer(job.error(), options.json);
  print_answer_or(
      options, proto::batch_job_json(*job),
      text(job->job, " is queued again; watch it with: proffer batch watch ", job->job));
  return 0;
}

}  // namespace proffer::batch
