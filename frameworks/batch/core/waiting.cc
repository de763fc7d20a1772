#include "frameworks/batch/core/waiting.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "common/text.h"
#include "frameworks/batch/core/bytes.h"

namespace proffer::batch {
namespace {

constexpr std::string_view kWaitingTag = "PBu1";
constexpr std::string_view kSubmissionTag = "PBi1";
constexpr std::array<std::string_view, 4> kConditions = {"finished", "failed", "ended", "each"};
constexpr std::array<std::string_view, 3> kFates = {"open", "met", "never"};
// as in "etl-clean-8 to finish"
constexpr std::array<std::string_view, 4> kHow = {"to finish", "to fail", "to end", "to begin"};

Result<void> check_part(std::string_view what, const std::string& name, size_t bytes_max) {
  if (Result<void> ok = check_name(what, name); !ok) return ok;
  if (name.size() <= bytes_max && name.find('.') == std::string::npos) return {};
  return Error::invalid_argument(text(what, " ", quoted(name), " must have at most ", bytes_max,
                                      " bytes and no dot, because it is part of ids"));
}

// A cycle of stages that wait for each other, as "a, b"; empty if there is none. Repeatedly removes
// stages that wait for none of the rest.
std::string circle(const Submission& submission) {
  std::map<std::string_view, std::set<std::string_view>> left;
  for (const StageOrder& stage : submission.stages) left[stage.stage];
  for (const StageOrder& stage : submission.stages) {
    for (const StageDependency& one : stage.after) {
      if (left.contains(one.job)) left[stage.stage].insert(one.job);
    }
  }
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (auto at = left.begin(); at != left.end();) {
      if (!at->second.empty()) {
        ++at;
        continue;
      }
      for (auto& [stage, waits] : left) waits.erase(at->first);
      at = left.erase(at);
      goes_on = true;
    }
  }
  std::string names;
  for (const auto& [stage, waits] : left) names += text(names.empty() ? "" : ", ", stage);
  return names;
}

Result<void> check_each_of(const Submission& submission, const StageOrder& stage) {
  size_t count = 0;
  for (const StageDependency& one : stage.after) {
    if (one.on != Condition::kEach) continue;
    if (++count > 1 || stage.takes_any) {
      return Error::invalid_argument(
                 "elements can wait for the elements of one array only, and not with when: any")
          .with_hint("put an array in between");
    }
    if (!stage.order.array || stage.order.array->is_gang) {
      return Error::invalid_argument(text("only an array can wait by element, and this is ",
                                          stage.order.array ? "a gang" : "no array", ": ",
                                          quoted(one.job)))
          .with_hint("to wait until all of the other job has finished, use after");
    }
    for (const StageOrder& other : submission.stages) {
      if (submission.pipeline.empty() || other.stage != one.job) continue;
      if (Result<void> ok = check_each(stage.order, one.job, other.order); !ok) return ok;
    }
  }
  return {};
}

Condition read_condition(ByteReader& in) {
  return static_cast<Condition>(in.number(kConditions.size() - 1));
}

}  // namespace

std::string_view to_text(Condition condition) {
  return kConditions[static_cast<size_t>(condition)];
}
std::string_view to_text(Fate fate) { return kFates[static_cast<size_t>(fate)]; }

Fate fate_of(Condition condition, proto::BatchPhase ended) {
  const bool is_met =
      condition == Condition::kEnded ||
      (condition == Condition::kEach && ended != proto::BatchPhase::kSkipped) ||
      (condition == Condition::kFinished && ended == proto::BatchPhase::kFinished) ||
      (condition == Condition::kFailed &&
       (ended == proto::BatchPhase::kFailed || ended == proto::BatchPhase::kCancelled));
  return is_met ? Fate::kMet : Fate::kNever;
}

Fate verdict(const Waiting& waiting) {
  if (waiting.after.empty()) return Fate::kMet;
  const auto has = [&](Fate fate) {
    return std::any_of(waiting.after.begin(), waiting.after.end(),
                       [&](const Dependency& one) { return one.fate == fate; });
  };
  const Fate decides = waiting.takes_any ? Fate::kMet : Fate::kNever;
  if (has(decides)) return decides;
  if (has(Fate::kOpen)) return Fate::kOpen;
  return waiting.takes_any ? Fate::kNever : Fate::kMet;
}

std::string waits_for(const Waiting& waiting, Fate fate) {
  std::string words;
  size_t others = 0;
  for (const Dependency& one : waiting.after) {
    if (one.fate != fate) continue;
    if (words.empty()) {
      words = text(one.job.str(), " ", kHow[static_cast<size_t>(one.on)]);
    } else {
      ++others;
    }
  }
  if (others > 0) {
    words += text(waiting.takes_any && fate == Fate::kOpen ? ", or for one of " : ", and for ",
                  others, " other", others > 1 ? "s" : "");
  }
  return words;
}

std::string encode(const Waiting& waiting) {
  ByteWriter out(kWaitingTag);
  out.bytes(waiting.pipeline);
  out.bytes(waiting.stage);
  out.number(waiting.after.size());
  for (const Dependency& one : waiting.after) {
    out.bytes(one.job.str());
    out.number(static_cast<uint64_t>(one.on));
    out.number(static_cast<uint64_t>(one.fate));
  }
  out.number((waiting.takes_any ? 1 : 0) | (waiting.is_planned ? 2 : 0));
  out.bytes(waiting.schedule);
  out.bytes(waiting.model);
  return std::move(out).take();
}

Result<Waiting> decode_waiting(std::string_view bytes) {
  ByteReader in(bytes, kWaitingTag);
  Waiting waiting;
  waiting.pipeline = in.bytes(kNameBytesMax);
  waiting.stage = in.bytes(kNameBytesMax);
  const size_t count = in.count(kDependenciesMax);
  for (size_t i = 0; in.ok() && i < count; ++i) {
    Dependency one;
    one.job = JobId(std::string(in.bytes(kNameBytesMax)));
    one.on = read_condition(in);
    one.fate = static_cast<Fate>(in.number(kFates.size() - 1));
    waiting.after.push_back(std::move(one));
  }
  const uint64_t flags = in.number(3);
  waiting.takes_any = (flags & 1) != 0;
  waiting.is_planned = (flags & 2) != 0;
  waiting.schedule = in.bytes(kNameBytesMax);
  waiting.model = in.bytes(kPathBytesMax);
  if (!in.ended_well()) return corrupt("the dependencies of a job");
  return waiting;
}

// --- submissions -------------------------------------------------------------------------------

Result<void> check_stages(const Submission& submission) {
  const bool is_pipeline = !submission.pipeline.empty();
  if (is_pipeline) {
    if (Result<void> ok = check_part("pipeline", submission.pipeline, kPipelineNameBytesMax); !ok) {
      return ok;
    }
  }
  if (submission.stages.empty() || submission.stages.size() > kStagesMax ||
      (!is_pipeline && submission.stages.size() > 1)) {
    return Error::invalid_argument(
        text("a pipeline has from 1 to ", kStagesMax, " stages, not ", submission.stages.size()));
  }
  std::set<std::string_view> names;
  for (const StageOrder& stage : submission.stages) {
    if (is_pipeline) {
      if (Result<void> ok = check_part("stage", stage.stage, kStageNameBytesMax); !ok) return ok;
    }
    if (!names.insert(stage.stage).second || (!is_pipeline && !stage.stage.empty())) {
      return Error::invalid_argument(text("stage ", quoted(stage.stage), " is given twice"));
    }
    if (stage.after.size() > kDependenciesMax) {
      return Error::invalid_argument(text("stage ", quoted(stage.stage), " waits for ",
                                          stage.after.size(), " jobs; at most ", kDependenciesMax,
                                          " are allowed"))
          .with_hint("put a stage in between");
    }
    std::set<std::string_view> known;
    for (const StageDependency& one : stage.after) {
      if (one.job.empty() || one.job.size() > 2 * kNameBytesMax) {
        return Error::invalid_argument(
            text("a job waits for ", quoted(one.job), ", which is not a job id"));
      }
      if (!known.insert(one.job).second) {
        return Error::invalid_argument(
            text("stage ", quoted(stage.stage), " waits for ", quoted(one.job), " twice"));
      }
    }
  }
  if (const std::string names_of = circle(submission); !names_of.empty()) {
    return Error::invalid_argument(text("stages wait for each other in a circle: ", names_of))
        .with_hint("remove one of these dependencies");
  }
  return {};
}

Error other_size(uint32_t size, const std::string& other_name, int64_t other) {
  return Error::invalid_argument(text("it has ", size, " elements, and ", other_name,
                                      ", whose elements they wait for, has ", other))
      .with_hint("both need the same number of elements");
}

Result<void> check_each(const JobOrder& order, const std::string& other_name,
                        const JobOrder& other) {
  if (!other.array || other.array->is_gang) {
    return Error::failed_precondition(text(other_name, " is ", other.array ? "a gang" : "no array",
                                           ": it has no elements to wait for"))
        .with_hint("to wait until all of it has finished, use after");
  }
  const bool is_known = !order.awaits_plan() && !other.awaits_plan();
  if (!is_known || order.array->size() == other.array->size()) return {};
  return other_size(order.array->size(), other_name, other.array->size());
}

Result<void> check_submission(const Submission& submission) {
  if (Result<void> ok = check_stages(submission); !ok) return ok;
  std::set<std::string_view> plans;
  std::set<std::string_view> outputs;
  for (const StageOrder& stage : submission.stages) {
    if (Result<void> ok = check_order(stage.order); !ok) {
      return submission.pipeline.empty()
                 ? std::move(ok).error()
                 : std::move(ok).error().in(text("stage ", quoted(stage.stage)));
    }
    if (Result<void> ok = check_each_of(submission, stage); !ok) {
      return submission.pipeline.empty()
                 ? std::move(ok).error()
                 : std::move(ok).error().in(text("stage ", quoted(stage.stage)));
    }
    if (!plans.insert(stage.order.plan).second || !outputs.insert(stage.order.output).second) {
      return Error::invalid_argument(
                 text("two stages have the same output or plan: ", quoted(stage.order.output)))
          .with_hint("give each stage its own output");
    }
  }
  const size_t bytes = encode_submission(submission).size();
  if (bytes > kSubmissionBytesMax) {
    return Error::invalid_argument(text("the description of the pipeline has ", bytes,
                                        " bytes; at most ", kSubmissionBytesMax, " are allowed"))
        .with_hint("shorten its commands, or put them into scripts");
  }
  return {};
}

std::string encode_submission(const Submission& submission) {
  ByteWriter out(kSubmissionTag);
  out.bytes(submission.pipeline);
  out.number(submission.stages.size());
  for (const StageOrder& stage : submission.stages) {
    out.bytes(stage.stage);
    out.bytes(encode_order(stage.order));
    out.number(stage.after.size());
    for (const StageDependency& one : stage.after) {
      out.bytes(one.job);
      out.number(static_cast<uint64_t>(one.on));
    }
    out.number(stage.takes_any ? 1 : 0);
  }
  return std::move(out).take();
}

bool is_submission(std::string_view bytes) { return bytes.starts_with(kSubmissionTag); }

Result<Submission> decode_submission(std::string_view bytes) {
  ByteReader in(bytes, kSubmissionTag);
  Submission submission;
  submission.pipeline = in.bytes(kNameBytesMax);
  const size_t stages = in.count(kStagesMax);
  for (size_t i = 0; in.ok() && i < stages; ++i) {
    StageOrder stage;
    stage.stage = in.bytes(kNameBytesMax);
    Result<JobOrder> order = decode_order(in.bytes(kOrderBytesMax));
    if (in.ok() && !order && order.error().code() != ErrorCode::kCorruption) {
      return std::move(order).error();
    }
    if (order) {
      stage.order = *std::move(order);
    } else {
      in.fail();
    }
    const size_t after = in.count(kDependenciesMax);
    for (size_t one = 0; in.ok() && one < after; ++one) {
      StageDependency dependency;
      dependency.job = in.bytes(2 * kNameBytesMax);
      dependency.on = read_condition(in);
      stage.after.push_back(std::move(dependency));
    }
    stage.takes_any = in.number(1) == 1;
    submission.stages.push_back(std::move(stage));
  }
  if (!in.ended_well()) return corrupt("a submission");
  if (Result<void> ok = check_submission(submission); !ok) return std::move(ok).error();
  return submission;
}

}  // namespace proffer::batch
