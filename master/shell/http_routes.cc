#include "master/shell/http_routes.h"

#include <algorithm>
#include <vector>

#include "common/text.h"
#include "proto/json/arguments.h"
#include "proto/json/json.h"

namespace proffer::master {
namespace {

constexpr std::string_view kReadVerbs = "GET, HEAD";
constexpr std::string_view kChangeVerbs = "POST";

std::string_view verbs_of(const Route& route) {
  return route.changes() ? kChangeVerbs : kReadVerbs;
}

// Whether `path` matches the route; `part` becomes the part in braces.
bool matches(std::string_view pattern, std::string_view path, std::string* part) {
  const size_t open = pattern.find('{');
  if (open == pattern.npos) return pattern == path;
  const std::string_view after = pattern.substr(pattern.find('}') + 1);
  if (!path.starts_with(pattern.substr(0, open)) || !path.ends_with(after)) return false;
  if (path.size() <= open + after.size()) return false;
  const std::string_view found = path.substr(open, path.size() - open - after.size());
  if (found.find('/') != found.npos) return false;
  if (part != nullptr) *part = found;
  return true;
}

// `path` is the part below kApiPrefix.
const Route* find_path(std::string_view path, std::string* part = nullptr) {
  for (const Route& route : routes()) {
    if (!route.path.empty() && matches(route.path, path, part)) return &route;
  }
  return nullptr;
}

HttpReply no_such_path(const HttpRequest& request) {
  std::vector<std::string_view> known;
  for (const Route& route : routes()) {
    if (!route.path.empty()) known.push_back(route.path);
  }
  const std::string_view path = request.path;
  const std::string_view near =
      path.starts_with(kApiPrefix) ? nearest(path.substr(kApiPrefix.size()), known) : "";
  return error_reply(Error::not_found(text("there is nothing at ", quoted(path)))
                         .with_hint(near.empty() ? text("known paths: ", known_paths())
                                                 : text("did you mean ", kApiPrefix, near, "?")));
}

HttpReply wrong_verb(const HttpRequest& request, const Route& route) {
  const std::string_view verbs = verbs_of(route);
  HttpReply reply = error_reply(
      Error::unsupported(text(request.path, " takes ", verbs, ", not ", request.method)));
  reply.status = 405;
  reply.headers.emplace_back("Allow", verbs);
  return reply;
}

// "application/json; charset=utf-8" counts as JSON.
std::string media_type(const HttpRequest& request) {
  const std::string_view given = request.header("content-type").value_or("");
  std::string type(trimmed(given.substr(0, given.find(';'))));
  for (char& c : type) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return type;
}

// A page of another site can make a browser send forms and plain text, but not these types.
std::optional<HttpReply> check_type(const HttpRequest& request, const Route& route) {
  const std::string type = media_type(request);
  if (type == kJsonType) return std::nullopt;
  const bool takes_bytes = route.serves == Serves::kRequest;
  if (takes_bytes && type == "application/octet-stream") return std::nullopt;
  HttpReply reply = error_reply(
      Error::invalid_argument(text("the body must be ", kJsonType,
                                   takes_bytes ? " or application/octet-stream" : "",
                                   type.empty() ? std::string(", and the Content-Type is missing")
                                                : text(", not ", quoted(type))))
          .with_hint("curl --json '{…}' sets the Content-Type"));
  reply.status = 415;
  return reply;
}

Result<Duration> wait_of(const HttpRequest& request, const std::string& value) {
  Result<Duration> wait = parse_duration(value);
  if (!wait) return std::move(wait).error().in("wait");
  if (*wait > kHttpWaitMax) {
    return Error::invalid_argument(
        text("wait: must be from 0s to ", to_text(kHttpWaitMax), ", not ", quoted(value)));
  }
  if (!request.header("if-none-match")) {
    return Error::invalid_argument("wait: needs the header If-None-Match")
        .with_hint(
            "set it to the ETag of your answer: the reply comes when the answer has changed");
  }
  return wait;
}

// Converts the query string to arguments of the route.
Result<HttpCall> read_query(const HttpRequest& request, const Route& route) {
  HttpCall call{.route = &route};
  if (route.changes() && route.serves != Serves::kRequest) {
    if (!request.query.empty()) {
      return Error::invalid_argument(
                 text("unknown argument ", quoted(request.query.front().first), " in the path"))
          .with_hint("the arguments of POST are the members of the body's JSON object");
    }
    call.arguments = request.body;
    return call;
  }
  HttpHeaders query = request.query;
  if (route.may_wait) {
    const auto wait = std::find_if(query.begin(), query.end(),
                                   [](const auto& one) { return one.first == "wait"; });
    if (wait != query.end()) {
      const Result<Duration> read = wait_of(request, wait->second);
      if (!read) return read.error();
      call.wait = *read;
      query.erase(wait);
    }
  }
  const proto::JsonShape shape =
      route.serves == Serves::kRequest ? proto::request_options_shape() : route.arguments();
  Result<std::string> arguments = proto::arguments_of_query(shape, query);
  if (!arguments) return std::move(arguments).error();
  call.arguments = *std::move(arguments);
  return call;
}

}  // namespace

HttpReply error_reply(const Error& error) {
  return {.status = http_status(error.code()), .body = proto::error_json(error)};
}

std::variant<HttpCall, HttpReply> http_call(const HttpRequest& request) {
  const std::string_view path = request.path;
  std::string part;
  const Route* const route =
      path.starts_with(kApiPrefix) ? find_path(path.substr(kApiPrefix.size()), &part) : nullptr;
  if (route == nullptr) return no_such_path(request);
  if ((request.method == "POST") != route->changes()) return wrong_verb(request, *route);
  if (route->changes()) {
    if (std::optional<HttpReply> refusal = check_type(request, *route)) return *std::move(refusal);
  }
  Result<HttpCall> call = read_query(request, *route);
  if (!call) return error_reply(call.error());
  call->framework = std::move(part);
  return *std::move(call);
}

std::string verbs_of(std::string_view path) {
  const Route* const route =
      path.starts_with(kApiPrefix) ? find_path(path.substr(kApiPrefix.size())) : nullptr;
  return std::string(route == nullptr ? kReadVerbs : verbs_of(*route));
}

std::string known_paths() {
  std::string paths;
  for (const Route& route : routes()) {
    if (!route.path.empty()) paths += text(kApiPrefix, route.path, ", ");
  }
  return paths + "/metrics and /healthz";
}

}  // namespace proffer::master
