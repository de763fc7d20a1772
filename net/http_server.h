#pragma once

// HTTP/1.1 for people and tools: answers of the loop (status, metrics) and files, at one address.
//
// The server's own threads read requests and serve files, so a slow disk does not delay the loop.
// All other requests are passed to the loop and answered from there, now or later. Only GET and
// HEAD, and POST with a small body; others get 405.
//
// At a Unix socket the kernel identifies the user. At a TCP loopback port a bearer of the token has
// the rights of the user that runs this process. Other machines must use TLS, with tokens made
// elsewhere that name the user.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "common/principal.h"
#include "common/result.h"
#include "net/address.h"
#include "net/files.h"
#include "net/loop.h"
#include "net/tls_identity.h"

namespace proffer {

// An eighth of them is kept free: when fewer are free, the connection that has waited longest for a
// request is closed. At most three quarters may be long answers: followers, streams, large files;
// more get 503.
inline constexpr size_t kHttpConnectionsMax = 2'000;
inline constexpr Duration kHttpRequestMax = seconds(10);  // time limit for reading a request
// Time limit for the peer to read a short answer.
inline constexpr Duration kHttpAnswerMax = seconds(60);
// Request line and headers; larger ones are refused.
inline constexpr size_t kHttpRequestBytesMax = 32 * 1024;
inline constexpr size_t kHttpBodyBytesMax = 256 * 1024;  // of a POST; more get 413
// Unsent bytes for a slow reader of a stream.
inline constexpr size_t kHttpStreamBytesMax = 64 * 1024;
inline constexpr int kHttpThreads = 2;
// Answered without a token.
inline constexpr std::string_view kHttpOpenPath = "/healthz";
inline constexpr std::string_view kHttpMetricsPath = "/metrics";

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  PrincipalPtr principal = {};  // the requesting user; nullptr: unknown
  std::string method = {};      // "GET", "HEAD", "POST"
  std::string path =
      {};  // decoded once; begins with '/'; untrusted: may contain "..", "//", any byte but NUL
  std::vector<std::pair<std::string, std::string>> query = {};    // decoded
  std::vector<std::pair<std::string, std::string>> headers = {};  // names in lower case
  std::string body = {};

  // The first value of this name; empty text for "?follow".
  std::optional<std::string_view> param(std::string_view name) const;
  std::optional<std::string_view> header(std::string_view name) const;
};

// The HTTP status for an error: the same mapping for all daemons.
int http_status(ErrorCode code);

struct HttpRefusal {
  int status = 0;
  std::string message = {};
};

// TLS 1.3 on the server's side.
struct HttpTls {
  TlsIdentity identity = {};
  // The bearer of `token` (empty: there is none), if it may request `path`; `peer` is its address.
  // Called concurrently from the server's threads. Not called for kHttpOpenPath.
  std::function<std::variant<PrincipalPtr, HttpRefusal>(
      std::string_view token, std::string_view path, std::string_view peer)>
      admit = {};
};

// A body that is written in pieces. Loop thread; may outlive the connection and the server.
class HttpStream {
 public:
  HttpStream(HttpStream&&) noexcept;
  HttpStream& operator=(HttpStream&&) noexcept;
  ~HttpStream();  // closes the connection unless finish() was called

  // Queues `bytes`; false, with nothing queued, if more than kHttpStreamBytesMax would be unsent or
  // the reader has disconnected. After false, on_writable is called once there is room. A write to
  // an empty queue always succeeds.
  bool write(std::string_view bytes);
  // The body ends here.
  void finish();
  bool is_closed() const;
  void on_writable(std::function<void()> fn);
  // Called when the reader has disconnected (noticed within about a second) or has got everything.
  void on_closed(std::function<void()> fn);

 private:
  friend class HttpResponder;
  struct Impl;
  explicit HttpStream(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

// The obligation to answer one request, at most once. Loop thread; may outlive the connection and
// the server. If it is destroyed without an answer, it answers 500.
class HttpResponder {
 public:
  HttpResponder(HttpResponder&&) noexcept;
  HttpResponder& operator=(HttpResponder&&) noexcept;
  ~HttpResponder();

  // `headers`: additional ones. Without a Cache-Control header the answer must not be cached.
  void respond(int status, std::string_view content_type, std::string body,
               HttpHeaders headers = {});
  void respond_json(int status, std::string body) {
    respond(status, "application/json", std::move(body));
  }
  void respond_text(int status, std::string body) {
    respond(status, "text/plain; charset=utf-8", std::move(body));
  }
  // 307: the client must repeat the request at this URL.
  void redirect(std::string url);
  HttpStream stream(int status, std::string_view content_type);

 private:
  friend class HttpServer;
  struct Impl;
  explicit HttpResponder(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

// The file for a path below the prefix of files.
struct ServedPath {
  FilesRoot root = {};        // nothing outside it is served
  std::string relative = {};  // "" is the root itself
  // Called at the end of the file while a reader follows: true if more bytes may come. None: no
  // more come. Called from the server's threads.
  std::function<bool()> is_growing = {};
  // The name for HttpServer::followed_ended(); empty: followers are woken by time only.
  std::string name = {};
  // Output of a task. If its beginning was dropped, that is a hole, which is skipped and reported;
  // if it is cut, a follower begins again.
  bool is_output = false;
  // Whose rights are used to open it; none: those of this process.
  std::optional<FileUser> user = {};
};

// Files at one prefix. Both functions are called concurrently from the server's threads, so they
// use constant values or locks.
struct FilesRoute {
  std::string prefix = {};  // "/v1/files/"; empty: no files
  // `rest` is the decoded path after the prefix, untrusted. An error becomes the status of its code
  // (http_status()), with its message and its hint as the body.
  std::function<Result<ServedPath>(std::string_view rest, const PrincipalPtr& by)> resolve = {};
  // The JSON answer for a directory.
  std::function<std::string(const std::vector<DirEntry>&)> encode_directory = {};
};

// File answers support Range (206, 416), and with "?follow=1" stream appended bytes until
// is_growing returns false and the end is reached; "&offset=N" begins at byte N. Followers check
// every 50 ms, and when followed_ended() is called.
class HttpServer {
 public:
  struct Options {
    // A numeric address or "localhost", port 0: any free port; or the path of a Unix socket, which
    // all users may connect to. Hold a lock for the path first.
    Address address = {"127.0.0.1", 0};
    // At a TCP port requests must have this token ("Authorization: Bearer …"), except for
    // kHttpOpenPath; others get 401. Empty: users are unknown, and all requests are answered.
    std::string token = {};
    // Valid for kHttpMetricsPath at a TCP port only, for collectors; empty: there is none.
    std::string metrics_token = {};
    std::string token_hint = {};  // where to find the token, for requests without it
    // For other machines; then `token` and `names` are not used. One address of a peer may have a
    // quarter of the connections.
    std::optional<HttpTls> tls = {};
    // Names allowed in the Host header, besides loopback names and `address`.
    std::vector<std::string> names = {};
    // The JSON body of an error of the server itself; none: the message as text. Called
    // concurrently from the server's threads.
    std::string (*encode_error)(const Error&) = nullptr;
    // The Allow header of 405; none: all supported verbs.
    std::string (*verbs_of)(std::string_view path) = nullptr;
    std::function<void(const HttpRequest&, HttpResponder)> handler = {};
    FilesRoute files = {};
    // At a Unix socket a user may have a quarter of them; further ones are closed. Root and the
    // user of this process may have all.
    size_t connections_max = kHttpConnectionsMax;
    Duration request_max = kHttpRequestMax;
  };
  // Errors: kInvalidArgument (address), kUnsupported (not loopback and without TLS),
  // kFailedPrecondition (port in use, no such local address, or another kind of file at the path),
  // kUnavailable.
  static Result<std::unique_ptr<HttpServer>> listen(Loop& loop, Options options);
  // Closes all connections, waits for the server's threads, and removes its socket.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  const Address& address() const;  // with the real port
  uint16_t port() const { return address().port; }
  size_t connections() const;
  // The file with this ServedPath::name is complete: its followers are woken at once. Loop thread.
  void followed_ended(std::string_view name);

 private:
  struct Impl;
  explicit HttpServer(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace proffer
