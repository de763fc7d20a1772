#pragma once

// Forecasts in JSON: the input that the master gives to `proffer-simulate --forecast`, its output,
// and the rows of the method "pending". The rules of json.h apply.

#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "proto/forecast.h"
#include "proto/json/json_shape.h"

namespace proffer::proto {

// One object per line: the durations, then the pages of the live snapshot.
std::string forecast_request_lines(const ForecastRequest& request);
// Errors: kInvalidArgument, with the line number.
Result<ForecastRequest> parse_forecast_request(std::string_view lines);

std::string forecast_json(const Forecast& forecast);
Result<Forecast> parse_forecast(std::string_view json);

// The explanation of a framework with the estimated starts of its asks as a member "pending".
std::string explanation_with_pending(std::string explanation, const std::vector<PendingRow>& rows);
// Reads the rows of such an explanation. A master of an earlier version sends none.
Result<std::vector<PendingRow>> parse_pending_of_explanation(std::string_view json);
JsonShape explanations_with_pending_shape();

JsonShape pending_shape();
std::string pending_json(const PendingPage& page);
Result<PendingPage> parse_pending(std::string_view json);

}  // namespace proffer::proto
