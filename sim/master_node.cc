// The shell of the simulated master; master/shell/master_shell.cc is its sibling. Read step first.

#include "sim/master_node.h"

#include "common/check.h"
#include "proto/codec/records.h"

namespace proffer::sim {

MasterNode::MasterNode(World& world, Network& network, master::MasterOptions options)
    : Node(world, "master"),
      network_(network),
      options_(std::move(options)),
      place_(network.add_place()),
      chance_(world.chance("master")) {}

void MasterNode::start() {
  if (is_up()) return;
  begin_life();
  store_ = std::make_unique<MemoryStore>(disk_);
  const Result<LeaderEpoch> leader = store_->begin_epoch();
  CHECK(leader.has_value());
  Result<std::vector<StoreRecord>> records = store_->load();
  CHECK(records.has_value());
  master::MasterSnapshot snapshot;
  for (const StoreRecord& record : *records) {
    Result<proto::RegistryRow> row = proto::decode_row(record.table, record.key, *record.value);
    if (!row) return world().violated(name(), Violation{row.error().message()});
    snapshot.rows.push_back(*std::move(row));
  }
  options_.leader = *leader;
  options_.started_at = now();
  core_ = std::make_unique<master::Master>(options_, snapshot);
  flush_planned_ = false;
  note({.what = "master begins", .fields = {{"leader", std::to_string(leader->value())}}});
  network_.listen(place_, this);
  stepped();
}

void MasterNode::crash() {
  if (!is_up()) return;
  note({.what = "master crashes"});
  network_.shut(place_);
  end_life();
  store_.reset();
  core_.reset();
}

void MasterNode::operator_kill(const std::string& task) {
  if (is_up()) step(master::OperatorKill{++calls_, task, std::nullopt});
}

void MasterNode::step(master::MasterEvent event) {
  out_.clear();
  core_->handle(std::move(event), now(), out_);
  note(out_.trace);
  if (out_.records.empty() && store_->pending() == 0) {
    deliver(out_.actions);
  } else {
    std::vector<StoreRecord> records;
    for (const proto::RegistryWrite& write : out_.records) {
      StoreRecord record{.table = proto::table_of(write.row), .key = proto::key_of(write.row)};
      if (!write.erase) record.value = proto::encode_row(write.row);
      records.push_back(std::move(record));
    }
    store_->append(std::move(records),
                   [this, actions = std::move(out_.actions)](const Result<void>& done) {
                     CHECK(done.has_value()) << done.error().message();
                     deliver(actions);
                   });
    if (!flush_planned_) {
      flush_planned_ = true;
      later(microseconds(chance_.between(50, 20'000)), [this] {
        flush_planned_ = false;
        store_->flush();
      });
    }
  }
  stepped();
}

void MasterNode::deliver(const std::vector<master::MasterAction>& actions) {
  for (const master::MasterAction& action : actions) {
    if (const auto* send = std::get_if<master::Send>(&action)) {
      network_.send(send->peer, send->envelope);
    } else if (const auto* drop = std::get_if<master::Drop>(&action)) {
      network_.drop(drop->peer);
    }
  }
}

}  // namespace proffer::sim
