#pragma once

// One request to an HTTP server at a Unix socket. The answer is read as it comes.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/result.h"
#include "net/fd.h"
#include "net/http_server.h"
#include "net/loop.h"

namespace proffer::cli {

inline constexpr size_t kUpstreamHeadBytesMax = size_t{32} << 10;

struct UpstreamHead {
  int status = 0;
  HttpHeaders headers = {};                              // names in lower case
  std::string_view header(std::string_view name) const;  // empty: there is none
};

// Loop thread. Each of the functions may destroy it in a later turn, but not at once.
class Upstream {
 public:
  struct Heard {
    std::function<void(const UpstreamHead&)> head = {};
    std::function<void(std::string_view bytes)> body = {};
    // The answer is whole, or the error. No function is called after it.
    std::function<void(Result<void>)> end = {};
  };
  // `request` is HTTP 1.0, so the answer's body ends with the connection. Does not block. Errors:
  // kUnavailable: no server listens there, or too many clients wait.
  static Result<std::unique_ptr<Upstream>> start(Loop& loop, const std::string& socket,
                                                 std::string request, Heard heard);
  ~Upstream();
  Upstream(const Upstream&) = delete;
  Upstream& operator=(const Upstream&) = delete;

  // Stops or resumes reading.
  void pause();
  void resume();

 private:
  Upstream(Loop& loop, Fd fd, std::string request, Heard heard);
  void go_on();
  void send();
  void receive();
  void take(std::string_view bytes);
  void finish(Result<void> result);
  void want();

  Fd fd_;
  std::string request_;  // the part that is not sent yet
  Heard heard_;
  std::string head_ = {};
  bool has_head_ = false;
  std::optional<size_t> length_ = {};  // from the head
  size_t got_ = 0;
  bool is_paused_ = false;
  bool is_over_ = false;
  std::unique_ptr<FdWatcher> watcher_;
};

}  // namespace proffer::cli
