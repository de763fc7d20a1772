#include "cli/agent_status.h"

#include "net/http_get.h"
#include "proto/json/json.h"

namespace proffer::cli {
namespace {

constexpr size_t kStatusBytesMax = size_t{64} << 20;
constexpr Duration kAgentAnswersIn = seconds(5);

}  // namespace

std::optional<proto::AgentStatus> ask_agent(const std::string& http_address) {
  std::string body;
  const auto append = [&body](std::string_view bytes) {
    if (body.size() + bytes.size() <= kStatusBytesMax) body += bytes;
  };
  const Result<HttpAnswer> answered =
      http_get({.address = http_address}, "/v1/status", append, {.end_max = kAgentAnswersIn});
  if (!answered || answered->status >= 300) return std::nullopt;
  Result<proto::AgentStatus> status = proto::parse_agent_status(body);
  return status ? std::optional(*std::move(status)) : std::nullopt;
}

}  // namespace proffer::cli
