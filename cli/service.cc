// proffer service: apps that run until they are stopped. `run` and `scheduler` are separate
// programs (proffer-service). The other subcommands call the scheduler of the framework `service`
// through the master: Client::ask.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <thread>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "cli/programs.h"
#include "cli/service_client.h"
#include "cli/service_forecast.h"
#include "common/text.h"
#include "common/usage_problem.h"
#include "proto/json/json.h"
#include "proto/json/service_json.h"
#include "sdk/request.h"
#include "sdk/shell/given_file.h"
#include "sdk/shell/history.h"

namespace proffer::cli {
namespace {

constexpr auto kPollEvery = std::chrono::milliseconds(200);
constexpr size_t kFileBytesMax = kRelayedBytesMax;
// the largest integer that every JSON reader can represent
constexpr int64_t kVersionMax = int64_t{1} << 53;

struct ServiceFlags {
  std::string master = {};
  std::string framework = "service";
  bool json = false;
  bool wait = false;
  std::string timeout = "5m";
};

void add_common(Arguments& arguments, ServiceFlags* common, bool waits) {
  arguments.master(&common->master);
  arguments.option("--framework", &common->framework, "framework name or id (default service)");
  arguments.flag("--json", &common->json, "print one JSON object");
  if (!waits) return;
  arguments.flag("--wait", &common->wait, "wait until it is done");
  arguments.option("--timeout", &common->timeout, "maximum wait (default 5m)");
}

// Whether the app is in its requested state. An error means that it never will be.
using IsDone = Result<bool> (*)(const Result<proto::ServiceStatusPage>&);

// Polls until `done` holds for each app. Prints what it waits for when that changes.
Result<void> wait_until(const ServiceClient& client, const ServiceFlags& common,
                        std::vector<std::string> apps, IsDone done) {
  const Result<Duration> timeout = parse_duration(common.timeout);
  if (!timeout) return Error(timeout.error()).in("--timeout");
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout->millis());
  const bool is_one = apps.size() == 1;
  std::map<std::string, std::string> told;  // last message by app
  while (true) {
    for (auto app = apps.begin(); app != apps.end();) {
      const Result<proto::ServiceStatusPage> page = client.status(*app);
      const Result<bool> is_done = done(page);
      if (!is_done) return is_done.error();
      if (*is_done) {
        told.erase(*app);
        app = apps.erase(app);
        continue;
      }
      const std::string why = page ? page->app.why : page.error().message();
      if (!page && page.error().code() != ErrorCode::kUnavailable &&
          page.error().code() != ErrorCode::kTimeout) {
        return page.error();
      }
      if (!common.json && why != told[*app] && !why.empty()) {
        print_line(text("waiting: ", is_one ? "" : text(*app, ": "), why), stderr);
      }
      told[*app] = why;
      ++app;
    }
    if (apps.empty()) return {};
    if (std::chrono::steady_clock::now() >= deadline) {
      const std::string& why = told[apps.front()];
      return Error::timeout(text("app ", quoted(apps.front()),
                                 " has not reached its target state after ", common.timeout,
                                 why.empty() ? "" : text(": ", why),
                                 is_one ? "" : text("; ", apps.size(), " apps have not")))
          .with_hint(text("see more with: proffer service status ", apps.front()));
    }
    std::this_thread::sleep_for(kPollEvery);
  }
}

// An unreachable instance does not count: it has been replaced. A canary or paused update waits for
// an operator, so only its instances must be ready.
Result<bool> is_as_wanted(const Result<proto::ServiceStatusPage>& page) {
  if (page && (page->app.state == "canary" || page->app.state == "paused")) {
    return page->app.ready == page->app.instances;
  }
  if (!page || page->app.state != "running" || page->app.ready != page->app.instances) return false;
  const auto here = std::count_if(page->instances.begin(), page->instances.end(),
                                  [](const auto& row) { return row.state != "unreachable"; });
  return here == page->app.instances;
}

// A canary is complete when it is ready: promotion is the operator's decision.
Result<bool> is_updated(const Result<proto::ServiceStatusPage>& page) {
  if (!page) return false;
  const proto::ServiceAppRow& app = page->app;
  if (!app.rolled_back.empty()) {
    return Error::failed_precondition(text(app.rolled_back, "; app ", quoted(app.app),
                                           " rolls back to version ", app.version))
        .with_hint(text("see the output of its instances: proffer service logs ", app.app));
  }
  if (!app.failed.empty()) {
    return Error::failed_precondition(
               text("app ", quoted(app.app), " makes no progress: ", app.failed))
        .with_hint(text("the update is retried; see proffer service status ", app.app));
  }
  if (app.state == "canary") return app.why.empty();
  return is_as_wanted(page);
}

Result<bool> is_paused(const Result<proto::ServiceStatusPage>& page) {
  return page && (page->app.state == "paused" || page->app.state == "canary");
}

Result<bool> is_gone(const Result<proto::ServiceStatusPage>& page) {
  return !page && page.error().code() == ErrorCode::kNotFound;
}

// Requests a change, prints the result, and waits if --wait is given.
int change(const ServiceFlags& common, const proto::ServiceCall& what, IsDone done) {
  const Result<Masters> master = master_address(common.master);
  if (!master) return usage_error(master.error(), common.json);
  if (const Result<Duration> timeout = parse_duration(common.timeout); !timeout) {
    return usage_error(Error(timeout.error()).in("--timeout"), common.json);
  }
  const ServiceClient client(*master, common.framework);
  const Result<std::string> answer = client.ask(what);
  if (!answer) {
    const int status = print_error(answer.error(), common.json);
    return answer.error().code() == ErrorCode::kInvalidArgument ? kExitUsage : status;
  }
  const auto changes = proto::parse_service_changes(*answer);
  if (!changes) {
    return print_error(Error(changes.error()).in("the scheduler's answer"), common.json);
  }
  if (common.wait) {
    std::vector<std::string> apps;
    for (const proto::ServiceChange& one : *changes) apps.push_back(one.app);
    if (const Result<void> waited = wait_until(client, common, apps, done); !waited) {
      return print_error(waited.error(), common.json);
    }
  }
  if (common.json) {
    print_json(*answer);
    return 0;
  }
  for (const proto::ServiceChange& one : *changes) print_line(text(one.app, ": ", one.result));
  return 0;
}

Result<std::string> read_app_file(const std::string& path) {
  return sdk::read_given_file(path, "an app file", kFileBytesMax);
}

int apply(const Words& words) {
  ServiceFlags common;
  std::string path;
  Arguments arguments("proffer service apply FILE [--wait]", "create or update the apps of a file");
  arguments.required("FILE", &path, "app file (YAML); --- separates several apps");
  add_common(arguments, &common, true);
  arguments.note(
      "An app of a file replaces the app of the same name; a changed app is updated instance by "
      "instance. Apps that the file does not name stay as they are.");
  arguments.note("Ctrl-C ends only the waiting of --wait; the change goes on.");
  arguments.exit_codes(
      "0 done, 1 failed or refused (with --wait also if it does not succeed in time), 2 wrong "
      "usage, 3 the master or the scheduler cannot be reached");
  arguments.note("All keys of an app file: docs/concepts/service.md.");
  arguments.examples({"proffer service apply web.yaml --wait"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<std::string> file = read_app_file(path);
  if (!file) return usage_error(file.error(), common.json);
  if (!common.json) print_variable_notes(*file);
  return change(common, {.verb = "apply", .file = *file}, is_updated);
}

// A version's number, or 0 if the option is empty.
Result<uint64_t> parse_version(const std::string& given) {
  if (given.empty()) return uint64_t{0};
  const Result<int64_t> version = parse_whole("VERSION", given, 1, kVersionMax);
  if (!version) return version.error();
  return static_cast<uint64_t>(*version);
}

int rollback(const Words& words) {
  ServiceFlags common;
  std::string app;
  std::string version;
  Arguments arguments("proffer service rollback NAME [VERSION] [--wait]",
                      "roll back to an earlier version (default: the last one that became ready)");
  arguments.required("NAME", &app, "app name");
  arguments.optional("VERSION", &version, "version number, as in proffer service history");
  add_common(arguments, &common, true);
  arguments.note("Ctrl-C ends only the waiting of --wait; the change goes on.");
  arguments.exit_codes(
      "0 done, 1 failed or refused (with --wait also if it does not succeed in time), 2 wrong "
      "usage, 3 the master or the scheduler cannot be reached");
  arguments.examples({"proffer service rollback web --wait", "proffer service rollback web 2"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<uint64_t> number = parse_version(version);
  if (!number) return usage_error(number.error(), common.json);
  return change(common, {.verb = "rollback", .app = app, .version = *number}, is_updated);
}

int pause_or_resume(const Words& words, const char* verb, const char* usage, const char* what,
                    const char* example, IsDone done) {
  ServiceFlags common;
  std::string app;
  Arguments arguments(usage, what);
  arguments.required("NAME", &app, "app name");
  add_common(arguments, &common, true);
  arguments.examples({example});
  if (const auto status = arguments.parse(words)) return *status;
  return change(common, {.verb = verb, .app = app}, done);
}

int pause_update(const Words& words) {
  return pause_or_resume(words, "pause", "proffer service pause NAME",
                         "pause an update: no further instance is replaced until resume",
                         "proffer service pause web", is_paused);
}

int resume_update(const Words& words) {
  return pause_or_resume(words, "resume", "proffer service resume NAME [--wait]",
                         "resume a paused update", "proffer service resume web --wait", is_updated);
}

int promote(const Words& words) {
  return pause_or_resume(words, "resume", "proffer service promote NAME [--wait]",
                         "roll out the canary's version to all instances",
                         "proffer service promote web --wait", is_updated);
}

// Prints the scheduler's answer to `what`; with --json unchanged.
template <class Value>
int picture(const ServiceFlags& common, const proto::ServiceCall& what,
            Result<Value> (*parse)(std::string_view), auto&& print) {
  const Result<Masters> master = master_address(common.master);
  if (!master) return usage_error(master.error(), common.json);
  const Result<std::string> answer = ServiceClient(*master, common.framework).ask(what);
  if (!answer) {
    const int status = print_error(answer.error(), common.json);
    return answer.error().code() == ErrorCode::kInvalidArgument ? kExitUsage : status;
  }
  if (common.json) {
    print_json(*answer);
    return 0;
  }
  const Result<Value> value = parse(*answer);
  if (!value) return print_error(Error(value.error()).in("the scheduler's answer"), false);
  print(*value);
  return 0;
}

void print_versions(const std::vector<proto::ServiceVersionRow>& rows) {
  Table table({"VERSION", "APPLIED", "BY", "STATE", "COMMAND"});
  for (const proto::ServiceVersionRow& row : rows) {
    std::string state = row.present ? "present" : "";
    const auto add = [&state](const std::string& word) {
      state += text(state.empty() ? "" : ", ", word);
    };
    if (row.was_ready) add("was ready");
    if (!row.failed.empty()) add("failed: " + row.failed);
    table.row({std::to_string(row.version),
               row.applied_at == Time() ? "-" : sdk::local_time(row.applied_at),
               row.applied_by.empty() ? "-" : row.applied_by, state.empty() ? "-" : state,
               row.command});
  }
  table.print();
}

int show_history(const Words& words) {
  ServiceFlags common;
  std::string app;
  Arguments arguments("proffer service history NAME [--json]",
                      "list the kept versions of an app and their results");
  arguments.required("NAME", &app, "app name");
  add_common(arguments, &common, false);
  arguments.examples({"proffer service history web"});
  if (const auto status = arguments.parse(words)) return *status;
  return picture(common, {.verb = "history", .app = app}, proto::parse_service_versions,
                 print_versions);
}

void print_plan(const proto::ServicePlan& plan) {
  print_line(text(plan.app, ": would be ", plan.result));
  for (const std::string& step : plan.steps) print_line(text("  ", step));
  if (!plan.differences.empty()) {
    Table table({"KEY", "NOW", "THEN"});
    for (const proto::ServiceDifference& one : plan.differences) {
      table.row(
          {one.key, one.before.empty() ? "-" : one.before, one.after.empty() ? "-" : one.after});
    }
    table.print();
  }
  if (plan.further > 0) print_line(text("and ", plan.further, " more keys"));
}

// Prints the plans, and the forecast of a simulation of the cluster.
void print_plans(const ServiceFlags& common, const std::vector<proto::ServicePlan>& plans) {
  for (const proto::ServicePlan& plan : plans) print_plan(plan);
  const Result<Masters> master = master_address(common.master);
  const Result<FrameworkId> id = master ? ServiceClient(*master, common.framework).framework()
                                        : Result<FrameworkId>(master.error());
  const auto lines = id ? forecast(*master, *id, plans) : Error(id.error());
  if (!lines) {
    return print_line(text("cannot forecast whether it fits: ", lines.error().message()));
  }
  for (const std::string& line : *lines) print_line(line);
}

int show_plan(const Words& words) {
  ServiceFlags common;
  std::string what;
  std::string version;
  Arguments arguments("proffer service plan FILE | plan NAME VERSION",
                      "show what applying a file, or a rollback, would change");
  arguments.required("FILE", &what, "app file (YAML), or the app name if VERSION is given");
  arguments.optional("VERSION", &version, "version number, as in proffer service history");
  add_common(arguments, &common, false);
  arguments.examples({"proffer service plan web.yaml", "proffer service plan web 2"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<uint64_t> number = parse_version(version);
  if (!number) return usage_error(number.error(), common.json);
  proto::ServiceCall call{.verb = "plan", .version = *number};
  if (*number > 0) {
    call.app = what;
  } else {
    Result<std::string> file = read_app_file(what);
    if (!file) return usage_error(file.error(), common.json);
    call.file = *std::move(file);
  }
  return picture(common, call, proto::parse_service_plans,
                 [&](const auto& plans) { print_plans(common, plans); });
}

int scale(const Words& words) {
  ServiceFlags common;
  std::string app;
  std::string count;
  Arguments arguments("proffer service scale NAME N [--wait]", "run N instances of an app");
  arguments.required("NAME", &app, "app name");
  arguments.required("N", &count, "number of instances");
  add_common(arguments, &common, true);
  arguments.note("Ctrl-C ends only the waiting of --wait; the change goes on.");
  arguments.exit_codes(
      "0 done, 1 failed or refused (with --wait also if it does not succeed in time), 2 wrong "
      "usage, 3 the master or the scheduler cannot be reached");
  arguments.examples({"proffer service scale web 5 --wait"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<int64_t> instances = parse_whole("N", count, 0, 10'000);
  if (!instances) {
    return usage_error(
        Error(instances.error())
            .with_hint(text("N is the new number of instances, as in proffer service "
                            "scale ",
                            app, " 3")),
        common.json);
  }
  return change(common, {.verb = "scale", .app = app, .instances = *instances}, is_as_wanted);
}

int stop(const Words& words) {
  ServiceFlags common;
  std::string app;
  Arguments arguments("proffer service stop NAME [--wait]",
                      "stop all instances of an app gracefully, and remove the app");
  arguments.required("NAME", &app, "app name");
  add_common(arguments, &common, true);
  arguments.note("Ctrl-C ends only the waiting of --wait; the change goes on.");
  arguments.exit_codes(
      "0 done, 1 failed or refused (with --wait also if it does not succeed in time), 2 wrong "
      "usage, 3 the master or the scheduler cannot be reached");
  arguments.examples({"proffer service stop web --wait"});
  if (const auto status = arguments.parse(words)) return *status;
  return change(common, {.verb = "stop", .app = app}, is_gone);
}

// The scheduler's answer, or the master's view if the scheduler is away: then a warning is printed,
// and `status` is the exit code of an error. Empty if neither answers.
template <class Rows>
std::optional<Rows> or_unattended(Result<Rows> asked, auto&& ask_master, bool json, int* status) {
  *status = 0;
  if (asked) return *std::move(asked);
  Result<Rows> unattended =
      asked.error().code() == ErrorCode::kUnavailable ? ask_master() : Result<Rows>(asked.error());
  if (!unattended) {
    *status = print_error(asked.error(), json);
    return std::nullopt;
  }
  print_warning_text(text(asked.error().message(),
                          "; showing what the master knows. Instances keep running, but none is "
                          "started, replaced or stopped until the scheduler is back"));
  *status = kExitUnreachable;
  return *std::move(unattended);
}

// The number of wanted instances, as text.
std::string wanted(const proto::ServiceAppRow& row) {
  return row.state == "unattended" ? "?" : std::to_string(row.instances);
}

int list(const Words& words) {
  ServiceFlags common;
  Arguments arguments("proffer service list [--json]", "list apps and their states");
  add_common(arguments, &common, false);
  arguments.exit_codes(
      "0 success, 1 failed or refused, 2 wrong usage, 3 the master or the scheduler cannot be "
      "reached (without the scheduler, it shows what the master knows)");
  arguments.examples({"proffer service list"});
  if (const auto parsed = arguments.parse(words)) return *parsed;
  const Result<Masters> master = master_address(common.master);
  if (!master) return usage_error(master.error(), common.json);
  const ServiceClient client(*master, common.framework);
  int status = 0;
  const auto apps = or_unattended(
      client.list(), [&] { return client.unattended_apps(); }, common.json, &status);
  if (!apps) return status;
  if (common.json) {
    print_json(proto::service_apps_json({.apps = *apps}));
    return status;
  }
  Table table({"APP", "OWNER", "VERSION", "STATE", "READY", "WHY"});
  for (const proto::ServiceAppRow& row : *apps) {
    table.row({row.app, row.owner.empty() ? "-" : row.owner, std::to_string(row.version), row.state,
               text(row.ready, "/", wanted(row)), row.why.empty() ? "-" : row.why});
  }
  table.print();
  return status;
}

int show(const Words& words) {
  ServiceFlags common;
  std::string app;
  Arguments arguments("proffer service status NAME [--json]",
                      "show an app and each of its instances");
  arguments.required("NAME", &app, "app name");
  add_common(arguments, &common, false);
  arguments.exit_codes(
      "0 success, 1 failed or refused, 2 wrong usage, 3 the master or the scheduler cannot be "
      "reached (without the scheduler, it shows what the master knows)");
  arguments.examples({"proffer service status web"});
  if (const auto parsed = arguments.parse(words)) return *parsed;
  const Result<Masters> master = master_address(common.master);
  if (!master) return usage_error(master.error(), common.json);
  const ServiceClient client(*master, common.framework);
  int status = 0;
  const auto page = or_unattended(
      client.status(app), [&] { return client.unattended_status(app); }, common.json, &status);
  if (!page) return status;
  if (common.json) {
    print_json(proto::service_status_json(*page));
    return status;
  }
  const proto::ServiceAppRow& row = page->app;
  print_line(text(row.app, ": ", row.state, ", version ", row.version, ", ", row.ready, " of ",
                  wanted(row), " ready",
                  row.outdated > 0 ? text(", ", row.outdated, " of an older version") : ""));
  if (!row.why.empty()) print_line(text("  ", row.why));
  if (!row.failed.empty()) print_line(text("  no progress: ", row.failed));
  if (!row.rolled_back.empty()) print_line(text("  rolled back: ", row.rolled_back));
  if (row.scale) {
    print_line(text("  scaled by ", row.scale->source, ": ",
                    row.scale->said.empty()
                        ? "no measurements; if this persists, see the log of the service scheduler"
                        : row.scale->said));
  }
  if (row.state == "canary") {
    print_line(text("  a canary: roll it out with `proffer service promote ", row.app,
                    "`, or end it with `proffer service rollback ", row.app, "`"));
  }
  Table table({"INSTANCE", "AGENT", "STATE", "READY", "ADDRESS"});
  for (const proto::ServiceInstanceRow& one : page->instances) {
    const std::string addresses = addresses_of(one.host, one.ports);
    table.row({one.task.str(), one.agent.str(),
               text(one.state, one.healthy == std::optional(false) ? ", unhealthy" : "",
                    one.why.empty() ? "" : ": ", one.why),
               one.ready ? "yes" : "no", addresses.empty() ? "-" : addresses});
  }
  table.print();
  return status;
}

struct Verb {
  std::string_view name;
  int (*run)(const Words&);  // null: run by proffer-service
  std::string_view what;
};

constexpr Verb kVerbs[] = {
    {"run", nullptr, "run the app of a file until Ctrl-C"},
    {"apply", apply, "create or update the apps of a file"},
    {"list", list, "list apps and their states"},
    {"status", show, "show an app and each of its instances"},
    {"servers", run_service_servers, "list ready instances and their addresses"},
    {"proxy", run_service_proxy, "keep the configuration of a proxy up to date"},
    {"autoscale", run_service_autoscale, "measure the apps that scale by load"},
    {"logs", run_service_logs,
     "print the output of the last failed instance; -f: of all running ones"},
    {"history", show_history, "list the versions of an app and their results"},
    {"plan", show_plan, "show what applying a file, or a rollback, would change"},
    {"rollback", rollback, "roll back to an earlier version"},
    {"pause", pause_update, "pause an update"},
    {"resume", resume_update, "resume a paused update"},
    {"promote", promote, "roll out a canary's version"},
    {"scale", scale, "change the number of instances"},
    {"stop", stop, "stop and remove an app"},
    {"scheduler", nullptr, "run the service scheduler (proffer dev starts it)"},
};

void print_usage(std::FILE* where) {
  print_lines("usage: proffer service VERB …\n\n", where);
  for (const Verb& verb : kVerbs) print_lines(help_row(verb.name, verb.what, 10), where);
  print_lines(
      "\nproffer service VERB --help shows the options of a subcommand. They need a running "
      "service\n"
      "scheduler: that of `proffer dev` or of the packages, or `proffer service scheduler`. `run` "
      "has\n"
      "its own.\n",
      where);
}

}  // namespace

int run_service(const Words& words) {
  if (words.empty()) {
    print_usage(stderr);
    return kExitUsage;
  }
  if (words[0] == "--help" || words[0] == "-h") {
    print_usage(stdout);
    return 0;
  }
  std::vector<std::string_view> known;
  for (const Verb& verb : kVerbs) {
    if (verb.name == words[0]) {
      if (verb.run != nullptr) return verb.run(Words(words.begin() + 1, words.end()));
      return print_error(become("service", words), false);
    }
    known.push_back(verb.name);
  }
  print_error(unknown_verb(words[0], "proffer service", known), false);
  return kExitUsage;
}

}  // namespace proffer::cli
