#pragma once

// One call to the master's API on its own connection.

#include <optional>
#include <string>
#include <string_view>

#include "common/result.h"
#include "common/time.h"
#include "net/address.h"
#include "net/curve_keys.h"

namespace proffer::sdk {

struct MasterReply {
  std::string json = {};
  std::string next = {};
  std::string master = {};  // the master that answered: its socket, or HOST:PORT
};

// The masters for a command that a person typed: `master` is the value of "--master"; if it is
// empty, find_masters_for_user() finds them. Notes about the choice are printed on standard error.
// Errors: kInvalidArgument; those of read_membership().
Result<Masters> masters_at(const std::string& master);

// Calls once and waits for the answer. Errors: kUnavailable if the master does not answer in time,
// with a hint; else the master's.
Result<MasterReply> call_master(const Masters& masters, const std::optional<ClientKeys>& keys,
                                std::string_view method, std::string_view arguments,
                                Duration timeout);
// Uses the keys of the user.
Result<MasterReply> call_master(const Masters& masters, std::string_view method,
                                std::string_view arguments, Duration timeout);

}  // namespace proffer::sdk
