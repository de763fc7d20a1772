#include "common/text.h"

#include <algorithm>
#include <array>

#include "common/limits.h"
#include "common/printable.h"

namespace proffer {

std::string quoted(std::string_view text) { return "'" + printable(text) + "'"; }

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Result<int64_t> parse_milli(std::string_view text) {
  const auto wrong = [&] {
    Error error = Error::invalid_argument(
        proffer::text("an amount must be a number from 0 to ", kAmountMax / 1000,
                      " with at most 3 decimals, not ", quoted(text)));
    // "500m" of Kubernetes.
    const std::string_view digits = text.substr(0, text.empty() ? 0 : text.size() - 1);
    if (text.ends_with('m') && !digits.empty() && digits.size() <= 12 &&
        digits.find_first_not_of("0123456789") == digits.npos) {
      const int64_t thousandths = *parse_whole("number", digits, 0, 999'999'999'999);
      return std::move(error).with_hint(
          proffer::text("for thousandths of a CPU, write ", print_milli(thousandths)));
    }
    return error;
  };
  const size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const std::string_view decimals =
      point == std::string_view::npos ? std::string_view() : text.substr(point + 1);
  if (whole.empty() || (point != std::string_view::npos && decimals.empty())) return wrong();
  if (decimals.size() > 3) return wrong();
  int64_t milli = 0;
  for (const char c : whole) {
    if (c < '0' || c > '9') return wrong();
    milli = milli * 10 + (c - '0');
    if (milli > kAmountMax / 1000) return wrong();
  }
  for (size_t i = 0; i < 3; ++i) {
    const char c = i < decimals.size() ? decimals[i] : '0';
    if (c < '0' || c > '9') return wrong();
    milli = milli * 10 + (c - '0');
  }
  if (milli > kAmountMax) return wrong();
  return milli;
}

std::string print_milli(int64_t milli) {
  std::string out = milli < 0 ? "-" : "";
  const uint64_t amount =
      milli < 0 ? ~static_cast<uint64_t>(milli) + 1 : static_cast<uint64_t>(milli);
  out += std::to_string(amount / 1000);
  uint64_t rest = amount % 1000;
  if (rest == 0) return out;
  std::string decimals = std::to_string(1000 + rest).substr(1);
  while (decimals.back() == '0') decimals.pop_back();
  return out + "." + decimals;
}

Result<int64_t> parse_whole(std::string_view what, std::string_view text, int64_t min,
                            int64_t max) {
  const auto wrong = [&] {
    Error error = Error::invalid_argument(proffer::text(what, " must be a whole number from ", min,
                                                        " to ", max, ", not ", quoted(text)));
    const size_t end = std::min(text.size(), text.find_first_not_of("0123456789"));
    if (end == 0 || end > 12 || end == text.size()) return error;
    if (text[end] == '%') {
      return std::move(error).with_hint(proffer::text("write the number itself, as in ",
                                                      std::max<int64_t>(min, 1),
                                                      ": a percentage is not taken here"));
    }
    if (text[end] == '.') {
      return std::move(error).with_hint(proffer::text("write ", text.substr(0, end)));
    }
    return error;
  };
  std::string_view digits = text;
  const bool negative = !digits.empty() && digits.front() == '-';
  if (negative) digits.remove_prefix(1);
  if (digits.empty() || digits.size() > 18) return wrong();
  int64_t value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return wrong();
    value = value * 10 + (c - '0');
  }
  if (negative) value = -value;
  if (value < min || value > max) return wrong();
  return value;
}

std::string listed(const std::vector<std::string>& names) {
  std::string said;
  for (size_t i = 0; i < std::min(names.size(), kNamesListedMax); ++i) {
    said += text(i == 0 ? "" : ", ", names[i]);
  }
  return names.size() > kNamesListedMax ? said + ", …" : said;
}

std::string_view nearest(std::string_view word, const std::vector<std::string_view>& known) {
  if (word.size() > 64) return {};
  std::string_view best;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string_view candidate : known) {
    std::vector<size_t> row(candidate.size() + 1);
    for (size_t j = 0; j <= candidate.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= word.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j <= candidate.size(); ++j) {
        const size_t change = diagonal + (word[i - 1] == candidate[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

}  // namespace proffer
