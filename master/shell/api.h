#pragma once

// Carries out the methods of the route table, for a peer's call or an HTTP request. All decisions
// are the core's.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/principal.h"
#include "common/result.h"
#include "master/core/master.h"
#include "master/shell/condition_keeper.h"
#include "master/shell/event_log.h"
#include "master/shell/forecaster.h"
#include "master/shell/history.h"
#include "master/shell/history_calls.h"
#include "master/shell/routes.h"
#include "master/shell/secrets.h"
#include "master/shell/snapshot_pages.h"
#include "net/loop.h"
#include "proto/json/json.h"

namespace proffer::master {

// The error of a master that keeps no events.
Error no_events_kept();

class Api {
 public:
  // The parts of the master's process. The referenced values must outlive this.
  struct Process {
    Loop& loop;
    const std::unique_ptr<Master>& core;                 // nullptr while the master does not lead
    const std::unique_ptr<History>& history;             // nullptr: no history is kept
    const std::unique_ptr<EventLog>& events;             // nullptr: no events are kept
    const std::unique_ptr<ConditionKeeper>& conditions;  // nullptr while the master does not lead
    const std::unique_ptr<Forecaster>& forecaster;       // nullptr while the master does not lead
    Secrets& secrets;
    const PolicyOptions& policy;
    std::function<void(const std::vector<TraceEvent>&)> tell = {};
    std::function<void(MasterEvent)> step = {};
    std::function<void(PeerId, proto::Call)> send = {};
    // The addresses of the master, for join tokens. Errors: kFailedPrecondition.
    std::function<Result<std::string>()> join_token_reply = {};
  };
  struct Call {
    const Route& route;
    std::string_view arguments = {};  // JSON; "" for none
    PrincipalPtr by = {};
    PeerId peer = {};  // the connection of a standby
  };
  using Done = std::function<void(Result<Page>)>;
  using Relayed = std::function<void(Result<std::string>)>;

  explicit Api(Process process);
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  // Whether this kind of principal may call the method; ask it before the functions below. A
  // refusal leaves an audit line. Errors: kPermissionDenied.
  Result<void> permit(const Call& call);
  // Only while the master leads. `done` is called once, possibly before the return; never if the
  // process stops first. Errors: kInvalidArgument for the arguments, and those of the core.
  void call(const Call& call, Done done);
  // Sends a request to a scheduler; `done` gets its answer unchanged. Errors: as call().
  void relay(proto::RequestCall request, PrincipalPtr by, Relayed done);
  // Passes on the core's answer to a call.
  void answer(Answer answer);
  // Why the history is not kept; empty: it is kept.
  std::string history_words() const;
  // The ids differ from those of other leaders.
  std::string next_request_id(LeaderEpoch leader) const;

  // Whether a standby that follows the end of the log lacks some events.
  bool is_standby_behind() const;
  // Fills in the number of events of this leader that each following standby lacks.
  void add_events_behind(std::vector<proto::MasterRow>& masters) const;

  HistoryCalls& history_calls() { return history_calls_; }

 private:
  uint64_t wait_for_answer(Relayed done);
  // The answer to a change: `json` if it succeeds.
  Relayed answered_by(std::string json, Done done) const;
  void change(const Call& call, const Result<std::string>& json, Done done);
  void set_secret(const Call& call, Done done);
  void stand_by(const Call& call, Done done);
  void read_events(const Call& call, Done done);
  void follow_events(const Call& call, Done done);
  void grant_files(const Call& call, const Done& done);

  Process process_;
  HistoryCalls history_calls_;
  SnapshotPages snapshots_;
  uint64_t calls_ = 0;
  std::map<uint64_t, Relayed> waiting_;  // by the number of the call; the core answers each
  // The place up to which each standby has the event log; at most kStandbysMax.
  std::map<proto::MasterId, proto::EventPlace> followed_;
};

}  // namespace proffer::master
