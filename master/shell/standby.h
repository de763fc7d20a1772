#pragma once

// The answers of a standby: the address of the leader.

#include <optional>
#include <vector>

#include "common/result.h"
#include "net/http_server.h"
#include "proto/messages.h"
#include "store/leadership.h"

namespace proffer::master {

// The answers to one frame, in order: NotLeader, and for a call an error too, since older callers
// do not know NotLeader.
std::vector<proto::Envelope> standby_answers(const Result<proto::Envelope>& frame,
                                             const std::optional<MasterPlace>& leader);

// 307 to the leader's port if it has one, else 503 with its address.
void answer_as_standby(const HttpRequest& request, const std::optional<MasterPlace>& leader,
                       HttpResponder responder);

}  // namespace proffer::master
