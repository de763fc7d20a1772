// proffer-doctor, which is `proffer doctor`: examines this machine and prints which parts of the
// agent will not work here, and how to fix that.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <gflags/gflags.h>
#include <unistd.h>

#include "common/text.h"
#include "net/daemon_flags.h"
#include "net/daemon_help.h"
#include "net/membership.h"
#include "net/terminal.h"
#include "proto/json/json.h"
#include "slave/doctor/facts.h"
#include "slave/shell/machine.h"

DEFINE_bool(json, false, "print one JSON object");
DEFINE_string(master, "",
              "socket or host:port of each master, with commas; default: as for the agent");
DEFINE_string(
    work_dir, "",
    "the agent's work directory; default: /var/lib/proffer/agent for root, else $TMPDIR or /tmp");
DEFINE_string(ports, "[31000-32000]", "ports that the agent would offer");
DEFINE_int64(disk_reserve, 256, "space to keep free on the agent's disk, in MiB");

namespace {

using namespace proffer;
using doctor::Finding;
using doctor::Verdict;

// The masters that an agent of this machine would use.
Masters masters_from_flags() {
  return flag_value("master", find_masters(KeyKind::kAgent, "--master", FLAGS_master));
}

doctor::DoctorOptions options_from_flags() {
  doctor::DoctorOptions options{
      .masters = masters_from_flags(), .work_dir = FLAGS_work_dir, .bin_dir = agent::bin_dir()};
  if (options.work_dir.empty()) {
    std::error_code ignored;
    options.work_dir = geteuid() == 0 ? "/var/lib/proffer/agent"
                                      : std::filesystem::temp_directory_path(ignored).string();
  }
  constexpr int64_t kMibMax = int64_t{1} << 40;
  if (FLAGS_disk_reserve < 0 || FLAGS_disk_reserve > kMibMax) {
    exit_with(Error::invalid_argument(text("--disk_reserve must be from 0 to ", kMibMax,
                                           " MiB, not ", FLAGS_disk_reserve)),
              2);
  }
  options.reserve_bytes = FLAGS_disk_reserve << 20;
  const Resources ports =
      flag_value("ports", parse_agent_resources(text("cpus:1;ports:", FLAGS_ports)));
  if (ports.ports.empty()) {
    exit_with(Error::invalid_argument("--ports must name a port, as in [31000-32000]"), 2);
  }
  options.ports = ports.ports;
  return options;
}

void print_as_json(const std::vector<Finding>& findings, bool is_well) {
  std::string rows;
  for (const Finding& one : findings) {
    std::vector<std::pair<std::string_view, proto::JsonValue>> members = {
        {"check", one.check}, {"result", std::string(to_text(one.verdict))}, {"what", one.what}};
    if (!one.effect.empty()) members.emplace_back("effect", one.effect);
    if (!one.fix.empty()) members.emplace_back("fix", one.fix);
    rows += text(rows.empty() ? "" : ",", proto::json_line(members));
  }
  print_json(text("{\"checks\":[", rows, "],\"ok\":", is_well ? "true" : "false", "}"));
}

// Pads a word with blanks to this many columns.
std::string column(std::string_view word, size_t columns) {
  return text(word, std::string(columns - std::min(columns, word.size()), ' '));
}

void print_as_text(const std::vector<Finding>& findings) {
  for (const Finding& one : findings) {
    print_line(text(column(to_text(one.verdict), 8), " ", column(one.check, 12), " ", one.what));
    const std::string blanks(22, ' ');
    if (!one.effect.empty()) print_line(blanks + one.effect);
    if (!one.fix.empty()) print_line(text(blanks, "fix: ", one.fix));
  }
}

}  // namespace

int main(int argc, char** argv) {
  read_daemon_flags(
      {.what = "Checks this machine for running an agent: what works, what does not, and what to "
               "do. For example: proffer doctor --work_dir=/var/lib/proffer/agent",
       .source = __FILE__,
       .end = "Exit codes: 0 no check fails, 1 a check fails, 2 wrong usage.",
       .command = "proffer doctor"},
      argc, argv);
  const std::vector<Finding> findings = doctor::examine(options_from_flags());
  const bool is_well = std::none_of(findings.begin(), findings.end(), [](const Finding& one) {
    return one.verdict == Verdict::kFails;
  });
  if (FLAGS_json) {
    print_as_json(findings, is_well);
  } else {
    print_as_text(findings);
  }
  if (std::fflush(stdout) != 0) return 1;
  return is_well ? 0 : 1;
}
