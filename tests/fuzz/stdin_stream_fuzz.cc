// Messages of a streamed standard input and of a terminal, which schedulers and executors of users
// send, and the request for a terminal in a task's environment.

#include "common/check.h"
#include "proto/stdin_stream.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {
namespace {

// Returns whether it is such a message, which has one form.
template <class Message>
bool check_message(const Result<Message>& message, std::string_view bytes) {
  if (message) {
    CHECK(proto::encode(*message) == bytes) << proto::encode(*message);
  } else {
    check_told(message.error());
  }
  return message.has_value();
}

}  // namespace

void fuzz_stdin_stream(Input input) {
  const std::string_view bytes = text_of(input);
  const Result<proto::StdinPart> part = proto::decode_stdin_part(bytes);
  const Result<proto::TerminalPart> shown = proto::decode_terminal_part(bytes);
  const int kinds = (check_message(part, bytes) ? 1 : 0) + (check_message(shown, bytes) ? 1 : 0) +
                    (check_message(proto::decode_stdin_room(bytes), bytes) ? 1 : 0) +
                    (check_message(proto::decode_terminal_view(bytes), bytes) ? 1 : 0);
  CHECK_LE(kinds, 1);
  if (part) CHECK_LE(part->bytes.size(), proto::kStdinPartBytesMax);
  if (shown) CHECK_LE(shown->bytes.size(), proto::kTerminalPartBytesMax);
  const Result<std::optional<proto::TerminalSize>> asked = proto::terminal_asked(bytes);
  if (!asked) check_told(asked.error());
  if (asked && *asked) CHECK(proto::terminal_request(**asked) == bytes);
}

}  // namespace proffer::fuzz
