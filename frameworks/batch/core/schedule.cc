#include "frameworks/batch/core/schedule.h"

#include <algorithm>
#include <array>
#include <limits>

#include "common/text.h"
#include "frameworks/batch/core/bytes.h"
#include "frameworks/batch/core/plan.h"

namespace proffer::batch {
namespace {

constexpr std::string_view kScheduleTag = "PCs1";
constexpr std::string_view kScheduleOrderTag = "PCo1";

constexpr std::array<std::string_view, kOverlapCount> kOverlaps = {"skip", "queue", "replace"};
constexpr std::array<std::string_view, kCatchUpCount> kCatchUps = {"none", "last", "all"};
constexpr std::array<std::string_view, kFiringResultCount> kResults = {"started", "skipped",
                                                                       "missed", "refused"};

template <class Enum, size_t N>
std::optional<Enum> parse(const std::array<std::string_view, N>& names, std::string_view text) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

bool is_zone_name(std::string_view name) {
  if (name.empty() || name.size() > kZoneBytesMax || name.front() == '/' ||
      name.find("..") != std::string_view::npos) {
    return false;
  }
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '+' || c == '/';
  });
}

// Fire times of one schedule.
class FireTimes {
 public:
  FireTimes(const Cron& cron, const Zone& zone) : cron_(cron), zone_(zone) {}

  // The first one in (after, end].
  std::optional<int64_t> first(int64_t after, int64_t end) const {
    const std::optional<int64_t> at = next_fire_time(cron_, zone_, after);
    return at && *at <= end ? at : std::nullopt;
  }
  // The last one in (after, end]; there must be one. Uses bisection, since there may be very many.
  int64_t last(int64_t after, int64_t end) const {
    return split(after, end, [&](int64_t time) { return first(time, end).has_value(); });
  }
  // The least time at or after `after` with at most `count` fire times in (time, end].
  int64_t before_last(size_t count, int64_t after, int64_t end) const {
    const auto has_more = [&](int64_t time) {
      std::optional<int64_t> at = time;
      for (size_t i = 0; at && i <= count; ++i) at = first(*at, end);
      return at.has_value();
    };
    return has_more(after) ? split(after, end, has_more) : after;
  }

 private:
  // The first time of (low, high] that is not `low_side`; `low_side` must hold for low and not for
  // high.
  template <class LowSide>
  static int64_t split(int64_t low, int64_t high, const LowSide& low_side) {
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      (low_side(middle) ? low : high) = middle;
    }
    return high;
  }

  const Cron& cron_;
  const Zone& zone_;
};

}  // namespace

std::string_view to_text(Overlap overlap) { return kOverlaps[static_cast<size_t>(overlap)]; }
std::optional<Overlap> parse_overlap(std::string_view text) {
  return parse<Overlap>(kOverlaps, text);
}
std::string_view to_text(CatchUp catch_up) { return kCatchUps[static_cast<size_t>(catch_up)]; }
std::optional<CatchUp> parse_catch_up(std::string_view text) {
  return parse<CatchUp>(kCatchUps, text);
}
std::string_view to_text(Firing::Result result) { return kResults[static_cast<size_t>(result)]; }

Result<void> check_schedule(const ScheduleOrder& order) {
  if (order.cron.size() > kCronBytesMax) {
    return Error::invalid_argument(text("the cron expression has ", order.cron.size(),
                                        " bytes; at most ", kCronBytesMax, " are allowed"));
  }
  if (Result<Cron> cron = parse_cron(order.cron); !cron) return std::move(cron).error();
  if (!is_zone_name(order.zone)) {
    return Error::invalid_argument(text("the time zone ", quoted(order.zone), " is invalid"))
        .with_hint("use a name of the time zone database: UTC, Europe/Berlin, America/New_York");
  }
  if (order.catch_up == CatchUp::kAll && order.overlap != Overlap::kQueue) {
    return Error::invalid_argument(
               text("catch_up: all starts jobs for all missed fire times, one after the ",
                    "other, and overlap: ", to_text(order.overlap), " would skip them"))
        .with_hint("set overlap to queue, or catch_up to last or none");
  }
  if (Result<void> ok = check_submission(order.stages); !ok) return ok;
  for (const StageOrder& stage : order.stages.stages) {
    for (const StageDependency& one : stage.after) {
      const auto is_stage = [&one](const StageOrder& other) { return other.stage == one.job; };
      if (std::any_of(order.stages.stages.begin(), order.stages.stages.end(), is_stage)) continue;
      return Error::invalid_argument(text("a job of a schedule cannot wait for ", quoted(one.job)))
          .with_hint("it may only wait for stages of its own pipeline");
    }
  }
  // There must be room for the suffix that each firing adds to names.
  if (Result<void> ok = check_submission(firing_of(order, 0)); !ok) {
    return std::move(ok).error().in("at its fire times");
  }
  return {};
}

std::string schedule_name(const ScheduleOrder& order) {
  return order.stages.pipeline.empty() ? order.stages.stages.front().order.name
                                       : order.stages.pipeline;
}

std::string firing_name(int64_t at) {
  std::string name = utc_text(at);
  std::erase(name, '-');
  std::erase(name, ':');
  return name;
}

Submission firing_of(const ScheduleOrder& order, int64_t at) {
  Submission firing = order.stages;
  const std::string name = firing_name(at);
  for (StageOrder& stage : firing.stages) {
    stage.order.output += text("/", name);
    stage.order.plan += text("-", name);
    stage.order.env["PROFFER_FIRE_TIME"] = utc_text(at);
  }
  return firing;
}

std::string model_directory(std::string_view output, std::string_view plan) {
  return text(output, "/.schedule-", plan);
}

std::string model_of(const JobOrder& fired) {
  const std::string output = fired.output.substr(0, fired.output.rfind('/'));
  const std::string plan = fired.plan.substr(0, fired.plan.rfind('-'));
  return plan_directory(model_directory(output, plan), plan);
}

void add_firing(ScheduleRecord& record, Firing firing) {
  record.log.push_back(std::move(firing));
  if (record.log.size() > kFiringsKept) record.log.erase(record.log.begin());
}

namespace {

// Passed fire times: those in (decided_until, taken_from] were missed, the others must be started.
struct Passed {
  int64_t first = 0;
  int64_t last = 0;
  int64_t taken_from = 0;
};
std::optional<Passed> passed(const ScheduleRecord& record, const FireTimes& times, int64_t now) {
  const std::optional<int64_t> first = times.first(record.decided_until, now);
  if (!first) return std::nullopt;
  const int64_t last = times.last(record.decided_until, now);
  const bool is_late = now - last > kFiringLateMax.nanos() / seconds(1).nanos();
  int64_t taken_from = last - 1;
  if (record.is_paused || (is_late && record.order.catch_up == CatchUp::kNone)) {
    taken_from = last;
  } else if (record.order.catch_up == CatchUp::kAll) {
    taken_from = times.before_last(kFiringsWaiting, record.decided_until, last);
  }
  return Passed{.first = *first, .last = last, .taken_from = taken_from};
}

// Decides what to do at a fire time that was not missed. `step.record` is changed.
void take(ScheduleStep& step, int64_t at, bool is_running) {
  ScheduleRecord& record = step.record;
  const auto skip = [&record](int64_t time) {
    add_firing(record, {.at = time, .last = time, .result = Firing::Result::kSkipped});
  };
  const bool overlaps = is_running || !record.waiting.empty();
  switch (record.order.overlap) {
    case Overlap::kSkip:
      if (overlaps) return skip(at);
      break;
    case Overlap::kQueue:
      if (record.waiting.size() < kFiringsWaiting) break;
      skip(record.waiting.front());
      record.waiting.erase(record.waiting.begin());
      break;
    case Overlap::kReplace:
      for (const int64_t replaced : record.waiting) skip(replaced);
      record.waiting.clear();
      step.cancel_running = is_running;
      break;
  }
  record.waiting.push_back(at);
}

}  // namespace

std::optional<ScheduleStep> decide(const ScheduleRecord& record, const Cron& cron, const Zone& zone,
                                   bool is_running, int64_t now) {
  const FireTimes times(cron, zone);
  ScheduleStep step{.record = record};
  ScheduleRecord& next = step.record;
  const std::optional<Passed> now_passed = passed(record, times, now);
  if (now_passed) {
    const auto& [first, last, taken_from] = *now_passed;
    if (first <= taken_from) {
      add_firing(next, {.at = first,
                        .last = times.last(record.decided_until, taken_from),
                        .result = Firing::Result::kMissed});
    }
    for (std::optional<int64_t> at = times.first(std::max(taken_from, record.decided_until), last);
         at; at = times.first(*at, last)) {
      take(step, *at, is_running);
    }
    next.decided_until = last;
  }
  if (!is_running && !next.is_paused && !next.waiting.empty()) {
    step.start = next.waiting.front();
    next.waiting.erase(next.waiting.begin());
  }
  if (!now_passed && !step.start) return std::nullopt;
  return step;
}

// --- bytes -------------------------------------------------------------------------------------

namespace {

constexpr int64_t kUnixMax = int64_t{1} << 40;

void write(ByteWriter& out, const ScheduleOrder& order) {
  out.bytes(encode_submission(order.stages));
  out.bytes(order.cron);
  out.bytes(order.zone);
  out.number(static_cast<uint64_t>(order.overlap));
  out.number(static_cast<uint64_t>(order.catch_up));
}

// Errors: kCorruption; those of check_schedule.
Result<ScheduleOrder> read_schedule_order(ByteReader& in) {
  ScheduleOrder order;
  const std::string_view stages = in.bytes(kSubmissionBytesMax);
  order.cron = in.bytes(kCronBytesMax);
  order.zone = in.bytes(kZoneBytesMax);
  order.overlap = static_cast<Overlap>(in.number(kOverlapCount - 1));
  order.catch_up = static_cast<CatchUp>(in.number(kCatchUpCount - 1));
  if (!in.ok()) return corrupt("a schedule");
  Result<Submission> decoded = decode_submission(stages);
  if (!decoded) return std::move(decoded).error();
  order.stages = *std::move(decoded);
  if (Result<void> ok = check_schedule(order); !ok) return std::move(ok).error();
  return order;
}

}  // namespace

std::string schedule_key(const std::string& name) { return text(kSchedulesPrefix, name); }

std::string encode(const ScheduleRecord& record) {
  ByteWriter out(kScheduleTag);
  write(out, record.order);
  out.bytes(record.owner);
  out.number(record.number);
  out.signed_number(record.submitted_at.nanos());
  out.number(record.is_paused ? 1 : 0);
  out.signed_number(record.decided_until);
  out.number(record.waiting.size());
  for (const int64_t at : record.waiting) out.signed_number(at);
  out.bytes(record.job.str());
  out.number(record.log.size());
  for (const Firing& firing : record.log) {
    out.signed_number(firing.at);
    out.signed_number(firing.last - firing.at);
    out.number(static_cast<uint64_t>(firing.result));
    out.bytes(firing.job.str());
  }
  return std::move(out).take();
}

Result<ScheduleRecord> decode_schedule(std::string_view bytes) {
  ByteReader in(bytes, kScheduleTag);
  ScheduleRecord record;
  Result<ScheduleOrder> order = read_schedule_order(in);
  if (!order) return corrupt("a schedule");
  record.order = *std::move(order);
  record.owner = in.bytes(kNameBytesMax);
  record.number = in.number(std::numeric_limits<uint64_t>::max());
  record.submitted_at = Time::from_nanos(in.amount(std::numeric_limits<int64_t>::max()));
  record.is_paused = in.number(1) == 1;
  record.decided_until = in.amount(kUnixMax);
  const size_t waiting = in.count(kFiringsWaiting);
  for (size_t i = 0; in.ok() && i < waiting; ++i) {
    record.waiting.push_back(in.amount(kUnixMax));
    if (i > 0 && record.waiting[i] <= record.waiting[i - 1]) in.fail();
  }
  record.job = JobId(std::string(in.bytes(2 * kNameBytesMax)));
  const size_t log = in.count(kFiringsKept);
  for (size_t i = 0; in.ok() && i < log; ++i) {
    Firing firing;
    firing.at = in.amount(kUnixMax);
    firing.last = firing.at + in.amount(kUnixMax);
    firing.result = static_cast<Firing::Result>(in.number(kFiringResultCount - 1));
    firing.job = JobId(std::string(in.bytes(2 * kNameBytesMax)));
    record.log.push_back(std::move(firing));
  }
  if (!in.ended_well()) return corrupt("a schedule");
  return record;
}

std::string encode_schedule_order(const ScheduleOrder& order) {
  ByteWriter out(kScheduleOrderTag);
  write(out, order);
  return std::move(out).take();
}

bool is_schedule_order(std::string_view bytes) { return bytes.starts_with(kScheduleOrderTag); }

Result<ScheduleOrder> decode_schedule_order(std::string_view bytes) {
  ByteReader in(bytes, kScheduleOrderTag);
  Result<ScheduleOrder> order = read_schedule_order(in);
  if (order && !in.ended_well()) return corrupt("a schedule");
  return order;
}

}  // namespace proffer::batch
