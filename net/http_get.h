#pragma once

// A GET request to an agent or master: over a Unix socket, or TCP without encryption.

#include <optional>
#include <string>
#include <string_view>

#include "common/result.h"
#include "common/time.h"
#include "net/fd.h"
#include "net/http_reader.h"

namespace proffer {

// Escapes all but letters, digits and "-._~/" as %XX (RFC 3986, section 2).
std::string percent_encoded(std::string_view path);

// One request on a connection of its own, which the caller polls. Not for two threads at once.
class HttpGet {
 public:
  // Begins to connect to `address`, host:port or the path of a Unix socket. `target` is the path,
  // from '/', with its query, each part percent_encoded(); `headers` are further lines of the
  // request, each with its CR LF. May block: while a name is looked up, or the queue of a Unix
  // socket is full. Errors: kUnavailable: no server; kInvalidArgument: `address` is none.
  static Result<HttpGet> start(const std::string& address, std::string_view target,
                               HttpReader::Body body, std::string_view headers = {});

  int fd() const { return fd_.get(); }
  // Events to poll for: POLLOUT until the request is sent, then POLLIN.
  short events() const;
  // The request has left; an error of go_on() before that means that no server is there.
  bool is_sent() const { return request_.empty(); }
  // Sends and reads as much as is possible now. True: the answer is whole. Errors: kUnavailable,
  // kInvalidArgument, as of HttpReader.
  Result<bool> go_on();
  const HttpReader& answer() const { return reader_; }

 private:
  HttpGet(Fd fd, std::string request, HttpReader::Body body)
      : fd_(std::move(fd)), request_(std::move(request)), reader_(std::move(body)) {}

  Fd fd_;
  std::string request_;  // the part that is still to be sent
  HttpReader reader_;
};

// Does one to its end. Besides the errors above kTimeout: the answer has not begun after
// `begin_max`, or is not whole after `end_max`, where there is such a bound.
struct HttpDeadlines {
  Duration begin_max = seconds(30);
  std::optional<Duration> end_max = {};
};
struct HttpAnswer {
  int status = 0;
  std::string reason = {};  // the body from 300 on
};
Result<HttpAnswer> http_get(const std::string& address, std::string_view target,
                            HttpReader::Body body, const HttpDeadlines& deadlines);

}  // namespace proffer
