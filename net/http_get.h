#pragma once

// A GET request to an agent or master: over a Unix socket, TCP without encryption, or TLS.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/result.h"
#include "common/time.h"
#include "net/fd.h"
#include "net/http_reader.h"
#include "net/tls_client.h"

namespace proffer {

// Escapes all but letters, digits and "-._~/" as %XX (RFC 3986, section 2).
std::string percent_encoded(std::string_view path);

// Where a server is, and how it and the client know each other.
struct HttpPlace {
  std::string address = {};  // host:port; or the path of a Unix socket, without a pin or token
  // Of the certificate that the server must have (TlsIdentity::pin); empty: no TLS.
  std::string pin = {};
  std::string token = {};  // sent to it ("Authorization: Bearer …"); empty: none
  bool operator==(const HttpPlace&) const = default;
};

// One request on a connection of its own, which the caller polls. Not for two threads at once.
class HttpGet {
 public:
  // Begins to connect. `target` is the path, from '/', with its query, each part percent_encoded();
  // `headers` are further lines of the request, each with its CR LF. May block: while a name is
  // looked up, or the queue of a Unix socket is full. Errors: kUnavailable: no server;
  // kInvalidArgument: the address is none.
  static Result<HttpGet> start(const HttpPlace& place, std::string_view target,
                               HttpReader::Body body, std::string_view headers = {});

  int fd() const { return fd_.get(); }
  // Events to poll for.
  short events() const;
  // The request has left; an error of go_on() before that means that no server is there.
  bool is_sent() const { return request_.empty(); }
  // Sends and reads as much as is possible now. True: the answer is whole. Errors: kUnavailable,
  // kInvalidArgument, as of HttpReader; kPermissionDenied: the server has another certificate, and
  // was told nothing.
  Result<bool> go_on();
  const HttpReader& answer() const { return reader_; }

 private:
  HttpGet(Fd fd, std::unique_ptr<TlsClient> tls, std::string request, HttpReader::Body body)
      : fd_(std::move(fd)),
        tls_(std::move(tls)),
        request_(std::move(request)),
        reader_(std::move(body)) {}

  Result<bool> send_request();
  // none: nothing is there now; 0: the end.
  Result<std::optional<size_t>> receive(char* bytes, size_t count);

  Fd fd_;
  std::unique_ptr<TlsClient> tls_;  // none: plain
  std::string request_;             // the part that is still to be sent
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
Result<HttpAnswer> http_get(const HttpPlace& place, std::string_view target, HttpReader::Body body,
                            const HttpDeadlines& deadlines);

}  // namespace proffer
