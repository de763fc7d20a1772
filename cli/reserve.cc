// proffer reserve and unreserve: resources of an agent that only one role may use.

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "common/roles.h"
#include "common/text.h"
#include "proto/json/json.h"

namespace proffer::cli {
namespace {

int change(const Words& words, bool is_unreserve) {
  std::string master_flag;
  std::string agent;
  std::string role;
  std::string needed;
  std::optional<std::string> resources;
  bool json = false;
  Arguments arguments(
      is_unreserve ? "proffer unreserve AGENT ROLE [RESOURCES]"
                   : "proffer reserve AGENT ROLE RESOURCES",
      is_unreserve
          ? "remove a reservation: any role may use the resources again; those in use stay reserved"
          : "reserve resources of an agent for a role and the roles below it; resources in use "
            "cannot be reserved");
  arguments.master(&master_flag);
  arguments.flag("--json", &json, "print errors as JSON");
  arguments.required("AGENT", &agent, "agent name");
  arguments.required("ROLE", &role, "role, as in eng/ads");
  if (is_unreserve) {
    arguments.option("RESOURCES", &resources, "resources, as in 'cpus:4;mem:8GiB' (default: all)");
  } else {
    arguments.required("RESOURCES", &needed, "resources, as in 'cpus:4;mem:8GiB'");
  }
  arguments.examples({is_unreserve ? "proffer unreserve a17 eng/ads"
                                   : "proffer reserve a17 eng/ads 'cpus:4;mem:8GiB'"});
  if (const auto status = arguments.parse(words)) return *status;
  if (!is_unreserve) resources = needed;
  const auto usage = [&](const Error& error) { return usage_error(error, json); };
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage(master.error());
  if (Result<void> name = check_name("an agent", agent); !name) return usage(name.error());
  const Result<RoleName> parsed_role = parse_role(role);
  if (!parsed_role) return usage(parsed_role.error());
  proto::ReserveCall part{.agent = AgentId(agent), .role = *parsed_role};
  if (resources) {
    if (trimmed(*resources).empty()) {  // for example, a shell variable that is not set
      Error error = Error::invalid_argument("RESOURCES is empty");
      return usage(is_unreserve
                       ? std::move(error).with_hint("leave it out to mean all")
                       : std::move(error).with_hint("give the amounts, as in 'cpus:4;mem:8GiB'"));
    }
    const Result<ResourceVector> amounts = parse_shape(*resources);
    if (!amounts) return usage(amounts.error());
    part.amounts = *amounts;
  }
  const Result<CallResult> answer =
      call(*master, is_unreserve ? "unreserve" : "reserve", proto::reserve_call_json(part));
  if (!answer) return print_error(answer.error(), json);
  if (json) print_json("{}");
  return 0;
}

}  // namespace

int run_reserve(const Words& words) { return change(words, false); }
int run_unreserve(const Words& words) { return change(words, true); }

}  // namespace proffer::cli
