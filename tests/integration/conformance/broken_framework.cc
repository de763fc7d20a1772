// A scheduler as nobody should write one, straight on the wire. It subscribes, asks and launches
// tasks; its argument says what it never does: acknowledge, answer (offers), or ask_again (after it
// subscribed again). It asks for more than there is.

#include <cstdlib>
#include <iostream>
#include <string>

#include "common/text.h"
#include "net/address.h"
#include "net/dealer.h"
#include "net/loop.h"
#include "net/randomness.h"
#include "proto/channel.h"
#include "proto/codec/codec.h"

namespace {

using namespace proffer;

// One fits on each agent.
const ResourceVector kShape = ResourceVector::of(3'000, 32'000);

class Broken {
 public:
  Broken(const Address& master, std::string never)
      : never_(std::move(never)),
        secret_(random_secret()),
        dealer_(loop_, {.endpoint = zmq_endpoint(master), .seed = random_seed()},
                {.on_connected = [this] { on_connected(); },
                 .on_frame = [this](std::span<const std::byte> frame) { on_frame(frame); }}),
        beat_(loop_, [this] { on_beat(); }) {}

  void run() {
    dealer_.connect();
    loop_.run();
  }

 private:
  void send(proto::Message message) {
    const proto::Envelope envelope = channel_.stamp(leader_, std::move(message));
    if (const auto frame = encoder_.encode(envelope)) dealer_.send(*frame);
  }

  void on_connected() {
    channel_ = proto::Channel();
    send(proto::Subscribe{.framework = framework_,
                          .name = "broken",
                          .role = RoleName("default"),
                          .secret = secret_,
                          .failover_timeout = seconds(10)});
    beat_.arm(loop_.now() + seconds(1));
  }

  void on_beat() {
    if (!dealer_.is_connected()) return;
    send(proto::Heartbeat{});
    beat_.arm(loop_.now() + seconds(1));
  }

  void on_frame(std::span<const std::byte> frame) {
    const Result<proto::Envelope> envelope = proto::decode(frame);
    if (!envelope) return;
    leader_ = envelope->leader;
    const proto::Message& message = *envelope->message;
    if (const auto* subscribed = std::get_if<proto::Subscribed>(&message)) {
      framework_ = subscribed->framework;
      if (generation_ > 0 && never_ == "ask_again") return;
      send(
          proto::DeclareAsks{.generation = ++generation_,
                             .asks = {{.name = AskName("work"), .shape = kShape, .count = left_}}});
    } else if (const auto* offers = std::get_if<proto::Offers>(&message)) {
      if (never_ == "answer") return;
      for (const Offer& offer : offers->offers) launch(offer);
    } else if (const auto* update = std::get_if<proto::Update>(&message)) {
      const proto::TaskStatus& status = update->status;
      std::cout << status.task.str() << " is " << to_text(status.state) << ' ' << status.message
                << std::endl;
      if (status.sequence == 0 || never_ == "acknowledge") return;
      send(proto::Acknowledge{.task = status.task,
                              .agent = status.agent,
                              .source = status.source,
                              .sequence = status.sequence});
    }
  }

  void launch(const Offer& offer) {
    proto::Launch launch{.agent = offer.agent};
    for (const AskFill& fill : offer.fills) {
      for (int64_t i = 0; i < fill.count && left_ > 0; ++i, --left_) {
        launch.tasks.push_back({.id = TaskId(text("work-", left_)),
                                .ask = fill.ask,
                                .shape = kShape,
                                .command = "sleep 100"});
      }
    }
    if (launch.tasks.empty()) {
      send(proto::Decline{.offers = {offer.id}});
    } else {
      send(proto::Accept{.offers = {offer.id}, .operations = {std::move(launch)}});
    }
  }

  std::string never_;
  Loop loop_;
  Secret secret_;
  FrameworkId framework_;
  LeaderEpoch leader_;
  proto::Channel channel_;
  proto::Encoder encoder_;
  uint64_t generation_ = 0;
  int64_t left_ = 10;
  Dealer dealer_;
  Timer beat_;
};

}  // namespace

int main(int argc, char** argv) {
  const char* named = std::getenv("PROFFER_MASTER");
  const Result<Address> master =
      parse_socket_or_address("$PROFFER_MASTER", named == nullptr ? "" : named);
  if (!master || argc != 2) return 2;
  Broken(*master, argv[1]).run();
}
