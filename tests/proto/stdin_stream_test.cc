// Messages of a streamed input and of a terminal.

#include "proto/stdin_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proffer::proto {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(StdinStream, EachMessageIsReadAsItsOwnKindOnly) {
  const StdinPart part{TaskId("a-1"), 7, std::string("x\n\0y", 4), true};
  const StdinRoom room{TaskId("a-1"), 7, true};
  const TerminalPart shown{TaskId("a-1"), 9, "\x1b[1m\n"};
  const TerminalView view{TaskId("a-1"), 9, {24, 80}};
  EXPECT_EQ(*decode_stdin_part(encode(part)), part);
  EXPECT_EQ(*decode_stdin_room(encode(room)), room);
  EXPECT_EQ(*decode_terminal_part(encode(shown)), shown);
  EXPECT_EQ(*decode_terminal_view(encode(view)), view);
  for (const std::string& bytes : {encode(part), encode(room), encode(shown), encode(view)}) {
    EXPECT_EQ(decode_stdin_part(bytes).has_value() + decode_stdin_room(bytes).has_value() +
                  decode_terminal_part(bytes).has_value() + decode_terminal_view(bytes).has_value(),
              1)
        << bytes;
  }
}

TEST(StdinStream, OtherFormsAreRefused) {
  const std::string too_long(kTerminalPartBytesMax + 1, 'x');
  EXPECT_FALSE(decode_terminal_part(encode(TerminalPart{TaskId("a-1"), 0, too_long})));
  EXPECT_FALSE(decode_terminal_part(encode(TerminalPart{TaskId("a-1"), 0, ""})));
  for (const char* bytes :
       {"terminal_view a-1 9 0\n24x80 ", "terminal_view a-1 9 0\n24x080",
        "terminal_view a-1 9 0\n24", "terminal_view a-1 9 0\n24x65536",
        "terminal_view a-1 9 0\n-1x80", "terminal_view a-1 9 0\n24x80x1", "terminal_view a-1 9 0\n",
        "terminal_view a-1 9 0", "terminal_view a-1 9 1\n24x80"}) {
    EXPECT_FALSE(decode_terminal_view(bytes)) << bytes;
  }
}

TEST(StdinStream, ATaskAsksForATerminalOfASize) {
  EXPECT_EQ(terminal_request({24, 80}), "terminal:24x80");
  EXPECT_EQ(*terminal_asked("terminal:24x80"), (TerminalSize{24, 80}));
  EXPECT_EQ(*terminal_asked(terminal_request({0, 65'535})), (TerminalSize{0, 65'535}));
  EXPECT_EQ(*terminal_asked(kStdinStreamed), std::nullopt);
  EXPECT_EQ(*terminal_asked(""), std::nullopt);
  const auto wrong = terminal_asked("terminal:big");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message(), HasSubstr("'big'"));
  EXPECT_THAT(std::string(kTerminalCommand), StartsWith(": "));
}

}  // namespace
}  // namespace proffer::proto
