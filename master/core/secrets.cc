// Secrets of users: on_set_secret and on_remove_secret store and remove them, check_secrets decides
// whether a launch may use them, and sealed_secrets returns those of a launch. Each user has its
// own names, and a task gets the secrets of the user that it runs as.

#include "master/core/secrets.h"

#include <algorithm>

#include "common/limits.h"
#include "common/text.h"
#include "master/core/agents.h"
#include "master/core/state.h"

namespace proffer::master {
namespace {

constexpr std::string_view kPlainConnection =
    "secrets are not sent over a plain connection (--insecure_tcp)";

const proto::SecretRecord* find_secret(const SecretTable& records, const std::string& owner,
                                       const std::string& name) {
  const auto at = records.find({owner, name});
  return at == records.end() ? nullptr : &at->second;
}

int64_t secrets_of(const SecretTable& records, const std::string& owner) {
  return std::count_if(records.begin(), records.end(),
                       [&](const auto& one) { return one.first.first == owner; });
}

Error not_there(const std::string& owner, const std::string& name) {
  return Error::not_found(text("user ", quoted(owner), " has no secret ", quoted(name)))
      .with_hint("proffer secret list shows the existing ones");
}

}  // namespace

Result<void> check_secrets(const proto::TaskSpec& spec, const std::string& user, const Agent& agent,
                           const SecretShelf& shelf) {
  if (spec.secrets.empty()) return {};
  size_t bytes = 0;
  for (const proto::SecretUse& use : spec.secrets) {
    const proto::SecretRecord* record = find_secret(shelf.records, user, use.name);
    if (record == nullptr) {
      return Error::not_found(text("user ", quoted(user), " has no secret ", quoted(use.name),
                                   ": set it with proffer secret set ", use.name));
    }
    if (record->key_id != shelf.key_id) {
      return Error::failed_precondition(text(
          "secret ", quoted(use.name), " was encrypted with a key file other than that of ",
          shelf.key_id.empty() ? "this master, which has none" : "this master",
          ": copy secrets.key from the master where the secret was set, and restart this master"));
    }
    bytes += record->sealed.size();
  }
  if (bytes > kTaskSecretBytesMax) {
    return Error::resource_exhausted(text("the secrets of a task have at most ",
                                          kTaskSecretBytesMax, " bytes together, not ", bytes));
  }
  if (!agent.takes_secrets) {
    return Error::failed_precondition(
        text("agent ", quoted(agent.id.str()),
             " has a version without support for secrets: upgrade it"));
  }
  if (agent.by != nullptr && agent.by->is_unproven) {
    return Error::failed_precondition(
        text("agent ", quoted(agent.id.str()), ": ", kPlainConnection));
  }
  return {};
}

std::vector<proto::SecretValue> sealed_secrets(const proto::TaskSpec& spec, const std::string& user,
                                               const SecretTable& records) {
  std::vector<proto::SecretValue> sealed;
  for (const proto::SecretUse& use : spec.secrets) {
    const proto::SecretRecord* record = find_secret(records, user, use.name);
    if (record != nullptr) sealed.push_back({.name = use.name, .value = record->sealed});
  }
  return sealed;
}

void Master::State::on_set_secret(const SetSecret& message, Step& step) {
  // Decide.
  if (Result<void> may = permit(message.by, Action::kSetSecret, message.name, step); !may) {
    return answer(message.call, std::move(may).error(), step);
  }
  if (Result<void> checked = check_set_secret(message); !checked) {
    return answer(message.call, std::move(checked).error(), step);
  }

  // Apply.
  secrets_key_ = message.key_id;
  write(proto::SecretRecord{.owner = message.by->user,
                            .name = message.name,
                            .sealed = message.sealed,
                            .key_id = message.key_id,
                            .since = step.now},
        false, step);

  // Tell.
  answer(message.call, std::string(), step);
}

Result<void> Master::State::check_set_secret(const SetSecret& message) const {
  if (message.by->is_unproven) return Error::failed_precondition(std::string(kPlainConnection));
  if (Result<void> checked = proto::check_secret_name(message.name); !checked) return checked;
  const std::string& owner = message.by->user;
  if (owner.empty() || owner.size() > kNameBytesMax || owner.find('/') != std::string::npos) {
    return Error::invalid_argument(text("a user with secrets has a name of 1 to ", kNameBytesMax,
                                        " bytes without '/', not ", quoted(owner)));
  }
  const SecretTable& records = registry_.secrets();
  if (find_secret(records, owner, message.name) != nullptr) return {};
  if (secrets_of(records, owner) >= static_cast<int64_t>(kSecretsPerUserMax)) {
    return Error::resource_exhausted(text("user ", quoted(owner), " has ", kSecretsPerUserMax,
                                          " secrets, which is the maximum"))
        .with_hint("remove unused ones: proffer secret list shows them");
  }
  if (records.size() >= kSecretsMax) {
    return Error::resource_exhausted(
               text("the cluster has ", kSecretsMax, " secrets, which is the maximum"))
        .with_hint("operators may remove secrets of other users: proffer secret list shows them");
  }
  return {};
}

void Master::State::on_remove_secret(const RemoveSecret& message, Step& step) {
  // Decide.
  const std::string owner =
      message.owner.empty() && message.by != nullptr ? message.by->user : message.owner;
  if (Result<void> may =
          permit(message.by, Action::kRemoveSecret, text(owner, "/", message.name), step, owner);
      !may) {
    return answer(message.call, std::move(may).error(), step);
  }
  const proto::SecretRecord* found = find_secret(registry_.secrets(), owner, message.name);
  if (found == nullptr) return answer(message.call, not_there(owner, message.name), step);

  // Apply and tell.
  write(proto::SecretRecord(*found), true, step);
  answer(message.call, std::string(), step);
}

// If there are several, the key file of the secret that was set last.
std::string Master::State::key_of_secrets() const {
  const SecretTable& records = registry_.secrets();
  const auto last = std::max_element(
      records.begin(), records.end(),
      [](const auto& a, const auto& b) { return a.second.since < b.second.since; });
  return last == records.end() ? std::string() : last->second.key_id;
}

std::vector<proto::SecretRow> Master::State::secrets(const Principal* by) const {
  std::vector<proto::SecretRow> rows;
  for (const auto& [key, record] : registry_.secrets()) {
    if (!check_permission(options_.policy, by, Action::kRemoveSecret, record.owner)) continue;
    rows.push_back({.owner = record.owner,
                    .name = record.name,
                    .since = record.since,
                    .is_readable = record.key_id == secrets_key_});
  }
  return rows;
}

}  // namespace proffer::master
