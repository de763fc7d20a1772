#pragma once

// What several documents hold: each type has a `print` and a `read`. Inside of proto/json only.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/offers.h"
#include "common/roles.h"
#include "proto/json/json_text.h"
#include "proto/status.h"

namespace proffer::proto {

Json print(const ResourceVector& amounts);
void read(const JsonFields& in, ResourceVector& out);
Json print(const Resources& resources);
void read(const JsonFields& in, Resources& out);
Json print(const Quota& quota);  // only the kinds that it names
void read(const JsonFields& in, Quota& out);
Json print(const Attributes& attributes);
Json print(const std::map<std::string, uint16_t>& ports);
std::string_view to_text(OfferMode mode);
std::optional<OfferMode> parse_offer_mode(std::string_view text);
Json print(const TaskRow& row);
void read(const JsonFields& in, TaskRow& out);
Json print(const OfferRow& row);
void read(const JsonFields& in, OfferRow& out);

}  // namespace proffer::proto
