#include "common/keys.h"

#include <algorithm>

namespace proffer {

bool is_valid_public_key(std::string_view text) {
  constexpr std::string_view kMarks = ".-:+=^!/*?&<>()[]{}@%$#";
  return text.size() == kPublicKeyBytes && std::all_of(text.begin(), text.end(), [&](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  kMarks.find(c) != std::string_view::npos;
         });
}

std::string_view to_text(KeyKind kind) { return kind == KeyKind::kAgent ? "agent" : "user"; }

std::optional<KeyKind> parse_key_kind(std::string_view text) {
  for (const KeyKind kind : {KeyKind::kAgent, KeyKind::kUser}) {
    if (text == to_text(kind)) return kind;
  }
  return std::nullopt;
}

}  // namespace proffer
