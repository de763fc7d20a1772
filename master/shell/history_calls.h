#pragma once

// The call "history" at the leader: pages of its own history, and of another master's, which it
// requests from that standby.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "common/ids.h"
#include "common/principal.h"
#include "common/result.h"
#include "common/time.h"
#include "master/core/master.h"
#include "master/shell/history.h"
#include "master/shell/routes.h"
#include "net/loop.h"
#include "proto/messages.h"

namespace proffer::master {

// A standby that does not answer within this time is reported as not answering.
inline constexpr Duration kStandbyAnswersIn = seconds(10);
// The maximum of pages requested from standbys at a time; further requests are refused.
inline constexpr size_t kStandbyPagesMax = 8;
inline constexpr size_t kStandbyPagesPerUserMax = kStandbyPagesMax / 2;

class HistoryCalls {
 public:
  using Done = std::function<void(Result<Page>)>;

  // `send` sends a call to a standby.
  HistoryCalls(Loop& loop, std::function<void(PeerId, proto::Call)> send);
  ~HistoryCalls() { *alive_ = false; }
  HistoryCalls(const HistoryCalls&) = delete;
  HistoryCalls& operator=(const HistoryCalls&) = delete;

  // Reads a page, without entries that `by` may not see. `core` and `own` (nullptr: no history is
  // kept) must outlive this object. `done` may be called at once. Errors: those of
  // Master::keeper_of() and HistoryReader::read(); kTimeout and kUnavailable from a standby.
  void read(const Master& core, History* own, std::string_view arguments, PrincipalPtr by,
            Done done);

  void on_reply(PeerId standby, const proto::Reply& reply);
  void on_lost(PeerId standby);

 private:
  struct Waiting {
    PeerId standby = {};
    Time until = {};
    std::string user = {};
    std::function<void(Result<FoundHistory>)> done = {};
  };
  void ask(PeerId standby, const std::string& user, const proto::HistoryQuery& query,
           std::function<void(Result<FoundHistory>)> done);
  void parse(proto::Reply reply, std::function<void(Result<FoundHistory>)> done);
  void end_late();

  Loop& loop_;
  const std::function<void(PeerId, proto::Call)> send_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::map<uint64_t, Waiting> waiting_;  // by the number of the call, so the first ends first
  uint64_t asked_ = 0;
  Timer timer_;
};

}  // namespace proffer::master
