#include "common/ids.h"

#include <algorithm>
#include <ostream>

#include "common/text.h"

namespace proffer {

bool is_valid_name(std::string_view text) {
  if (text.empty() || text.size() > 128 || text == "." || text == "..") return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

Result<void> check_name(std::string_view what, std::string_view text) {
  if (is_valid_name(text)) return {};
  Error error = Error::invalid_argument(proffer::text(
      what, " must be 1 to 128 of the characters A-Z a-z 0-9 . _ - and not '.' or '..', not ",
      quoted(text)));
  std::string valid;
  for (const char c : text.substr(0, kNameBytesMax)) {
    const bool fits = is_valid_name(std::string_view(&c, 1)) || (c == '.' && !valid.empty());
    if (fits || (!valid.empty() && !valid.ends_with('-'))) valid += fits ? c : '-';
  }
  while (valid.ends_with('-')) valid.pop_back();
  if (!is_valid_name(valid)) return error;
  return std::move(error).with_hint(proffer::text("write ", valid));
}

bool is_valid_path(std::string_view text, size_t bytes_max) {
  if (text.size() > bytes_max) return false;
  while (true) {
    const size_t slash = text.find('/');
    if (!is_valid_name(text.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    text.remove_prefix(slash + 1);
  }
}

bool is_valid_secret(std::string_view text) {
  return text.size() == 32 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

namespace detail {
std::ostream& print_text(std::ostream& out, std::string_view text) { return out << text; }
std::ostream& print_number(std::ostream& out, uint64_t number) { return out << number; }
}  // namespace detail

}  // namespace proffer
