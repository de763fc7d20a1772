#pragma once

// Listeners of the event log over HTTP: server-sent events (ADR 0130).
//
// Listeners with the same filter at the same place are a cohort: the next events are read and
// encoded once for all of them. A listener that does not read leaves its cohort, and joins one
// again after it has read. The log is the queue of all listeners, so nothing grows here. If the log
// no longer has the next events, the listener gets a gap, like every reader.

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/principal.h"
#include "common/result.h"
#include "master/shell/event_log.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "proto/events.h"

namespace proffer::master {

inline constexpr std::string_view kEventStreamType = "text/event-stream";

struct EventStreamOptions {
  size_t streams_max = 4'096;
  size_t streams_per_user_max = 64;  // for users who are not operators
  size_t streams_per_operator_max = 2'048;
  Duration beat = seconds(15);        // sent to a listener without events for this time
  Duration unread_max = seconds(30);  // a listener that reads nothing for this long is disconnected
  Duration look = seconds(1);         // interval at which the two above are checked
  // Per turn of the loop: a write takes some microseconds.
  size_t writes_per_turn = 256;
};

class EventStreams {
 public:
  EventStreams(Loop& loop, EventLog& events, EventStreamOptions options = {});
  // Disconnects all listeners.
  ~EventStreams();
  EventStreams(const EventStreams&) = delete;
  EventStreams& operator=(const EventStreams&) = delete;

  // Whether one more listener fits. Errors: kResourceExhausted.
  Result<void> check_room(const Principal* by, bool is_operator) const;
  // Streams the events of `query` that `by` may see until the reader disconnects: from the query's
  // place, from the newest ones, or from now on.
  void add(proto::EventQuery query, PrincipalPtr by, bool is_operator, HttpStream stream);
  size_t size() const { return listeners_.size(); }

 private:
  // The filter and the reader's permissions.
  struct Subject {
    proto::EventQuery query = {};  // without a place
    PrincipalPtr by = {};
    bool is_operator = false;
  };
  using SubjectPtr = std::shared_ptr<const Subject>;
  struct CohortKey {
    std::string subject = {};  // equal texts mean equal events
    proto::EventPlace from = {};
    size_t last = 0;  // for the first page: this many newest events, in place of a place
    auto operator<=>(const CohortKey&) const = default;
  };
  struct Cohort {
    SubjectPtr subject = {};
    std::set<uint64_t> members = {};
    bool is_due = false;  // must be read
  };
  struct Listener {
    HttpStream stream;
    SubjectPtr subject = {};
    std::string user = {};
    CohortKey at = {};
    bool is_out = false;  // outside its cohort: its socket is full
    Time told = {};
    std::optional<Time> unread_since = {};
  };
  // The part that is sent to the members of one cohort.
  struct Piece {
    CohortKey from = {};
    proto::EventPlace next = {};
    std::string body = {};
    std::vector<uint64_t> members = {};
    size_t told = 0;
  };

  void turn();
  void read_next();
  void on_page(const CohortKey& from, const Cohort& cohort, Result<Page> page);
  void tell_some();
  void tell(Listener& listener, uint64_t id, const Piece& piece);
  void move(Listener& listener, uint64_t id, const proto::EventPlace& to, bool is_due);
  void join(Listener& listener, uint64_t id, bool is_due);
  void be_due(const CohortKey& key, Cohort& cohort);
  void on_room(uint64_t id);
  void leave(uint64_t id);
  void look();
  void beat(Time now);

  Loop& loop_;
  EventLog& events_;
  const EventStreamOptions options_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Timer turn_timer_;
  Timer look_timer_;
  Timer again_timer_;
  uint64_t last_id_ = 0;
  uint64_t last_beat_ = 0;  // the id of the listener that was checked last
  std::map<uint64_t, Listener> listeners_;
  std::map<std::string, size_t> streams_of_user_;
  std::map<CohortKey, Cohort> cohorts_;
  std::deque<CohortKey> due_;
  std::deque<Piece> pieces_;
  std::vector<CohortKey> postponed_;  // waiting for other file reads
};

// Whether a request accepts a stream.
bool wants_event_stream(const HttpRequest& request);
// The query of the request: `arguments` of the query string, and the header Last-Event-ID. Pure.
// Errors: kInvalidArgument.
Result<proto::EventQuery> event_stream_query(const std::string& arguments,
                                             const HttpRequest& request);

}  // namespace proffer::master
