// `Watch` shows the stages as they change; the other commands send a request for each stage.

#include "frameworks/batch/shell/pipelines.h"

#include <algorithm>
#include <csignal>
#include <map>

#include <fmt/format.h>
#include <unistd.h>

#include "common/text.h"
#include "frameworks/batch/shell/calls.h"
#include "frameworks/batch/shell/progress.h"
#include "frameworks/batch/shell/signals.h"

namespace proffer::batch {
namespace {

using Stages = std::vector<proto::BatchJob>;

constexpr Duration kLookEvery = seconds(1);

std::string state_of(const proto::BatchJob& stage) {
  if (stage.phase == proto::BatchPhase::kWaiting) return stage.note;
  const bool has_progress =
      stage.phase == proto::BatchPhase::kMap || stage.phase == proto::BatchPhase::kReduce;
  return has_progress ? progress_line(stage) : "";
}

std::string row_of(const proto::BatchJob& stage) {
  std::string line = fmt::format("{:<20} {:<28} {:<10} {}", stage.stage, stage.job,
                                 phase_text(stage), state_of(stage));
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// The first stage that ended in this phase.
const proto::BatchJob* first_in(const Stages& stages, proto::BatchPhase phase) {
  const auto found = std::find_if(stages.begin(), stages.end(),
                                  [&](const proto::BatchJob& one) { return one.phase == phase; });
  return found == stages.end() ? nullptr : &*found;
}

class Watch {
 public:
  Watch(const std::string& pipeline, const CommandOptions& options, bool is_silent)
      : pipeline_(pipeline), options_(options), is_silent_(is_silent) {}

  int run() {
    for (;;) {
      if (const int signal = take_signal(); signal != 0) {
        if (const std::optional<int> code = on_signal(signal)) return *code;
      }
      const Result<Stages> stages = ask_for_list(options_, true, pipeline_);
      if (!stages) {
        if (!is_away(stages.error())) return print_error(stages.error(), options_.json);
        note(text("note: ", stages.error().message(), "; the pipeline continues"));
        wait_a_moment();
        continue;
      }
      show(*stages);
      if (const auto phase = end_of_pipeline(*stages)) return tell_end(*stages, *phase);
      wait_for_news(*stages);
    }
  }

 private:
  // Waits until a stage that has not ended is in another phase, or for a while.
  void wait_for_news(const Stages& stages) {
    const auto going_on =
        std::find_if(stages.begin(), stages.end(), [](const proto::BatchJob& one) {
          return !proto::has_ended(one.phase) && one.phase != proto::BatchPhase::kWaiting;
        });
    if (going_on == stages.end()) return wait_a_moment();
    const Result<proto::BatchJob> news =
        ask_for_job(options_, {.verb = "status",
                               .job = going_on->job,
                               .phase = std::string(to_text(going_on->phase)),
                               .wait = kLookEvery});
    if (!news) wait_a_moment();
  }

  void show(const Stages& stages) {
    if (is_silent_) return;
    for (const proto::BatchJob& stage : stages) {
      std::string line = options_.json ? proto::batch_job_json(stage) : row_of(stage);
      std::string& told = told_[stage.job];
      if (line == told) continue;
      if (options_.json) {
        print_json(line);
      } else {
        print_line(line);
      }
      told = std::move(line);
    }
  }

  int tell_end(const Stages& stages, proto::BatchPhase phase) {
    if (phase == proto::BatchPhase::kFinished) {
      note(text(pipeline_, " has finished"));
      return signalled_ != 0 ? kSignalCode + signalled_ : 0;
    }
    const proto::BatchJob& stage = *first_in(stages, phase);
    const int code = print_error(
        Error::failed_precondition(text("stage ", stage.stage, " of ", pipeline_, ": ",
                                        stage.error.empty() ? to_text(phase) : stage.error))
            .with_hint(stage.hint.empty()
                           ? text("run the missing parts with: proffer batch retry ", pipeline_)
                           : stage.hint),
        options_.json);
    return signalled_ != 0 ? kSignalCode + signalled_ : code;
  }

  void note(const std::string& line) const {
    if (!is_silent_ && !options_.json) print_line(line);
  }

  std::optional<int> on_signal(int signal) {
    if (signalled_ != 0 || signal == SIGHUP) return kSignalCode + signal;
    signalled_ = signal;
    note(text("interrupted: cancelling ", pipeline_));
    cancel_pipeline(pipeline_, options_);
    return std::nullopt;
  }

  const std::string pipeline_;
  const CommandOptions& options_;
  const bool is_silent_;
  std::map<std::string, std::string> told_;
  int signalled_ = 0;
};

// Calls it for each stage; returns the exit code of the first error.
template <class F>
int for_stages(const std::string& pipeline, const CommandOptions& options, const F& each) {
  const Result<Stages> stages = ask_for_list(options, true, pipeline);
  if (!stages) return print_answer(stages.error(), options.json);
  return each(*stages);
}

// Sorts each stage after those that it waits for.
Stages in_order_of_waiting(Stages stages) {
  Stages ordered;
  while (!stages.empty()) {
    const auto waits = [&](const proto::BatchJob& one) {
      return std::any_of(one.after.begin(), one.after.end(), [&](const proto::BatchDependency& on) {
        return std::any_of(stages.begin(), stages.end(),
                           [&](const proto::BatchJob& other) { return other.job == on.job; });
      });
    };
    auto next = std::find_if_not(stages.begin(), stages.end(), waits);
    if (next == stages.end()) next = stages.begin();  // never happens, since they are no cycle
    ordered.push_back(std::move(*next));
    stages.erase(next);
  }
  return ordered;
}

int ask_each(const Stages& stages, const std::string& verb, const CommandOptions& options) {
  int code = 0;
  for (const proto::BatchJob& stage : stages) {
    const Result<proto::BatchJob> job = ask_for_job(options, {.verb = verb, .job = stage.job});
    if (!job) {
      code = print_answer(Error(job.error()).in(text("stage ", stage.stage)), options.json);
    } else if (options.json) {
      print_json(proto::batch_job_json(*job));
    } else {
      print_line(text(stage.stage, " (", stage.job, "): ", to_text(job->phase)));
    }
  }
  return code;
}

}  // namespace

std::optional<proto::BatchPhase> end_of_pipeline(const Stages& stages) {
  for (const proto::BatchJob& stage : stages) {
    if (!proto::has_ended(stage.phase)) return std::nullopt;
  }
  for (const proto::BatchPhase phase :
       {proto::BatchPhase::kFailed, proto::BatchPhase::kCancelled}) {
    if (first_in(stages, phase) != nullptr) return phase;
  }
  return proto::BatchPhase::kFinished;
}

Result<bool> is_pipeline(const std::string& name, const Error& no_job,
                         const CommandOptions& options, Duration patience) {
  if (no_job.code() != ErrorCode::kNotFound) return false;
  const Result<Stages> stages = ask_for_list(options, true, name, patience);
  if (!stages) return stages.error();
  return !stages->empty();
}

int show_pipeline(const std::string& pipeline, const CommandOptions& options) {
  return for_stages(pipeline, options, [&](const Stages& stages) {
    if (stages.empty()) {
      return print_error(Error::not_found(text("there is no pipeline ", quoted(pipeline)))
                             .with_hint("list all jobs with proffer batch list --all, and the "
                                        "pipeline of a stage with proffer batch status JOB"),
                         options.json);
    }
    if (options.json) {
      print_json(proto::batch_page_json({.jobs = stages}));
      return 0;
    }
    print_line(fmt::format("{:<20} {:<28} {:<10} {}", "STAGE", "JOB", "PHASE", "PROGRESS"));
    for (const proto::BatchJob& stage : stages) {
      print_line(row_of(stage));
      if (proto::has_ended(stage.phase) && !stage.error.empty()) {
        print_lines(text("  ", indented(stage.error, 2)));
      }
    }
    return 0;
  });
}

int watch_pipeline(const std::string& pipeline, const CommandOptions& options, bool is_silent) {
  return Watch(pipeline, options, is_silent).run();
}

int run_pipeline(const std::string& pipeline, const CommandOptions& options) {
  if (!options.json) print_line(text("submitted ", pipeline));
  return Watch(pipeline, options, false).run();
}

// Waiting stages first, so that none of them begins meanwhile.
int cancel_pipeline(const std::string& pipeline, const CommandOptions& options) {
  return for_stages(pipeline, options, [&](Stages stages) {
    std::erase_if(stages, [](const proto::BatchJob& one) { return proto::has_ended(one.phase); });
    std::stable_partition(stages.begin(), stages.end(), [](const proto::BatchJob& one) {
      return one.phase == proto::BatchPhase::kWaiting;
    });
    if (stages.empty() && !options.json) print_line(text(pipeline, " has already ended"));
    return ask_each(stages, "cancel", options);
  });
}

// Stages that others wait for go first: an array that follows another one would otherwise find it
// failed.
int retry_pipeline(const std::string& pipeline, const CommandOptions& options) {
  return for_stages(pipeline, options, [&](Stages stages) {
    std::erase_if(stages, [](const proto::BatchJob& one) {
      return one.phase != proto::BatchPhase::kFailed && one.phase != proto::BatchPhase::kCancelled;
    });
    if (!stages.empty()) {
      return ask_each(in_order_of_waiting(std::move(stages)), "retry", options);
    }
    return print_error(
        Error::failed_precondition(text("no stage of ", pipeline, " has failed or was cancelled")),
        options.json);
  });
}

}  // namespace proffer::batch
