// A scheduler that speaks the protocol directly and keeps three tasks running, across its own
// restarts and those of the master. Its first argument is its one mistake, or `nothing`; kFaults
// lists them. With --session=PATH it is the same framework after a restart.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <unistd.h>

#include "common/text.h"
#include "net/address.h"
#include "net/dealer.h"
#include "net/loop.h"
#include "net/randomness.h"
#include "proto/channel.h"
#include "proto/codec/codec.h"

namespace {

using namespace proffer;

constexpr std::array<std::string_view, 19> kFaults = {
    "nothing",
    "acknowledges_nothing",
    "acknowledges_once",  // does not acknowledge a repeated update
    "answers_no_offer",
    "launches_nothing",
    "launches_too_many",   // more tasks than it asked for
    "launches_too_large",  // more than the offer
    "names_another_ask",
    "names_another_offer",
    "uses_ids_again",
    "tasks_fail",
    "exits_with_3",
    "does_not_replace",       // tasks that ended
    "does_not_launch_again",  // after an offer was rescinded
    "does_not_ask_again",     // after it subscribed again
    "does_not_subscribe_again",
    "loses_its_session",
    "loses_its_tasks",  // after a restart: takes none for running
    "accepts_again",    // when it has heard nothing for a while
};

constexpr int64_t kTasks = 3;
const ResourceVector kShape = ResourceVector::of(500, 64'000);
const ResourceVector kTooLarge = ResourceVector::of(900'000, 64'000);
constexpr Duration kImpatience = milliseconds(300);

class Framework {
 public:
  Framework(const Address& master, std::string fault, std::string session)
      : fault_(std::move(fault)),
        session_(std::move(session)),
        secret_(random_secret()),
        dealer_(loop_, {.endpoint = zmq_endpoint(master), .seed = random_seed()},
                {.on_connected = [this] { on_connected(); },
                 .on_frame = [this](std::span<const std::byte> frame) { on_frame(frame); }}),
        beat_(loop_, [this] { on_beat(); }),
        impatience_(loop_, [this] { on_impatience(); }) {
    load_session();
  }

  int run() {
    dealer_.connect();
    loop_.run();
    return exit_code_;
  }

 private:
  bool is(std::string_view fault) const { return fault_ == fault; }

  void load_session() {
    std::ifstream file(session_);
    std::string framework;
    std::string secret;
    if (is("loses_its_session") || !(file >> framework >> secret)) return;
    framework_ = FrameworkId(framework);
    secret_ = Secret(secret);
  }
  void save_session() const {
    if (session_.empty()) return;
    std::ofstream(session_) << framework_.str() << ' ' << secret_.str() << std::endl;
  }

  void send(proto::Message message) {
    const proto::Envelope envelope = channel_.stamp(leader_, std::move(message));
    if (const auto frame = encoder_.encode(envelope)) dealer_.send(*frame);
  }

  void on_connected() {
    if (sessions_ > 0 && is("does_not_subscribe_again")) return;
    channel_ = proto::Channel();
    send(proto::Subscribe{.framework = framework_,
                          .name = "broken",
                          .role = RoleName("default"),
                          .secret = secret_,
                          .failover_timeout = session_.empty() ? seconds(10) : hours(1)});
    beat_.arm(loop_.now() + seconds(1));
  }

  void on_beat() {
    if (!dealer_.is_connected()) return;
    send(proto::Heartbeat{});
    beat_.arm(loop_.now() + seconds(1));
  }

  // The end of its only task must show a reaction at once.
  int64_t missing() const {
    return std::max<int64_t>((is("does_not_replace") ? 1 : kTasks) - std::ssize(live_), 0);
  }

  void declare() {
    const Ask ask = {.name = AskName("work"), .shape = kShape, .count = missing()};
    send(proto::DeclareAsks{.generation = ++generation_, .asks = {ask}});
  }

  void on_frame(std::span<const std::byte> frame) {
    const Result<proto::Envelope> envelope = proto::decode(frame);
    if (!envelope) return;
    leader_ = envelope->leader;
    impatience_.arm(std::nullopt);
    const proto::Message& message = *envelope->message;
    if (const auto* subscribed = std::get_if<proto::Subscribed>(&message)) {
      on_subscribed(*subscribed);
    } else if (const auto* known = std::get_if<proto::Reconciled>(&message)) {
      if (known->missing_agents == 0) declare();
    } else if (const auto* offers = std::get_if<proto::Offers>(&message)) {
      for (const Offer& offer : offers->offers) on_offer(offer);
    } else if (std::holds_alternative<proto::Rescind>(message)) {
      gave_up_ |= is("does_not_launch_again");
    } else if (const auto* update = std::get_if<proto::Update>(&message)) {
      on_update(update->status);
    }
  }

  // Before it declares asks, it must know the tasks of its earlier runs, and their ends.
  void on_subscribed(const proto::Subscribed& subscribed) {
    framework_ = subscribed.framework;
    save_session();
    const bool is_first = sessions_++ == 0;
    if (!is_first && is("does_not_ask_again")) return;
    if (!subscribed.failed_over || is("loses_its_tasks")) return declare();
    if (!live_.empty()) {
      std::vector<TaskId> tasks(live_.begin(), live_.end());
      send(proto::Reconcile{.tasks = std::move(tasks)});
    }
    send(proto::Reconcile{});
  }

  void on_offer(const Offer& offer) {
    if (is("answers_no_offer")) return;
    if (is("launches_nothing") || gave_up_) return decline(offer);
    proto::Launch launch{.agent = offer.agent};
    int64_t room = 0;
    for (const AskFill& fill : offer.fills) room += fill.count;
    room = std::min(room, missing());
    if (is("launches_too_many") && room > 0) ++room;
    if (is("does_not_ask_again")) room = std::min<int64_t>(room, 1);
    for (int64_t i = 0; i < room; ++i) launch.tasks.push_back(next_task());
    if (launch.tasks.empty()) return decline(offer);
    for (const proto::TaskSpec& task : launch.tasks) live_.insert(task.id);
    const OfferId named(is("names_another_offer") ? offer.id.value() + 1'000 : offer.id.value());
    last_accept_ = {.offers = {named}, .operations = {std::move(launch)}};
    send(*last_accept_);
    if (is("accepts_again")) impatience_.arm(loop_.now() + kImpatience);
  }

  proto::TaskSpec next_task() {
    // Ids of its earlier runs are not used again.
    const std::string life = std::to_string(::getpid());
    const int64_t number = is("uses_ids_again") ? 1 : ++named_;
    return {.id = TaskId(text("work-", life, "-", number)),
            .ask = AskName(is("names_another_ask") ? "play" : "work"),
            .shape = is("launches_too_large") ? kTooLarge : kShape,
            .command = is("tasks_fail") ? "sleep 0.2; exit 1" : "exec sleep 100"};
  }

  void decline(const Offer& offer) {
    const Duration until_later = live_.empty() ? hours(1) : milliseconds(200);
    send(proto::Decline{.offers = {offer.id}, .refusal = {.refuse_for = until_later}});
  }

  void on_impatience() {
    if (last_accept_) send(*last_accept_);
  }

  void on_update(const proto::TaskStatus& status) {
    std::cout << status.task.str() << " is " << to_text(status.state) << ' ' << status.message
              << std::endl;
    if (status.sequence > 0) acknowledge(status);
    if (is("exits_with_3")) {
      exit_code_ = 3;
      return loop_.stop();
    }
    if (!proto::is_terminal(status.state)) {
      if (!is("loses_its_tasks")) live_.insert(status.task);
      return;
    }
    if (is("does_not_replace") || live_.erase(status.task) == 0) return;
    declare();
  }

  void acknowledge(const proto::TaskStatus& status) {
    const bool is_new = acknowledged_.insert({status.task, status.sequence}).second;
    if (is("acknowledges_nothing") || (is("acknowledges_once") && !is_new)) return;
    send(proto::Acknowledge{.task = status.task,
                            .agent = status.agent,
                            .source = status.source,
                            .sequence = status.sequence});
  }

  const std::string fault_;
  const std::string session_;
  Loop loop_;
  Secret secret_;
  FrameworkId framework_;
  LeaderEpoch leader_;
  proto::Channel channel_;
  proto::Encoder encoder_;
  uint64_t generation_ = 0;
  size_t sessions_ = 0;
  int64_t named_ = 0;
  std::set<TaskId> live_;
  std::set<std::pair<TaskId, uint64_t>> acknowledged_;
  std::optional<proto::Accept> last_accept_;
  bool gave_up_ = false;
  int exit_code_ = 0;
  Dealer dealer_;
  Timer beat_;
  Timer impatience_;
};

}  // namespace

int main(int argc, char** argv) {
  const char* named = std::getenv("PROFFER_MASTER");
  const Result<Address> master =
      parse_socket_or_address("$PROFFER_MASTER", named == nullptr ? "" : named);
  const std::string fault = argc > 1 ? argv[1] : "";
  constexpr std::string_view kSession = "--session=";
  std::string session = argc > 2 ? argv[2] : "";
  if (session.starts_with(kSession)) session.erase(0, kSession.size());
  if (!master || std::find(kFaults.begin(), kFaults.end(), fault) == kFaults.end()) return 2;
  return Framework(*master, fault, session).run();
}
