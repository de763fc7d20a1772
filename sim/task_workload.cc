// An author who wants some tasks to run. Read on_offers, then on_update.

#include "sim/task_workload.h"

#include <algorithm>

#include "common/text.h"

namespace proffer::sim {
namespace {

constexpr int kAttemptsMax = 1'000;
constexpr Duration kLastMoment = microseconds(1);

}  // namespace

TaskWorkload::TaskWorkload(TaskWorkloadOptions options)
    : options_(std::move(options)), chance_(options_.seed) {
  const auto percent = [this](uint32_t rate) { return chance_.chance(rate, 100); };
  const size_t shapes = 1 + chance_.below(3);
  for (size_t i = 0; i < shapes; ++i) {
    const int64_t mem = chance_.between(1, 16) * 64'000;
    const int64_t cpus = chance_.between(1, 8) * 250;
    shapes_.push_back({ResourceVector::of(cpus, mem), percent(options_.ports) ? 1 : 0});
  }
  waiting_.resize(shapes);
  for (size_t i = 0; i < options_.tasks; ++i) {
    Item item{.shape = chance_.below(shapes)};
    item.task.runs = milliseconds(chance_.between(10, options_.runs_max.millis()));
    if (percent(options_.fails)) {
      if (chance_.chance(1, 2)) {
        item.task.exit_code = static_cast<int32_t>(chance_.between(1, 255));
      } else {
        item.task.signal = 11;
      }
    }
    if (percent(options_.kills)) {
      item.kill_after = milliseconds(chance_.between(0, options_.runs_max.millis()));
      item.task.stubborn = chance_.chance(1, 3);
      if (chance_.chance(1, 4)) item.task.runs = hours(100);  // until killed
    }
    if (options_.endless > 0 && percent(options_.endless)) {
      item.task.runs = hours(100);
      item.kill_after.reset();
    }
    if (options_.stays > 0 && percent(options_.stays)) {
      item.task.runs = hours(100);
      item.kill_after = milliseconds(chance_.between(20'000, 120'000));
    }
    item.shared = percent(options_.shares);
    items_.push_back(item);
    const Time arrives = Time() + nanoseconds(chance_.between(0, options_.arrive_within.nanos()));
    arrivals_.insert({chance_.chance(1, 3) ? Time() : arrives, i});
  }
}

sdk::DriverOptions TaskWorkload::options() const {
  sdk::DriverOptions options;
  options.name = options_.name;
  options.role = options_.role;
  options.mode = options_.mode;
  options.failover_timeout = options_.failover_timeout;
  return options;
}

void TaskWorkload::begin(Time) {
  late_.clear();
  leaves_.clear();
  new_life_ = true;
  stale_ = true;
  torn_down_ = false;  // sent again, in case it was lost
}

void TaskWorkload::hear(const sdk::Notification& notification, Time now, Commands& out) {
  if (torn_down_) return;
  if (std::holds_alternative<proto::Subscribed>(notification) && std::exchange(new_life_, false)) {
    // Tasks that the previous process launched, whose ends may be unknown.
    proto::Reconcile reconcile;
    for (const Item& item : items_) {
      if (item.state != State::kLaunched) continue;
      reconcile.tasks.push_back(item.current);
      // It is unknown whether that process could still send it.
      if (item.kill_said) out.push_back(proto::KillTask{.task = item.current});
    }
    if (!reconcile.tasks.empty()) out.push_back(std::move(reconcile));
  } else if (const auto* offers = std::get_if<proto::Offers>(&notification)) {
    on_offers(*offers, now, out);
  } else if (const auto* status = std::get_if<proto::TaskStatus>(&notification)) {
    on_update(*status);
  } else if (const auto* notice = std::get_if<proto::RevokeNotice>(&notification)) {
    on_notice(*notice, now);
  } else if (std::holds_alternative<sdk::Disconnected>(notification)) {
    late_.clear();  // void; and a new master may use their numbers again
  }
}

void TaskWorkload::on_offers(const proto::Offers& offers, Time now, Commands& out) {
  const bool together = chance_.chance(1, 3);  // one accept for offers of several agents
  proto::Accept accept;
  for (const Offer& offer : offers.offers) {
    if (chance_.chance(options_.holds, 100)) {
      if (chance_.chance(1, 2)) late_.emplace(now + offer.lease - kLastMoment, offer);
      continue;
    }
    if (chance_.chance(options_.declines, 100)) {
      out.push_back(proto::Decline{
          {offer.id}, {.refuse_for = milliseconds(chance_.between(0, kDeclineFilter.millis()))}});
      continue;
    }
    std::vector<proto::TaskSpec> tasks = use(offer, now);
    if (tasks.empty()) {
      Refusal refusal{.refuse_for = kDeclineFilter};
      if (options_.mode == OfferMode::kOpen && !together) {
        std::vector<ResourceKind> missing = missing_for_all(offer.total().amounts);
        if (!missing.empty()) refusal = {.too_little = std::move(missing)};
      }
      out.push_back(proto::Decline{{offer.id}, refusal});
      continue;
    }
    accept.offers.push_back(offer.id);
    accept.operations.push_back(proto::Launch{offer.agent, std::move(tasks)});
    if (!together) out.push_back(std::exchange(accept, {}));
  }
  if (!accept.offers.empty()) out.push_back(std::move(accept));
}

// One accept for two offers. The first may have expired on the way: then neither is valid.
void TaskWorkload::answer_late(Time now, Commands& out) {
  proto::Accept accept;
  const auto take = [&](std::multimap<Time, Offer>::iterator at) {
    const Offer offer = std::move(at->second);
    late_.erase(at);
    std::vector<proto::TaskSpec> tasks = use(offer, now);
    if (tasks.empty()) return;
    accept.offers.push_back(offer.id);
    accept.operations.push_back(proto::Launch{offer.agent, std::move(tasks)});
  };
  take(late_.begin());
  if (!late_.empty()) take(std::prev(late_.end()));
  if (!accept.offers.empty()) out.push_back(std::move(accept));
}

// The kinds in which the offer is too small for every waiting task. A decline for too little keeps
// the agent away, so its reason must hold for all of them. Empty if there is no such kind.
std::vector<ResourceKind> TaskWorkload::missing_for_all(const ResourceVector& offered) const {
  std::vector<ResourceKind> missing;
  size_t waiting = 0;
  for (size_t shape = 0; shape < shapes_.size(); ++shape) {
    if (waiting_[shape].empty()) continue;
    if (++waiting > 1) return {};
    for (const ResourceKind kind : kResourceKinds) {
      if (shapes_[shape].amounts[kind] > offered[kind]) missing.push_back(kind);
    }
  }
  return missing;
}

std::vector<proto::TaskSpec> TaskWorkload::use(const Offer& offer, Time now) {
  std::vector<proto::TaskSpec> tasks;
  if (options_.mode == OfferMode::kAsks) {
    for (const AskFill& fill : offer.fills) {
      for (size_t shape = 0; shape < shapes_.size(); ++shape) {
        if (ask_of(shape) != fill.ask) continue;
        for (int64_t i = 0; i < fill.count && !waiting_[shape].empty(); ++i) {
          tasks.push_back(launch(*waiting_[shape].begin(), now));
        }
      }
    }
    return tasks;
  }
  Resources free = offer.total();
  int64_t ports = offer.ports.size();
  const size_t most = 1 + chance_.below(8);
  for (size_t shape = 0; shape < shapes_.size(); ++shape) {
    while (!waiting_[shape].empty() && tasks.size() < most && fits(shapes_[shape].amounts, free) &&
           shapes_[shape].ports <= ports) {
      free -= carve(shapes_[shape].amounts, free);
      ports -= shapes_[shape].ports;
      tasks.push_back(launch(*waiting_[shape].begin(), now));
    }
  }
  return tasks;
}

proto::TaskSpec TaskWorkload::launch(size_t number, Time now) {
  Item& item = items_[number];
  waiting_[item.shape].erase(number);
  item.state = State::kLaunched;
  item.current = TaskId(text("t", number, "-", ++item.attempts));
  item.kill_said = false;
  by_id_[item.current] = number;
  if (item.kill_after) kills_.insert({now + *item.kill_after, number});

  proto::TaskSpec spec{.id = item.current, .shape = shapes_[item.shape].amounts};
  // some have none
  if (number % 4 != 0) spec.labels = {{"item", std::to_string(number)}, {"note", ""}};
  if (options_.mode == OfferMode::kAsks) spec.ask = ask_of(item.shape);
  spec.command = to_command(item.task);
  for (int64_t i = 0; i < shapes_[item.shape].ports; ++i) {
    spec.port_names.push_back(text("port", i));
  }
  if (item.shared) {
    spec.executor = "./shared";
    spec.executor_id = ExecutorId(text("shared-", number % 2));
  }
  return spec;
}

void TaskWorkload::on_update(const proto::TaskStatus& status) {
  const auto found = by_id_.find(status.task);
  if (found == by_id_.end() || !proto::is_terminal(status.state)) return;
  Item& item = items_[found->second];
  if (item.state != State::kLaunched || item.current != status.task) return;
  const bool by_itself = status.state == proto::TaskState::kFinished ||
                         status.reason == proto::TaskReason::kCommandExited ||
                         status.reason == proto::TaskReason::kCommandSignalled;
  if (by_itself || item.kill_said) {
    item.state = State::kDone;
    ++done_;
  } else {
    want(found->second);
  }
}

// It ends at some time before the deadline. It is wanted again, since only the notice ended it.
void TaskWorkload::on_notice(const proto::RevokeNotice& notice, Time now) {
  notices_ += static_cast<int64_t>(notice.tasks.size());
  if (!options_.heeds) return;
  for (const TaskId& task : notice.tasks) {
    if (!by_id_.contains(task)) continue;
    const Duration within = nanoseconds(chance_.between(0, notice.grace.nanos()));
    leaves_.insert({now + within, task});
  }
}

void TaskWorkload::want(size_t number) {
  Item& item = items_[number];
  item.state = State::kWaiting;
  waiting_[item.shape].insert(number);
  stale_ = true;
}

std::optional<Time> TaskWorkload::next_deadline() const {
  if (torn_down_) return std::nullopt;
  if (stale_) return Time();
  std::optional<Time> next = options_.teardown_at;
  for (const auto* due : {&arrivals_, &kills_}) {
    if (!due->empty() && (!next || due->begin()->first < *next)) next = due->begin()->first;
  }
  if (!late_.empty() && (!next || late_.begin()->first < *next)) next = late_.begin()->first;
  if (!leaves_.empty() && (!next || leaves_.begin()->first < *next)) next = leaves_.begin()->first;
  return next;
}

void TaskWorkload::tick(Time now, Commands& out) {
  if (options_.teardown_at && *options_.teardown_at <= now) {
    torn_down_ = true;
    out.push_back(proto::Teardown{});
    return;
  }
  while (!arrivals_.empty() && arrivals_.begin()->first <= now) {
    want(arrivals_.begin()->second);
    arrivals_.erase(arrivals_.begin());
  }
  while (!kills_.empty() && kills_.begin()->first <= now) {
    const size_t number = kills_.begin()->second;
    kills_.erase(kills_.begin());
    Item& item = items_[number];
    if (item.state != State::kLaunched) continue;
    item.kill_said = true;
    proto::KillTask kill{.task = item.current};
    if (chance_.chance(1, 2)) kill.grace = milliseconds(chance_.between(0, 10'000));
    out.push_back(std::move(kill));
  }
  while (!leaves_.empty() && leaves_.begin()->first <= now) {
    const TaskId task = leaves_.begin()->second;
    leaves_.erase(leaves_.begin());
    const Item& item = items_[by_id_.at(task)];
    if (item.state != State::kLaunched || item.current != task) continue;
    out.push_back(proto::KillTask{.task = task});
  }
  while (!late_.empty() && late_.begin()->first <= now) answer_late(now, out);
  if (std::exchange(stale_, false)) {
    if (options_.mode == OfferMode::kAsks) {
      declare(out);
    } else {
      out.push_back(proto::Revive{});  // the filters did not take this work into account
    }
  }
}

AskName TaskWorkload::ask_of(size_t shape) const { return AskName(text("shape-", shape)); }

void TaskWorkload::declare(Commands& out) {
  proto::DeclareAsks declaration;
  for (size_t shape = 0; shape < shapes_.size(); ++shape) {
    if (waiting_[shape].empty()) continue;
    declaration.asks.push_back(Ask{.name = ask_of(shape),
                                   .shape = shapes_[shape].amounts,
                                   .count = static_cast<int64_t>(waiting_[shape].size()),
                                   .ports = shapes_[shape].ports,
                                   .band = options_.band,
                                   .borrow = options_.borrow});
  }
  out.push_back(std::move(declaration));
}

std::vector<Violation> TaskWorkload::violations() const {
  std::vector<Violation> found;
  for (const Item& item : items_) {
    if (item.attempts > kAttemptsMax) {
      found.push_back({text(item.current.str(), " is tried again for ever")});
    }
  }
  return found;
}

std::string TaskWorkload::progress() const {
  std::string lines = text(done_, " of ", items_.size(), " tasks ended");
  for (const Item& item : items_) {
    if (item.state == State::kLaunched) lines += text(", ", item.current.str(), " launched");
    if (item.state == State::kWaiting) lines += text(", one waits as ", ask_of(item.shape).str());
  }
  return lines.substr(0, 400);
}

}  // namespace proffer::sim
