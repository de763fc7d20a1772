#pragma once

// The ports that the master chose for an instance, as its executor reports them.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace proffer::service {

// {"ports":{"http":31000}} is the data of the executor's first update. Any other data gives no
// ports.
std::map<std::string, uint16_t> parse_told_ports(std::string_view data);

}  // namespace proffer::service
