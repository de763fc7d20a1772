#include "proto/json/conditions_json.h"

#include "proto/json/json.h"
#include "proto/json/json_text.h"
#include "proto/json/json_values.h"

namespace proffer::proto {

template <class F>
void fields(F& f, typename F::template Of<ConditionRow>& row) {
  f.text("condition", row.condition);
  f.word("severity", parse_severity, row.severity);
  f.text("object", row.object);
  f.text("message", row.message);
  f.seconds("since_s", row.since);
  f.text("command", row.command);
}

std::string status_with_conditions(std::string status, const std::vector<ConditionRow>& rows) {
  status.back() = ',';
  return status + print_list("conditions", rows).substr(1);
}

Result<std::vector<ConditionRow>> parse_conditions(std::string_view json) {
  std::vector<ConditionRow> rows;
  Result<void> parsed =
      parse_object(json, [&](const JsonFields& in) { in.rows("conditions", rows); });
  if (!parsed) return std::move(parsed).error();
  return rows;
}

JsonShape status_with_conditions_shape() {
  JsonShape shape = status_shape();
  for (JsonShape& member : list_shape<ConditionRow>("conditions").members) {
    shape.members.push_back(std::move(member));
  }
  return shape;
}

}  // namespace proffer::proto
