// A call goes to the first address. If there is no connection, or if that master does not lead or
// does not answer in time, it goes to the next address. Read begin() first.

#include "cli/ui/relay.h"

#include <algorithm>
#include <utility>

#include "cli/task_output.h"
#include "common/text.h"
#include "net/http_get.h"
#include "proto/json/json.h"

namespace proffer::cli {
namespace {

constexpr std::string_view kJson = "application/json";
// Other headers matter only between the browser and this server.
constexpr std::string_view kRelayedHeaders[] = {"accept", "content-type", "idempotency-key",
                                                "if-none-match", "last-event-id"};
constexpr std::string_view kReturnedHeaders[] = {"etag", "allow"};

bool is_standby(int status) { return status == 307 || status == 503; }

std::string target_of(const HttpRequest& request) {
  std::string target = percent_encoded(request.path);
  char separator = '?';
  for (const auto& [name, value] : request.query) {
    target += std::exchange(separator, '&');
    target += text(percent_encoded(name), "=", percent_encoded(value));
  }
  return target;
}

std::string get_request(std::string_view target, std::string_view headers = {}) {
  return text("GET ", target, " HTTP/1.0\r\nHost: localhost\r\n", headers, "\r\n");
}

}  // namespace

std::string relayed_request(const HttpRequest& request) {
  // This server itself omits the body of an answer to HEAD.
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  std::string out = text(method, " ", target_of(request), " HTTP/1.0\r\nHost: localhost\r\n");
  for (const std::string_view name : kRelayedHeaders) {
    if (const auto value = request.header(name)) out += text(name, ": ", *value, "\r\n");
  }
  if (request.method == "POST") out += text("content-length: ", request.body.size(), "\r\n");
  return text(out, "\r\n", request.body);
}

std::optional<int64_t> size_of_range(std::string_view content_range) {
  const size_t slash = content_range.rfind('/');
  if (!content_range.starts_with("bytes ") || slash == content_range.npos) return std::nullopt;
  const Result<int64_t> size =
      parse_whole("content-range", content_range.substr(slash + 1), 0, int64_t{1} << 50);
  return size ? std::optional(*size) : std::nullopt;
}

Duration wait_of(const HttpRequest& request) {
  constexpr int64_t kSecondsMax = 3'600;
  Duration longest;
  for (const std::string_view name : {"timeout_s", "wait_s"}) {
    const Result<int64_t> given =
        parse_whole(name, request.param(name).value_or("0"), 0, kSecondsMax);
    if (given) longest = std::max(longest, seconds(*given));
  }
  const Result<Duration> wait = parse_duration(request.param("wait").value_or("0s"));
  if (wait) longest = std::max(longest, std::min(*wait, seconds(kSecondsMax)));
  return longest;
}

UiRelay::UiRelay(Loop& loop, std::vector<std::string> masters, Duration head_wait)
    : loop_(loop), head_wait_(head_wait), masters_(std::move(masters)) {}

// Empty: the session has too many open requests, and gets an error.
UiRelay::Turn UiRelay::take_turn(std::string_view session, HttpResponder& responder) {
  auto at = sessions_.find(session);
  if (at == sessions_.end()) {
    at = sessions_.emplace(session, std::make_shared<const bool>(true)).first;
  }
  // The map holds one reference.
  if (static_cast<size_t>(at->second.use_count()) <= kRelayedCallsPerSessionMax) return at->second;
  const Error error =
      Error::resource_exhausted(
          text("this session has ", kRelayedCallsPerSessionMax, " open requests, the maximum"))
          .with_hint("close tabs that follow events or the output of tasks");
  responder.respond_json(http_status(error.code()), proto::error_json(error));
  return nullptr;
}

void UiRelay::to_master(const HttpRequest& request, HttpResponder responder,
                        std::string_view session) {
  Turn turn = take_turn(session, responder);
  if (turn == nullptr) return;
  begin({.request = relayed_request(request),
         .turn = std::move(turn),
         .responder = std::make_shared<HttpResponder>(std::move(responder)),
         .places = masters_,
         .is_of_masters = true,
         .waits = wait_of(request)});
}

void UiRelay::to_output(const HttpRequest& request, HttpResponder responder,
                        std::string_view session) {
  const Turn turn = take_turn(session, responder);
  if (turn == nullptr) return;
  const auto held = std::make_shared<HttpResponder>(std::move(responder));
  const auto refuse_it = [held](const Error& error) {
    held->respond_json(http_status(error.code()), proto::error_json(error));
  };
  const std::string task(request.param("task").value_or(""));
  const std::string file(request.param("file").value_or("stdout"));
  if (file != "stdout" && file != "stderr") {
    return refuse_it(
        Error::invalid_argument(text("file: must be stdout or stderr, not ", quoted(file))));
  }
  const auto on_tasks = [this, turn, held, task, file, refuse_it](int status, const UpstreamHead&,
                                                                  const std::string& body) {
    if (status != 200) return held->respond_json(status, body);
    const Result<std::vector<proto::TaskRow>> rows = proto::parse_tasks(body);
    if (!rows) return refuse_it(Error(rows.error()).in("the master's answer"));
    const auto row = std::find_if(rows->begin(), rows->end(), [&](const proto::TaskRow& one) {
      return text(one.framework.str(), "/", one.task.str()) == task;
    });
    if (row == rows->end()) return refuse_it(Error::not_found(text("unknown task ", quoted(task))));
    if (!row->http_address.starts_with('/')) {
      return refuse_it(
          Error::unsupported(text("cannot show the output of ", quoted(task),
                                  ": its agent is on another machine, or disconnected"))
              .with_hint(text("read it with `proffer logs ", task, "`")));
    }
    follow_output(turn, row->http_address, task, file_target(row->framework, row->task, file),
                  held);
  };
  begin({.request = get_request(text("/v1/tasks?ended=1&limit=100&prefix=", percent_encoded(task))),
         .finish = on_tasks,
         .places = masters_,
         .is_of_masters = true});
}

// Output may have many gigabytes: asks for its size first, then shows its end.
void UiRelay::follow_output(const Turn& turn, const std::string& place, const std::string& task,
                            const std::string& target, std::shared_ptr<HttpResponder> responder) {
  const auto on_size = [this, turn, place, task, target, responder](int, const UpstreamHead& head,
                                                                    const std::string&) {
    // Without a size this asks for all of it, or gets the agent's refusal.
    const int64_t size = size_of_range(head.header("content-range")).value_or(0);
    const int64_t offset = std::max<int64_t>(0, size - kOutputTailBytes);
    Call call{.request = get_request(text(target, "?follow=1&offset=", offset)),
              .turn = turn,
              .responder = responder,
              .places = {place},
              .has_limit = false};
    if (offset > 0) {
      call.note = text("[", offset, " bytes before this are omitted; show all with `proffer logs ",
                       task, "`]\n");
    }
    begin(std::move(call));
  };
  begin({.request = get_request(target, "range: bytes=0-0\r\n"),
         .finish = on_size,
         .places = {place}});
}

void UiRelay::begin(Call call) {
  const uint64_t id = ++last_id_;
  call.late = std::make_unique<Timer>(loop_, [this, id] { on_late(id); });
  calls_.emplace(id, std::move(call));
  try_place(id);
}

void UiRelay::try_place(uint64_t id) {
  Call& call = calls_.at(id);
  Error why = Error::unavailable("no server is known");
  while (!call.places.empty()) {
    const auto gone = [this, id](auto then) {
      return [this, id, then](auto&&... given) {
        if (calls_.contains(id)) (this->*then)(id, std::forward<decltype(given)>(given)...);
      };
    };
    Result<std::unique_ptr<Upstream>> started =
        Upstream::start(loop_, call.places.front(), call.request,
                        {.head = gone(&UiRelay::on_head),
                         .body = gone(&UiRelay::on_body),
                         .end = gone(&UiRelay::on_end)});
    if (started) {
      call.upstream = *std::move(started);
      if (call.has_limit) call.late->arm(loop_.now() + call.waits + head_wait_);
      return;
    }
    why = std::move(started).error();
    call.places.erase(call.places.begin());
  }
  refuse(id, call.is_of_masters ? std::move(why).in("no master answers").with_hint("retrying")
                                : std::move(why));
}

// Posted, so that it does not run inside the last upstream's callback.
void UiRelay::try_next(uint64_t id) {
  Call& call = calls_.at(id);
  call.places.erase(call.places.begin());
  call.head = {};
  call.body.clear();
  loop_.post([this, id] {
    if (calls_.contains(id)) try_place(id);
  });
}

// The master accepted the connection but does not answer.
void UiRelay::on_late(uint64_t id) {
  if (!calls_.contains(id)) return;
  Call& call = calls_.at(id);
  const std::string place = call.places.front();
  call.upstream.reset();
  if (call.is_of_masters) {
    const auto at = std::find(masters_.begin(), masters_.end(), place);
    if (at != masters_.end()) std::rotate(at, at + 1, masters_.end());
  }
  // A call that changes something may already be carried out, so it is not repeated.
  if (call.request.starts_with("GET ") && call.places.size() > 1) return try_next(id);
  refuse(id, Error::timeout(text("no answer from ", quoted(place), " within ",
                                 to_text(call.waits + head_wait_))));
}

void UiRelay::on_head(uint64_t id, const UpstreamHead& head) {
  Call& call = calls_.at(id);
  call.late->arm(std::nullopt);
  call.head = head;
  if (call.is_of_masters && !is_standby(head.status)) {
    const auto at = std::find(masters_.begin(), masters_.end(), call.places.front());
    if (at != masters_.end()) std::rotate(masters_.begin(), at, at + 1);
  }
  // An answer without a length is a stream.
  const bool is_stream =
      call.responder != nullptr && head.status == 200 && head.header("content-length").empty();
  if (!is_stream) return;
  call.stream = std::make_unique<HttpStream>(
      call.responder->stream(head.status, head.header("content-type")));
  call.stream->on_closed([this, id] { forget(id); });
  call.stream->on_writable([this, id] { write_more(id); });
  if (!call.note.empty() && !call.stream->write(call.note)) call.unwritten = call.note;
}

void UiRelay::on_body(uint64_t id, std::string_view bytes) {
  Call& call = calls_.at(id);
  if (call.stream != nullptr) {
    if (call.unwritten.empty() && call.stream->write(bytes)) return;
    call.unwritten += bytes;
    return call.upstream->pause();
  }
  call.body += bytes;
  if (call.body.size() > kRelayedAnswerBytesMax) {
    refuse(id,
           Error::unavailable(text("the answer exceeds ", kRelayedAnswerBytesMax >> 20, " MiB")));
  }
}

void UiRelay::write_more(uint64_t id) {
  const auto at = calls_.find(id);
  if (at == calls_.end() || at->second.stream == nullptr) return;
  Call& call = at->second;
  if (!call.unwritten.empty()) {
    if (!call.stream->write(call.unwritten)) return;
    call.unwritten.clear();
  }
  if (call.is_whole) {
    call.stream->finish();
    return forget(id);
  }
  call.upstream->resume();
}

void UiRelay::on_end(uint64_t id, Result<void> result) {
  Call& call = calls_.at(id);
  if (call.stream != nullptr) {
    call.is_whole = result.has_value();
    if (!result) return forget(id);  // closes the connection before the end
    if (call.unwritten.empty()) {
      call.stream->finish();
      forget(id);
    }
    return;
  }
  if (!result) return refuse(id, result.error());
  if (call.is_of_masters && is_standby(call.head.status) && call.places.size() > 1) {
    return try_next(id);
  }
  HttpHeaders headers;
  for (const std::string_view name : kReturnedHeaders) {
    if (const std::string_view value = call.head.header(name); !value.empty()) {
      headers.emplace_back(name, value);
    }
  }
  // A browser would follow a redirect to another server.
  const int status = call.head.status == 307 ? 503 : call.head.status;
  std::string type(call.head.header("content-type"));
  answer(id, status, std::move(type), std::move(call.body), std::move(headers));
}

void UiRelay::refuse(uint64_t id, const Error& error) {
  answer(id, http_status(error.code()), std::string(kJson), proto::error_json(error));
}

void UiRelay::answer(uint64_t id, int status, std::string type, std::string body,
                     HttpHeaders headers) {
  Call& call = calls_.at(id);
  const Finish finish = std::move(call.finish);
  const std::shared_ptr<HttpResponder> responder = std::move(call.responder);
  const UpstreamHead head = std::move(call.head);
  forget(id);
  if (finish) return finish(status, head, std::move(body));
  responder->respond(status, type, std::move(body), std::move(headers));
}

// Posted, because an upstream may be calling this.
void UiRelay::forget(uint64_t id) {
  auto call = calls_.extract(id);
  if (call.empty()) return;
  loop_.post([held = std::make_shared<decltype(call)>(std::move(call))] {});
}

}  // namespace proffer::cli
