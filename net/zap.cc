#include "net/zap.h"

#include <array>
#include <string_view>
#include <vector>

#include <zmq.h>

#include "common/check.h"
#include "common/limits.h"
#include "common/text.h"
#include "net/accept_guard.h"

namespace proffer {
namespace {

constexpr const char* kEndpoint = "inproc://zeromq.zap.01";  // fixed by the RFC
constexpr size_t kRawKeyBytes = 32;
// Version, request, domain, address, identity, mechanism, and at most two of the mechanism.
constexpr size_t kFramesMax = 8;

std::string key_text(const std::string& raw) {
  std::array<char, kPublicKeyBytes + 1> z85{};
  zmq_z85_encode(z85.data(), reinterpret_cast<const uint8_t*>(raw.data()), raw.size());
  return {z85.data(), kPublicKeyBytes};
}

}  // namespace

std::shared_ptr<ZapHandler> ZapHandler::of(Loop& loop) {
  std::weak_ptr<void>& known = zmq_zap_handler(loop);
  if (std::shared_ptr<void> handler = known.lock()) {
    return std::static_pointer_cast<ZapHandler>(handler);
  }
  auto made = std::make_shared<ZapHandler>(loop);
  known = made;
  return made;
}

ZapHandler::ZapHandler(Loop& loop) : loop_(loop), socket_(loop, ZMQ_REP, this) {
  CHECK_EQ(uninterrupted([this] { return zmq_bind(socket_.get(), kEndpoint); }), 0)
      << zmq_strerror(zmq_errno());
  loop_.add(this);
}

ZapHandler::~ZapHandler() {
  loop_.remove(this);
  // At once, since closing the socket would release the name only later.
  uninterrupted([this] { return zmq_unbind(socket_.get(), kEndpoint); });
}

std::string ZapHandler::add(MayConnect may_connect) {
  std::string domain = text("keys-", ++domains_made_);
  domains_.emplace(domain, std::move(may_connect));
  return domain;
}

void ZapHandler::remove(const std::string& domain) { domains_.erase(domain); }

void ZapHandler::pump() {
  for (size_t i = 0; i < kMessagesPerTurn && answer_one(); ++i) {
  }
}

bool ZapHandler::answer_one() {
  std::vector<std::string> frames;
  for (bool more = true; more;) {
    zmq_msg_t part;
    zmq_msg_init(&part);
    const bool is_there =
        uninterrupted([&] { return zmq_msg_recv(&part, socket_.get(), ZMQ_DONTWAIT); }) >= 0;
    if (is_there && frames.size() <= kFramesMax) {
      frames.emplace_back(static_cast<const char*>(zmq_msg_data(&part)), zmq_msg_size(&part));
    }
    more = is_there && zmq_msg_more(&part) != 0;
    zmq_msg_close(&part);
    if (!is_there) break;
  }
  if (frames.empty()) return false;
  // Any request other than a check of a key is refused.
  std::string user;
  bool is_admitted = false;
  if (frames.size() >= 6) {
    const std::string& mechanism = frames[5];
    if (mechanism == "NULL") {
      is_admitted = frames[2] == kPlainDomain;
    } else if (mechanism == "CURVE" && frames.size() == 7 && frames[6].size() == kRawKeyBytes) {
      const auto domain = domains_.find(frames[2]);
      user = key_text(frames[6]);
      is_admitted = domain != domains_.end() && domain->second(PublicKey(user));
    }
  }
  if (!is_admitted && frames.size() > 3) note_stranger(frames[3]);
  const std::array<std::string_view, 6> answer = {
      "1.0",
      frames.size() > 1 ? std::string_view(frames[1]) : "",
      is_admitted ? "200" : "400",
      "",
      is_admitted ? std::string_view(user) : "",
      ""};
  for (size_t i = 0; i < answer.size(); ++i) {
    const int flags = ZMQ_DONTWAIT | (i + 1 < answer.size() ? ZMQ_SNDMORE : 0);
    uninterrupted(
        [&] { return zmq_send(socket_.get(), answer[i].data(), answer[i].size(), flags); });
  }
  return true;
}

}  // namespace proffer
