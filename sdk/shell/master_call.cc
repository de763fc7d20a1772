#include "sdk/shell/master_call.h"

#include <memory>

#include "common/text.h"
#include "net/dealer.h"
#include "net/loop.h"
#include "net/membership.h"
#include "net/randomness.h"
#include "net/terminal.h"
#include "proto/codec/codec.h"

namespace proffer::sdk {
namespace {

Error unreachable(const Masters& masters, std::string_view why) {
  Error error = Error::unavailable(text("cannot reach a master at ", to_text(masters), ": ", why));
  if (why.find(kRefusesKey) != why.npos) {
    return std::move(error).with_hint(
        "on the master's machine, check with proffer keys list whether this user's key is known; "
        "an operator creates a new token with proffer join-token");
  }
  if (masters.front().socket.empty() && !is_loopback(masters.front().host)) {
    return std::move(error).with_hint(
        "on the master's machine, check with proffer status whether it serves");
  }
  return std::move(error).with_hint(
      "start a local cluster with `proffer dev`, join one with `proffer join`, or give the "
      "master's address with --master=SOCKET, --master=HOST:PORT or $PROFFER_MASTER");
}

}  // namespace

Result<Masters> masters_at(const std::string& master) {
  Result<FoundMasters> found = find_masters_for_user("--master", master);
  if (!found) return std::move(found).error();
  if (!found->note.empty()) print_note_text(found->note);
  return std::move(found->masters);
}

Result<MasterReply> call_master(const Masters& master, std::string_view method,
                                std::string_view arguments, Duration timeout) {
  const Result<std::optional<ClientKeys>> keys = keys_for(KeyKind::kUser, master);
  if (!keys) return keys.error();
  return call_master(master, *keys, method, arguments, timeout);
}

Result<MasterReply> call_master(const Masters& master, const std::optional<ClientKeys>& keys,
                                std::string_view method, std::string_view arguments,
                                Duration timeout) {
  Loop loop;
  std::optional<Result<MasterReply>> answer;
  const auto finish = [&](Result<MasterReply> result) {
    if (!answer) answer = std::move(result);
    loop.stop();
  };
  proto::Encoder encoder;
  std::unique_ptr<Dealer> dealer;
  // Consecutive failed attempts. An answer of a standby is not a failure: the call then waits for a
  // leader.
  size_t failures = 0;
  std::string why = text("no answer in ", to_text(timeout));
  const auto failed = [&](const std::string& reason) {
    if (why.find(kRefusesKey) == why.npos) why = reason;
    if (++failures >= master.size()) finish(unreachable(master, why));
  };
  const std::vector<std::string> endpoints = zmq_endpoints(master);
  Dealer::Options dealer_options{.endpoint = endpoints.front(),
                                 .others = {endpoints.begin() + 1, endpoints.end()},
                                 .keys = keys,
                                 .keep_connected = master.size() > 1,
                                 .seed = random_seed()};
  // A machine that is off does not answer, so there must be time left for all others.
  if (master.size() > 1) {
    dealer_options.connect_timeout = timeout / static_cast<int64_t>(master.size() + 1);
  }
  dealer = std::make_unique<Dealer>(
      loop, std::move(dealer_options),
      Dealer::Handlers{
          .on_connected =
              [&] {
                const auto frame = encoder.encode(
                    {.version = proto::kProtocolVersionMin,
                     .message = proto::Call{
                         .id = 1, .method = std::string(method), .json = std::string(arguments)}});
                if (!frame) return finish(frame.error());
                dealer->send(*frame);
              },
          .on_frame =
              [&](std::span<const std::byte> frame) {
                Result<proto::Envelope> envelope = proto::decode(frame);
                if (!envelope) {
                  return finish(std::move(envelope).error().in("the master's answer"));
                }
                if (auto* other = std::get_if<proto::NotLeader>(&*envelope->message);
                    other != nullptr && master.size() > 1) {
                  failures = 0;
                  why = other->leader.empty()
                            ? "no master leads at the moment"
                            : text("the leader, ", other->leader, ", does not answer");
                  return dealer->redirect(leader_endpoint(other->leader), why);
                }
                if (auto* error = std::get_if<proto::ErrorMessage>(&*envelope->message)) {
                  return finish(Error(error->code, error->message).with_hint(error->hint));
                }
                auto* reply = std::get_if<proto::Reply>(&*envelope->message);
                if (reply == nullptr) return;
                if (reply->error) {
                  return finish(Error(reply->error->code, reply->error->message)
                                    .with_hint(reply->error->hint));
                }
                const std::string& place = dealer->endpoint();
                finish(MasterReply{.json = std::move(reply->json),
                                   .next = std::move(reply->next),
                                   .master = place.substr(place.find("://") + 3)});
              },
          .on_disconnected =
              [&](const std::string& reason) {
                if (reason != why) failed(reason);
              },
          .on_failed = failed});
  Timer timer(loop, [&] { finish(unreachable(master, why)); });
  timer.arm(loop.now() + timeout);
  dealer->connect();
  loop.run();
  dealer->close();
  return *std::move(answer);
}

}  // namespace proffer::sdk
