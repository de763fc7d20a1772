#include "net/http_exchange.h"

#include <poll.h>

#include "common/text.h"

namespace proffer::http {

void begin_short(Exchange& exchange) {
  const std::lock_guard lock(exchange.shared->mutex);
  exchange.shared->guests.is_answered(*exchange.guest, exchange.shared->loop.now());
  exchange.shared->watch();
}

bool begin_long(Exchange& exchange) {
  {
    const std::lock_guard lock(exchange.shared->mutex);
    exchange.is_long = exchange.shared->guests.take_long();
  }
  if (!exchange.is_long) begin_short(exchange);
  return exchange.is_long;
}

bool suspend(Exchange& exchange, Exchange::Sleep why) {
  Shared& shared = *exchange.shared;
  if (shared.is_closing) return false;
  exchange.sleep = why;
  shared.suspended.insert(&exchange);
  MHD_suspend_connection(exchange.connection);
  if (why != Exchange::Sleep::kForAnswer && !shared.is_sweep_asked) {
    shared.is_sweep_asked = true;
    shared.loop.post([weak = shared.weak_from_this()] {
      const auto held = weak.lock();
      if (held && held->start_sweep) held->start_sweep();
    });
  }
  return true;
}

void wake(Exchange& exchange) {
  if (exchange.sleep == Exchange::Sleep::kNone) return;
  exchange.sleep = Exchange::Sleep::kNone;
  exchange.shared->suspended.erase(&exchange);
  MHD_resume_connection(exchange.connection);
}

void add_header(MHD_Response* response, const char* name, std::string_view value) {
  MHD_add_response_header(response, name, std::string(value).c_str());
}

MHD_Result queue(MHD_Connection* connection, int status, MHD_Response* response) {
  if (response == nullptr) return MHD_NO;
  add_header(response, "X-Content-Type-Options", "nosniff");
  if (MHD_get_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL) == nullptr) {
    add_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  }
  const MHD_Result result = MHD_queue_response(connection, static_cast<unsigned>(status), response);
  MHD_destroy_response(response);  // libmicrohttpd keeps its own reference
  return result;
}

MHD_Result queue_body(MHD_Connection* connection, int status, std::string_view content_type,
                      const std::string& body, const HttpHeaders& headers) {
  MHD_Response* response = MHD_create_response_from_buffer(
      body.size(), const_cast<char*>(body.data()), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  if (!content_type.empty()) add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
  for (const auto& [name, value] : headers) add_header(response, name.c_str(), value);
  if (status == MHD_HTTP_UNAUTHORIZED) {
    add_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer realm=\"proffer\"");
  }
  return queue(connection, status, response);
}

MHD_Result queue_text(MHD_Connection* connection, int status, std::string_view message) {
  return queue_body(connection, status, kTextType, text(message, "\n"));
}

MHD_Result queue_no_room(MHD_Connection* connection) {
  return queue_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                    "too many streams and large files are being read; try again later");
}

bool has_hung_up(MHD_Connection* connection) {
  const MHD_ConnectionInfo* found =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  if (found == nullptr) return true;
  pollfd entry{found->connect_fd, POLLRDHUP, 0};
  return poll(&entry, 1, 0) > 0 && (entry.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

}  // namespace proffer::http
