#pragma once

// Names as distinct types, so that a task's id cannot be used as an agent's.

#include <compare>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

#include "common/result.h"

namespace proffer {

// An id that people or peers choose: a text. Empty means "none".
template <class Tag>
class Id {
 public:
  Id() = default;
  explicit Id(std::string value) : value_(std::move(value)) {}
  const std::string& str() const { return value_; }
  bool empty() const { return value_.empty(); }
  auto operator<=>(const Id&) const = default;
  bool operator==(const Id&) const = default;

 private:
  std::string value_;
};

// An id or epoch that is counted. Zero means "none".
template <class Tag>
class Number {
 public:
  constexpr Number() = default;
  constexpr explicit Number(uint64_t value) : value_(value) {}
  constexpr uint64_t value() const { return value_; }
  constexpr explicit operator bool() const { return value_ != 0; }
  constexpr auto operator<=>(const Number&) const = default;

 private:
  uint64_t value_ = 0;
};

using FrameworkId = Id<struct FrameworkTag>;  // given by the master: name-epoch-count
using AgentId = Id<struct AgentTag>;          // the agent's name, unique in the cluster
using TaskId = Id<struct TaskTag>;            // chosen by the framework, unique within it
using ExecutorId = Id<struct ExecutorTag>;    // chosen by the framework, unique within it and agent
using RoleName = Id<struct RoleTag>;
using AskName = Id<struct AskTag>;  // chosen by the framework, unique within it

using OfferId = Number<struct OfferTag>;  // unique within one leader epoch
using PeerId = Number<struct PeerTag>;    // a connection, given by the shell; never reused
using LeaderEpoch = Number<struct LeaderEpochTag>;  // one life of a master as leader
using SessionEpoch = Number<struct SessionTag>;     // one session of an agent's or framework's id

// A 128-bit secret in 32 hexadecimal digits, made by the peer's shell from the system's randomness.
// It proves that a later session with the same id comes from the same peer.
using Secret = Id<struct SecretTag>;

// Identifies the registry of a cluster. It has the form of a secret, though it is not secret. It is
// made with the registry; every peer with state in the cluster keeps it.
using ClusterId = Id<struct ClusterTag>;

// Prints them as their text or number, for an author's std::cout and for messages of tests. Values
// with a to_text() are printed with it.
namespace detail {
std::ostream& print_text(std::ostream& out, std::string_view text);
std::ostream& print_number(std::ostream& out, uint64_t number);
}  // namespace detail
template <class Tag>
std::ostream& operator<<(std::ostream& out, const Id<Tag>& id) {
  return detail::print_text(out, id.str());
}
template <class Tag>
std::ostream& operator<<(std::ostream& out, Number<Tag> number) {
  return detail::print_number(out, number.value());
}

// Names and ids that people choose: [A-Za-z0-9._-]{1,128}, not "." or "..".
bool is_valid_name(std::string_view text);
// An error that names the invalid value of `what` ("task id", "agent name") and what is allowed.
Result<void> check_name(std::string_view what, std::string_view text);
// Such names joined by '/', at most `bytes_max` bytes.
bool is_valid_path(std::string_view text, size_t bytes_max);
bool is_valid_secret(std::string_view text);

}  // namespace proffer

template <class Tag>
struct std::hash<proffer::Id<Tag>> {
  size_t operator()(const proffer::Id<Tag>& id) const { return std::hash<std::string>()(id.str()); }
};
template <class Tag>
struct std::hash<proffer::Number<Tag>> {
  size_t operator()(const proffer::Number<Tag>& n) const {
    return std::hash<uint64_t>()(n.value());
  }
};
