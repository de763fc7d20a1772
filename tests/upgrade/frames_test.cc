// Frames between versions, in both directions. tools/previous --record has recorded frames of
// earlier versions, each with the text that the version's own schema gives it; today's codec must
// read the same content. In ./test --long the real decoders of these versions read today's frames.
// Cap'n Proto makes the text from the schema, so the codec under test takes no part in it.

#include <set>

#include <capnp/dynamic.h>
#include <capnp/serialize.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kj/string-tree.h>

#include "common/text.h"
#include "proto/channel.h"
#include "proto/codec/codec.h"
#include "proto/codec/stream.h"
#include "tests/support/long.h"
#include "tests/support/message_generator.h"
#include "tests/upgrade/previous/hex.h"
#include "tests/upgrade/versions.h"
#include "wire.capnp.h"

namespace proffer::upgrade_test {
namespace {

using Bytes = std::vector<std::byte>;

std::string text_of(std::span<const std::byte> frame) {
  std::string out;
  const Result<void> read =
      proto::read_stream(frame, kFrameBytesMax, [&](capnp::MessageReader& message) -> Result<void> {
        out = kj::str(capnp::DynamicStruct::Reader(message.getRoot<wire::Envelope>())).cStr();
        return {};
      });
  EXPECT_TRUE(read) << read.error().message();
  return out;
}

// The words, numbers, strings and brackets in a text of Cap'n Proto.
std::vector<std::string> tokens_of(const std::string& text) {
  std::vector<std::string> tokens(1);
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      tokens.back() += c;
      if (c == '\\' && i + 1 < text.size()) tokens.back() += text[++i];
      if (c == '"') in_string = false;
    } else if (c == '"') {
      tokens.emplace_back(1, c);
      in_string = true;
    } else if (c == '(' || c == ')' || c == '[' || c == ']') {
      tokens.emplace_back(1, c);
      tokens.emplace_back();
    } else if (c == ' ' || c == ',' || c == '=') {
      tokens.emplace_back();
    } else {
      tokens.back() += c;
    }
  }
  std::erase(tokens, "");
  return tokens;
}

// Describes the first token of `part` that is not found in order in `whole`; empty if all are
// found. A later schema has more fields, and keeps names and places of earlier ones.
std::string missing_from(const std::string& whole, const std::string& part) {
  const std::vector<std::string> there = tokens_of(whole);
  size_t at = 0;
  std::string before;
  for (const std::string& token : tokens_of(part)) {
    while (at < there.size() && there[at] != token) ++at;
    if (at == there.size()) return text(token, " after ", before, "\nof ", part, "\nin ", whole);
    ++at;
    before = token;
  }
  return {};
}

// Replies have version 1 for every caller, and contain this code. Callers that do not know it
// connect by TCP, with the rights of the master's user, so no call is refused for their user.
bool refuses_a_user(const proto::Message& message) {
  const auto* reply = std::get_if<proto::Reply>(&message);
  return reply != nullptr && reply->error && reply->error->code == ErrorCode::kPermissionDenied;
}

class PreviousFrames : public testing::TestWithParam<Version> {};
INSTANTIATE_TEST_SUITE_P(Of, PreviousFrames, testing::ValuesIn(versions()), name_of);

TEST_P(PreviousFrames, MeanTheSameToday) {
  std::istringstream lines(test::read_file(GetParam().fixture("frames.txt")));
  std::set<std::string> kinds;
  proto::Encoder encoder;
  for (std::string line; std::getline(lines, line);) {
    const size_t frame_at = line.find(' ') + 1;
    const size_t text_at = line.find(' ', frame_at) + 1;
    const std::string kind = line.substr(0, frame_at - 1);
    const Bytes frame = unhex(line.substr(frame_at, text_at - 1 - frame_at));
    kinds.insert(kind);

    const Result<proto::Envelope> heard = proto::decode(frame);
    ASSERT_TRUE(heard) << kind << ": " << heard.error().message();
    EXPECT_EQ(proto::message_name(*heard->message), kind);
    // The schema defines the sender's meaning, and the current codec must keep all of it.
    EXPECT_EQ(missing_from(text_of(frame), line.substr(text_at)), "") << kind;
    const auto again = encoder.encode(*heard);
    ASSERT_TRUE(again) << kind;
    EXPECT_EQ(text_of(*again), text_of(frame)) << kind;
  }
  // All messages of the oldest version, up to its latest one.
  EXPECT_GE(kinds.size(), 36u);
  EXPECT_THAT(kinds, testing::IsSupersetOf({"register_agent", "subscribe", "revoke_notice"}));
}

// The other direction: current frames, as a channel sends them to a peer of that protocol version.
TEST_P(PreviousFrames, OfTodayAreUnderstoodOrIgnoredBefore) {
  if (!test::is_long()) GTEST_SKIP() << "not run: PROFFER_LONG is not set";
  if (!GetParam().is_built()) GTEST_SKIP() << "not run: tools/previous has not built it";
  constexpr int kOfEach = 40;
  const test::TemporaryDirectory dir;
  proto::Encoder encoder;
  std::vector<std::string> kinds;
  std::vector<std::string> meant;
  std::string frames;
  for (size_t kind = 1; kind < proto::MessageGenerator::kMessageCount; ++kind) {
    for (uint64_t seed = 1; seed <= kOfEach; ++seed) {
      proto::MessageGenerator generator(seed * 1'000 + kind);
      proto::Channel channel(2);  // all versions in the list support it
      const proto::Envelope said = channel.stamp(LeaderEpoch(1), generator.message(kind));
      if (refuses_a_user(*said.message)) continue;
      const auto frame = encoder.encode(said);
      if (!frame) continue;
      kinds.emplace_back(proto::message_name(proto::MessageGenerator(1).message(kind)));
      meant.push_back(text_of(*frame));
      frames += hex(*frame) + "\n";
    }
  }
  test::write_file(dir / "frames", frames);
  const test::Exit heard = test::run({"/bin/sh", "-c",
                                      text(GetParam().program("previous_frames"), " hear < ",
                                           dir / "frames", " > ", dir / "heard")});
  ASSERT_EQ(heard.code, 0) << heard.err;
  std::istringstream lines(test::read_file(dir / "heard"));
  size_t at = 0;
  for (std::string line; std::getline(lines, line); ++at) {
    ASSERT_LT(at, kinds.size());
    if (line.starts_with("unknown ")) {
      EXPECT_THAT(kinds[at], testing::AnyOf("agent_trouble", "reconciled", "not_leader",
                                            "release_files", "revoke_withdrawn"))
          << line;
      continue;
    }
    const std::string begin = "heard " + kinds[at] + " ";
    ASSERT_TRUE(line.starts_with(begin)) << kinds[at] << ": " << line.substr(0, 300) << "\n"
                                         << meant[at].substr(0, 1'000);
    EXPECT_EQ(missing_from(meant[at], line.substr(begin.size())), "") << kinds[at];
  }
  EXPECT_EQ(at, kinds.size());
}

}  // namespace
}  // namespace proffer::upgrade_test
