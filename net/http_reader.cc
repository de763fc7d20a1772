#include "net/http_reader.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "common/text.h"

namespace proffer {
namespace {

constexpr size_t kChunkSizeBytesMax = 256;  // of the line with the size, including extensions

Error no_answer(std::string_view why) {
  return Error::invalid_argument(text("the answer is not HTTP/1.1: ", why));
}

bool is_name(std::string_view given, std::string_view name) {
  return std::equal(given.begin(), given.end(), name.begin(), name.end(), [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == b;
  });
}

// Parses all of `digits`; false: not a number, or too large.
template <class Number>
bool read_number(std::string_view digits, int base, Number* number) {
  if (digits.empty() || !std::isxdigit(static_cast<unsigned char>(digits.front()))) return false;
  const char* end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, *number, base);
  return error == std::errc() && at == end;
}

}  // namespace

Result<void> HttpReader::take(std::string_view bytes) {
  while (!bytes.empty() && !is_whole()) {
    if (state_ == State::kSized || state_ == State::kChunk || state_ == State::kToTheEnd) {
      const size_t some = state_ == State::kToTheEnd
                              ? bytes.size()
                              : static_cast<size_t>(std::min<uint64_t>(left_, bytes.size()));
      give(bytes.substr(0, some));
      bytes.remove_prefix(some);
      if (state_ == State::kToTheEnd) continue;
      left_ -= some;
      if (left_ == 0) state_ = state_ == State::kSized ? State::kWhole : State::kChunkEnd;
      continue;
    }
    const size_t end = bytes.find('\n');
    const bool is_end = end != std::string_view::npos;
    const size_t some = is_end ? end + 1 : bytes.size();
    line_ += bytes.substr(0, some);
    bytes.remove_prefix(some);
    const bool is_chunk = state_ == State::kChunkSize || state_ == State::kChunkEnd;
    if (!is_chunk) head_bytes_ += some;
    if (head_bytes_ > kHttpHeadBytesMax || (is_chunk && line_.size() > kChunkSizeBytesMax)) {
      return no_answer("its head is too long");
    }
    if (!is_end) break;
    if (!line_.ends_with("\r\n")) return no_answer("a line does not end with CR LF");
    line_.resize(line_.size() - 2);
    if (Result<void> read = read_line(line_); !read) return read;
    line_.clear();
  }
  return {};
}

Result<void> HttpReader::close() {
  if (state_ == State::kToTheEnd) state_ = State::kWhole;
  if (is_whole()) return {};
  return Error::unavailable("the connection ended in the middle of the answer");
}

void HttpReader::give(std::string_view bytes) {
  if (status_ < 300) return body_(bytes);
  reason_ += bytes.substr(0, kHttpReasonBytesMax - reason_.size());
}

Result<void> HttpReader::read_line(std::string_view line) {
  switch (state_) {
    case State::kStatus:
      return read_status(line);
    case State::kHeaders:
      return line.empty() ? begin_body() : read_header(line);
    case State::kChunkSize:
      return read_chunk_size(line);
    case State::kChunkEnd:
      if (!line.empty()) return no_answer("a chunk is longer than its size says");
      state_ = State::kChunkSize;
      return {};
    default:  // trailers, which are not needed
      if (line.empty()) state_ = State::kWhole;
      return {};
  }
}

// "HTTP/1.1 200 OK"
Result<void> HttpReader::read_status(std::string_view line) {
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  constexpr size_t kDigits = 3;
  const bool is_ours = line.starts_with(kVersion) && line.size() >= kVersion.size() + kDigits;
  const std::string_view digits = is_ours ? line.substr(kVersion.size(), kDigits) : "";
  const std::string_view phrase = is_ours ? line.substr(kVersion.size() + kDigits) : "";
  if (!read_number(digits, 10, &status_) || status_ < 200 || status_ > 599 ||
      !(phrase.empty() || phrase.front() == ' ')) {
    status_ = 0;
    return no_answer("its first line is not \"HTTP/1.1\" with a status of 200 to 599");
  }
  state_ = State::kHeaders;
  return {};
}

Result<void> HttpReader::read_header(std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == 0 || colon == std::string_view::npos) return no_answer("a header has no name");
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (is_name(name, "transfer-encoding")) {
    if (!is_name(value, "chunked") || is_chunked_) return no_answer("its encoding is not chunked");
    is_chunked_ = true;
  } else if (is_name(name, "content-length")) {
    if (length_ >= 0 || !read_number(value, 10, &length_)) return no_answer("a wrong length");
  }
  return {};
}

// A body with both a length and chunks is used for request smuggling (RFC 9112, section 6.3).
Result<void> HttpReader::begin_body() {
  if (is_chunked_ && length_ >= 0) return no_answer("both a length and chunks");
  const bool is_none = status_ == 204 || status_ == 304 || length_ == 0;
  left_ = length_ > 0 ? static_cast<uint64_t>(length_) : 0;
  state_ = is_none        ? State::kWhole
           : is_chunked_  ? State::kChunkSize
           : length_ >= 0 ? State::kSized
                          : State::kToTheEnd;
  return {};
}

Result<void> HttpReader::read_chunk_size(std::string_view line) {
  if (!read_number(trimmed(line.substr(0, line.find(';'))), 16, &left_)) {
    return no_answer("a chunk has no size");
  }
  state_ = left_ == 0 ? State::kTrailers : State::kChunk;
  return {};
}

}  // namespace proffer
