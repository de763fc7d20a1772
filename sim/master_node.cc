// The shell of the simulated master, like master/shell/master_shell.cc. Read step first.

#include "sim/master_node.h"

#include <utility>

#include "common/check.h"
#include "common/text.h"
#include "master/core/trace.h"
#include "proto/codec/records.h"
#include "sim/trace.h"

namespace proffer::sim {

MasterNode::MasterNode(World& world, Network& network, master::MasterOptions options)
    : Node(world, "master"),
      network_(network),
      options_(std::move(options)),
      party_(network.add_party()),
      place_(network.add_place(party_)),
      chance_(world.chance("master")) {}

MasterNode::MasterNode(World& world, Network& network, master::MasterOptions options,
                       Ensemble& ensemble, size_t which)
    : Node(world, text("master-", which)),
      network_(network),
      options_(std::move(options)),
      party_(network.add_party()),
      place_(network.add_place(party_)),
      chance_(world.chance(name())),
      disk_(ensemble.disk()),
      ensemble_(&ensemble) {}

void MasterNode::start() {
  if (is_up() || leadership_ != nullptr || !powered_) return;
  if (ensemble_ != nullptr) {
    leadership_ = std::make_unique<EnsembleLeadership>(
        world(), *ensemble_,
        [this](std::function<void()> what) { is_up() ? when_awake(std::move(what)) : what(); });
  } else {
    begin_life();
    if (trouble_ != Trouble::kNone) return fail("no epoch can be begun");
    auto store = std::make_unique<MemoryStore>(disk_);
    store_ = store.get();
    leadership_ = std::make_unique<ElectedAtOnce>(std::move(store));
  }
  leadership_->campaign({},
                        {.gained = [this](LeaderEpoch leader,
                                          std::vector<StoreRecord> rows) { gained(leader, rows); },
                         .lost = [this](const Error& why) { fail(why.message()); }});
}

void MasterNode::gained(LeaderEpoch leader, const std::vector<StoreRecord>& rows) {
  if (!is_up()) begin_life();
  master::MasterSnapshot snapshot;
  for (const StoreRecord& record : rows) {
    Result<proto::RegistryRow> row = proto::decode_row(record.table, record.key, *record.value);
    if (!row) return world().violated(name(), Violation{row.error().message()});
    snapshot.rows.push_back(*std::move(row));
  }
  options_.leader = leader;
  options_.cluster_if_new = ClusterId(std::string(32, 'c'));
  options_.started_at = now();
  given_up_.clear();
  core_ = std::make_unique<master::Master>(options_, snapshot);
  if (watcher_ != nullptr) watcher_->begins(options_, snapshot);
  flush_planned_ = false;
  note(MasterBegins{leader});
  network_.listen(place_, this);
  stepped();
}

void MasterNode::restore(const std::vector<proto::RegistryRow>& rows) {
  disk_->epoch = LeaderEpoch(1);
  for (const proto::RegistryRow& row : rows) {
    disk_->rows[{std::string(proto::table_of(row)), proto::key_of(row)}] = proto::encode_row(row);
  }
}

void MasterNode::crash() {
  // A master that waits to be elected; or one that loses the lead in the step that asks.
  const std::unique_ptr<Leadership> leadership = std::move(leadership_);
  store_ = nullptr;
  if (!is_up()) return;
  note(MasterCrashes{});
  if (core_ != nullptr) network_.shut(place_);
  end_life();
  network_.thaw(party_);
  if (watcher_ != nullptr && core_ != nullptr) watcher_->ends();
  core_.reset();
  answers_.clear();
  pause_ = nullptr;
}

void MasterNode::power_off() {
  powered_ = false;
  network_.set_power(network_.site_of(party_), false);
  crash();
}

void MasterNode::power_on() {
  powered_ = true;
  network_.set_power(network_.site_of(party_), true);
}

void MasterNode::fail(const std::string& why) {
  note(MasterEnds{why});
  crash();
  if (on_failed_) on_failed_();
}

void MasterNode::operator_kill(const std::string& task) {
  if (is_up()) step(master::OperatorKill{.call = ++calls_, .by = user_, .task = task});
}

void MasterNode::call(master::FrameworkCall call,
                      std::function<void(const Result<std::string>&)> answered) {
  if (!is_up()) return;
  call.call = ++calls_;
  call.by = user_;
  answers_[call.call] = std::move(answered);
  step(std::move(call));
}

// A crash within a step happens before any write of the step, before it is durable, before any of
// its messages is sent, or after some of them.
void MasterNode::step(master::MasterEvent event) {
  if (!may_serve()) return stepped();
  if (ensemble_ != nullptr && static_cast<EnsembleLeadership&>(*leadership_).has_expired()) {
    return world().violated(name(), {"it serves, and its session has expired"});
  }
  out_.clear();
  if (watcher_ != nullptr) watcher_->hears(event, now());
  core_->handle(std::move(event), now(), out_);
  if (watcher_ != nullptr) watcher_->says(out_);
  note(out_.trace);
  check_brake(out_.trace);
  if (on_history_) {
    for (const proto::HistoryRecord& record : out_.history) on_history_(record);
  }
  std::optional<size_t> upto;
  if (crashes_now()) {
    if (chance_.chance(1, 4)) return crash();
    upto = chance_.below(out_.actions.size() + 1);
  }
  if (out_.records.empty() && (out_.actions.empty() || leadership_->store().pending() == 0)) {
    deliver(out_.actions, upto);
    if (!is_up()) return;
  } else {
    std::vector<StoreRecord> records;
    for (const proto::RegistryWrite& write : out_.records) {
      StoreRecord record{.table = proto::table_of(write.row), .key = proto::key_of(write.row)};
      if (!write.erase) record.value = proto::encode_row(write.row);
      records.push_back(std::move(record));
    }
    leadership_->store().append(std::move(records), [this, actions = std::move(out_.actions),
                                                     upto](const Result<void>& done) mutable {
      if (!done) return fail(done.error().message());
      if (trouble_ == Trouble::kBroken) return fail("input/output error");
      deliver(actions, upto);
    });
    if (upto && chance_.chance(1, 3)) return crash();
    if (store_ != nullptr && !flush_planned_) {
      flush_planned_ = true;
      later(commit_time_ ? *commit_time_ : microseconds(chance_.between(50, 20'000)),
            [this] { flush(); });
    }
  }
  stepped();
}

// In one life of a master, no more agents are given up in a period than the brake allows.
void MasterNode::check_brake(const std::vector<TraceEvent>& trace) {
  for (const TraceEvent& event : trace) {
    if (event.as<master::AgentUnreachable>() == nullptr) continue;
    const proto::MasterStatus status = core_->status();
    if (status.brake_lifted_until) continue;
    const auto agents = static_cast<size_t>(status.agents_connected + status.agents_disconnected +
                                            status.agents_unreachable);
    const auto& brake = options_.brake;
    std::erase_if(given_up_, [&](Time at) { return at + brake.period <= now(); });
    given_up_.push_back(now());
    const auto part = (static_cast<int64_t>(agents) * brake.percent + 99) / 100;
    if (static_cast<int64_t>(given_up_.size()) <= std::max(brake.floor, part)) continue;
    world().violated(name(), {text(given_up_.size(), " of ", agents, " agents are given up in ",
                                   proffer::to_text(brake.period))});
  }
}

void MasterNode::flush() {
  flush_planned_ = false;
  if (trouble_ == Trouble::kFull) store_->fail(Error::resource_exhausted("no space left"));
  store_->flush();
  compare_admitted();
}

// The state that the next life would read counts, even if this life received an error for the
// write.
void MasterNode::compare_admitted() {
  const std::string table(proto::table_of(proto::AgentRecord()));
  std::set<AgentId> admitted;
  for (auto row = disk_->rows.lower_bound({table, {}});
       row != disk_->rows.end() && row->first.first == table; ++row) {
    const auto record = proto::decode_row(table, row->first.second, row->second);
    CHECK(record.has_value()) << record.error().message();
    if (std::get<proto::AgentRecord>(*record).gone_at) continue;
    admitted.insert(AgentId(row->first.second));
  }
  for (const AgentId& agent : std::exchange(admitted_, admitted)) {
    if (!admitted.contains(agent) && on_removed_) on_removed_(agent);
  }
}

void MasterNode::deliver(std::vector<master::MasterAction>& actions, std::optional<size_t> upto) {
  if (!may_serve()) return;
  if (pause_ && !actions.empty()) {
    std::exchange(pause_, nullptr)();
    return when_awake(
        [this, actions = std::move(actions), upto]() mutable { tell(actions, upto); });
  }
  tell(actions, upto);
}

void MasterNode::tell(std::vector<master::MasterAction>& actions, std::optional<size_t> upto) {
  for (size_t i = 0; i < upto.value_or(actions.size()); ++i) {
    if (auto* send = std::get_if<master::Send>(&actions[i])) {
      network_.send(send->peer, std::move(send->envelope));
    } else if (const auto* drop = std::get_if<master::Drop>(&actions[i])) {
      network_.drop(drop->peer);
    } else if (const auto* answer = std::get_if<master::Answer>(&actions[i])) {
      if (const auto waiting = answers_.extract(answer->call)) waiting.mapped()(answer->result);
    }
  }
  if (upto) crash();
}

}  // namespace proffer::sim
