// Texts of host:port.

#include "common/check.h"
#include "net/address.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {

void fuzz_address(Input input) {
  const std::string_view whole = text_of(input);
  (void)is_loopback(whole);
  const Result<Address> strict = parse_address("--master", whole);
  if (!strict) check_told(strict.error());
  const Result<Address> address = parse_address("--master", whole, 5050);
  if (!address) {
    CHECK(!strict) << whole;
    return check_told(address.error());
  }
  if (strict) CHECK(*strict == *address) << whole;
  CHECK(!address->host.empty() && is_readable(address->host));
  for (const char c : address->host) CHECK(c != '[' && c != ']' && c != '/' && c != ' ') << whole;
  const std::string printed = to_text(*address);
  const Result<Address> again = parse_address("--master", printed);
  CHECK(again && *again == *address) << printed;
  CHECK(zmq_endpoint(*address).ends_with(printed)) << printed;
}

}  // namespace proffer::fuzz
