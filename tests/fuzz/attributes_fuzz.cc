// Attributes of agents: as flags have them, and as peers send them (line 1: a name, the rest: its
// value).

#include "common/attributes.h"
#include "common/check.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {

void fuzz_attributes(Input input) {
  const Result<Attributes> attributes = parse_attributes(text_of(input));
  if (!attributes) {
    check_told(attributes.error());
  } else {
    for (const auto& [name, value] : *attributes) CHECK(check_attribute(name, value)) << name;
    const Result<Attributes> again = parse_attributes(to_text(*attributes));
    CHECK(again && *again == *attributes) << to_text(*attributes);
  }

  const auto [name, value] = first_line(text_of(input));
  if (const Result<void> checked = check_attribute(name, value); !checked) {
    return check_told(checked.error());
  }
  const Attributes sent = {{std::string(name), std::string(value)}};
  const Result<Attributes> printed = parse_attributes(to_text(sent));
  CHECK(printed && *printed == sent) << to_text(sent);
}

}  // namespace proffer::fuzz
