// Converts query strings to JSON with the shape of the arguments; the method's own parser then
// decides. Read arguments_of_query.

#include "proto/json/arguments.h"

#include <set>

#include "common/text.h"
#include "proto/json/json_text.h"
#include "proto/service_status.h"

namespace proffer::proto {
namespace {

Error wrong_value(const JsonShape& member, std::string_view allowed, std::string_view value) {
  return Error::invalid_argument(text(member.name, ": must be ", allowed, ", not ", quoted(value)));
}

Result<Json> value_of(const JsonShape& member, const std::string& value) {
  switch (member.type) {
    case JsonShape::Type::kTruth:
      if (value.empty() || value == "1" || value == "true") return Json(true);
      if (value == "0" || value == "false") return Json(false);
      return wrong_value(member, "true or false", value);
    case JsonShape::Type::kWhole:
    case JsonShape::Type::kNumber:
    case JsonShape::Type::kSeconds: {
      const bool is_plain = value.find_first_not_of("0123456789.") == value.npos;
      Json number = is_plain ? Json::parse(value, nullptr, false) : Json();
      if (!number.is_number()) return wrong_value(member, "a number", value);
      return number;
    }
    case JsonShape::Type::kTexts: {
      Json list = Json::array();
      for (const std::string_view part : split(value, ',')) {
        if (!part.empty()) list.push_back(part);
      }
      return list;
    }
    default:
      return Json(value);
  }
}

}  // namespace

Error unknown_name(std::string_view what, std::string_view name,
                   const std::vector<std::string_view>& known) {
  if (known.empty()) return Error::invalid_argument(text("unknown ", what, " ", quoted(name)));
  std::string names;
  for (const std::string_view one : known) names += text(names.empty() ? "" : ", ", one);
  Error error =
      Error::invalid_argument(text("unknown ", what, " ", quoted(name), "; known are ", names));
  const std::string_view near = nearest(name, known);
  if (near.empty()) return error;
  return std::move(error).with_hint(text("did you mean ", quoted(near), "?"));
}

Result<std::string> arguments_of_query(
    const JsonShape& shape, const std::vector<std::pair<std::string, std::string>>& query) {
  Json out = Json::object();
  for (const auto& [name, value] : query) {
    const JsonShape* const member = shape.find(name);
    if (member == nullptr || member->is_hidden) {
      std::vector<std::string_view> known;
      for (const JsonShape& one : shape.members) {
        if (!one.is_hidden) known.emplace_back(one.name);
      }
      return unknown_name("argument", name, known);
    }
    Result<Json> read = value_of(*member, value);
    if (!read) return std::move(read).error();
    if (!out.contains(name)) {
      out[name] = *std::move(read);
    } else if (member->type == JsonShape::Type::kTexts) {
      for (Json& one : *read) out[name].push_back(std::move(one));
    } else {
      return Error::invalid_argument(text(name, ": is given twice"));
    }
  }
  return to_json_text(out);
}

template <class F>
void fields(F& f, typename F::template Of<RequestOptions>& options) {
  f.about("timeout for the scheduler's answer in seconds, at most 3600");
  f.seconds("timeout_s", options.timeout);
  f.about("role to charge: the framework's role or a role below it");
  if constexpr (F::kReads) {
    if (f.has("role")) f.as_text("role", parse_role, options.role);
  } else {
    f.text_if_any("role", options.role);
  }
}

JsonShape request_options_shape() { return shape_of<RequestOptions>(); }
Result<RequestOptions> parse_request_options(std::string_view json) {
  return parse_arguments<RequestOptions>(json);
}

template <class F>
void fields(F& f, typename F::template Of<ServersQuery>& query) {
  f.about("only these apps; default: all");
  f.texts_if_any("app", query.apps);
  f.about("`version` of an answer: the reply comes when the version changes or `wait` ends");
  f.text_if_any("version", query.seen);
  f.about("maximum time to wait, as in 30s; at most 1m");
  f.as_text("wait", parse_duration, query.wait);
  f.about("`next` of the previous page");
  f.text_if_any("after", query.after);
  f.about("the scheduler's id or name");
  f.text("framework", query.framework);
  if constexpr (F::kReads) {
    if (query.wait > kServersWaitMax) {
      f.refuse("wait", text("must be from 0s to ", to_text(kServersWaitMax), ", not ",
                            to_text(query.wait)));
    }
  }
}

JsonShape servers_query_shape() { return shape_of<ServersQuery>(); }
Result<ServersQuery> parse_servers_query(std::string_view json) {
  return parse_arguments<ServersQuery>(json);
}

}  // namespace proffer::proto
