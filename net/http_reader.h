#pragma once

// The answer of an HTTP/1.1 server to one GET, read as its bytes arrive (RFC 9112, sections 4 to
// 7).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "common/result.h"

namespace proffer {

inline constexpr size_t kHttpHeadBytesMax = size_t{16} << 10;
inline constexpr size_t kHttpReasonBytesMax = 1024;

class HttpReader {
 public:
  // Called with each piece of the body if the status is below 300; otherwise reason() is the body.
  using Body = std::function<void(std::string_view bytes)>;
  explicit HttpReader(Body body) : body_(std::move(body)) {}

  // Takes the next bytes of the connection. kInvalidArgument: they are not an HTTP answer, and
  // reading must end. Bytes after the answer are ignored.
  Result<void> take(std::string_view bytes);
  // The server has closed the connection. kUnavailable: the answer is incomplete.
  Result<void> close();

  bool is_whole() const { return state_ == State::kWhole; }
  int status() const { return status_; }                 // 200 to 599; 0: not read yet
  const std::string& reason() const { return reason_; }  // at most kHttpReasonBytesMax

 private:
  enum class State : uint8_t {
    kStatus,     // the first line
    kHeaders,    // up to the empty line
    kSized,      // a body of known length
    kToTheEnd,   // a body up to the end of the connection
    kChunkSize,  // the line with the size of a chunk
    kChunk,      // the bytes of a chunk
    kChunkEnd,   // the empty line after a chunk
    kTrailers,   // after the last chunk, up to the empty line
    kWhole
  };

  Result<void> read_line(std::string_view line);
  Result<void> read_status(std::string_view line);
  Result<void> read_header(std::string_view line);
  Result<void> read_chunk_size(std::string_view line);
  Result<void> begin_body();
  void give(std::string_view bytes);

  Body body_;
  State state_ = State::kStatus;
  int status_ = 0;
  std::string reason_ = {};
  bool is_chunked_ = false;
  int64_t length_ = -1;    // of the body; -1: the header does not say
  uint64_t left_ = 0;      // of the body or the chunk
  std::string line_ = {};  // the received part of a line
  size_t head_bytes_ = 0;  // of the head and the trailers
};

}  // namespace proffer
