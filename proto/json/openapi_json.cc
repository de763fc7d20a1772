#include "proto/json/openapi_json.h"

#include <limits>

#include "common/text.h"
#include "proto/json/json_text.h"

namespace proffer::proto {
namespace {

constexpr const char* kErrorRef = "#/components/responses/Error";

Json schema_of(const JsonShape& shape);

Json object_schema(const std::vector<JsonShape>& members) {
  Json schema = {{"type", "object"}};
  Json properties = Json::object();
  Json required = Json::array();
  for (const JsonShape& member : members) {
    if (member.is_hidden) continue;
    properties[member.name] = schema_of(member);
    if (member.is_required) required.push_back(member.name);
  }
  schema["properties"] = std::move(properties);
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

Json whole_schema(const JsonShape& shape) {
  Json schema = {{"type", "integer"}, {"minimum", shape.min}};
  if (shape.max != std::numeric_limits<int64_t>::max()) schema["maximum"] = shape.max;
  return schema;
}

Json rows_schema(const JsonShape& shape) {
  Json row = object_schema(shape.members);
  if (shape.is_open) row["additionalProperties"] = Json::object();
  return {{"type", "array"}, {"items", std::move(row)}};
}

Json bare_schema(const JsonShape& shape) {
  using Type = JsonShape::Type;
  switch (shape.type) {
    case Type::kText:
      return {{"type", "string"}};
    case Type::kTruth:
      return {{"type", "boolean"}};
    case Type::kWhole:
      return whole_schema(shape);
    case Type::kNumber:
    case Type::kSeconds:
      return {{"type", "number"}};
    case Type::kTexts:
      return {{"type", "array"}, {"items", {{"type", "string"}}}};
    case Type::kTextMap:
      return {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}};
    case Type::kWholeMap:
      return {{"type", "object"}, {"additionalProperties", {{"type", "integer"}}}};
    case Type::kObject:
      return object_schema(shape.members);
    case Type::kRows:
      return rows_schema(shape);
    case Type::kOneOf: {
      Json any = Json::array();
      for (const JsonShape& one : shape.members) any.push_back(schema_of(one));
      return {{"anyOf", std::move(any)}};
    }
  }
  return Json::object();
}

Json schema_of(const JsonShape& shape) {
  Json schema = bare_schema(shape);
  if (!shape.about.empty()) schema["description"] = shape.about;
  return schema;
}

Json parameter(const char* in, const std::string& name, const std::string& about, bool is_required,
               Json schema) {
  Json out = {{"name", name}, {"in", in}};
  if (!about.empty()) out["description"] = about;
  if (is_required) out["required"] = true;
  out["schema"] = std::move(schema);
  return out;
}

// Adds the names in braces.
void add_path_parameters(const std::string& path, Json& parameters) {
  for (size_t open = path.find('{'); open != path.npos; open = path.find('{', open + 1)) {
    const std::string name = path.substr(open + 1, path.find('}', open) - open - 1);
    parameters.push_back(parameter("path", name, "its id, its name or a unique prefix of its id",
                                   true, {{"type", "string"}}));
  }
}

Json parameters_of(const ApiOperation& operation) {
  Json parameters = Json::array();
  add_path_parameters(operation.path, parameters);
  for (const JsonShape& member : operation.query.members) {
    if (member.is_hidden) continue;
    Json one =
        parameter("query", member.name, member.about, member.is_required, bare_schema(member));
    if (member.type == JsonShape::Type::kTexts) one["explode"] = false;
    parameters.push_back(std::move(one));
  }
  if (operation.may_wait) {
    parameters.push_back(parameter(
        "query", "wait",
        "how long to wait for an answer other than that of If-None-Match, as in 30s; at most 1m",
        false, {{"type", "string"}}));
    parameters.push_back(parameter("header", "If-None-Match",
                                   "the ETag of an answer: if it has not changed, the reply is 304",
                                   false, {{"type", "string"}}));
  }
  if (operation.may_stream) {
    parameters.push_back(
        parameter("header", "Last-Event-ID",
                  "for a stream (Accept: text/event-stream): id of the last event received; the "
                  "stream continues after it and ignores `from` and `last`",
                  false, {{"type", "string"}}));
  }
  if (operation.is_post) {
    parameters.push_back(parameter("header", "Idempotency-Key",
                                   "a new key for each operation: for ten minutes, the same key "
                                   "returns the first answer again to the same user",
                                   false, {{"type", "string"}, {"maxLength", 128}}));
  }
  return parameters;
}

Json body_of(const ApiOperation& operation) {
  Json content = Json::object();
  if (operation.takes_text) {
    content["application/json"] = {{"schema", Json::object()}};
    content["application/octet-stream"] = Json::object();
  } else {
    Json schema = schema_of(operation.body);
    schema["additionalProperties"] = false;
    content["application/json"] = {{"schema", std::move(schema)}};
  }
  return {{"required", true}, {"content", std::move(content)}};
}

Json responses_of(const ApiOperation& operation) {
  Json content = Json::object();
  content["application/json"] = {
      {"schema", operation.is_any_text ? Json::object() : schema_of(operation.answer)}};
  if (operation.is_any_text) content["application/octet-stream"] = Json::object();
  if (operation.may_stream) {
    content["text/event-stream"] = {
        {"schema",
         {{"type", "string"},
          {"description",
           "server-sent events, without end: `data` is an event, `id` its place; `gap` means that "
           "events are missing, `end` is the last event, with an error. Without `limit` and "
           "`wait_s`."}}}};
  }
  Json responses = {{"200", {{"description", "success"}, {"content", std::move(content)}}}};
  if (operation.may_wait) responses["304"] = {{"description", "the answer has not changed"}};
  responses["default"] = {{"$ref", kErrorRef}};
  return responses;
}

Json operation_json(const ApiOperation& operation) {
  Json out = {{"operationId", operation.name}, {"summary", operation.about}};
  if (!operation.may.empty()) out["description"] = text("Permission: ", operation.may, ".");
  Json parameters = parameters_of(operation);
  if (!parameters.empty()) out["parameters"] = std::move(parameters);
  if (operation.is_post) out["requestBody"] = body_of(operation);
  out["responses"] = responses_of(operation);
  return out;
}

Json components() {
  const Json text_schema = {{"type", "string"}};
  const Json error = {
      {"type", "object"},
      {"properties", {{"code", text_schema}, {"message", text_schema}, {"hint", text_schema}}},
      {"required", {"code", "message"}}};
  const Json document = {
      {"type", "object"}, {"properties", {{"error", error}}}, {"required", {"error"}}};
  return {{"responses",
           {{"Error",
             {{"description", "what is wrong, what is allowed, and what to do"},
              {"content", {{"application/json", {{"schema", document}}}}}}}}},
          {"securitySchemes",
           {{"token",
             {{"type", "http"},
              {"scheme", "bearer"},
              {"description",
               "at --http_port: the content of the file http_token in the master's directory. At "
               "the Unix socket, the kernel identifies the user."}}}}}};
}

}  // namespace

std::string openapi_json(const std::vector<ApiOperation>& operations) {
  Json paths = Json::object();
  for (const ApiOperation& operation : operations) {
    paths[operation.path][operation.is_post ? "post" : "get"] = operation_json(operation);
  }
  const Json document = {
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "Proffer's master"},
        {"version", "v1"},
        {"description",
         "Amounts are in units (CPUs, MiB, GPUs); *_s are seconds, of a time since 1970. Answers "
         "may gain members."},
        {"license", {{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}}}},
      {"servers", {{{"url", "http://localhost"}}}},
      {"security", {{{"token", Json::array()}}, Json::object()}},
      {"paths", std::move(paths)},
      {"components", components()}};
  return document.dump(1) + "\n";
}

}  // namespace proffer::proto
