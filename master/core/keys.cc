// Keys of agents and users on other machines, and the join tokens that bring them into the
// registry. An operator makes a token (on_make_token). Its holder registers its own key with it,
// once (on_join). A key is valid until it is revoked (on_revoke_key), or until the first use
// (on_key_used) of the successor that its holder registered (on_rotate_key). find_key decides who
// may connect.

#include "common/text.h"
#include "master/core/state.h"
#include "master/core/trace.h"

namespace proffer::master {
namespace {

std::string name_of(const KnownKey& key) { return text(to_text(key.kind), " ", quoted(key.name)); }

Error bad_key(const PublicKey& key) {
  return Error::invalid_argument(
      text("a public key is ", kPublicKeyBytes, " characters of Z85, not ", quoted(key.str())));
}

}  // namespace

const KnownKey* Master::State::find_key(const PublicKey& key, Time now) const {
  const KnownKey* found = registry_.find(key);
  const bool is_over = found != nullptr && found->is_token() && *found->token_until < now;
  return is_over ? nullptr : found;
}

std::vector<KnownKey> Master::State::keys() const {
  std::vector<KnownKey> all;
  for (const auto& [key, record] : registry_.keys()) all.push_back(record);
  return all;
}

std::vector<KnownKey> Master::State::keys_for(const Principal* by) const {
  if (by == nullptr || !acts_for_a_user(*by)) return {};
  std::vector<KnownKey> found = keys();
  if (is_operator(options_.policy, *by)) return found;
  std::erase_if(found, [by](const KnownKey& key) {
    return key.kind != KeyKind::kUser || by->user.empty() || key.name != by->user;
  });
  return found;
}

void Master::State::on_make_token(const MakeJoinToken& message, Step& step) {
  // Decide.
  if (Result<void> may = permit(message.by, Action::kManageKeys, message.name, step); !may) {
    return answer(message.call, std::move(may).error(), step);
  }
  forget_old_tokens(step);
  Result<KnownKey> token = token_wanted(message, step.now);
  if (!token) return answer(message.call, std::move(token).error(), step);

  // Apply.
  write(*token, false, step);

  // Tell.
  step.trace(JoinTokenMade{token->kind, token->name, message.valid_for, token->key});
  answer(message.call, std::string(), step);
}

Result<KnownKey> Master::State::token_wanted(const MakeJoinToken& message, Time now) const {
  if (!is_valid_public_key(message.key.str())) return bad_key(message.key);
  if (Result<void> name = check_name(text("the name of the ", to_text(message.kind)), message.name);
      !name) {
    return std::move(name).error();
  }
  if (message.valid_for < seconds(1) || message.valid_for > kJoinTokenAgeMax) {
    return Error::invalid_argument(text("a join token is valid for 1s to ",
                                        to_text(kJoinTokenAgeMax), ", not ",
                                        to_text(message.valid_for)));
  }
  if (registry_.find(message.key) != nullptr) {
    return Error::already_exists("this key is already registered");
  }
  if (registry_.keys().size() >= kKeysMax) {
    return Error::resource_exhausted(
               text("the cluster knows ", kKeysMax, " keys and join tokens, which is the maximum"))
        .with_hint("revoke unused ones: proffer keys list shows them");
  }
  return KnownKey{.key = message.key,
                  .kind = message.kind,
                  .name = message.name,
                  .since = now,
                  .by = message.by->user,
                  .token_until = now + message.valid_for};
}

void Master::State::on_join(const JoinCluster& message, Step& step) {
  // Decide.
  const std::string asked = beginning_of(message.key);
  if (Result<void> may = permit(message.by, Action::kJoin, asked, step); !may) {
    return answer(message.call, std::move(may).error(), step);
  }
  const Result<KnownKey> joined = key_wanted(message, step.now);
  if (!joined) {
    step.trace(AuditRefused{.user = audit_name(message.by.get()),
                            .action = to_text(Action::kJoin),
                            .of = asked,
                            .error = joined.error().message()});
    return answer(message.call, joined.error(), step);
  }

  // Apply. The token is used up in the same step.
  const KnownKey token = *registry_.find(message.by->key);
  write(token, true, step);
  if (joined->kind == KeyKind::kAgent) {
    for (const KnownKey& older : keys()) {
      if (older.is_token() || older.kind != joined->kind || older.name != joined->name) continue;
      end_key(older,
              Error::permission_denied(
                  text("agent ", quoted(older.name), " has joined again with another key")),
              false, step);
    }
  }
  write(*joined, false, step);

  // Tell.
  step.trace(Joined{joined->kind, joined->name, message.key, token.by});
  answer(message.call, std::string(), step);
  step.out.actions.emplace_back(DropKey{token.key});
}

Result<KnownKey> Master::State::key_wanted(const JoinCluster& message, Time now) const {
  const KnownKey* token = find_key(message.by->key, now);
  if (token == nullptr || !token->is_token()) {
    return Error::permission_denied("this join token was already used, or has expired")
        .with_hint("ask an operator for a new one: proffer join-token");
  }
  if (!is_valid_public_key(message.key.str())) return bad_key(message.key);
  if (registry_.find(message.key) != nullptr) {
    return Error::already_exists("this key is already registered: each machine must make its own");
  }
  if (message.runs_as.size() > kNameBytesMax) {
    return Error::invalid_argument(
        text("the name of a user has at most ", kNameBytesMax, " bytes"));
  }
  return KnownKey{.key = message.key,
                  .kind = token->kind,
                  .name = token->name,
                  .since = now,
                  .by = token->by,
                  .runs_as = token->kind == KeyKind::kAgent ? message.runs_as : std::string()};
}

void Master::State::on_rotate_key(const RotateKey& message, Step& step) {
  // Decide.
  const std::string asked = beginning_of(message.key);
  if (Result<void> may = permit(message.by, Action::kRotateKey, asked, step); !may) {
    return answer(message.call, std::move(may).error(), step);
  }
  const Result<KnownKey> successor = successor_wanted(message, step.now);
  if (!successor) return answer(message.call, successor.error(), step);

  // Apply. A key has one successor: if another was registered before, the answer was lost.
  for (const KnownKey& other : successors_of(message.by->key)) {
    if (other.key != successor->key) write(other, true, step);
  }
  write(*successor, false, step);

  // Tell.
  step.trace(
      SuccessorRegistered{successor->kind, successor->name, message.key, successor->replaces});
  answer(message.call, std::string(), step);
}

Result<KnownKey> Master::State::successor_wanted(const RotateKey& message, Time now) const {
  const PublicKey& own = message.by->key;
  if (own.empty()) {
    return Error::failed_precondition("this call used no key: the kernel identified its user")
        .with_hint("proffer keys rotate is for machines and users that joined with proffer join");
  }
  const KnownKey* known = registry_.find(own);
  if (known == nullptr) return Error::permission_denied("the key of this call was revoked");
  if (!is_valid_public_key(message.key.str())) return bad_key(message.key);
  if (const KnownKey* other = registry_.find(message.key)) {
    if (other->replaces == own) return *other;  // The request is repeated.
    return Error::already_exists("this key is already registered: a successor must be a new key");
  }
  if (registry_.keys().size() >= kKeysMax) {
    return Error::resource_exhausted(
        text("the cluster knows ", kKeysMax, " keys and join tokens, which is the maximum"));
  }
  return KnownKey{.key = message.key,
                  .kind = known->kind,
                  .name = known->name,
                  .since = now,
                  .by = known->by,
                  .runs_as = known->runs_as,
                  .replaces = own};
}

void Master::State::on_key_used(const KeyUsed& used, Step& step) {
  const KnownKey* known = registry_.find(used.key);
  if (known == nullptr || known->replaces.empty()) return;
  KnownKey successor = *known;
  const KnownKey* found = registry_.find(std::exchange(successor.replaces, {}));
  const std::optional<KnownKey> former = found == nullptr ? std::nullopt : std::optional(*found);
  write(successor, false, step);
  if (!former) return;
  end_key(*former,
          Error::permission_denied(
              text("the key of ", name_of(*former), " was replaced by its successor")),
          true, step);
}

// At most one.
std::vector<KnownKey> Master::State::successors_of(const PublicKey& key) const {
  std::vector<KnownKey> found;
  for (const auto& [successor, record] : registry_.keys()) {
    if (record.replaces == key) found.push_back(record);
  }
  return found;
}

void Master::State::on_revoke_key(const RevokeKey& message, Step& step) {
  // Decide.
  const std::string& object = message.key.empty() ? message.name : message.key;
  if (Result<void> may = permit(message.by, Action::kManageKeys, object, step); !may) {
    return answer(message.call, std::move(may).error(), step);
  }
  const Result<std::vector<KnownKey>> revoked = keys_to_revoke(message);
  if (!revoked) return answer(message.call, revoked.error(), step);

  // Apply and tell.
  for (const KnownKey& key : *revoked) {
    end_key(key,
            Error::permission_denied(text("the key of ", name_of(key), " was revoked by user ",
                                          quoted(message.by->user))),
            false, step);
  }
  answer(message.call, std::string(), step);
}

Result<std::vector<KnownKey>> Master::State::keys_to_revoke(const RevokeKey& message) const {
  std::vector<KnownKey> found;
  for (const auto& [key, record] : registry_.keys()) {
    const bool is_meant = message.kind ? record.kind == *message.kind && record.name == message.name
                                       : key.str().starts_with(message.key);
    if (is_meant) found.push_back(record);
  }
  // A thief may have registered a successor of the stolen key.
  if (!message.kind && found.size() == 1) {
    for (KnownKey& successor : successors_of(found.front().key)) {
      found.push_back(std::move(successor));
    }
    return found;
  }
  if (found.empty()) {
    return Error::not_found(message.kind ? text(to_text(*message.kind), " ", quoted(message.name),
                                                " has no keys and no join tokens")
                                         : text("no key begins with ", quoted(message.key)))
        .with_hint("proffer keys list shows all");
  }
  if (!message.kind && found.size() > 1) {
    return Error::invalid_argument(text(found.size(), " keys begin with ", quoted(message.key)))
        .with_hint("give more of the key");
  }
  return found;
}

void Master::State::end_key(const KnownKey& key, const Error& why, bool retry, Step& step) {
  write(key, true, step);
  std::vector<PeerId> sessions;
  for (const auto& [id, peer] : sessions_.all()) {
    if (peer.by != nullptr && peer.by->key == key.key) sessions.push_back(id);
  }
  for (const PeerId id : sessions) end_session(id, why, retry, step);
  step.out.actions.emplace_back(DropKey{key.key});
  step.trace(KeyEnded{.of = key.kind,
                      .name = key.name,
                      .key = key.key,
                      .sessions = sessions.size(),
                      .reason = why.message(),
                      .is_token = key.is_token()});
}

void Master::State::forget_old_tokens(Step& step) {
  for (const KnownKey& key : keys()) {
    if (key.is_token() && *key.token_until < step.now) write(key, true, step);
  }
}

}  // namespace proffer::master
