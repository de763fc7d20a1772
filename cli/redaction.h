#pragma once

// Secrets removed from text before it leaves a machine.

#include <string>
#include <string_view>
#include <vector>

namespace proffer::cli {

inline constexpr std::string_view kRemoved = "[removed]";

class Redaction {
 public:
  // Removed wherever they stand: the contents of files of tokens and keys. Those of fewer than
  // eight characters are no secrets, and are left.
  void know(std::string_view secret);

  // The text without what is known, and without values that stand behind a name that says secret,
  // password, token, credential, private or key, as in NAME=VALUE, NAME: VALUE, --NAME VALUE and
  // "NAME":"VALUE", and behind "Bearer ". Names end and begin where letters, digits, '_' and '-'
  // do. Of `key` alone, which names fields and public halves everywhere, the value stays. Also what
  // follows "Authorization: SCHEME ", and user and password of scheme://user:password@host.
  std::string of(std::string_view text) const;
  // Every variable without its value, over as many lines as it has: NAME=[removed].
  std::string of_environment(std::string_view text) const;

 private:
  std::vector<std::string> known_;  // the longest first
};

}  // namespace proffer::cli
