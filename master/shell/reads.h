#pragma once

// The answers of the methods that read from the core (master/shell/routes.h).

#include <string_view>

#include "master/shell/routes.h"

namespace proffer::master {

Result<Page> read_status(const ReadContext& from, std::string_view arguments);
Result<Page> read_agents(const ReadContext& from, std::string_view arguments);
Result<Page> read_frameworks(const ReadContext& from, std::string_view arguments);
Result<Page> read_roles(const ReadContext& from, std::string_view arguments);
Result<Page> read_tasks(const ReadContext& from, std::string_view arguments);
Result<Page> read_pending(const ReadContext& from, std::string_view arguments);
Result<Page> read_offers(const ReadContext& from, std::string_view arguments);
Result<Page> read_blame(const ReadContext& from, std::string_view arguments);
Result<Page> read_explain(const ReadContext& from, std::string_view arguments);
Result<Page> read_keys(const ReadContext& from, std::string_view arguments);
Result<Page> read_masters(const ReadContext& from, std::string_view arguments);
Result<Page> read_secrets(const ReadContext& from, std::string_view arguments);

}  // namespace proffer::master
