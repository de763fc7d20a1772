#pragma once

// Shared by the parts of the HTTP server: one request with its answer. Not for other files: see
// net/http_server.h.

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <microhttpd.h>

#include "net/http_guests.h"
#include "net/http_server.h"

namespace proffer::http {

inline constexpr size_t kBlockBytes = 16 * 1024;
inline constexpr std::string_view kTextType = "text/plain; charset=utf-8";

struct Shared;

// One request and its answer. `shared->mutex` guards the fields marked (m).
struct Exchange {
  enum class Phase : uint8_t { kReading, kWaiting, kAnswered, kQueued };
  enum class Sleep : uint8_t { kNone, kForAnswer, kForStream, kForFile };  // why it is suspended

  std::shared_ptr<Shared> shared;
  HttpRequest request;  // written by the server's thread until the request is posted
  bool is_body_too_large = false;
  HttpGuest* guest = nullptr;  // set while the connection exists
  bool is_long = false;        // counts as a long answer; used by the connection's thread only

  MHD_Connection* connection = nullptr;  // (m) none once libmicrohttpd has completed it
  Phase phase = Phase::kReading;         // (m)
  Sleep sleep = Sleep::kNone;            // (m)
  Time looked;                           // (m) when a stream was last woken to check
  int status = 500;                      // (m)
  std::string content_type;              // (m)
  HttpHeaders headers;                   // (m) additional ones
  bool is_stream = false;                // (m)
  std::string bytes;                     // (m) the body, or unsent bytes of a stream
  bool is_finished = false;              // (m) the stream's end has been written
  bool is_cut = false;                   // (m) the stream was destroyed before its end
  bool wants_room = false;               // (m) a write was refused
  std::string followed;                  // (m) ServedPath::name of a followed file

  // Loop thread only.
  std::function<void()> on_writable;
  std::function<void()> on_closed;
};
using ExchangePtr = std::shared_ptr<Exchange>;

struct Shared : std::enable_shared_from_this<Shared> {
  Loop& loop;
  const HttpServer::Options options;  // constant from now on
  std::mutex mutex;
  bool is_closing = false;                                    // (m)
  bool is_sweep_asked = false;                                // (m)
  std::unordered_set<Exchange*> suspended;                    // (m)
  std::unordered_multimap<std::string, Exchange*> followers;  // (m) by Exchange::followed
  std::function<void()> start_sweep;                          // loop thread only; empty once closed
  HttpGuests guests;                                          // (m)
  bool is_watch_asked = false;                                // (m)
  std::function<void()> start_watch;                          // loop thread only; empty once closed

  Shared(Loop& on, HttpServer::Options o)
      : loop(on), options(std::move(o)), guests(options.connections_max) {}

  // Starts the timer that ends overdue connections. Call it under the mutex.
  void watch() {
    if (is_watch_asked || is_closing) return;
    is_watch_asked = true;
    loop.post([weak = weak_from_this()] {
      const auto held = weak.lock();
      if (held && held->start_watch) held->start_watch();
    });
  }
};

// Counts the next queued answer as short (begin_short), or as long if there is room (begin_long).
// In the connection's thread.
void begin_short(Exchange& exchange);
bool begin_long(Exchange& exchange);

// Suspends the connection; false if the server is closing. Call it under the mutex, in the
// connection's thread. Starts the sweep timer for connections that must be woken by time.
bool suspend(Exchange& exchange, Exchange::Sleep why);
// Call it under the mutex, in any thread.
void wake(Exchange& exchange);

// The other end has closed the connection, or its sending half: like most servers, this one treats
// both as the end.
bool has_hung_up(MHD_Connection* connection);

// Answers in the connection's thread.
void add_header(MHD_Response* response, const char* name, std::string_view value);
MHD_Result queue(MHD_Connection* connection, int status, MHD_Response* response);
MHD_Result queue_body(MHD_Connection* connection, int status, std::string_view content_type,
                      const std::string& body, const HttpHeaders& headers = {});
MHD_Result queue_text(MHD_Connection* connection, int status, std::string_view message);
MHD_Result queue_no_room(MHD_Connection* connection);

}  // namespace proffer::http
