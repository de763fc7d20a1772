#include "slave/shell/master_link.h"

#include <utility>
#include <variant>
#include <vector>

#include <glog/logging.h>

#include "common/printable.h"
#include "proto/codec/codec.h"

namespace proffer::agent {
namespace {

constexpr Duration kLinger = seconds(1);  // for the last messages to the master
// Each of several masters may give another reason.
constexpr size_t kReasonsMax = 32;
constexpr uint64_t kToldAgainAfter = 30;  // attempts

}  // namespace

Dealer::Options dealer_options(const MasterReach& reach) {
  const std::vector<std::string> endpoints = zmq_endpoints(reach.masters);
  return {.endpoint = endpoints.front(),
          .others = {endpoints.begin() + 1, endpoints.end()},
          .keys = reach.keys,
          .keys_now = reach.keys_now,
          .may_serve = reach.may_serve,
          .seed = reach.seed,
          .backoff = endpoints.size() > 1 ? kFailoverBackoff : BackoffLimits()};
}

MasterLink::MasterLink(Loop& loop, const MasterReach& reach, Handlers handlers)
    : masters_(to_text(reach.masters)),
      handlers_(std::move(handlers)),
      dealer_(loop, dealer_options(reach),
              {.on_connected =
                   [this] {
                     reasons_told_.clear();
                     handlers_.on_connected();
                   },
               .on_frame = [this](std::span<const std::byte> frame) { on_frame(frame); },
               .on_disconnected =
                   [this](const std::string& reason) {
                     LOG(WARNING) << "the session with the master has ended reason="
                                  << log_value(reason);
                     handlers_.on_disconnected();
                   },
               .on_failed = [this](const std::string& reason) { on_failed(reason); }}) {
  dealer_.connect();
}

MasterLink::~MasterLink() { dealer_.close_gracefully(kLinger); }

void MasterLink::on_frame(std::span<const std::byte> frame) {
  Result<proto::Envelope> envelope = proto::decode(frame);
  if (!envelope) {
    LOG_EVERY_N(WARNING, 30) << "malformed frame from the master: " << envelope.error().message();
    return dealer_.reset("malformed frame");
  }
  if (const auto* other = std::get_if<proto::NotLeader>(&*envelope->message)) {
    return dealer_.redirect(leader_endpoint(other->leader), standby_words(other->leader));
  }
  handlers_.on_message(*std::move(envelope));
}

void MasterLink::on_failed(const std::string& reason) {
  ++attempts_failed_;
  const bool is_new = reasons_told_.size() < kReasonsMax && reasons_told_.insert(reason).second;
  LOG_IF(WARNING, is_new || attempts_failed_ % kToldAgainAfter == 0)
      << "master not reached, trying again master=" << masters_ << " reason=" << log_value(reason);
}

}  // namespace proffer::agent
