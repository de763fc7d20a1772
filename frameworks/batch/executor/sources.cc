#include "frameworks/batch/executor/sources.h"

#include <utility>

#include "common/text.h"
#include "net/address.h"

namespace proffer::batch {
namespace {

constexpr std::string_view kAgent = "agent/";
constexpr auto kKnownFor = std::chrono::seconds(60);
constexpr Duration kAnswerMax = seconds(10);
constexpr size_t kAnswerBytesMax = 8'192;

// Other servers of this machine are not accepted.
bool is_socket_of_agent(std::string_view path) { return !exec_socket_beside(path).empty(); }

}  // namespace

std::string source_of_agent(std::string_view agent) { return text(kAgent, agent); }

Sources::Sources(std::string framework, std::vector<std::string> addresses, OwnAgent own)
    : framework_(std::move(framework)), own_(std::move(own)) {
  for (std::string& address : addresses) {
    Source source;
    if (!address.starts_with(kAgent)) {
      // The address comes from another executor. If agents serve other machines, they are
      // identified by name.
      const bool is_path = address.starts_with('/');
      const bool is_agents =
          !own_.serves_other_machines && (!is_path || is_socket_of_agent(address));
      if (is_agents || address == own_.http_address) source.place.address = std::move(address);
    } else if (const std::string name = address.substr(kAgent.size()); name == own_.name) {
      source.place.address = own_.http_address;
    } else {
      source.agent = name;
    }
    sources_.push_back(std::move(source));
  }
}

Result<HttpPlace> Sources::place(size_t index, bool is_refused) {
  {
    const std::lock_guard lock(mutex_);
    const Source& known = sources_[index];
    if (known.agent.empty() && known.place.address.empty()) {
      return Error::unavailable("a map task reported an address that is not an agent's");
    }
    if (known.agent.empty() || (!is_refused && Clock::now() < known.until)) return known.place;
  }
  const std::string& agent = sources_[index].agent;
  std::string body;
  const Result<HttpAnswer> answer =
      http_get({.address = own_.http_address},
               percent_encoded(text("/v1/access/", framework_, "/", agent)) +
                   text("?task=", percent_encoded(own_.task), is_refused ? "&fresh=1" : ""),
               [&body](std::string_view bytes) {
                 if (body.size() + bytes.size() <= kAnswerBytesMax) body += bytes;
               },
               {.begin_max = kAnswerMax, .end_max = kAnswerMax});
  if (!answer) return Error(answer.error()).in(text("asking this agent for agent ", agent));
  if (answer->status >= 300) return Error::unavailable(std::string(trimmed(answer->reason)));
  const std::vector<std::string_view> lines = split(body, '\n');
  if (lines.size() < 3) return Error::unavailable("this agent's answer is not an address");
  HttpPlace place{.address = std::string(lines[0]),
                  .pin = std::string(lines[1]),
                  .token = std::string(lines[2])};
  const std::lock_guard lock(mutex_);
  sources_[index].place = place;
  sources_[index].until = Clock::now() + kKnownFor;
  return place;
}

}  // namespace proffer::batch
