#include "master/shell/secrets.h"

#include <utility>

#include <glog/logging.h>

#include "common/text.h"
#include "proto/json/secrets_json.h"

namespace proffer::master {

Result<void> Secrets::load(const std::string& data_dir) {
  path_ = text(data_dir, "/", kSecretsKeyFile);
  Result<std::optional<SecretKey>> key = SecretKey::read(path_);
  if (!key) return std::move(key).error().in("reading the key file of secrets");
  key_ = *std::move(key);
  return {};
}

std::optional<Error> Secrets::mismatch(const Master& core) const {
  const std::string wanted = core.key_of_secrets();
  if (wanted.empty() || wanted == key_id()) return std::nullopt;
  return Error::failed_precondition(text(quoted(path_),
                                         key_ ? " is not the key file that encrypted the secrets"
                                              : " encrypted the secrets and is missing",
                                         ": tasks that use secrets are refused"))
      .with_hint(
          "copy it from another master or from a backup; if it is lost, remove all secrets and set "
          "them again");
}

Result<SetSecret> Secrets::set(std::string_view arguments, uint64_t call, const PrincipalPtr& by,
                               const Master& core) {
  Result<proto::SecretSetCall> wanted = proto::parse_secret_set_call(arguments);
  if (!wanted) return std::move(wanted).error().in("arguments of secret_set");
  SetSecret event{.call = call, .by = by, .name = std::move(wanted->name)};
  // The core decides whether it may; a key file is made only for principals that act for a user.
  if (by == nullptr || !acts_for_a_user(*by) || by->is_unproven) return event;
  if (Result<void> found = find_key(core); !found) return std::move(found).error();
  event.sealed = key_->seal(by->user, event.name, wanted->value);
  event.key_id = key_->id();
  return event;
}

// If secrets were encrypted with another key file, a new one would be unknown to all other masters.
Result<void> Secrets::find_key(const Master& core) {
  if (key_) return {};
  Result<std::optional<SecretKey>> found = SecretKey::read(path_);
  if (!found) return std::move(found).error();
  if (!*found && !core.key_of_secrets().empty()) {
    return Error::failed_precondition(
               text("this master has no ", path_, ", which encrypted the secrets"))
        .with_hint(
            "copy it from the master where the first secret was set; if it is lost, remove "
            "all secrets (proffer secret list, proffer secret remove) and set them again");
  }
  if (!*found) {
    Result<SecretKey> made = SecretKey::make(path_);
    if (!made) return std::move(made).error();
    LOG(INFO) << "key file of secrets made path=" << path_
              << "; keep a copy of it, and copy it to the other masters";
    *found = *std::move(made);
  }
  key_ = *std::move(found);
  return {};
}

void Secrets::open(proto::Message& message) const {
  auto* const run = std::get_if<proto::RunTask>(&message);
  if (run == nullptr || run->secrets.empty()) return;
  for (const Error& error : open_secrets(key_, *run)) LOG(ERROR) << error.message();
}

}  // namespace proffer::master
