#pragma once

// The values of secrets between calls, the core, and agents: they are encrypted on their way into
// the core, and decrypted on their way out of it.

#include <optional>
#include <string>

#include "common/result.h"
#include "master/core/master.h"
#include "master/shell/secret_key.h"

namespace proffer::master {

class Secrets {
 public:
  // Reads the key file of `data_dir`, if there is one. Errors: as SecretKey::read().
  Result<void> load(const std::string& data_dir);
  // Of the key; empty: there is none.
  std::string key_id() const { return key_ ? key_->id() : std::string(); }

  // What is wrong with it beside the core's secrets; none: nothing is.
  std::optional<Error> mismatch(const Master& core) const;

  // The event of a call "secret_set" with these arguments. Makes the key file if there is none and
  // the core has no secrets. Errors: kInvalidArgument without the value, kFailedPrecondition (the
  // core's secrets were encrypted with a key file that is not here), those of the file.
  Result<SetSecret> set(std::string_view arguments, uint64_t call, const PrincipalPtr& by,
                        const Master& core);
  // The message to an agent, with the values of its secrets if it is a launch.
  void open(proto::Message& message) const;

 private:
  Result<void> find_key(const Master& core);
  std::string path_;
  std::optional<SecretKey> key_;
};

}  // namespace proffer::master
