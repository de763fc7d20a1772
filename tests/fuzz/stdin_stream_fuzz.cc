// Messages of a streamed standard input, which schedulers and executors of users send.

#include "common/check.h"
#include "proto/stdin_stream.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {

void fuzz_stdin_stream(Input input) {
  const std::string_view bytes = text_of(input);
  const Result<proto::StdinPart> part = proto::decode_stdin_part(bytes);
  const Result<proto::StdinRoom> room = proto::decode_stdin_room(bytes);
  CHECK(!part || !room);
  if (part) {
    CHECK_LE(part->bytes.size(), proto::kStdinPartBytesMax);
    CHECK(proto::encode(*part) == bytes) << proto::encode(*part);
  } else if (room) {
    CHECK(proto::encode(*room) == bytes) << proto::encode(*room);
  } else {
    check_told(part.error());
    check_told(room.error());
  }
}

}  // namespace proffer::fuzz
