#include "cli/agent_status.h"

namespace proffer::cli {
namespace {

constexpr size_t kStatusBytesMax = size_t{64} << 20;

}  // namespace

Result<HttpQuestion> usage_question(FilePlaces& places, const FrameworkId& framework,
                                    const AgentId& agent, const std::string& http_address) {
  Result<HttpPlace> place = places.find(framework, agent, http_address);
  if (!place) return std::move(place).error();
  // Agents of earlier versions serve only the status.
  std::string target = place->pin.empty() ? "/v1/status" : "/v1/usage/" + framework.str();
  return HttpQuestion{
      .place = *std::move(place), .target = std::move(target), .bytes_max = kStatusBytesMax};
}

}  // namespace proffer::cli
