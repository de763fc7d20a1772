#include "proto/json/masters_json.h"

#include "common/limits.h"
#include "common/text.h"
#include "proto/json/json_text.h"
#include "proto/json/json_values.h"

namespace proffer::proto {

template <class F>
void fields(F& f, typename F::template Of<StandbyCall>& call) {
  for (const char* name : {"id", "master", "keeps_history"}) f.require(name);
  f.text("id", call.master);
  f.text("master", call.name);
  f.truth("keeps_history", call.keeps_history);
  if constexpr (F::kReads) {
    if (!is_valid_secret(call.master.str())) {
      f.refuse("id", "must be 32 hexadecimal digits in lower case");
    }
    if (call.name.empty() || call.name.size() > kAddressBytesMax) {
      f.refuse("master", text("must have 1 to ", kAddressBytesMax, " bytes"));
    }
  }
}

JsonShape masters_shape() { return list_shape<MasterRow>("masters"); }
JsonShape standby_call_shape() { return shape_of<StandbyCall>(); }

std::string masters_json(const std::vector<MasterRow>& rows) { return print_list("masters", rows); }
Result<std::vector<MasterRow>> parse_masters_list(std::string_view json) {
  return parse_list<MasterRow>(json, "masters");
}

std::string standby_call_json(const StandbyCall& call) { return print_value(call); }
Result<StandbyCall> parse_standby_call(std::string_view json) {
  return parse_arguments<StandbyCall>(json);
}

}  // namespace proffer::proto
