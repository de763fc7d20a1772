#pragma once

// The ports that the master chose for an instance, as its executor tells them.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace proffer::service {

// {"ports":{"http":31000}}: the data of the executor's first update. Anything else tells none.
std::map<std::string, uint16_t> parse_told_ports(std::string_view data);

}  // namespace proffer::service
