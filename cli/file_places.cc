#include "cli/file_places.h"

#include "cli/master_client.h"
#include "net/membership.h"
#include "proto/json/file_access_json.h"

namespace proffer::cli {

Result<HttpPlace> FilePlaces::find(const FrameworkId& framework, const AgentId& agent,
                                   const std::string& http_address) {
  if (!http_address.empty()) {
    if (!is_beside_master_) {
      const Result<std::optional<ClientKeys>> keys = keys_for(KeyKind::kUser, masters_);
      if (!keys) return keys.error();
      is_beside_master_ = !keys->has_value();
    }
    if (*is_beside_master_) {
      // An agent's socket must have this name; the address that the agent reports is not trusted.
      if (http_address.starts_with('/') && exec_socket_beside(http_address).empty()) {
        return Error::failed_precondition(text("agent ", quoted(agent.str()),
                                               " states the address ", quoted(http_address),
                                               ", which is not a socket of an agent"));
      }
      return HttpPlace{.address = http_address};
    }
  }
  const auto now = std::chrono::steady_clock::now();
  const auto at = known_.find({framework, agent});
  if (at != known_.end() && now < at->second.until) return at->second.place;
  const Result<CallResult> answer =
      call(masters_, "file_access",
           proto::file_access_call_json({.agent = agent, .framework = framework}));
  if (!answer) return answer.error();
  Result<proto::FileAccessReply> access = proto::parse_file_access_reply(answer->json);
  if (!access) return std::move(access).error().in("the master's answer");
  const auto half = std::chrono::nanoseconds(access->valid_for.nanos() / 2);
  Known known{.place = {.address = std::move(access->address),
                        .pin = std::move(access->pin),
                        .token = std::move(access->token)},
              .until = now + half};
  HttpPlace place = known.place;
  known_.insert_or_assign({framework, agent}, std::move(known));
  return place;
}

}  // namespace proffer::cli
