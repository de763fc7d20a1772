#include "master/shell/standby.h"

#include <utility>
#include <variant>

#include "common/text.h"
#include "net/http_get.h"
#include "proto/json/json.h"

namespace proffer::master {
namespace {

Error not_leader(const std::optional<MasterPlace>& leader) {
  Error error = Error::unavailable(
      leader ? text("this master is a standby; the leader is at ", leader->address)
             : std::string("this master is a standby, and no master leads at the moment"));
  return std::move(error).with_hint(
      leader ? text("ask the leader: --master=", leader->address)
             : std::string("try again in a few seconds; if it persists, see `journalctl -u "
                           "proffer-master` on the masters"));
}

std::string url_of(const HttpRequest& request, const std::string& place) {
  std::string url = text("http://", place, percent_encoded(request.path));
  char separator = '?';
  for (const auto& [name, value] : request.query) {
    url +=
        text(std::string_view(&separator, 1), percent_encoded(name), "=", percent_encoded(value));
    separator = '&';
  }
  return url;
}

}  // namespace

std::vector<proto::Envelope> standby_answers(const Result<proto::Envelope>& frame,
                                             const std::optional<MasterPlace>& leader) {
  std::vector<proto::Envelope> answers;
  answers.push_back({.version = proto::kProtocolVersionMin,
                     .sequence = 1,
                     .message = proto::NotLeader{.leader = leader ? leader->address : ""}});
  if (!frame) return answers;
  if (const auto* call = std::get_if<proto::Call>(&*frame->message)) {
    const Error error = not_leader(leader);
    answers.push_back({.version = proto::kProtocolVersionMin,
                       .message = proto::Reply{.id = call->id,
                                               .error = proto::ErrorMessage{
                                                   error.code(), error.message(), error.hint()}}});
  }
  return answers;
}

void answer_as_standby(const HttpRequest& request, const std::optional<MasterPlace>& leader,
                       HttpResponder responder) {
  if (leader && !leader->http_port.empty()) {
    return responder.redirect(url_of(request, leader->http_port));
  }
  responder.respond_json(503, proto::error_json(not_leader(leader)));
}

}  // namespace proffer::master
