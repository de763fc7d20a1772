// proffer service proxy: follows apps, and writes the configuration of a proxy when the servers
// change. Nothing is taken away because a scheduler or a master does not answer or has just begun.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include <stdlib.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/proxy_template.h"
#include "cli/service_client.h"
#include "common/text.h"

namespace proffer::cli {
namespace {

struct ProxyFlags {
  std::string source = {};
  std::string output = {};
  std::string check = {};
  std::string exec = {};
  bool once = false;
};

// The servers of an app: its ready instances. One that is known from before and that the scheduler
// has not heard of since its own start stays.
class Follower {
 public:
  explicit Follower(ServiceClient client) : client_(std::move(client)) {}

  // Errors: kNotFound, there is no such app, which then has no server; else the scheduler's, and
  // the servers are as they were.
  Result<void> look(const std::string& app, Servers& servers) {
    const Result<proto::ServiceStatusPage> page = client_.status(app);
    if (!page && page.error().code() == ErrorCode::kNotFound) servers[app].clear();
    if (!page) return page.error();
    const std::map<TaskId, proto::TaskRow> tasks = client_.tasks(app);
    const std::vector<Server> before = std::exchange(servers[app], {});
    for (const proto::ServiceInstanceRow& row : page->instances) {
      const bool was_there = std::any_of(before.begin(), before.end(), [&](const Server& server) {
        return server.instance == row.task.str();
      });
      if (!row.ready && !(was_there && row.state == "unconfirmed")) continue;
      Server server{.instance = row.task.str(), .slot = row.slot, .ports = row.ports};
      const auto task = tasks.find(row.task);
      if (task != tasks.end()) {
        if (server.ports.empty()) server.ports = task->second.ports;
        const std::string host = host_of(task->second);
        if (!host.empty()) hosts_[row.agent] = host;
      }
      const auto host = hosts_.find(row.agent);
      if (host == hosts_.end()) continue;  // The next look knows.
      server.host = host->second;
      servers[app].push_back(std::move(server));
    }
    return {};
  }

 private:
  const ServiceClient client_;
  std::map<AgentId, std::string> hosts_;
};

// A shell command line; $PROFFER_PROXY_FILE names the file.
bool run_command(const std::string& command, const std::string& file) {
  ::setenv("PROFFER_PROXY_FILE", file.c_str(), 1);
  const int status = std::system(command.c_str());  // NOLINT(cert-env33-c): it is the user's own
  if (status == 0) return true;
  std::fprintf(stderr, "warning: %s failed\n", quoted(command).c_str());
  return false;
}

// Beside the file, checked, and then in its place.
Result<void> put_in_place(const ProxyFlags& flags, const std::string& text) {
  const std::string next = flags.output + ".next";
  std::ofstream file(next, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) {
    return Error::unavailable(
        proffer::text("cannot write ", quoted(next), ": ", std::strerror(errno)));
  }
  if (!flags.check.empty() && !run_command(flags.check, next)) {
    return Error::failed_precondition(proffer::text("the check refused ", quoted(next), "; ",
                                                    quoted(flags.output), " is as it was"))
        .with_hint("the template is wrong, or the check");
  }
  std::error_code error;
  std::filesystem::rename(next, flags.output, error);
  if (error) {
    return Error::unavailable(
        proffer::text("cannot replace ", quoted(flags.output), ": ", error.message()));
  }
  if (!flags.exec.empty()) run_command(flags.exec, flags.output);
  return {};
}

Result<ProxyTemplate> read_template(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) {
    return Error::invalid_argument(
        proffer::text("cannot read ", quoted(path), ": ", std::strerror(errno)));
  }
  Result<ProxyTemplate> made = ProxyTemplate::parse(text.str());
  if (!made) return std::move(made).error().in(path);
  return made;
}

}  // namespace

int run_service_proxy(const Words& words) {
  std::string master_flag;
  std::string framework = "service";
  std::string every = "500ms";
  ProxyFlags flags;
  Arguments arguments("proffer service proxy TEMPLATE --output FILE [--check CMD] [--exec CMD]",
                      "keep the configuration of a proxy current: a line `#! each APP PORT: TEXT` "
                      "of the template is followed by TEXT for each ready instance, with ~{host}, "
                      "~{port}, ~{instance} and ~{slot}");
  arguments.master(&master_flag);
  arguments.option("--framework", &framework, "the scheduler's name or id (service)");
  arguments.option("--output", &flags.output, "the proxy's file, replaced when servers change");
  arguments.option("--check", &flags.check,
                   "is to accept the new file, $PROFFER_PROXY_FILE, before it is put in place");
  arguments.option("--exec", &flags.exec, "afterwards, as to reload the proxy");
  arguments.option("--every", &every, "how often the apps are looked at (500ms)");
  arguments.flag("--once", &flags.once, "write it once and end");
  arguments.required("TEMPLATE", &flags.source, "the template");
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), false);
  const Result<Duration> pause = parse_duration(every);
  if (!pause) return usage_error(Error(pause.error()).in("--every"), false);
  if (flags.output.empty()) {
    return usage_error(Error::invalid_argument("--output names the proxy's file"), false);
  }
  const Result<ProxyTemplate> source = read_template(flags.source);
  if (!source) return usage_error(source.error(), false);

  Follower follower(ServiceClient(*master, framework));
  Servers servers;
  std::optional<std::string> written;
  std::string told;
  while (true) {
    Result<void> done = {};
    std::string trouble;
    for (const std::string& app : source->apps()) {
      const Result<void> looked = follower.look(app, servers);
      if (looked) continue;
      trouble = looked.error().message();
      if (looked.error().code() != ErrorCode::kNotFound) done = looked;
    }
    std::string text = source->fill(servers);
    if (done && written != text) {
      done = put_in_place(flags, text);
      if (done) {
        written = std::move(text);
        size_t count = 0;
        for (const auto& [app, of_app] : servers) count += of_app.size();
        print_line(proffer::text(flags.output, ": ", count, count == 1 ? " server" : " servers"));
      }
    }
    if (flags.once && !done) return print_error(done.error(), false);
    if (!done)
      trouble = proffer::text(done.error().message(), "; ", flags.output, " stays as it is");
    if (!trouble.empty() && trouble != told) {
      std::fprintf(stderr, "warning: %s\n", trouble.c_str());
    }
    if (flags.once) return 0;
    told = trouble;
    std::this_thread::sleep_for(std::chrono::milliseconds(pause->millis()));
  }
}

}  // namespace proffer::cli
