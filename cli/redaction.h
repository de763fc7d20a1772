#pragma once

// Removes secrets from text before it leaves a machine.

#include <string>
#include <string_view>
#include <vector>

namespace proffer::cli {

inline constexpr std::string_view kRemoved = "[removed]";

class Redaction {
 public:
  // Adds a secret that is removed everywhere: the contents of files with tokens and keys. Texts of
  // fewer than eight characters are not secrets, and are kept.
  void know(std::string_view secret);

  // The text without known secrets, and without values after a name that contains secret, password,
  // token, credential, private or key, as in NAME=VALUE, NAME: VALUE, --NAME VALUE and
  // "NAME":"VALUE", and after "Bearer ". Names consist of letters, digits, '_' and '-'. The value
  // of `key` alone, which often names fields and public halves, stays. The text after
  // "Authorization: SCHEME " is removed, and so are user and password of
  // scheme://user:password@host.
  std::string of(std::string_view text) const;
  // Each variable without its value, even if it has several lines: NAME=[removed].
  std::string of_environment(std::string_view text) const;

 private:
  std::vector<std::string> known_;  // the longest first
};

}  // namespace proffer::cli
