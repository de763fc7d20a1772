#pragma once

// The read side of the one API: the same methods for calls (CLI) and HTTP, the same JSON from the
// same encoder (DESIGN §12).

#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "master/core/master.h"

namespace proffer::master {

struct Page {
  std::string json = {};
  std::string next = {};  // give it as `after` for the next page; empty: this was the last
};

// `method` is "status", "agents", "frameworks", "roles", "tasks", "offers", "keys", "masters" or
// "secrets" with JSON as of proto::TaskQuery ("" for none) as `arguments`, or "explain" with that
// of proto::explain_call_json. Errors: kNotFound with the known methods, kInvalidArgument for the
// arguments. What `by` may not see is left out. Pages have at most kReplyRowsMax rows and
// kJsonBytesMax bytes.
// `history`: MasterStatus::history.
Result<Page> read_api(const Master& core, std::string_view method, std::string_view arguments,
                      const Principal* by, std::string_view history = {});

// What changes something: "kill", "drain", "undrain", "role_set", "reserve", "unreserve",
// "teardown", "join_token", "join", "key_rotate", "key_revoke", "agent_gone", "brake_lift",
// "secret_remove".
bool is_operator_method(std::string_view method);
// The event of such a call, answered under `call`, with JSON as of proto/json as `arguments`.
// Errors: kInvalidArgument for the arguments.
Result<MasterEvent> operator_event(std::string_view method, std::string_view arguments,
                                   uint64_t call, const PrincipalPtr& by);

// The methods that read_api knows.
const std::vector<std::string_view>& read_methods();

}  // namespace proffer::master
