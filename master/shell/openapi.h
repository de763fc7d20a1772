#pragma once

#include <string>

#include "master/shell/routes.h"

namespace proffer::master {

// The OpenAPI file of the HTTP API, from the route table: docs/openapi.json.
std::string openapi();

// The users that may, for people, as the policy has it; empty: everybody.
std::string who_may(const Route& route);

}  // namespace proffer::master
