#pragma once

#include <string>

#include "master/shell/routes.h"

namespace proffer::master {

// The OpenAPI file of the HTTP API, made from the route table: docs/openapi.json.
std::string openapi();

// The users that the policy permits, as text; empty: all users.
std::string who_may(const Route& route);

}  // namespace proffer::master
