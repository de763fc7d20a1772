#pragma once

// Secrets of users, which their tasks get when they start. The core has encrypted values only: the
// shell encrypts a value before it reaches the core, and decrypts it when the launch is sent.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/principal.h"
#include "common/result.h"
#include "proto/messages.h"
#include "proto/records.h"

namespace proffer::master {

struct Agent;

// The key is the owner and the name.
using SecretTable = std::map<std::pair<std::string, std::string>, proto::SecretRecord>;

// The secrets that launches may use.
struct SecretShelf {
  const SecretTable& records;
  std::string key_id = {};  // the id of this master's key file; empty: it has none
};

// Whether a task that runs as `user` may be launched on `agent` with its secrets: each secret
// belongs to that user, this master can decrypt it, and the connection to the agent is private.
// Errors: kNotFound, kFailedPrecondition, kResourceExhausted; for people.
Result<void> check_secrets(const proto::TaskSpec& spec, const std::string& user, const Agent& agent,
                           const SecretShelf& shelf);

// The encrypted values, in the order of the task's secrets. A secret that was removed meanwhile is
// left out; the executor does not start the task without it.
std::vector<proto::SecretValue> sealed_secrets(const proto::TaskSpec& spec, const std::string& user,
                                               const SecretTable& records);

}  // namespace proffer::master
