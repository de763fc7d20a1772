// Answers of HTTP servers, as a client reads them.

#include <algorithm>

#include "common/check.h"
#include "net/http_reader.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {
namespace {

struct Outcome {
  int status = 0;
  std::string body = {};
  std::string reason = {};
  std::string error = {};
  bool is_whole = false;
  bool operator==(const Outcome&) const = default;
};

Outcome read(std::string_view bytes, size_t at_once) {
  Outcome out;
  HttpReader reader([&out](std::string_view piece) { out.body += piece; });
  Result<void> read = {};
  for (size_t at = 0; read && at < bytes.size(); at += at_once) {
    read = reader.take(bytes.substr(at, at_once));
  }
  if (read) read = reader.close();
  if (!read) {
    check_told(read.error());
    out.error = read.error().message();
  }
  CHECK(!read || reader.is_whole());
  CHECK(reader.reason().size() <= kHttpReasonBytesMax);
  out.status = reader.status();
  out.reason = reader.reason();
  out.is_whole = reader.is_whole();
  return out;
}

}  // namespace

// The result does not depend on the pieces in which an answer arrives.
void fuzz_http_answer(Input input) {
  const std::string_view bytes = text_of(input);
  const Outcome outcome = read(bytes, std::max<size_t>(bytes.size(), 1));
  CHECK(outcome.body.size() + outcome.reason.size() <= bytes.size());
  CHECK(outcome.status == 0 || (outcome.status >= 200 && outcome.status <= 599));
  CHECK(read(bytes, 1) == outcome) << bytes;
  CHECK(read(bytes, 7) == outcome) << bytes;
}

}  // namespace proffer::fuzz
