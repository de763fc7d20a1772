// How a version of Proffer writes and reads frames. tools/previous compiles this file in the
// sources of each earlier version, with that version's codec, schema and message generator; it is
// not part of the current build.
//   previous_frames say            a few frames of each message of the version, one per line:
//                                  KIND HEX TEXT, the text by the version's own schema
//   previous_frames hear < LINES   each line is a frame in hex; answers with one line each:
//                                  heard KIND TEXT, unknown TAG, or refused WHY

#include <iostream>
#include <string>
#include <vector>

#include <capnp/dynamic.h>
#include <capnp/serialize.h>
#include <kj/string-tree.h>

#include "common/check.h"
#include "proto/codec/codec.h"
#include "proto/codec/stream.h"
#include "proto/messages.h"
#include "tests/support/message_generator.h"
#include "tests/upgrade/previous/hex.h"
#include "wire.capnp.h"

namespace {

using namespace proffer;
using namespace proffer::proto;
using upgrade_test::hex;
using upgrade_test::unhex;
using Bytes = std::vector<std::byte>;

constexpr int kFramesOfEach = 4;
// of a recorded frame; the generator also makes frames of the maximum size
constexpr size_t kBytesMax = 1'400;

// One line, by the schema alone, independently of the codec.
std::string text_of(std::span<const std::byte> frame) {
  std::string out;
  const Result<void> read =
      read_stream(frame, kFrameBytesMax, [&](capnp::MessageReader& message) -> Result<void> {
        const auto envelope = message.getRoot<wire::Envelope>();
        out = kj::str(capnp::DynamicStruct::Reader(envelope)).cStr();
        return {};
      });
  CHECK(read) << read.error().message();
  return out;
}

void say() {
  Encoder encoder;
  for (size_t kind = 1; kind < MessageGenerator::kMessageCount; ++kind) {
    int said = 0;
    for (uint64_t seed = 1; said < kFramesOfEach; ++seed) {
      CHECK_LT(seed, 10'000u) << "message " << kind << " is never small";
      MessageGenerator generator(seed * 1'000 + kind);
      const Envelope envelope = generator.envelope(generator.message(kind));
      const auto frame = encoder.encode(envelope);
      if (!frame || frame->size() > kBytesMax) continue;
      std::cout << message_name(*envelope.message) << ' ' << hex(*frame) << ' ' << text_of(*frame)
                << '\n';
      ++said;
    }
  }
}

void hear() {
  for (std::string line; std::getline(std::cin, line);) {
    const Bytes frame = unhex(line);
    const Result<Envelope> envelope = decode(frame);
    if (!envelope) {
      std::cout << "refused " << envelope.error().message() << '\n';
    } else if (const auto* unknown = std::get_if<Unknown>(&*envelope->message)) {
      std::cout << "unknown " << unknown->tag << '\n';
    } else {
      std::cout << "heard " << message_name(*envelope->message) << ' ' << text_of(frame) << '\n';
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc == 2 ? argv[1] : "";
  if (what == "say") {
    say();
  } else if (what == "hear") {
    hear();
  } else {
    std::cerr << "usage: previous_frames say | hear\n";
    return 2;
  }
}
