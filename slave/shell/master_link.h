#pragma once

// The agent's session with the leading master, in messages. A standby redirects the agent to the
// leader, and a malformed frame ends the session. The agent retries without a limit; the log has
// each reason for a failed attempt once until there is a session again.

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "net/address.h"
#include "net/curve_keys.h"
#include "net/dealer.h"
#include "net/loop.h"
#include "proto/messages.h"

namespace proffer::agent {

// How to reach the masters.
struct MasterReach {
  Masters masters = {};  // one of them leads
  std::optional<ClientKeys> keys = {};
  std::function<ClientKeys(const ClientKeys&)> keys_now = {};  // as Dealer::Options
  std::function<bool(uint32_t uid)> may_serve = {};            // as Dealer::Options
  uint64_t seed = 0;
};
// At least one master.
Dealer::Options dealer_options(const MasterReach& reach);

class MasterLink {
 public:
  // Called from the loop only, never from within a method.
  struct Handlers {
    std::function<void()> on_connected = {};
    std::function<void(proto::Envelope)> on_message = {};
    std::function<void()> on_disconnected = {};
  };

  // Connects at once.
  MasterLink(Loop& loop, const MasterReach& reach, Handlers handlers);
  // Frames that were sent have a second to be delivered.
  ~MasterLink();
  MasterLink(const MasterLink&) = delete;
  MasterLink& operator=(const MasterLink&) = delete;

  // Sends a frame with a message; ignored if there is no session.
  void send(std::span<const std::byte> frame) { dealer_.send(frame); }
  // Ends the session; another one follows.
  void reset(std::string reason) { dealer_.reset(std::move(reason)); }

  uint64_t attempts_failed() const { return attempts_failed_; }

 private:
  void on_frame(std::span<const std::byte> frame);
  void on_failed(const std::string& reason);

  std::string masters_;  // for the log
  Handlers handlers_;
  uint64_t attempts_failed_ = 0;
  std::set<std::string> reasons_told_ = {};  // since the last session; at most kReasonsMax
  Dealer dealer_;
};

}  // namespace proffer::agent
