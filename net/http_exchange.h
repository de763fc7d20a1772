#pragma once

// Shared by the parts of the HTTP server: one request with its answer, and how it is answered. Not
// for others: see net/http_server.h.

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
  HttpRequest request;  // written by the server's thread until it is posted
  bool is_body_too_large = false;
  HttpGuest* guest = nullptr;  // while there is a connection
  bool is_long = false;        // counts as a long answer; the connection's thread only

  MHD_Connection* connection = nullptr;  // (m) none once libmicrohttpd has finished with it
  Phase phase = Phase::kReading;         // (m)
  Sleep sleep = Sleep::kNone;            // (m)
  Time looked;                           // (m) when a stream was last woken to look
  int status = 500;                      // (m)
  std::string content_type;              // (m)
  HttpHeaders headers;                   // (m) further ones
  bool is_stream = false;                // (m)
  std::string bytes;                     // (m) the body, or bytes that wait in a stream
  bool is_finished = false;              // (m) the stream's end has been written
  bool is_cut = false;                   // (m) the stream was destroyed before its end
  bool wants_room = false;               // (m) a write was refused
  std::string followed;                  // (m) ServedPath::name of a file that is followed

  // Loop thread only.
  std::function<void()> on_writable;
  std::function<void()> on_closed;
};
using ExchangePtr = std::shared_ptr<Exchange>;

struct Shared : std::enable_shared_from_this<Shared> {
  Loop& loop;
  const HttpServer::Options options;  // not changed any more
  std::mutex mutex;
  bool is_closing = false;                                    // (m)
  bool is_sweep_asked = false;                                // (m)
  std::unordered_set<Exchange*> suspended;                    // (m)
  std::unordered_multimap<std::string, Exchange*> followers;  // (m) by Exchange::followed
  std::function<void()> start_sweep;                          // loop thread; empty once closed
  HttpGuests guests;                                          // (m)
  bool is_watch_asked = false;                                // (m)
  std::function<void()> start_watch;                          // loop thread; empty once closed

  Shared(Loop& on, HttpServer::Options o)
      : loop(on), options(std::move(o)), guests(options.connections_max) {}

  // Asks for the timer that ends overdue connections. Under the mutex.
  void watch() {
    if (is_watch_asked || is_closing) return;
    is_watch_asked = true;
    loop.post([weak = weak_from_this()] {
      const auto held = weak.lock();
      if (held && held->start_watch) held->start_watch();
    });
  }
};

// The answer that is about to be queued is a short one, or a long one, for which there may be no
// room. In the connection's thread.
void begin_short(Exchange& exchange);
bool begin_long(Exchange& exchange);

// Puts the connection to sleep; false if the server is closing. Under the mutex, in the
// connection's thread. The sweeping timer is asked for whatever must be woken by time.
bool suspend(Exchange& exchange, Exchange::Sleep why);
// Under the mutex, any thread.
void wake(Exchange& exchange);

// The other end has closed, or closed its sending half: we take that as gone, as most servers do.
bool has_hung_up(MHD_Connection* connection);

// Answers, in the connection's thread.
void add_header(MHD_Response* response, const char* name, std::string_view value);
MHD_Result queue(MHD_Connection* connection, int status, MHD_Response* response);
MHD_Result queue_body(MHD_Connection* connection, int status, std::string_view content_type,
                      const std::string& body, const HttpHeaders& headers = {});
MHD_Result queue_text(MHD_Connection* connection, int status, std::string_view message);
MHD_Result queue_no_room(MHD_Connection* connection);

}  // namespace proffer::http
