#include "master/shell/standby_link.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <glog/logging.h>

#include "common/printable.h"
#include "common/text.h"
#include "master/core/policy.h"
#include "net/address.h"
#include "net/randomness.h"
#include "proto/json/events_json.h"
#include "proto/json/history_json.h"
#include "proto/json/masters_json.h"

namespace proffer::master {
namespace {

// The longest delay between attempts to reach a leader.
constexpr BackoffLimits kBackoff{.max = seconds(10)};
constexpr Duration kSayAgain = milliseconds(200);
// Marks the ids of calls for events, unlike those of reports.
constexpr uint64_t kFollows = uint64_t{1} << 63;

proto::ErrorMessage told(const Error& error) {
  return {error.code(), error.message(), error.hint()};
}

}  // namespace

StandbyLink::StandbyLink(Loop& loop, Options options)
    : loop_(loop), options_(std::move(options)), timer_(loop, [this] { say(); }) {
  if (options_.says.keeps_history) {
    history_ = std::make_unique<PastHistory>(loop_, options_.history);
  }
  if (!options_.events) return;
  events_ = std::make_unique<EventFollower>(
      loop_, EventFollowerOptions{.log = *options_.events}, [this](const proto::FollowCall& call) {
        follow_call_ = ++calls_ | kFollows;
        send(proto::Call{.id = follow_call_,
                         .method = std::string(kFollowMethod),
                         .json = proto::follow_call_json(call)});
      });
}

void StandbyLink::follow(const std::optional<MasterPlace>& leader) {
  if (leader == leader_) return;
  leader_ = leader;
  complaint_.clear();
  timer_.arm(std::nullopt);
  dealer_.reset();
  on_lost();
  if (!leader) return;
  const Result<Address> at = parse_socket_or_address("the leader's address", leader->address);
  if (!at) return complain(at.error().message());
  Dealer::Options dealer{.endpoint = zmq_endpoint(*at), .seed = random_seed(), .backoff = kBackoff};
  if (at->socket.empty()) {
    if (options_.keys) {
      dealer.keys = ClientKeys{.own = *options_.keys, .server = options_.keys->public_key};
    } else if (!is_loopback(at->host)) {
      return complain("it is on another machine, and this master has no key");
    }
  }
  dealer_ = std::make_unique<Dealer>(
      loop_, std::move(dealer),
      Dealer::Handlers{.on_connected = [this] { say(); },
                       .on_frame = [this](std::span<const std::byte> frame) { on_frame(frame); },
                       .on_disconnected = [this](const std::string&) { on_lost(); },
                       .on_failed = [this](const std::string& reason) { complain(reason); }});
  dealer_->connect();
}

// Sent with each session, and then periodically, since a leader cannot distinguish a silent
// connection from a machine that is off.
void StandbyLink::say() {
  if (dealer_ == nullptr || !dealer_->is_connected()) return;
  send(proto::Call{
      .id = ++calls_, .method = "standby", .json = proto::standby_call_json(options_.says)});
  timer_.arm(loop_.now() + options_.heartbeat);
}

// A new leader takes over within moments. Without this call, its events until the next beat would
// be missing here if it failed before.
void StandbyLink::say_again() {
  if (is_known_) return;
  timer_.arm(loop_.now() + std::min(options_.heartbeat, kSayAgain));
}

void StandbyLink::on_frame(std::span<const std::byte> frame) {
  const Result<proto::Envelope> envelope = proto::decode(frame);
  if (!envelope) return complain(envelope.error().message());
  if (const auto* call = std::get_if<proto::Call>(&*envelope->message)) return on_call(*call);
  const auto* answer = std::get_if<proto::Reply>(&*envelope->message);
  // NotLeader: it does not lead yet, or no longer leads.
  if (answer == nullptr) return say_again();
  if (events_ && answer->id == follow_call_) return events_->on_answer(*answer);
  if ((answer->id & kFollows) != 0) return;  // for a call that was repeated since
  if (answer->error) {
    if (answer->error->code == ErrorCode::kUnavailable) say_again();
    return complain(answer->error->message);
  }
  complaint_.clear();
  if (std::exchange(is_known_, true)) return;
  if (events_) events_->begin();
}

void StandbyLink::on_lost() {
  is_known_ = false;
  if (events_) events_->end();
}

void StandbyLink::on_call(const proto::Call& call) {
  const auto refuse = [this, id = call.id](const Error& error) {
    reply({.id = id, .error = told(error)});
  };
  if (call.method != "history" || history_ == nullptr) {
    return refuse(
        Error::not_found(text("a standby does not have the method ", quoted(call.method))));
  }
  Result<proto::HistoryQuery> query = proto::parse_history_query(call.json);
  if (!query) return refuse(std::move(query).error().in("arguments of history"));
  history_->read(*std::move(query), [this, id = call.id, refuse](Result<FoundHistory> found) {
    if (!found) return refuse(found.error());
    reply(
        {.id = id, .json = proto::history_page_json(found->page), .next = std::move(found->next)});
  });
}

void StandbyLink::reply(proto::Reply message) { send(std::move(message)); }

void StandbyLink::send(proto::BoxedMessage message) {
  if (dealer_ == nullptr) return;
  const Result<std::span<const std::byte>> frame =
      encoder_.encode({.version = proto::kProtocolVersionMin, .message = std::move(message)});
  if (!frame) {
    LOG(ERROR) << "cannot answer the leader: " << frame.error().message();
    return;
  }
  dealer_->send(*frame);
}

void StandbyLink::complain(const std::string& why) {
  if (why == complaint_) return;
  complaint_ = why;
  LOG(WARNING) << "the leader does not accept this standby leader="
               << (leader_ ? leader_->address : "unknown") << " reason=" << log_value(why);
}

}  // namespace proffer::master
