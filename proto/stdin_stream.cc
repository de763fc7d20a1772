#include "proto/stdin_stream.h"

#include <limits>
#include <vector>

#include "common/text.h"

namespace proffer::proto {
namespace {

// "stdin_part TASK OFFSET 1" and a newline; the bytes follow.
constexpr std::string_view kPart = "stdin_part";
constexpr std::string_view kRoom = "stdin_room";
// "terminal_part TASK OFFSET 0" and a newline; the bytes follow.
constexpr std::string_view kTerminalPart = "terminal_part";
// "terminal_view TASK SHOWN 0" and a newline; "24x80" follows.
constexpr std::string_view kTerminalView = "terminal_view";
constexpr std::string_view kTerminalRequest = "terminal:";

struct Line {
  TaskId task = {};
  uint64_t offset = 0;
  bool flag = false;
  std::string_view rest = {};
};

std::string encode_line(std::string_view kind, const TaskId& task, uint64_t offset, bool flag) {
  return text(kind, " ", task.str(), " ", offset, " ", flag ? 1 : 0, "\n");
}

Result<Line> decode_line(std::string_view kind, std::string_view bytes) {
  const auto wrong = [&] {
    return Error::invalid_argument(text("the message is not a ", kind, " of a task"));
  };
  const size_t end = bytes.find('\n');
  if (end == std::string_view::npos) return wrong();
  const std::vector<std::string_view> words = split(bytes.substr(0, end), ' ');
  if (words.size() != 4 || words[0] != kind || !is_valid_name(words[1]) ||
      (words[3] != "0" && words[3] != "1")) {
    return wrong();
  }
  const Result<int64_t> offset =
      parse_whole("the offset", words[2], 0, std::numeric_limits<int64_t>::max());
  if (!offset || words[2] != std::to_string(*offset)) return wrong();
  return Line{.task = TaskId(std::string(words[1])),
              .offset = static_cast<uint64_t>(*offset),
              .flag = words[3] == "1",
              .rest = bytes.substr(end + 1)};
}

std::string size_text(TerminalSize size) {
  return text(static_cast<int64_t>(size.rows), "x", static_cast<int64_t>(size.columns));
}

// Refuses all but the text that size_text() makes.
Result<TerminalSize> parse_size(std::string_view value) {
  constexpr int64_t kMost = std::numeric_limits<uint16_t>::max();
  const std::vector<std::string_view> sides = split(value, 'x');
  if (sides.size() == 2) {
    const Result<int64_t> rows = parse_whole("the rows", sides[0], 0, kMost);
    const Result<int64_t> columns = parse_whole("the columns", sides[1], 0, kMost);
    if (rows && columns) {
      const TerminalSize size{static_cast<uint16_t>(*rows), static_cast<uint16_t>(*columns)};
      if (size_text(size) == value) return size;
    }
  }
  return Error::invalid_argument(text("the size of a terminal must be ROWSxCOLUMNS, each at most ",
                                      kMost, ", not ", quoted(value)));
}

}  // namespace

std::string terminal_request(TerminalSize size) { return text(kTerminalRequest, size_text(size)); }

Result<std::optional<TerminalSize>> terminal_asked(std::string_view value) {
  if (!value.starts_with(kTerminalRequest)) return std::optional<TerminalSize>();
  const Result<TerminalSize> size = parse_size(value.substr(kTerminalRequest.size()));
  if (!size) return size.error();
  return std::optional(*size);
}

std::string encode(const TerminalPart& part) {
  return encode_line(kTerminalPart, part.task, part.offset, false) + part.bytes;
}

std::string encode(const TerminalView& view) {
  return encode_line(kTerminalView, view.task, view.shown, false) + size_text(view.size);
}

Result<TerminalPart> decode_terminal_part(std::string_view bytes) {
  const Result<Line> line = decode_line(kTerminalPart, bytes);
  if (!line) return line.error();
  if (line->flag || line->rest.empty() || line->rest.size() > kTerminalPartBytesMax) {
    return Error::invalid_argument(text("a part of a terminal has ", line->rest.size(),
                                        " bytes; 1 to ", kTerminalPartBytesMax, " are allowed"));
  }
  return TerminalPart{.task = line->task, .offset = line->offset, .bytes = std::string(line->rest)};
}

Result<TerminalView> decode_terminal_view(std::string_view bytes) {
  const Result<Line> line = decode_line(kTerminalView, bytes);
  if (!line) return line.error();
  const Result<TerminalSize> size = parse_size(line->rest);
  if (!size) return size.error();
  if (line->flag) return Error::invalid_argument("the view of a terminal has no flag");
  return TerminalView{.task = line->task, .shown = line->offset, .size = *size};
}

std::string encode(const StdinPart& part) {
  return encode_line(kPart, part.task, part.offset, part.is_last) + part.bytes;
}

std::string encode(const StdinRoom& room) {
  return encode_line(kRoom, room.task, room.taken, room.is_closed);
}

Result<StdinPart> decode_stdin_part(std::string_view bytes) {
  const Result<Line> line = decode_line(kPart, bytes);
  if (!line) return line.error();
  if (line->rest.size() > kStdinPartBytesMax) {
    return Error::invalid_argument(text("a part of a standard input has ", line->rest.size(),
                                        " bytes; at most ", kStdinPartBytesMax, " are allowed"));
  }
  return StdinPart{.task = line->task,
                   .offset = line->offset,
                   .bytes = std::string(line->rest),
                   .is_last = line->flag};
}

Result<StdinRoom> decode_stdin_room(std::string_view bytes) {
  const Result<Line> line = decode_line(kRoom, bytes);
  if (!line) return line.error();
  if (!line->rest.empty()) {
    return Error::invalid_argument("the message has bytes after its line");
  }
  return StdinRoom{.task = line->task, .taken = line->offset, .is_closed = line->flag};
}

}  // namespace proffer::proto
