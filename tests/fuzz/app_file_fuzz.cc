// An app file of service. App files have no printer, so the target prints JSON: YAML is a superset
// of it.

#include <string>

#include "common/attributes.h"
#include "common/check.h"
#include "frameworks/service/shell/app_file.h"
#include "proto/fetched_files.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {
namespace app_file_fuzz {
namespace {

std::string health_of(const proto::HealthCheck& check) {
  using Kind = proto::HealthCheck::Kind;
  std::string out = "{";
  if (check.kind == Kind::kCommand) out += "command: " + in_quotes(check.command);
  if (check.kind == Kind::kTcp) out += "tcp: {port: " + in_quotes(check.port) + "}";
  if (check.kind == Kind::kHttp) {
    out += "http: {port: " + in_quotes(check.port) + ", path: " + in_quotes(check.path) + "}";
  }
  return out + ", interval: " + to_text(check.interval) + ", timeout: " + to_text(check.timeout) +
         ", grace: " + to_text(check.grace) + ", failures: " + std::to_string(check.failures) + "}";
}

// One key per line, because yaml-cpp does not accept a key of more than 1,024 characters in a table
// on one line.
std::string print(const service::AppSpec& app) {
  std::string out =
      "name: " + in_quotes(app.name) +
      (app.daemon ? "\ndaemon: true" : "\ninstances: " + std::to_string(app.instances)) +
      "\ncommand: " + in_quotes(app.command) + "\nresources: " + in_quotes(to_text(app.resources)) +
      "\nupdate: {max_unavailable: " + std::to_string(app.update.max_unavailable) +
      ", max_surge: " + std::to_string(app.update.max_surge) +
      ", canary: " + std::to_string(app.update.canary) +
      ", healthy_for: " + to_text(app.update.healthy_for) +
      ", progress_deadline: " + to_text(app.update.progress_deadline) +
      ", rollback: " + (app.update.rolls_back ? "true" : "false") +
      "}\ndrain_delay: " + to_text(app.drain_delay) + "\nkill_grace: " + to_text(app.kill_grace) +
      "\nports:";
  if (app.ports.empty()) out += " []";
  for (const std::string& port : app.ports) out += "\n  - " + in_quotes(port);
  out += "\nfetch:";
  if (app.fetch.empty()) out += " []";
  for (const proto::FetchedFile& one : app.fetch) out += "\n  - " + in_quotes(to_text(one));
  out += "\nconstraints:";
  if (app.constraints.empty()) out += " []";
  for (const Constraint& one : app.constraints) out += "\n  - " + in_quotes(to_text(one));
  if (!app.daemon) {
    out += "\nspread: " + (app.spread.empty() ? "none" : in_quotes(app.spread)) + "\nmax_per:";
    if (app.max_per.empty()) out += " {}";
  }
  for (const MaxPer& one : app.max_per) {
    out += "\n  ? " + in_quotes(one.attribute) + "\n  : " + std::to_string(one.count);
  }
  out += "\nfiles:";
  if (app.files.empty()) out += " {}";
  for (const auto& [name, content] : app.files) {
    out += "\n  ? " + in_quotes(name) + "\n  : " + in_quotes(content);
  }
  out += "\nenv:";
  if (app.env.empty()) out += " {}";
  for (const auto& [name, value] : app.env) {
    out += "\n  ? " + in_quotes(name) + "\n  : " + in_quotes(value);
  }
  out += "\nafter:";
  if (app.after.empty()) out += " []";
  for (const std::string& name : app.after) out += "\n  - " + in_quotes(name);
  out += "\nfind:";
  if (app.find.empty()) out += " []";
  for (const std::string& name : app.find) out += "\n  - " + in_quotes(name);
  if (app.health) out += "\nhealth: " + health_of(*app.health);
  if (app.ready) {
    out += "\nready:\n  after: " + to_text(app.ready->after) + "\n  ports:";
    if (app.ready->ports.empty()) out += " []";
    for (const std::string& port : app.ready->ports) out += "\n    - " + in_quotes(port);
  }
  return out + "\n";
}

}  // namespace
}  // namespace app_file_fuzz

void fuzz_app_file(Input input) {
  const Result<service::AppFile> file = service::parse_apps(text_of(input));
  if (!file) return check_refused_document(file.error());
  CHECK(!file->apps.empty() && file->apps.size() <= service::kAppsPerFileMax);
  CHECK_EQ(file->lines.size(), file->apps.size());
  std::string printed;
  for (const service::AppSpec& app : file->apps) {
    CHECK(service::check_app(app));
    printed += (printed.empty() ? "" : "---\n") + app_file_fuzz::print(app);
  }
  if (printed.size() > service::kAppFileBytesMax) return;
  const Result<service::AppFile> again = service::parse_apps(printed);
  CHECK(again) << again.error().message() << " in " << printed;
  CHECK(again->apps == file->apps) << printed;
}

}  // namespace proffer::fuzz
