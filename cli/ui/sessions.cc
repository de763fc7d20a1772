#include "cli/ui/sessions.h"

#include <algorithm>
#include <utility>

#include "common/text.h"

namespace proffer::cli {

void UiSessions::offer(std::string key, Time now) {
  key_ = std::move(key);
  offered_ = now;
}

Result<void> UiSessions::begin(std::string_view key, std::string token, Time now) {
  const bool is_right = !key_.empty() && is_same_key(key, key_) && now - offered_ <= kLinkAgeMax;
  if (!is_right) {
    return Error::permission_denied(text("the link is no longer valid: it was used, is older than ",
                                         to_text(kLinkAgeMax),
                                         ", or belongs to another `proffer ui`"))
        .with_hint("open the newest link printed by `proffer ui`, or start it again");
  }
  if (tokens_.size() >= kUiSessionsMax) {
    return Error::resource_exhausted(
               text(kUiSessionsMax, " sessions have begun, the maximum of one `proffer ui`"))
        .with_hint("start `proffer ui` again");
  }
  key_.clear();
  tokens_.push_back(std::move(token));
  return {};
}

bool UiSessions::is_known(std::string_view token) const {
  bool is_found = false;
  for (const std::string& known : tokens_) is_found |= is_same_key(token, known);
  return is_found && !token.empty();
}

bool is_same_key(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char differs = 0;
  for (size_t i = 0; i < a.size(); ++i) differs |= static_cast<unsigned char>(a[i] ^ b[i]);
  return differs == 0;
}

}  // namespace proffer::cli
