#pragma once

// Secrets between calls, the core and agents: values are encrypted before they reach the core, and
// decrypted when they leave it.

#include <optional>
#include <string>

#include "common/result.h"
#include "master/core/master.h"
#include "master/shell/secret_key.h"

namespace proffer::master {

class Secrets {
 public:
  // Reads the key file in `data_dir`, if it exists. Errors: as SecretKey::read().
  Result<void> load(const std::string& data_dir);
  // The id of the key; empty: there is none.
  std::string key_id() const { return key_ ? key_->id() : std::string(); }

  // Why the key does not fit the core's secrets; none: it fits.
  std::optional<Error> mismatch(const Master& core) const;

  // Makes the event of a call "secret_set" with these arguments. Makes the key file if there is
  // none and the core has no secrets. Errors: kInvalidArgument: the value is missing;
  // kFailedPrecondition: the core's secrets were encrypted with another key file, which is missing
  // here; and those of the file.
  Result<SetSecret> set(std::string_view arguments, uint64_t call, const PrincipalPtr& by,
                        const Master& core);
  // If the message to an agent is a launch, decrypts its secrets.
  void open(proto::Message& message) const;

 private:
  Result<void> find_key(const Master& core);
  std::string path_;
  std::optional<SecretKey> key_;
};

}  // namespace proffer::master
