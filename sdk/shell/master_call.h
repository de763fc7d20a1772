#pragma once

// One question to the master's API, on a connection of its own.

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
  std::string master = {};  // the one that answered: its socket, or HOST:PORT
};

// Of a command that a person typed: "--master" as it was given, or, if empty, as
// find_masters_for_user() finds them; what is to be said of that goes to standard error. Errors:
// kInvalidArgument; those of read_membership().
Result<Masters> masters_at(const std::string& master);

// Asks once and waits for the answer. Errors: kUnavailable if the master does not answer in time,
// with a hint; else the master's.
Result<MasterReply> call_master(const Masters& masters, const std::optional<ClientKeys>& keys,
                                std::string_view method, std::string_view arguments,
                                Duration timeout);
// With the keys of the user.
Result<MasterReply> call_master(const Masters& masters, std::string_view method,
                                std::string_view arguments, Duration timeout);

}  // namespace proffer::sdk
