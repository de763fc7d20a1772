// proffer service servers: the instances that clients may use, and their addresses.

#include <cstdio>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/service_client.h"
#include "common/text.h"

namespace proffer::cli {
namespace {

void print_servers(const proto::ServersPage& page) {
  Table table({"APP", "INSTANCE", "AGENT", "ADDRESS"});
  for (const proto::ServerRow& row : page.servers) {
    const std::string addresses = addresses_of(row.host, row.ports);
    table.row({row.app, row.task.str(), row.agent.str(), addresses.empty() ? "-" : addresses});
  }
  table.print();
}

// Prints a line for each change until it is interrupted.
[[noreturn]] void follow(ServersFollower follower) {
  std::string told;
  std::string trouble;
  while (true) {
    const Result<proto::ServersPage> page = follower.next(kWatchFor);
    if (!page && page.error().message() != trouble) print_error(page.error(), true);
    trouble = page ? "" : page.error().message();
    if (page && std::exchange(told, page->version) != page->version) {
      print_json(proto::servers_json(*page));
    }
  }
}

}  // namespace

int run_service_servers(const Words& words) {
  std::string master_flag;
  std::string framework = "service";
  std::string app;
  bool json = false;
  bool follows = false;
  Arguments arguments("proffer service servers [NAME] [-f]",
                      "list ready instances of an app, or of all apps, with their addresses");
  arguments.master(&master_flag);
  arguments.option("--framework", &framework, "framework name or id (default service)");
  arguments.flag("--json", &json, "print one JSON object");
  arguments.flag("-f,--follow", &follows,
                 "follow: print a JSON object per line, now and for each change");
  arguments.optional("NAME", &app, "app name");
  arguments.examples({"proffer service servers web"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), json);
  const std::vector<std::string> apps = app.empty() ? std::vector<std::string>() : std::vector{app};
  ServersFollower follower(ServiceClient(*master, framework), apps);
  if (follows) follow(std::move(follower));
  const Result<proto::ServersPage> page = follower.next(Duration());
  if (!page) return print_error(page.error(), json);
  if (!page->unknown.empty()) {
    return print_error(Error::not_found(text("there is no app ", quoted(app)))
                           .with_hint("list apps with: proffer service list"),
                       json);
  }
  if (json) {
    print_json(proto::servers_json(*page));
  } else {
    print_servers(*page);
  }
  return 0;
}

}  // namespace proffer::cli
