// The masters of the cluster. The leader records that it leads (begin_life); standbys report
// themselves (on_stand_by) until their connection ends or falls silent.

#include "master/core/standbys.h"

#include <algorithm>
#include <tuple>

#include "common/text.h"
#include "master/core/state.h"
#include "master/core/trace.h"

namespace proffer::master {

using proto::LedMaster;
using proto::MasterRole;
using proto::MasterRow;

const Standby* Standbys::find(PeerId peer) const {
  for (const auto& [id, standby] : all_) {
    if (standby.peer == peer) return &standby;
  }
  return nullptr;
}

const Standby* Standbys::find(const proto::MasterId& master) const {
  const auto found = all_.find(master);
  return found == all_.end() ? nullptr : &found->second;
}

bool Standbys::put(const proto::StandbyCall& says, PeerId peer, Time now) {
  const auto found = all_.find(says.master);
  if (found == all_.end() && all_.size() >= proto::kStandbysMax) return false;
  Standby& standby = all_[says.master];
  if (found == all_.end()) standby.since = now;
  standby.says = says;
  standby.peer = peer;
  standby.heard_at = now;
  return true;
}

std::vector<LedMaster> with_lead(std::vector<LedMaster> led, const LedMaster& begins,
                                 Time forgotten) {
  LedMaster now = begins;
  for (LedMaster& other : led) {
    if (other.master == begins.master) {
      now.first = std::min(other.first, begins.first);
      now.since = other.since;
    } else if (!other.until) {
      other.until = begins.since;
    }
  }
  std::erase_if(led, [&](const LedMaster& other) {
    return other.master == begins.master || *other.until < forgotten;
  });
  if (led.size() >= proto::kLedMastersMax) {
    led.erase(led.begin(), led.end() - static_cast<std::ptrdiff_t>(proto::kLedMastersMax - 1));
  }
  led.push_back(std::move(now));
  return led;
}

// In the first step, so that no message leaves before it is durable.
void Master::State::begin_life(Step& step) {
  has_begun_ = true;
  proto::ClusterRecord record{.cluster = registry_.cluster(), .led = registry_.led()};
  if (record.cluster.empty()) record.cluster = options_.cluster_if_new;
  if (record.cluster.empty()) return;
  if (!options_.master.empty()) {
    record.led = with_lead(std::move(record.led),
                           {.master = options_.master,
                            .name = options_.name,
                            .first = options_.leader,
                            .last = options_.leader,
                            .since = options_.started_at},
                           options_.started_at - options_.history_age);
  }
  if (record.cluster == registry_.cluster() && record.led == registry_.led()) return;
  write(std::move(record), false, step);
}

void Master::State::on_stand_by(const StandBy& message, Step& step) {
  // Decide.
  if (Result<void> may = check_standby(message, step); !may) {
    return answer(message.call, std::move(may).error(), step);
  }
  const bool is_new = standbys_.find(message.standby.master) == nullptr;
  if (!standbys_.put(message.standby, message.peer, step.now)) {
    return answer(message.call,
                  Error::resource_exhausted(
                      text("a leader accepts at most ", proto::kStandbysMax, " standby masters")),
                  step);
  }
  deadlines_.arm({.kind = DeadlineKind::kStandbySilent, .peer = message.peer, .id = {}},
                 step.now + options_.agent_timeout);
  // Tell.
  if (is_new) {
    step.trace(MasterStandsBy{message.standby.name});
  }
  answer(message.call, std::string(), step);
}

// A standby repeats its report; one audit line is enough.
Result<void> Master::State::check_standby(const StandBy& message, Step& step) {
  if (sessions_.was_closed(message.peer)) return Error::unavailable("its connection has ended");
  const Standby* const known = standbys_.find(message.peer);
  if (known == nullptr) {
    Result<void> may = permit(message.by, Action::kStandBy, message.standby.name, step);
    if (!may) return may;
  } else if (known->says.master != message.standby.master) {
    return Error::invalid_argument(
        text("this connection belongs to master ", quoted(known->says.name)));
  }
  const bool is_leader = message.standby.master == options_.master;
  const Standby* const other = standbys_.find(message.standby.master);
  const bool is_standby =
      other != nullptr && other->peer != message.peer && other->says.name != message.standby.name;
  if (!is_leader && !is_standby) return {};
  return Error::already_exists(text("the data directory of master ", quoted(message.standby.name),
                                    " is a copy of that of master ",
                                    quoted(is_leader ? options_.name : other->says.name)))
      .with_hint(
          "for one of the two, remove the file master_id and the folder history, then restart it");
}

void Master::State::on_standby_silent(PeerId peer, Step& step) {
  const Standby* const standby = standbys_.find(peer);
  if (standby == nullptr) return;
  const Time due = standby->heard_at + options_.agent_timeout;
  if (due > step.now) {
    deadlines_.arm({.kind = DeadlineKind::kStandbySilent, .peer = peer, .id = {}}, due);
    return;
  }
  drop(peer, step);
}

void Master::State::lose_standby(PeerId peer, std::string_view why, Step& step) {
  deadlines_.cancel({.kind = DeadlineKind::kStandbySilent, .peer = peer, .id = {}});
  const Standby* const standby = standbys_.find(peer);
  if (standby == nullptr) return;
  step.trace(MasterIsAway{standby->says.name, std::string(why)});
  standbys_.erase(proto::MasterId(standby->says.master));
}

std::vector<MasterRow> Master::State::master_rows() const {
  std::vector<MasterRow> rows;
  for (const auto& [id, standby] : standbys_.all()) {
    rows.push_back({.name = standby.says.name,
                    .id = id,
                    .role = MasterRole::kStandby,
                    .since = standby.since,
                    .keeps_history = standby.says.keeps_history});
  }
  MasterRow own{.name = options_.name,
                .id = options_.master,
                .role = MasterRole::kLeads,
                .since = options_.started_at,
                .first = options_.leader,
                .last = options_.leader,
                .led_since = options_.started_at,
                .keeps_history = options_.keeps_history};
  for (const LedMaster& led : registry_.led()) {
    const auto known = std::find_if(rows.begin(), rows.end(),
                                    [&](const MasterRow& row) { return row.id == led.master; });
    const bool is_own = led.master == options_.master;
    MasterRow& row = is_own                ? own
                     : known != rows.end() ? *known
                                           : rows.emplace_back(MasterRow{.name = led.name});
    row.id = led.master;
    row.first = led.first;
    row.last = is_own ? options_.leader : led.last;
    row.led_since = led.since;
    if (!is_own) row.led_until = led.until;
  }
  std::sort(rows.begin(), rows.end(), [](const MasterRow& a, const MasterRow& b) {
    return std::tie(a.name, a.id) < std::tie(b.name, b.id);
  });
  rows.insert(rows.begin(), std::move(own));
  return rows;
}

Result<HistoryKeeper> Master::State::keeper_of(const proto::MasterId& master) const {
  const auto keeps_none = [](const std::string& name) {
    return Error::failed_precondition(text("master ", quoted(name), " keeps no history"))
        .with_hint("start it with --history_mib above 0");
  };
  if (master.empty() || master == options_.master) {
    if (!options_.keeps_history) return keeps_none(options_.name);
    return HistoryKeeper{};
  }
  const auto led = std::find_if(registry_.led().begin(), registry_.led().end(),
                                [&](const LedMaster& one) { return one.master == master; });
  if (const Standby* const standby = standbys_.find(master)) {
    if (!standby->says.keeps_history) return keeps_none(standby->says.name);
    HistoryKeeper keeper{.standby = standby->peer};
    if (led != registry_.led().end()) keeper.led_until = led->until;
    return keeper;
  }
  if (led == registry_.led().end()) {
    return Error::not_found(text("there is no master ", quoted(master.str())))
        .with_hint("proffer status lists the masters");
  }
  return Error::unavailable(text("master ", quoted(led->name), " is not connected"))
      .with_hint("start it again: the history of its time as leader is in its data directory");
}

}  // namespace proffer::master
