#include "common/byte_units.h"

#include "common/text.h"

namespace proffer {
namespace {

constexpr std::string_view kPrefixes = "KMGT";
constexpr std::string_view kUnitsHint =
    "write K, M, G or T (powers of 1024, also as KiB, MiB, GiB and TiB), as in 512M or 4GiB";

}  // namespace

Result<ByteText> split_byte_text(std::string_view whole) {
  const std::string_view given = trimmed(whole);
  size_t end = given.find_first_not_of("0123456789.");
  if (end == std::string_view::npos) return ByteText{.number = given};
  const std::string_view unit = trimmed(given.substr(end));
  ByteText parts{.number = trimmed(given.substr(0, end)), .has_unit = true};
  if (unit == "B") return parts;
  const size_t power = kPrefixes.find(unit.front());
  const std::string_view rest = unit.substr(1);
  if (power != std::string_view::npos && (rest.empty() || rest == "i" || rest == "iB")) {
    parts.shift = 10 * (static_cast<int>(power) + 1);
    return parts;
  }
  if (power != std::string_view::npos && rest == "B") {
    const std::string digits(static_cast<size_t>(3 * (power + 1)), '0');
    return Error::invalid_argument(text(quoted(given), " has two readings: ", parts.number,
                                        unit.front(), "iB, or ", parts.number, digits, " bytes"))
        .with_hint(text("write ", parts.number, unit.front(), "iB"));
  }
  return Error::invalid_argument(text("unknown unit ", quoted(unit), " in ", quoted(given)))
      .with_hint(std::string(kUnitsHint));
}

}  // namespace proffer
