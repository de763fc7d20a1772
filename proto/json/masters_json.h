#pragma once

// The masters of a cluster in JSON. The rules of json.h apply.

#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "proto/json/json_shape.h"
#include "proto/masters.h"

namespace proffer::proto {

// {"masters":[{"master","id","role","since_s","first_epoch","last_epoch","led_since_s",
// "led_until_s","keeps_history","events_behind"}]}; epochs are 0 if it has not led.
std::string masters_json(const std::vector<MasterRow>& rows);
Result<std::vector<MasterRow>> parse_masters_list(std::string_view json);

// {"id","master","keeps_history"}
std::string standby_call_json(const StandbyCall& call);
// Errors: kInvalidArgument, also for an impossible id or name of a master.
Result<StandbyCall> parse_standby_call(std::string_view json);

JsonShape masters_shape();
JsonShape standby_call_shape();

}  // namespace proffer::proto
