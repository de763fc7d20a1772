// Read on_request first: it turns a request into a call of a route, which reads or changes.

#include "master/shell/http_api.h"

#include <functional>
#include <optional>
#include <utility>

#include "common/text.h"
#include "proto/json/arguments.h"
#include "proto/json/json.h"
#include "proto/json/service_json.h"

namespace proffer::master {
namespace {

// For the scheduler of services, in addition to the wait of the request.
constexpr Duration kAnswersIn = seconds(10);

HttpReply reply_of(Result<Page> page) {
  if (!page) return error_reply(page.error());
  return {.body = proto::with_next(std::move(page->json), page->next)};
}

// The same for equal bodies, in each life of the master.
std::string etag_for(const std::string& body) {
  return text('"', std::hash<std::string>()(body), '-', body.size(), '"');
}

// Answers of schedulers are JSON or plain text.
HttpReply relayed_reply(Result<std::string> told) {
  if (!told) return error_reply(told.error());
  HttpReply reply{.body = *std::move(told)};
  if (!proto::is_json(reply.body)) reply.type = "application/octet-stream";
  return reply;
}

}  // namespace

HttpApi::HttpApi(Process process)
    : process_(std::move(process)), polls_(process_.loop, [this](const HttpPolls::Poll& poll) {
        return page_now(poll.call, poll.by);
      }) {}

void HttpApi::on_request(const HttpRequest& request, HttpResponder responder) {
  std::variant<HttpCall, HttpReply> call = http_call(request);
  if (const auto* asked = std::get_if<HttpCall>(&call)) {
    const Result<void> may = process_.api.permit(
        {.route = *asked->route, .arguments = asked->arguments, .by = request.principal});
    if (!may) call = error_reply(may.error());
  }
  if (const auto* asked = std::get_if<HttpCall>(&call);
      asked != nullptr && asked->route->serves == Serves::kEvents && wants_event_stream(request)) {
    return stream_events(*asked, request, std::move(responder));
  }
  // A Tell must be copyable, and a responder is not.
  const Tell tell =
      [responder = std::make_shared<HttpResponder>(std::move(responder))](const HttpReply& reply) {
        responder->respond(reply.status, reply.type, reply.body, reply.headers);
      };
  if (const auto* refusal = std::get_if<HttpReply>(&call)) return tell(*refusal);
  auto& found = std::get<HttpCall>(call);
  if (found.route->changes()) return change(found, request, tell);
  if (found.route->serves == Serves::kServers) return find_servers(found, request, tell);
  read(std::move(found), request, tell);
}

void HttpApi::read(HttpCall call, const HttpRequest& request, Tell tell) {
  if (call.route->serves != Serves::kRead) {
    return process_.api.call(
        {.route = *call.route, .arguments = call.arguments, .by = request.principal},
        [tell = std::move(tell)](Result<Page> page) { tell(reply_of(std::move(page))); });
  }
  const HttpReply reply = page_now(call, request.principal);
  const std::string_view known = request.header("if-none-match").value_or("");
  if (reply.status != 200 || known != etag_of(reply)) return tell(reply);
  const HttpReply unchanged{.status = 304, .type = {}, .headers = reply.headers};
  if (call.wait <= Duration()) return tell(unchanged);
  const Time until = process_.loop.now() + call.wait;
  const Result<void> waits = polls_.add({.call = std::move(call),
                                         .by = request.principal,
                                         .known = std::string(known),
                                         .until = until,
                                         .tell = tell});
  if (!waits) tell(error_reply(waits.error()));
}

// For a route that the core answers at once.
HttpReply HttpApi::page_now(const HttpCall& call, const PrincipalPtr& by) {
  if (!process_.may_serve()) {
    return error_reply(Error::unavailable("this master is no longer the leader")
                           .with_hint("try again: another master leads"));
  }
  HttpReply reply;
  process_.api.call({.route = *call.route, .arguments = call.arguments, .by = by},
                    [&](Result<Page> page) { reply = reply_of(std::move(page)); });
  if (reply.status == 200) reply.headers.emplace_back("ETag", etag_for(reply.body));
  return reply;
}

void HttpApi::change(const HttpCall& call, const HttpRequest& request, Tell tell) {
  if (process_.waits_for_disk()) {
    return tell(
        error_reply(Error::unavailable("writes to the registry wait: its disk is slow or full")
                        .with_hint("try again in a few seconds")));
  }
  const std::optional<std::string_view> key = request.header("idempotency-key");
  if (!key) return carry_out(call, request, tell);
  const KeptAnswers::Name name{.user = audit_name(request.principal.get()),
                               .key = std::string(*key)};
  const std::string what = text(request.path, '\n', call.arguments, '\n', request.body);
  const Result<bool> is_new = answers_.begin(name, what, process_.loop.now(), tell);
  if (!is_new) return tell(error_reply(is_new.error()));
  if (!*is_new) return;
  carry_out(call, request, [this, name, tell = std::move(tell)](const HttpReply& reply) {
    answers_.finish(name, reply);
    tell(reply);
  });
}

void HttpApi::carry_out(const HttpCall& call, const HttpRequest& request, const Tell& tell) {
  if (call.route->serves == Serves::kRequest) return relay(call, request, tell);
  process_.api.call({.route = *call.route, .arguments = call.arguments, .by = request.principal},
                    [tell](Result<Page> page) { tell(reply_of(std::move(page))); });
}

// The body is for the scheduler, and its answer is passed on unchanged.
void HttpApi::relay(const HttpCall& call, const HttpRequest& request, const Tell& tell) {
  Result<proto::RequestOptions> options = proto::parse_request_options(call.arguments);
  if (!options) return tell(error_reply(options.error()));
  const std::optional<std::string_view> key = request.header("idempotency-key");
  process_.api.relay(
      {.framework = call.framework,
       .id = key ? std::string(*key) : process_.api.next_request_id(process_.leader()),
       .timeout = options->timeout,
       .data = request.body,
       .role = std::move(options->role)},
      request.principal,
      [tell](Result<std::string> told) { tell(relayed_reply(std::move(told))); });
}

void HttpApi::stream_events(const HttpCall& call, const HttpRequest& request,
                            HttpResponder responder) {
  const auto refuse = [&](const Error& error) {
    const HttpReply reply = error_reply(error);
    responder.respond(reply.status, reply.type, reply.body, reply.headers);
  };
  if (process_.events == nullptr) return refuse(no_events_kept());
  Result<proto::EventQuery> query = event_stream_query(call.arguments, request);
  if (!query) return refuse(query.error());
  const Principal* const by = request.principal.get();
  const bool is_by_operator = by != nullptr && is_operator(process_.policy, *by);
  if (!streams_) streams_.emplace(process_.loop, *process_.events);
  if (Result<void> room = streams_->check_room(by, is_by_operator); !room) {
    return refuse(room.error());
  }
  streams_->add(*std::move(query), request.principal, is_by_operator,
                responder.stream(200, kEventStreamType));
}

void HttpApi::find_servers(const HttpCall& call, const HttpRequest& request, const Tell& tell) {
  Result<proto::ServersQuery> query = proto::parse_servers_query(call.arguments);
  if (!query) return tell(error_reply(query.error()));
  process_.api.relay({.framework = std::move(query->framework),
                      .id = process_.api.next_request_id(process_.leader()),
                      .timeout = kAnswersIn + query->wait,
                      .data = proto::service_call_json({.verb = "servers",
                                                        .after = std::move(query->after),
                                                        .apps = std::move(query->apps),
                                                        .seen = std::move(query->seen),
                                                        .wait = query->wait})},
                     request.principal,
                     [tell](Result<std::string> told) { tell(relayed_reply(std::move(told))); });
}

}  // namespace proffer::master
