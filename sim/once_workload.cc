// A life begins without state, waits until all tasks are known, lists the remembered commands, and
// launches the rest. A refused launch never began and is wanted again; after any other end of a
// task, its command is not run again.

#include "sim/once_workload.h"

#include "common/text.h"

namespace proffer::sim {
namespace {

constexpr std::string_view kPrefix = "tasks/";
const AskName kAsk("once");

}  // namespace

OnceWorkload::OnceWorkload(OnceWorkloadOptions options) : options_(std::move(options)) {
  Prng chance(options_.seed);
  const int64_t mem = chance.between(1, 16) * 64'000;
  shape_ = ResourceVector::of(chance.between(1, 8) * 250, mem);
  for (size_t i = 0; i < options_.tasks; ++i) {
    SimTask task{.runs = milliseconds(chance.between(10, options_.runs_max.millis()))};
    if (chance.chance(1, 10)) task.exit_code = 1;
    commands_.emplace(TaskId(text("once-", i)), task);
  }
}

sdk::DriverOptions OnceWorkload::options() const {
  sdk::DriverOptions options;
  options.name = options_.name;
  options.role = options_.role;
  options.remembers_tasks = true;
  return options;
}

void OnceWorkload::begin(Time) {
  is_listed_ = false;
  live_.clear();
  begun_.clear();
}

void OnceWorkload::hear(const sdk::Notification& notification, Time, Commands& out) {
  if (std::holds_alternative<sdk::AllTasksKnown>(notification)) {
    if (is_listed_) {
      declare(out);
    } else {
      list({}, out);
    }
  } else if (const auto* result = std::get_if<proto::StoreResult>(&notification)) {
    on_entries(*result, out);
  } else if (const auto* offers = std::get_if<proto::Offers>(&notification)) {
    launch(*offers, out);
  } else if (const auto* status = std::get_if<proto::TaskStatus>(&notification)) {
    if (status->state == proto::TaskState::kRefused) {
      begun_.erase(status->task);
      live_.erase(status->task);
      if (is_listed_) declare(out);
    } else {
      begun_.insert(status->task);
      if (proto::is_terminal(status->state)) {
        live_.erase(status->task);
      } else {
        live_.insert(status->task);
      }
    }
  }
}

void OnceWorkload::list(const std::string& after, Commands& out) {
  out.push_back(proto::StoreRequest{.id = ++requests_,
                                    .operations = {{.kind = proto::StoreOperation::Kind::kList,
                                                    .key = std::string(kPrefix),
                                                    .after = after}}});
}

void OnceWorkload::on_entries(const proto::StoreResult& result, Commands& out) {
  if (result.id != requests_ || is_listed_) return;
  if (result.error) return list({}, out);
  const proto::StoreResult::Outcome& outcome = result.outcomes.at(0);
  for (const proto::StoreResult::Entry& entry : outcome.entries) {
    begun_.insert(TaskId(entry.key.substr(kPrefix.size())));
  }
  if (outcome.more) return list(outcome.entries.back().key, out);
  is_listed_ = true;
  declare(out);
}

void OnceWorkload::declare(Commands& out) {
  const auto wanted = static_cast<int64_t>(commands_.size() - begun_.size());
  proto::DeclareAsks asks;
  if (wanted > 0) asks.asks.push_back({.name = kAsk, .shape = shape_, .count = wanted});
  out.push_back(std::move(asks));
}

void OnceWorkload::launch(const proto::Offers& offers, Commands& out) {
  for (const Offer& offer : offers.offers) {
    proto::Launch launch{.agent = offer.agent};
    for (const AskFill& fill : offer.fills) {
      int64_t left = fill.count;
      for (const auto& [id, task] : commands_) {
        if (left == 0) break;
        if (!begun_.insert(id).second) continue;
        live_.insert(id);
        launch.tasks.push_back(
            {.id = id, .ask = fill.ask, .shape = shape_, .command = to_command(task)});
        --left;
      }
    }
    if (launch.tasks.empty()) {
      out.push_back(proto::Decline{{offer.id}, {.refuse_for = kDeclineFilter}});
    } else {
      out.push_back(proto::Accept{.offers = {offer.id}, .operations = {std::move(launch)}});
    }
  }
}

bool OnceWorkload::is_done() const {
  return is_listed_ && begun_.size() == commands_.size() && live_.empty();
}

std::string OnceWorkload::progress() const {
  return text(begun_.size(), " of ", commands_.size(), " commands begun, ", live_.size(),
              " not ended", is_listed_ ? "" : "; what is remembered is not listed yet");
}

}  // namespace proffer::sim
