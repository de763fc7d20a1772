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

// The address of a server, and how client and server identify each other.
struct HttpPlace {
  std::string address = {};  // host:port; or the path of a Unix socket, without a pin or token
  // Of the server's certificate (TlsIdentity::pin); empty: no TLS.
  std::string pin = {};
  std::string token = {};  // sent to it ("Authorization: Bearer …"); empty: none
  bool operator==(const HttpPlace&) const = default;
};

// One request on its own connection, which the caller polls. One thread at a time.
class HttpGet {
 public:
  // Begins to connect. `target` is the path, from '/', with its query, each part percent_encoded();
  // `headers` are additional header lines, each with CR LF. May block to resolve a name, or if the
  // queue of a Unix socket is full. Errors: kUnavailable: no server; kInvalidArgument: invalid
  // address.
  static Result<HttpGet> start(const HttpPlace& place, std::string_view target,
                               HttpReader::Body body, std::string_view headers = {});

  int fd() const { return fd_.get(); }
  // Events to poll for.
  short events() const;
  // The request has left; an error of go_on() before that means that there is no server.
  bool is_sent() const { return request_.empty(); }
  // Sends and reads as much as possible now. True: the answer is complete. Errors: kUnavailable,
  // kInvalidArgument, as of HttpReader; kPermissionDenied: the server has another certificate, and
  // the request was not sent.
  Result<bool> go_on();
  const HttpReader& answer() const { return reader_; }

 private:
  HttpGet(Fd fd, std::unique_ptr<TlsClient> tls, std::string request, HttpReader::Body body)
      : fd_(std::move(fd)),
        tls_(std::move(tls)),
        request_(std::move(request)),
        reader_(std::move(body)) {}

  Result<bool> send_request();
  // None: nothing is available now; 0: the end.
  Result<std::optional<size_t>> receive(char* bytes, size_t count);

  Fd fd_;
  std::unique_ptr<TlsClient> tls_;  // none: plain
  std::string request_;             // the unsent part
  HttpReader reader_;
};

// Runs a request to its end. Additional error: kTimeout: the answer has not begun after
// `begin_max`, or is not complete after `end_max`, if these are set.
struct HttpDeadlines {
  Duration begin_max = seconds(30);
  std::optional<Duration> end_max = {};
};
struct HttpAnswer {
  int status = 0;
  std::string reason = {};  // the body of an answer with status 300 or above
};
Result<HttpAnswer> http_get(const HttpPlace& place, std::string_view target, HttpReader::Body body,
                            const HttpDeadlines& deadlines);

}  // namespace proffer
