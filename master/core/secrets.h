#pragma once

// Secrets of users, which their tasks get when they start. The core has them encrypted only: the
// shell encrypts a value before the core hears of it, and decrypts it when the launch leaves.

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

// By owner and name.
using SecretTable = std::map<std::pair<std::string, std::string>, proto::SecretRecord>;

// The secrets that launches may use.
struct SecretShelf {
  const SecretTable& records;
  std::string key_id = {};  // of the key file of this master; empty: it has none
};

// Whether a task that runs as `user` may be launched on `agent` with its secrets: each is one of
// that user, this master can decrypt it, and it reaches the agent by a connection that nobody else
// reads. Errors: kNotFound, kFailedPrecondition, kResourceExhausted; for people.
Result<void> check_secrets(const proto::TaskSpec& spec, const std::string& user, const Agent& agent,
                           const SecretShelf& shelf);

// Encrypted, in the order of the task's. One that has been removed since is left out, and the
// executor refuses to start the task without it.
std::vector<proto::SecretValue> sealed_secrets(const proto::TaskSpec& spec, const std::string& user,
                                               const SecretTable& records);

}  // namespace proffer::master
