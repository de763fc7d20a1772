// A cohort reads the next events (read_next), sends them to its members (tell_some), and waits at
// the next place. Each is one turn of the loop, so that thousands of listeners do not block other
// work.

#include "master/shell/event_streams.h"

#include <algorithm>
#include <utility>

#include "common/text.h"
#include "proto/json/events_json.h"
#include "proto/json/json.h"

namespace proffer::master {
namespace {

// Delay before a cohort tries again to read files, while other readers do.
constexpr Duration kReadAgain = milliseconds(50);
// The delay after which a browser reconnects.
constexpr std::string_view kOpening = "retry: 1000\n\n";

// A comment with the place of the last examined event, from where the reader continues.
std::string beat_at(const proto::EventPlace& next) {
  if (next.number == 0) return ":\n\n";
  return text(":\nid: ", to_text(proto::EventPlace{next.leader, next.number - 1}), "\n\n");
}

std::string last_message(const Error& why) {
  return text("event: end\ndata: ", proto::error_json(why), "\n\n");
}

}  // namespace

EventStreams::EventStreams(Loop& loop, EventLog& events, EventStreamOptions options)
    : loop_(loop),
      events_(events),
      options_(options),
      turn_timer_(loop, [this] { turn(); }),
      look_timer_(loop, [this] { look(); }),
      again_timer_(loop, [this] {
        for (const CohortKey& key : std::exchange(postponed_, {})) {
          if (const auto at = cohorts_.find(key); at != cohorts_.end()) be_due(key, at->second);
        }
      }) {
  events_.on_more([this] {
    for (auto& [key, cohort] : cohorts_) be_due(key, cohort);
  });
}

EventStreams::~EventStreams() {
  *alive_ = false;
  events_.on_more({});
}

Result<void> EventStreams::check_room(const Principal* by, bool is_operator) const {
  const auto of_user = streams_of_user_.find(audit_name(by));
  const size_t users = of_user == streams_of_user_.end() ? 0 : of_user->second;
  const size_t users_max =
      is_operator ? options_.streams_per_operator_max : options_.streams_per_user_max;
  if (listeners_.size() < options_.streams_max && users < users_max) return {};
  return Error::resource_exhausted(text("too many event streams are open: ", listeners_.size(),
                                        ", at most ", options_.streams_max, "; of user ",
                                        quoted(audit_name(by)), " ", users, ", at most ",
                                        users_max))
      .with_hint("close unused streams, or read pages instead");
}

void EventStreams::add(proto::EventQuery query, PrincipalPtr by, bool is_operator,
                       HttpStream stream) {
  const uint64_t id = ++last_id_;
  CohortKey at{.last = query.from ? 0 : query.last};
  if (at.last == 0) at.from = query.from.value_or(events_.end());
  query.from.reset();
  query.last = 0;
  std::string user = audit_name(by.get());
  at.subject = text(proto::event_query_json(query), '\n', is_operator ? std::string() : user);
  ++streams_of_user_[user];
  stream.write(kOpening);
  stream.on_writable([this, id] { on_room(id); });
  stream.on_closed([this, id] { leave(id); });
  const auto subject = std::make_shared<const Subject>(
      Subject{.query = std::move(query), .by = std::move(by), .is_operator = is_operator});
  Listener& listener = listeners_
                           .emplace(id, Listener{.stream = std::move(stream),
                                                 .subject = subject,
                                                 .user = std::move(user),
                                                 .at = std::move(at),
                                                 .told = loop_.now()})
                           .first->second;
  join(listener, id, true);
  if (!look_timer_.is_armed()) look_timer_.arm(loop_.now() + options_.look);
}

void EventStreams::join(Listener& listener, uint64_t id, bool is_due) {
  Cohort& cohort = cohorts_[listener.at];
  cohort.subject = listener.subject;
  cohort.members.insert(id);
  listener.is_out = false;
  if (is_due) be_due(listener.at, cohort);
}

void EventStreams::be_due(const CohortKey& key, Cohort& cohort) {
  if (cohort.is_due) return;
  cohort.is_due = true;
  due_.push_back(key);
  if (!turn_timer_.is_armed()) turn_timer_.arm(loop_.now());
}

void EventStreams::turn() {
  if (!pieces_.empty()) {
    tell_some();
  } else if (!due_.empty()) {
    read_next();
  }
  if (!pieces_.empty() || !due_.empty()) turn_timer_.arm(loop_.now());
}

void EventStreams::read_next() {
  const CohortKey key = due_.front();
  due_.pop_front();
  auto found = cohorts_.extract(key);
  if (found.empty()) return;
  auto cohort = std::make_shared<Cohort>(std::move(found.mapped()));
  proto::EventQuery query = cohort->subject->query;
  if (key.last > 0) {
    query.last = key.last;
  } else {
    query.from = key.from;
  }
  events_.read(
      std::move(query), cohort->subject->by, cohort->subject->is_operator,
      [this, alive = alive_, key, cohort](Result<Page> page) {
        if (*alive) on_page(key, *cohort, std::move(page));
      },
      EventForm::kStream);
}

void EventStreams::on_page(const CohortKey& from, const Cohort& cohort, Result<Page> page) {
  Piece piece{.from = from};
  for (const uint64_t id : cohort.members) {
    if (listeners_.contains(id)) piece.members.push_back(id);
  }
  if (!page && page.error().code() == ErrorCode::kResourceExhausted) {
    for (const uint64_t id : piece.members) join(listeners_.at(id), id, false);
    postponed_.push_back(from);
    return again_timer_.arm(loop_.now() + kReadAgain);
  }
  const Result<proto::EventPlace> next =
      page ? proto::parse_event_place(page->next) : Result<proto::EventPlace>(page.error());
  if (!next) {
    for (const uint64_t id : piece.members) {
      Listener& listener = listeners_.at(id);
      listener.stream.write(last_message(next.error()));
      listener.stream.finish();
      leave(id);
    }
    return;
  }
  piece.next = *next;
  piece.body = std::move(page->json);
  if (!piece.body.empty()) {
    pieces_.push_back(std::move(piece));
    if (!turn_timer_.is_armed()) turn_timer_.arm(loop_.now());
    return;
  }
  // A place that does not change is the end, or the next events are not written yet.
  const bool is_behind = *next < events_.end() && (from.last > 0 || *next != from.from);
  for (const uint64_t id : piece.members) move(listeners_.at(id), id, *next, is_behind);
}

void EventStreams::tell_some() {
  Piece& piece = pieces_.front();
  const size_t until = std::min(piece.members.size(), piece.told + options_.writes_per_turn);
  for (; piece.told < until; ++piece.told) {
    const uint64_t id = piece.members[piece.told];
    if (const auto at = listeners_.find(id); at != listeners_.end()) tell(at->second, id, piece);
  }
  if (piece.told == piece.members.size()) pieces_.pop_front();
}

void EventStreams::tell(Listener& listener, uint64_t id, const Piece& piece) {
  if (listener.stream.write(piece.body)) {
    listener.told = loop_.now();
    return move(listener, id, piece.next, piece.next < events_.end());
  }
  // on_room or on_closed will follow.
  listener.is_out = true;
  if (!listener.unread_since) listener.unread_since = loop_.now();
}

void EventStreams::move(Listener& listener, uint64_t id, const proto::EventPlace& to, bool is_due) {
  listener.at.from = to;
  listener.at.last = 0;
  join(listener, id, is_due);
}

void EventStreams::on_room(uint64_t id) {
  const auto at = listeners_.find(id);
  if (at == listeners_.end()) return;
  at->second.unread_since.reset();
  if (at->second.is_out) join(at->second, id, true);
}

void EventStreams::leave(uint64_t id) {
  const auto at = listeners_.find(id);
  if (at == listeners_.end()) return;
  const auto count = streams_of_user_.find(at->second.user);
  if (--count->second == 0) streams_of_user_.erase(count);
  const auto cohort = cohorts_.find(at->second.at);
  if (cohort != cohorts_.end()) {
    cohort->second.members.erase(id);
    if (cohort->second.members.empty()) cohorts_.erase(cohort);
  }
  listeners_.erase(at);
}

void EventStreams::look() {
  const Time now = loop_.now();
  std::vector<uint64_t> silent;
  for (const auto& [id, listener] : listeners_) {
    if (listener.unread_since && now - *listener.unread_since >= options_.unread_max) {
      silent.push_back(id);
    }
  }
  for (const uint64_t id : silent) leave(id);
  beat(now);
  if (!listeners_.empty()) look_timer_.arm(now + options_.look);
}

// Continues after the last listener that was served, so that each has its turn.
void EventStreams::beat(Time now) {
  auto at = listeners_.upper_bound(last_beat_);
  size_t beats = 0;
  for (size_t left = listeners_.size(); left > 0 && beats < options_.writes_per_turn; --left) {
    if (at == listeners_.end()) at = listeners_.begin();
    Listener& listener = at->second;
    last_beat_ = at->first;
    ++at;
    if (now - listener.told < options_.beat) continue;
    ++beats;
    listener.told = now;
    if (!listener.stream.write(beat_at(listener.at.from)) && !listener.unread_since) {
      listener.unread_since = now;
    }
  }
}

bool wants_event_stream(const HttpRequest& request) {
  if (request.method != "GET") return false;
  std::string_view rest = request.header("accept").value_or("");
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    if (trimmed(one.substr(0, one.find(';'))) == kEventStreamType) return true;
  }
  return false;
}

Result<proto::EventQuery> event_stream_query(const std::string& arguments,
                                             const HttpRequest& request) {
  for (const std::string_view name : {"wait_s", "limit"}) {
    if (!request.param(name)) continue;
    return Error::invalid_argument(text(name, ": a stream of events has no pages"))
        .with_hint("leave it out, or send the request without Accept: text/event-stream");
  }
  Result<proto::EventQuery> query = proto::parse_event_query(arguments);
  if (!query) return std::move(query).error().in("arguments of events");
  // A browser that reconnects repeats its first query.
  const std::string_view last = request.header("last-event-id").value_or("");
  if (last.empty()) return query;
  const Result<proto::EventPlace> seen = proto::parse_event_place(last);
  if (!seen) return Error(seen.error()).in("Last-Event-ID");
  query->from = proto::EventPlace{seen->leader, seen->number + 1};
  query->last = 0;
  return query;
}

}  // namespace proffer::master
