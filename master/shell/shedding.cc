#include "master/shell/shedding.h"

#include <utility>

#include <glog/logging.h>

#include "common/load_limits.h"
#include "common/printable.h"
#include "common/text.h"
#include "proto/codec/codec.h"

namespace proffer::master {
namespace {

// Decoding a larger frame costs more than refusing it.
constexpr size_t kLookedIntoBytesMax = size_t{16} << 10;

Error no_room(const std::string& user, bool is_user_full) {
  if (is_user_full) {
    return Error::resource_exhausted(
        text("too many frames of user ", quoted(user), " wait already: ", kWaitingPerUserMax,
             " frames or ", kWaitingBytesPerUserMax >> 20, " MiB are allowed; try again in 1s"));
  }
  return Error::resource_exhausted(text(kCallsPerPeerMax,
                                        " calls of this connection wait already, which is the "
                                        "maximum; try again when one is answered"));
}

}  // namespace

Shedding::Shedding(Handlers handlers)
    : handlers_(std::move(handlers)),
      refusals_({.burst = kRefusedCallsBurst, .per_second = kRefusedCallsPerSecond}) {}

bool Shedding::shed(PeerId peer, const std::string& user, std::span<const std::byte> frame,
                    bool is_user_full, Time now) {
  Error why = no_room(user, is_user_full);
  if (frame.size() <= kLookedIntoBytesMax) {
    const Result<proto::Envelope> envelope = proto::decode(frame);
    const auto* call = envelope ? std::get_if<proto::Call>(&*envelope->message) : nullptr;
    if (call != nullptr) {
      refuse(peer, user, call->id, why, now);
      return true;
    }
  }
  if (!is_user_full) return false;
  end(peer, std::move(why));
  return true;
}

void Shedding::end_flood(PeerId peer, const std::string& user) { end(peer, no_room(user, true)); }

void Shedding::end(PeerId peer, Error why) {
  if (handlers_.waits_for_disk()) {
    cut(peer, kShedArrivals);
  } else if (begin_end(peer, kShedArrivals)) {
    handlers_.end(peer, std::move(why));
  }
}

// Error answers cost time, too: beyond the allowance the connection is cut.
void Shedding::refuse(PeerId peer, const std::string& user, uint64_t call, const Error& why,
                      Time now) {
  ++counters_.calls;
  if (!refusals_.has_left(user, now)) return cut(peer, kMisusedArrivals);
  refusals_.use(user, 1, now);
  LOG_EVERY_T(WARNING, 1) << "calls are refused user=" << user << " calls=" << counters_.calls
                          << " reason=" << log_value(why.message());
  handlers_.answer(peer, call, why);
}

void Shedding::cut(PeerId peer, int64_t arrivals) {
  begin_end(peer, arrivals);
  handlers_.cut(peer);
}

bool Shedding::begin_end(PeerId peer, int64_t arrivals) {
  if (!ending_.insert(peer).second) return false;
  ++counters_.sessions;
  handlers_.charge(peer, arrivals);
  return true;
}

}  // namespace proffer::master
