// Requests come in on libmicrohttpd's threads (on_request). Requests for files are answered there
// (serve_file). For all others the connection is suspended, the request is posted to the loop, and
// the connection is resumed when the answer is ready (HttpResponder); then on_request is called
// again and queues the answer. Streams and followers suspend their connection while they have
// nothing to send; a timer of the loop wakes followers to check their file, and streams to check
// whether the reader has disconnected.
//
// One mutex guards the state that the loop and the threads share. libmicrohttpd must not be stopped
// while a connection is suspended, so every suspension goes through suspend(), which refuses when
// the server is closing.
//
// A peer that keeps a connection idle, sends slowly, or does not read, must not displace others:
// HttpGuests closes such connections when their time is over, and earlier when there are many.

#include "net/http_server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <unordered_set>

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "net/http_exchange.h"
#include "net/http_files.h"
#include "net/http_hosts.h"
#include "net/http_listener.h"
#include "net/peer_process.h"
#include "net/users.h"

namespace proffer {

using namespace http;

namespace {

constexpr Duration kFollowEvery = milliseconds(50);  // delay until a follower sees appended bytes
// Interval of checks whether a silent stream's reader has disconnected.
constexpr Duration kLookEvery = seconds(1);
// libmicrohttpd maps what is above 32 KiB, and gives it back to the system with its connection;
// what is less stays in the process's heap after thousands of connections.
constexpr size_t kConnectionBytes = kHttpRequestBytesMax + size_t{4} * 1024;
constexpr unsigned kIdleSecondsMax = 60;  // for a connection without reads and writes

constexpr Duration kGuestsEvery = milliseconds(500);  // interval of checks for overdue connections
constexpr size_t kConnectionsLeast = 8;

// ---- Reading a request.

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// %41 -> A, once. None for a broken escape or a NUL.
std::optional<std::string> percent_decoded(std::string_view text_given) {
  std::string out;
  out.reserve(text_given.size());
  for (size_t i = 0; i < text_given.size(); ++i) {
    if (text_given[i] != '%') {
      out += text_given[i];
      continue;
    }
    if (i + 2 >= text_given.size()) return std::nullopt;
    const int high = hex_digit(text_given[i + 1]);
    const int low = hex_digit(text_given[i + 2]);
    if (high < 0 || low < 0 || (high == 0 && low == 0)) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::string lower(std::string_view text_given) {
  std::string out(text_given);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs values_of(MHD_Connection* connection, MHD_ValueKind kind) {
  Pairs pairs;
  MHD_get_connection_values(
      connection, kind,
      [](void* out, MHD_ValueKind, const char* key, const char* value) {
        static_cast<Pairs*>(out)->emplace_back(key, value == nullptr ? "" : value);
        return MHD_YES;
      },
      &pairs);
  return pairs;
}

// Reads the request line and the headers; false if an escape is broken or the target is not a path.
bool read_head(Exchange& exchange, const char* url, const char* method) {
  HttpRequest& request = exchange.request;
  request.method = method;
  const std::optional<std::string> path = percent_decoded(url);
  if (!path || !path->starts_with('/')) return false;
  request.path = *path;
  for (const auto& [key, value] : values_of(exchange.connection, MHD_GET_ARGUMENT_KIND)) {
    const std::optional<std::string> name = percent_decoded(key);
    const std::optional<std::string> decoded = percent_decoded(value);
    if (!name || !decoded) return false;
    request.query.emplace_back(*name, *decoded);
  }
  for (const auto& [key, value] : values_of(exchange.connection, MHD_HEADER_KIND)) {
    request.headers.emplace_back(lower(key), value);
  }
  return true;
}

// An unprivileged user id, if the kernel reports no peer.
uint32_t uid_of_connection(int fd) {
  constexpr uint32_t kNobody = 65'534;
  return user_of_socket(fd).value_or(kNobody);
}

// Takes the same time for any difference.
bool is_same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char differs = 0;
  for (size_t i = 0; i < a.size(); ++i) differs |= static_cast<unsigned char>(a[i] ^ b[i]);
  return differs == 0;
}

// The token of "Authorization: Bearer …"; empty: there is none.
std::string_view bearer_of(const HttpRequest& request) {
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view given = request.header("authorization").value_or("");
  return given.starts_with(kBearer) ? given.substr(kBearer.size()) : std::string_view();
}

// At a Unix socket the user of the connected process; at a port, with the token, the user of this
// process.
PrincipalPtr principal_of_peer(Exchange& exchange) {
  HttpGuest& guest = *exchange.guest;
  if (guest.uid) {
    if (guest.principal == nullptr) guest.principal = principal_of(*guest.uid);
    return guest.principal;
  }
  const std::string& token = exchange.shared->options.token;
  if (token.empty() || !is_same_secret(bearer_of(exchange.request), token)) return nullptr;
  return principal_of(geteuid());
}

bool is_of_collector(const Exchange& exchange) {
  const std::string& token = exchange.shared->options.metrics_token;
  const HttpRequest& request = exchange.request;
  return !token.empty() && request.path == kHttpMetricsPath && request.method != "POST" &&
         is_same_secret(bearer_of(request), token);
}

// Checks the token of a TLS request, which was made elsewhere.
std::optional<HttpRefusal> admit_bearer(Exchange& exchange) {
  HttpRequest& request = exchange.request;
  if (request.path == kHttpOpenPath) return std::nullopt;
  std::variant<PrincipalPtr, HttpRefusal> admitted =
      exchange.shared->options.tls->admit(bearer_of(request), request.path, exchange.guest->peer);
  if (auto* refusal = std::get_if<HttpRefusal>(&admitted)) return std::move(*refusal);
  request.principal = std::get<PrincipalPtr>(std::move(admitted));
  return std::nullopt;
}

// "10.0.0.7"; empty if it has none.
std::string address_of_peer(MHD_Connection* connection) {
  const MHD_ConnectionInfo* found =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  std::array<char, INET6_ADDRSTRLEN> name{};
  if (found == nullptr || found->client_addr == nullptr) return {};
  if (found->client_addr->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(found->client_addr);
    inet_ntop(AF_INET, &v4->sin_addr, name.data(), name.size());
  } else if (found->client_addr->sa_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(found->client_addr);
    inet_ntop(AF_INET6, &v6->sin6_addr, name.data(), name.size());
  }
  return name.data();
}

std::optional<std::string_view> first_of(const Pairs& pairs, std::string_view name) {
  for (const auto& [key, value] : pairs) {
    if (key == name) return value;
  }
  return std::nullopt;
}

// ---- Answering, in the connection's thread.

ssize_t read_stream(void* owner, uint64_t, char* out, size_t max) {
  Exchange& exchange = **static_cast<ExchangePtr*>(owner);
  Shared& shared = *exchange.shared;
  const std::lock_guard lock(shared.mutex);
  if (exchange.is_cut || shared.is_closing) return MHD_CONTENT_READER_END_WITH_ERROR;
  if (!exchange.bytes.empty()) {
    const size_t count = std::min(max, exchange.bytes.size());
    exchange.bytes.copy(out, count);
    exchange.bytes.erase(0, count);
    if (exchange.wants_room && exchange.bytes.size() <= kHttpStreamBytesMax / 2) {
      exchange.wants_room = false;
      shared.loop.post([held = *static_cast<ExchangePtr*>(owner)] {
        if (const auto call = held->on_writable) call();
      });
    }
    return static_cast<ssize_t>(count);
  }
  if (exchange.is_finished) return MHD_CONTENT_READER_END_OF_STREAM;
  if (has_hung_up(exchange.connection)) return MHD_CONTENT_READER_END_WITH_ERROR;
  return suspend(exchange, Exchange::Sleep::kForStream) ? 0 : MHD_CONTENT_READER_END_WITH_ERROR;
}

// The answer is ready; only this thread uses it now, except for writes to a stream. Called without
// the mutex, since libmicrohttpd's locks must not be taken under it.
MHD_Result queue_answer(const ExchangePtr& exchange) {
  if (!exchange->is_stream) {
    const std::string body = std::move(exchange->bytes);
    exchange->bytes.clear();
    begin_short(*exchange);
    return queue_body(exchange->connection, exchange->status, exchange->content_type, body,
                      exchange->headers);
  }
  if (!begin_long(*exchange)) return queue_no_room(exchange->connection);
  MHD_Response* response = MHD_create_response_from_callback(
      MHD_SIZE_UNKNOWN, kBlockBytes, &read_stream, new ExchangePtr(exchange),
      [](void* owner) { delete static_cast<ExchangePtr*>(owner); });
  if (response == nullptr) return MHD_NO;
  add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, exchange->content_type);
  return queue(exchange->connection, exchange->status, response);
}

}  // namespace

// ---- The loop's side.

std::optional<std::string_view> HttpRequest::param(std::string_view name) const {
  return first_of(query, name);
}

std::optional<std::string_view> HttpRequest::header(std::string_view name) const {
  return first_of(headers, name);
}

int http_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return MHD_HTTP_BAD_REQUEST;
    case ErrorCode::kPermissionDenied:
      return MHD_HTTP_FORBIDDEN;
    case ErrorCode::kNotFound:
      return MHD_HTTP_NOT_FOUND;
    case ErrorCode::kAlreadyExists:
    case ErrorCode::kFailedPrecondition:
      return MHD_HTTP_CONFLICT;
    case ErrorCode::kResourceExhausted:
      return MHD_HTTP_TOO_MANY_REQUESTS;
    case ErrorCode::kUnsupported:
      return MHD_HTTP_NOT_IMPLEMENTED;
    case ErrorCode::kUnavailable:
      return MHD_HTTP_SERVICE_UNAVAILABLE;
    case ErrorCode::kTimeout:
      return MHD_HTTP_GATEWAY_TIMEOUT;
    case ErrorCode::kCorruption:
    case ErrorCode::kInternal:
      return MHD_HTTP_INTERNAL_SERVER_ERROR;
  }
  return MHD_HTTP_INTERNAL_SERVER_ERROR;
}

struct HttpStream::Impl {
  ExchangePtr exchange;
};

HttpStream::HttpStream(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpStream::HttpStream(HttpStream&&) noexcept = default;
HttpStream& HttpStream::operator=(HttpStream&& other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}

HttpStream::~HttpStream() {
  if (impl_ == nullptr) return;
  Exchange& exchange = *impl_->exchange;
  exchange.on_writable = {};
  exchange.on_closed = {};
  const std::lock_guard lock(exchange.shared->mutex);
  if (exchange.is_finished) return;
  exchange.is_cut = true;
  if (exchange.connection != nullptr) wake(exchange);
}

bool HttpStream::write(std::string_view bytes) {
  Exchange& exchange = *impl_->exchange;
  const std::lock_guard lock(exchange.shared->mutex);
  if (exchange.connection == nullptr || exchange.is_finished) return false;
  if (!exchange.bytes.empty() && exchange.bytes.size() + bytes.size() > kHttpStreamBytesMax) {
    exchange.wants_room = true;
    return false;
  }
  exchange.bytes += bytes;
  if (exchange.sleep == Exchange::Sleep::kForStream) wake(exchange);
  return true;
}

void HttpStream::finish() {
  Exchange& exchange = *impl_->exchange;
  const std::lock_guard lock(exchange.shared->mutex);
  exchange.is_finished = true;
  if (exchange.sleep == Exchange::Sleep::kForStream) wake(exchange);
}

bool HttpStream::is_closed() const {
  const std::lock_guard lock(impl_->exchange->shared->mutex);
  return impl_->exchange->connection == nullptr;
}

void HttpStream::on_writable(std::function<void()> fn) {
  impl_->exchange->on_writable = std::move(fn);
}

void HttpStream::on_closed(std::function<void()> fn) { impl_->exchange->on_closed = std::move(fn); }

struct HttpResponder::Impl {
  ExchangePtr exchange;
};

HttpResponder::HttpResponder(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpResponder::HttpResponder(HttpResponder&&) noexcept = default;
HttpResponder& HttpResponder::operator=(HttpResponder&& other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}

HttpResponder::~HttpResponder() {
  if (impl_ != nullptr) respond_text(500, "no answer\n");
}

void HttpResponder::respond(int status, std::string_view content_type, std::string body,
                            HttpHeaders headers) {
  CHECK(impl_ != nullptr) << "answered twice";
  const ExchangePtr exchange = std::exchange(impl_, nullptr)->exchange;
  const std::lock_guard lock(exchange->shared->mutex);
  exchange->status = status;
  exchange->content_type = content_type;
  exchange->bytes = std::move(body);
  exchange->headers = std::move(headers);
  exchange->phase = Exchange::Phase::kAnswered;
  if (exchange->connection != nullptr) wake(*exchange);
}

void HttpResponder::redirect(std::string url) {
  respond(MHD_HTTP_TEMPORARY_REDIRECT, "", "", {{MHD_HTTP_HEADER_LOCATION, std::move(url)}});
}

HttpStream HttpResponder::stream(int status, std::string_view content_type) {
  CHECK(impl_ != nullptr) << "answered twice";
  const ExchangePtr exchange = std::exchange(impl_, nullptr)->exchange;
  auto stream = std::make_shared<HttpStream::Impl>();
  stream->exchange = exchange;
  const std::lock_guard lock(exchange->shared->mutex);
  exchange->status = status;
  exchange->content_type = content_type;
  exchange->is_stream = true;
  exchange->phase = Exchange::Phase::kAnswered;
  if (exchange->connection != nullptr) wake(*exchange);
  return HttpStream(std::move(stream));
}

// ---- The server.

struct HttpServer::Impl {
  std::shared_ptr<Shared> shared;
  MHD_Daemon* daemon = nullptr;
  Address address;
  Timer sweep_timer;
  Timer watch_timer;

  explicit Impl(std::shared_ptr<Shared> s)
      : shared(std::move(s)),
        sweep_timer(shared->loop, [this] { sweep(); }),
        watch_timer(shared->loop, [this] { watch(); }) {}

  // Closes overdue connections, as long as there are any to watch.
  void watch() {
    const Time now = shared->loop.now();
    const std::lock_guard lock(shared->mutex);
    shared->guests.end_overdue(now, shared->options.request_max);
    shared->is_watch_asked = shared->guests.is_watched();
    if (shared->is_watch_asked) {
      watch_timer.arm(now + std::min(kGuestsEvery, shared->options.request_max));
    }
  }

  // Wakes followers each time, streams each second.
  void sweep() {
    const Time now = shared->loop.now();
    const std::lock_guard lock(shared->mutex);
    std::vector<Exchange*> due;
    bool is_needed = false;
    for (Exchange* exchange : shared->suspended) {
      if (exchange->sleep == Exchange::Sleep::kForAnswer) continue;
      is_needed = true;
      if (exchange->sleep == Exchange::Sleep::kForFile || now - exchange->looked >= kLookEvery) {
        due.push_back(exchange);
      }
    }
    for (Exchange* exchange : due) {
      exchange->looked = now;
      wake(*exchange);
    }
    shared->is_sweep_asked = is_needed;
    if (is_needed) sweep_timer.arm(now + kFollowEvery);
  }

  void post(const ExchangePtr& exchange) {
    shared->loop.post([exchange] {
      {
        const std::lock_guard lock(exchange->shared->mutex);
        if (exchange->shared->is_closing) return;
      }
      auto responder = std::make_shared<HttpResponder::Impl>();
      responder->exchange = exchange;
      exchange->shared->options.handler(exchange->request, HttpResponder(std::move(responder)));
    });
  }

  // The request has been read. It is answered here, or waits for the loop.
  MHD_Result dispatch(const ExchangePtr& exchange) {
    const FilesRoute& files = shared->options.files;
    MHD_Connection* connection = exchange->connection;
    {
      const std::lock_guard lock(shared->mutex);
      shared->guests.is_busy(*exchange->guest);
    }
    if (exchange->is_body_too_large) {
      begin_short(*exchange);
      return refuse(
          connection, 413,
          Error::resource_exhausted(text("a body may have at most ", kHttpBodyBytesMax, " bytes")));
    }
    if (!files.prefix.empty() && exchange->request.path.starts_with(files.prefix)) {
      const MHD_Result result = serve_file(exchange);
      const std::lock_guard lock(shared->mutex);
      exchange->phase = Exchange::Phase::kQueued;
      return result;
    }
    if (!shared->options.handler) {
      begin_short(*exchange);
      return queue_text(connection, 404, "nothing is served here");
    }
    {
      const std::lock_guard lock(shared->mutex);
      exchange->phase = Exchange::Phase::kWaiting;
      if (!suspend(*exchange, Exchange::Sleep::kForAnswer)) return MHD_NO;
    }
    post(exchange);
    return MHD_YES;
  }

  // An error of the server itself.
  MHD_Result refuse(MHD_Connection* connection, int status, const Error& error,
                    const HttpHeaders& headers = {}) const {
    const auto encode = shared->options.encode_error;
    if (encode == nullptr) {
      return queue_body(connection, status, kTextType, text(error.message(), "\n"), headers);
    }
    return queue_body(connection, status, "application/json", encode(error), headers);
  }
  MHD_Result refuse(MHD_Connection* connection, const HttpRefusal& refusal) const {
    const ErrorCode code = refusal.status == MHD_HTTP_BAD_REQUEST ? ErrorCode::kInvalidArgument
                                                                  : ErrorCode::kPermissionDenied;
    return refuse(connection, refusal.status, Error(code, refusal.message));
  }
  MHD_Result refuse_verb(const Exchange& exchange) const {
    const auto verbs_of = shared->options.verbs_of;
    const std::string verbs =
        verbs_of == nullptr ? "GET, HEAD, POST" : verbs_of(exchange.request.path);
    return refuse(exchange.connection, MHD_HTTP_METHOD_NOT_ALLOWED,
                  Error::unsupported(text(exchange.request.path, " takes ", verbs, ", not ",
                                          exchange.request.method)),
                  {{MHD_HTTP_HEADER_ALLOW, verbs}});
  }

  // Called first with the headers, then with each piece of the body, then at its end, and again
  // after each resumption until an answer is queued.
  MHD_Result on_request(MHD_Connection* connection, const char* url, const char* method,
                        const char* upload, size_t* upload_bytes, void** slot) {
    if (*slot == nullptr) {
      auto exchange = std::make_shared<Exchange>();
      exchange->shared = shared;
      exchange->connection = connection;
      exchange->guest = static_cast<HttpGuest*>(
          MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context);
      *slot = new ExchangePtr(exchange);  // until on_completed
      if (!read_head(*exchange, url, method)) {
        return refuse(connection, 400,
                      Error::invalid_argument("the request's target is not a well-formed path"));
      }
      const std::string& name = exchange->request.method;
      if (name != "GET" && name != "HEAD" && name != "POST") {
        return refuse_verb(*exchange);
      }
      const HttpServer::Options& options = shared->options;
      // A page of another site has no token. No check of the server's name is needed, because each
      // client has checked the server's key.
      if (options.tls) {
        const std::optional<HttpRefusal> refusal = admit_bearer(*exchange);
        return refusal ? refuse(connection, *refusal) : MHD_YES;
      }
      if (const std::optional<HttpRefusal> refusal =
              refuse_strangers(exchange->request, options.address.host, options.names)) {
        return refuse(connection, *refusal);
      }
      exchange->request.principal = principal_of_peer(*exchange);
      if (!options.token.empty() && exchange->request.principal == nullptr &&
          exchange->request.path != kHttpOpenPath && !is_of_collector(*exchange)) {
        return refuse(connection, MHD_HTTP_UNAUTHORIZED,
                      Error::permission_denied(
                          text("this port requires a token: ", "Authorization: Bearer TOKEN",
                               options.token_hint)));
      }
      return MHD_YES;
    }
    const ExchangePtr exchange = *static_cast<ExchangePtr*>(*slot);
    if (*upload_bytes > 0) {
      std::string& body = exchange->request.body;
      if (body.size() + *upload_bytes > kHttpBodyBytesMax) {
        exchange->is_body_too_large = true;
        body.clear();
      }
      if (!exchange->is_body_too_large) body.append(upload, *upload_bytes);
      *upload_bytes = 0;
      return MHD_YES;
    }
    Exchange::Phase phase{};
    {
      const std::lock_guard lock(shared->mutex);
      if (shared->is_closing) return MHD_NO;
      phase = exchange->phase;
      if (phase == Exchange::Phase::kAnswered) exchange->phase = Exchange::Phase::kQueued;
      if (phase == Exchange::Phase::kWaiting) {
        return suspend(*exchange, Exchange::Sleep::kForAnswer) ? MHD_YES : MHD_NO;
      }
    }
    switch (phase) {
      case Exchange::Phase::kReading:
        return dispatch(exchange);
      case Exchange::Phase::kAnswered:
        return queue_answer(exchange);
      default:
        return MHD_NO;
    }
  }

  void on_connection(MHD_Connection* connection, void** context,
                     MHD_ConnectionNotificationCode code) {
    const std::lock_guard lock(shared->mutex);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
      auto* guest = new HttpGuest;  // until the connection is closed
      guest->fd =
          MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
      if (!shared->options.address.socket.empty()) guest->uid = uid_of_connection(guest->fd);
      if (shared->options.tls) guest->peer = address_of_peer(connection);
      *context = guest;
      if (!shared->guests.comes(*guest, shared->loop.now())) {
        LOG_EVERY_N(WARNING, 100)
            << "a user has too many HTTP connections; further ones are closed user=\""
            << (guest->uid ? user_name(*guest->uid) : guest->peer) << '"';
      }
      return shared->watch();
    }
    const std::unique_ptr<HttpGuest> guest(
        static_cast<HttpGuest*>(std::exchange(*context, nullptr)));
    if (guest != nullptr) shared->guests.goes(*guest);
  }

  void on_completed(void** slot) {
    if (*slot == nullptr) return;
    const std::unique_ptr<ExchangePtr> owner(static_cast<ExchangePtr*>(*slot));
    *slot = nullptr;
    const ExchangePtr exchange = *owner;
    bool is_stream = false;
    {
      const std::lock_guard lock(shared->mutex);
      shared->suspended.erase(exchange.get());
      if (!exchange->followed.empty()) {
        const auto [begin, end] = shared->followers.equal_range(exchange->followed);
        shared->followers.erase(std::find_if(
            begin, end, [&](const auto& one) { return one.second == exchange.get(); }));
      }
      exchange->connection = nullptr;
      exchange->sleep = Exchange::Sleep::kNone;
      exchange->bytes = {};
      is_stream = exchange->is_stream;
      if (exchange->is_long) shared->guests.give_long_back();
      shared->guests.waits(*std::exchange(exchange->guest, nullptr), shared->loop.now());
      shared->watch();
    }
    if (!is_stream) return;
    shared->loop.post([exchange] {
      if (const auto call = std::exchange(exchange->on_closed, {})) call();
    });
  }
};

HttpServer::HttpServer(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<HttpServer>> HttpServer::listen(Loop& loop, Options options) {
  if (options.address.socket.empty() && !options.tls && !is_loopback(options.address.host)) {
    return Error::unsupported(
        text("HTTP without TLS is served only on this machine, not on ", to_text(options.address)));
  }
  Result<HttpListener> listener = open_http_listener(options.address);
  if (!listener) return listener.error();
  const size_t connections_max = std::max(options.connections_max, kConnectionsLeast);
  options.connections_max = connections_max;
  auto impl = std::make_shared<Impl>(std::make_shared<Shared>(loop, std::move(options)));
  impl->address = listener->address;
  impl->shared->start_sweep = [raw = impl.get()] {
    if (!raw->sweep_timer.is_armed()) raw->sweep_timer.arm(raw->shared->loop.now() + kFollowEvery);
  };

  impl->shared->start_watch = [raw = impl.get()] { raw->watch(); };

  const MHD_AccessHandlerCallback on_request =
      [](void* self, MHD_Connection* connection, const char* url, const char* method, const char*,
         const char* upload, size_t* upload_bytes, void** slot) {
        return static_cast<Impl*>(self)->on_request(connection, url, method, upload, upload_bytes,
                                                    slot);
      };
  const MHD_RequestCompletedCallback on_completed = [](void* self, MHD_Connection*, void** slot,
                                                       MHD_RequestTerminationCode) {
    static_cast<Impl*>(self)->on_completed(slot);
  };
  const MHD_NotifyConnectionCallback on_connection = [](void* self, MHD_Connection* connection,
                                                        void** context,
                                                        MHD_ConnectionNotificationCode code) {
    static_cast<Impl*>(self)->on_connection(connection, context, code);
  };
  // percent_decoded() decodes escapes, since it refuses errors that libmicrohttpd would accept.
  size_t (*const keep_escapes)(void*, MHD_Connection*, char*) =
      [](void*, MHD_Connection*, char* raw) { return std::strlen(raw); };
  // Not epoll: when exactly 128 events (or a multiple) are ready at once, libmicrohttpd 0.9.75's
  // own threads wait for another event before they handle any, as the test ManyConnectionsAtOnce
  // showed. poll() costs each turn of a thread its number of connections, which connections_max
  // bounds.
  std::vector<MHD_OptionItem> more;
  const HttpServer::Options& kept = impl->shared->options;
  if (kept.tls) {
    const auto add = [&more](MHD_OPTION option, const char* value) {
      more.push_back({option, 0, const_cast<char*>(value)});
    };
    add(MHD_OPTION_HTTPS_MEM_KEY, kept.tls->identity.key_pem.c_str());
    add(MHD_OPTION_HTTPS_MEM_CERT, kept.tls->identity.certificate_pem.c_str());
    add(MHD_OPTION_HTTPS_PRIORITIES, "SECURE128:-VERS-ALL:+VERS-TLS1.3");
  }
  more.push_back({MHD_OPTION_END, 0, nullptr});
  impl->daemon = MHD_start_daemon(
      MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
          static_cast<unsigned>(kept.tls ? MHD_USE_TLS : MHD_NO_FLAG),
      0, nullptr, nullptr, on_request, impl.get(), MHD_OPTION_LISTEN_SOCKET,
      static_cast<MHD_socket>(listener->fd.get()), MHD_OPTION_THREAD_POOL_SIZE,
      unsigned{kHttpThreads}, MHD_OPTION_CONNECTION_LIMIT, static_cast<unsigned>(connections_max),
      MHD_OPTION_CONNECTION_TIMEOUT, kIdleSecondsMax, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
      kConnectionBytes, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, nullptr,
      MHD_OPTION_NOTIFY_COMPLETED, on_completed, impl.get(), MHD_OPTION_NOTIFY_CONNECTION,
      on_connection, impl.get(), MHD_OPTION_ARRAY, more.data(), MHD_OPTION_END);
  if (impl->daemon == nullptr) {
    return Error::unavailable(text("cannot start the HTTP server on ", to_text(impl->address), ": ",
                                   std::strerror(errno)));
  }
  listener->fd.release();  // the daemon closes it
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::~HttpServer() {
  impl_->shared->start_sweep = {};
  impl_->shared->start_watch = {};
  {
    const std::lock_guard lock(impl_->shared->mutex);
    impl_->shared->is_closing = true;
    const std::vector<Exchange*> sleepers(impl_->shared->suspended.begin(),
                                          impl_->shared->suspended.end());
    for (Exchange* exchange : sleepers) wake(*exchange);
  }
  MHD_stop_daemon(impl_->daemon);
  if (!impl_->address.socket.empty()) ::unlink(impl_->address.socket.c_str());
}

void HttpServer::followed_ended(std::string_view name) {
  http::followed_ended(*impl_->shared, name);
}

const Address& HttpServer::address() const { return impl_->address; }

size_t HttpServer::connections() const {
  const MHD_DaemonInfo* found =
      MHD_get_daemon_info(impl_->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
  return found == nullptr ? 0 : found->num_connections;
}

}  // namespace proffer
