#pragma once

// The methods of the route table, carried out for a peer's call or an HTTP request. It decides
// nothing: the core does.

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

// Of a master that is told to keep none.
Error no_events_kept();

class Api {
 public:
  // What the master's process has. The references must outlive this.
  struct Process {
    Loop& loop;
    const std::unique_ptr<Master>& core;                 // nullptr while it does not lead
    const std::unique_ptr<History>& history;             // nullptr: none is kept
    const std::unique_ptr<EventLog>& events;             // likewise
    const std::unique_ptr<ConditionKeeper>& conditions;  // nullptr while it does not lead
    const std::unique_ptr<Forecaster>& forecaster;       // likewise
    Secrets& secrets;
    const PolicyOptions& policy;
    std::function<void(const std::vector<TraceEvent>&)> tell = {};
    std::function<void(MasterEvent)> step = {};
    std::function<void(PeerId, proto::Call)> send = {};
    // Where the master is found, for join tokens. Errors: kFailedPrecondition.
    std::function<Result<std::string>()> join_token_reply = {};
  };
  struct Call {
    const Route& route;
    std::string_view arguments = {};  // JSON; "" for none
    PrincipalPtr by = {};
    PeerId peer = {};  // of a standby
  };
  using Done = std::function<void(Result<Page>)>;
  using Relayed = std::function<void(Result<std::string>)>;

  explicit Api(Process process);
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  // Whether the call is for this kind of principal; to be asked before the functions below. A
  // refusal leaves an audit line. Errors: kPermissionDenied.
  Result<void> permit(const Call& call);
  // Only while it leads. `done` is called once, maybe at once; never if the process stops before.
  // Errors: kInvalidArgument for the arguments; the core's.
  void call(const Call& call, Done done);
  // A request to a scheduler; `done` gets its answer as it is. Errors: as call().
  void relay(proto::RequestCall request, PrincipalPtr by, Relayed done);
  // What the core says to a call.
  void answer(Answer answer);
  // Why the history is not kept; empty: it is.
  std::string history_words() const;
  // Numbers of calls are of this life of the master.
  std::string next_request_id(LeaderEpoch leader) const;

  // Whether a standby that soon has all events of the log lacks some of them.
  bool is_standby_behind() const;
  // Fills in how many events of this leader each standby lacks that follows the event log.
  void add_events_behind(std::vector<proto::MasterRow>& masters) const;

  HistoryCalls& history_calls() { return history_calls_; }

 private:
  uint64_t wait_for_answer(Relayed done);
  // Of a change: `json` is the answer if it works.
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
  std::map<uint64_t, Relayed> waiting_;  // by our number; each is answered by the core
  // How far standbys have followed the event log; kStandbysMax.
  std::map<proto::MasterId, proto::EventPlace> followed_;
};

}  // namespace proffer::master
