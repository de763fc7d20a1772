#pragma once

// HTTP/1.1 for people and tools: answers of the loop (status, metrics) and files, at one address.
//
// The server's own threads read requests and serve files, so a slow disk never holds up the loop.
// All other requests are handed to the loop and answered from there, now or later. Only GET and
// HEAD, and POST with a small body; others get 405.
//
// At a Unix socket the kernel says which user asks. At a TCP port of the loopback interface only
// the bearer of a token is known: it has the rights of the user that runs this process. Beyond
// loopback there is TLS or nothing, and tokens that others make name the user.

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

// Of these an eighth is kept free: of more, the one closes that has kept us waiting for a request
// the longest. At most three quarters may be long answers: followers, streams, large files; more
// get 503.
inline constexpr size_t kHttpConnectionsMax = 2'000;
inline constexpr Duration kHttpRequestMax = seconds(10);   // until a request has been read
inline constexpr Duration kHttpAnswerMax = seconds(60);    // until the peer has read a short answer
inline constexpr size_t kHttpRequestBytesMax = 32 * 1024;  // line and headers; more are refused
inline constexpr size_t kHttpBodyBytesMax = 256 * 1024;    // of a POST; more get 413
inline constexpr size_t kHttpStreamBytesMax = 64 * 1024;   // waiting for a slow reader of a stream
inline constexpr int kHttpThreads = 2;
// What is answered to everybody, also to those that have no token.
inline constexpr std::string_view kHttpOpenPath = "/healthz";
inline constexpr std::string_view kHttpMetricsPath = "/metrics";

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  PrincipalPtr principal = {};  // the user that asks; nullptr: not known
  std::string method = {};      // "GET", "HEAD", "POST"
  std::string path =
      {};  // decoded once; begins with '/'; hostile: may hold "..", "//", any byte but NUL
  std::vector<std::pair<std::string, std::string>> query = {};    // decoded
  std::vector<std::pair<std::string, std::string>> headers = {};  // names in lower case
  std::string body = {};

  // The first value of that name; empty text for "?follow".
  std::optional<std::string_view> param(std::string_view name) const;
  std::optional<std::string_view> header(std::string_view name) const;
};

// The status of an answer that tells this error: one map for all daemons.
int http_status(ErrorCode code);

struct HttpRefusal {
  int status = 0;
  std::string message = {};
};

// TLS 1.3, as this server.
struct HttpTls {
  TlsIdentity identity = {};
  // Who the bearer of `token` is (empty: it has none), if it may ask for `path`; `peer` is its
  // address. Called from the server's threads, at the same time. Not asked for kHttpOpenPath.
  std::function<std::variant<PrincipalPtr, HttpRefusal>(
      std::string_view token, std::string_view path, std::string_view peer)>
      admit = {};
};

// A body that is written bit by bit. Loop thread; may outlive the connection and the server.
class HttpStream {
 public:
  HttpStream(HttpStream&&) noexcept;
  HttpStream& operator=(HttpStream&&) noexcept;
  ~HttpStream();  // cuts the connection unless finish() was called

  // Queues `bytes`; false, with nothing queued, if more than kHttpStreamBytesMax would wait or the
  // reader has gone. After false on_writable is called once there is room. A write to an empty
  // queue is always taken.
  bool write(std::string_view bytes);
  // The body ends here.
  void finish();
  bool is_closed() const;
  void on_writable(std::function<void()> fn);
  // The reader has gone (noticed within about a second) or got everything.
  void on_closed(std::function<void()> fn);

 private:
  friend class HttpResponder;
  struct Impl;
  explicit HttpStream(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

// The duty to answer one request, at most once. Loop thread; may outlive the connection and the
// server. One that is destroyed without an answer answers 500.
class HttpResponder {
 public:
  HttpResponder(HttpResponder&&) noexcept;
  HttpResponder& operator=(HttpResponder&&) noexcept;
  ~HttpResponder();

  // `headers`: further ones. Without Cache-Control nobody may keep the answer.
  void respond(int status, std::string_view content_type, std::string body,
               HttpHeaders headers = {});
  void respond_json(int status, std::string body) {
    respond(status, "application/json", std::move(body));
  }
  void respond_text(int status, std::string body) {
    respond(status, "text/plain; charset=utf-8", std::move(body));
  }
  // 307: the same request is to be made at this URL.
  void redirect(std::string url);
  HttpStream stream(int status, std::string_view content_type);

 private:
  friend class HttpServer;
  struct Impl;
  explicit HttpResponder(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

// What a path below the files' prefix means.
struct ServedPath {
  FilesRoot root = {};        // nothing outside it is ever served
  std::string relative = {};  // "" is the root itself
  // Asked at the end of the file while a reader follows: may more come? None: no. Called from the
  // server's threads.
  std::function<bool()> is_growing = {};
  // By which HttpServer::followed_ended() knows it; empty: only time wakes those that follow it.
  std::string name = {};
  // Of a task: what is missing at its beginning is a hole, which is passed over and told; if it is
  // cut, a reader that follows begins anew.
  bool is_output = false;
  std::optional<FileUser> user = {};  // with whose rights it is opened; none: those of this process
};

// Files at one prefix. Both functions are called from the server's threads, at the same time: they
// work on values that nobody changes, or take a lock.
struct FilesRoute {
  std::string prefix = {};  // "/v1/files/"; empty: no files
  // `rest` is the decoded path after the prefix, hostile. An error becomes the status of its code
  // (http_status()), with its message and its hint as the body.
  std::function<Result<ServedPath>(std::string_view rest, const PrincipalPtr& by)> resolve = {};
  // The answer to a directory, as JSON.
  std::function<std::string(const std::vector<DirEntry>&)> encode_directory = {};
};

// Files answer with Range (206, 416), and with "?follow=1" stream what is appended until is_growing
// says no and the end is reached; "&offset=N" begins at byte N. They look each 50 ms, and when
// followed_ended() is called.
class HttpServer {
 public:
  struct Options {
    // A numeric address or "localhost", port 0: any free one; or the path of a Unix socket, which
    // all users may connect to. Hold a lock on the path's meaning first.
    Address address = {"127.0.0.1", 0};
    // At a TCP port: requests must bear it ("Authorization: Bearer …"), but for kHttpOpenPath;
    // others get 401. Empty: nobody is known there, and everybody is answered.
    std::string token = {};
    // Opens kHttpMetricsPath at a TCP port and nothing else, for collectors; empty: none does.
    std::string metrics_token = {};
    std::string token_hint = {};  // where the token is, for those that come without it
    // For other machines: `token` and `names` are of no use then. One address of a peer may have a
    // quarter of the connections.
    std::optional<HttpTls> tls = {};
    // By which it may be asked for besides loopback ones and `address`, in the header Host.
    std::vector<std::string> names = {};
    // The body of what the server itself refuses, as JSON; none: the message as text. Called from
    // the server's threads, at the same time.
    std::string (*encode_error)(const Error&) = nullptr;
    // For the header Allow of 405; none: all that are served.
    std::string (*verbs_of)(std::string_view path) = nullptr;
    std::function<void(const HttpRequest&, HttpResponder)> handler = {};
    FilesRoute files = {};
    // At a Unix socket a user may have a quarter of them; more are shut. Root and the user of this
    // process may have all.
    size_t connections_max = kHttpConnectionsMax;
    Duration request_max = kHttpRequestMax;
  };
  // Errors: kInvalidArgument (address), kUnsupported (beyond loopback without TLS),
  // kFailedPrecondition (port in use, no such local address, or
  // no socket at the path), kUnavailable.
  static Result<std::unique_ptr<HttpServer>> listen(Loop& loop, Options options);
  // Cuts all connections; waits for the server's threads; removes its socket.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  const Address& address() const;  // with the real port
  uint16_t port() const { return address().port; }
  size_t connections() const;
  // The file of this ServedPath::name does not grow any more: those that follow it hear it at once,
  // and not when they look again. In the loop's thread.
  void followed_ended(std::string_view name);

 private:
  struct Impl;
  explicit HttpServer(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace proffer
