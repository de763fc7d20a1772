#pragma once

// Calls to the master's API: one address, one call at a time.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "net/address.h"
#include "net/curve_keys.h"
#include "proto/secrets.h"
#include "proto/status.h"
#include "sdk/shell/master_call.h"

namespace proffer::cli {

// The error of `proffer COMMAND KIND` without a name, where KIND is framework, role or task.
Error no_name(std::string_view command, std::string_view kind);

// The value of --master, else $PROFFER_MASTER, else find_masters(). Errors: kInvalidArgument.
Result<Masters> master_address(const std::string& flag);

using CallResult = sdk::MasterReply;

// Calls once, on its own connection, and waits for the answer. Errors: kUnavailable if the master
// does not answer in time, with a hint; else the master's.
Result<CallResult> call(const Masters& master, std::string_view method, std::string_view arguments,
                        Duration timeout = seconds(5));
// The same with other keys than the user's.
Result<CallResult> call(const Masters& master, const std::optional<ClientKeys>& keys,
                        std::string_view method, std::string_view arguments,
                        Duration timeout = seconds(5));

// True if a master answers to these keys, even with a refusal of the call, since it then knows
// them.
bool is_known(const Masters& master, const ClientKeys& keys, Duration timeout = seconds(5));

// All pages of a list. `parse` is a function such as proto::parse_agents.
template <class Row>
Result<std::vector<Row>> call_list(const Masters& master, std::string_view method,
                                   proto::TaskQuery query,
                                   Result<std::vector<Row>> (*parse)(std::string_view));

extern template Result<std::vector<proto::AgentRow>> call_list(
    const Masters&, std::string_view, proto::TaskQuery,
    Result<std::vector<proto::AgentRow>> (*)(std::string_view));
extern template Result<std::vector<proto::FrameworkRow>> call_list(
    const Masters&, std::string_view, proto::TaskQuery,
    Result<std::vector<proto::FrameworkRow>> (*)(std::string_view));
extern template Result<std::vector<proto::RoleRow>> call_list(
    const Masters&, std::string_view, proto::TaskQuery,
    Result<std::vector<proto::RoleRow>> (*)(std::string_view));
extern template Result<std::vector<proto::OfferRow>> call_list(
    const Masters&, std::string_view, proto::TaskQuery,
    Result<std::vector<proto::OfferRow>> (*)(std::string_view));
extern template Result<std::vector<KnownKey>> call_list(
    const Masters&, std::string_view, proto::TaskQuery,
    Result<std::vector<KnownKey>> (*)(std::string_view));
extern template Result<std::vector<proto::SecretRow>> call_list(
    const Masters&, std::string_view, proto::TaskQuery,
    Result<std::vector<proto::SecretRow>> (*)(std::string_view));
extern template Result<std::vector<proto::TaskRow>> call_list(
    const Masters&, std::string_view, proto::TaskQuery,
    Result<std::vector<proto::TaskRow>> (*)(std::string_view));

// The only task that matches `word` (FRAMEWORK/TASK or a unique prefix of it or of the task's id),
// including ended tasks. Errors: kNotFound, kInvalidArgument (several; with the first candidates).
Result<proto::TaskRow> find_task(const Masters& master, const std::string& word);

}  // namespace proffer::cli
