#include "proto/json/policy_trial_json.h"

#include "proto/json/json_text.h"

namespace proffer::proto {
namespace {

void write_figures(JsonWriter& out, std::string_view name, const PolicyTrial::Figures& figures) {
  out.object(name, [&](JsonWriter& f) {
    f.whole("waits", figures.waits);
    f.seconds("wait_mean_s", figures.wait_mean);
    f.seconds("wait_p50_s", figures.wait_p50);
    f.seconds("wait_p90_s", figures.wait_p90);
    f.seconds("wait_sum_s", figures.wait_sum);
    f.whole("waiting", figures.waiting);
    f.milli("mean_share", 0, 1'000, figures.mean_share);
    f.whole("revokes", figures.revokes);
    f.seconds("makespan_s", figures.makespan);
  });
}

void write_role(JsonWriter& out, std::string_view name, const PolicyTrial::Role& role) {
  out.object(name, [&](JsonWriter& f) {
    write_figures(f, "recorded", role.recorded);
    write_figures(f, "again", role.again);
    write_figures(f, "as_it_was", role.as_it_was);
    write_figures(f, "changed", role.changed);
  });
}

}  // namespace

std::string policy_trial_json(const PolicyTrial& trial) {
  std::string out;
  JsonWriter f(out);
  f.texts("with", trial.with);
  f.seconds("span_s", trial.span);
  f.whole("tasks", trial.tasks);
  write_role(f, "all", trial.all);
  f.object("roles", [&](JsonWriter& roles) {
    for (const auto& [name, role] : trial.roles) write_role(roles, name, role);
  });
  f.texts("notes", trial.notes);
  f.done();
  return out;
}

}  // namespace proffer::proto
