// `Host` connects the service's core with the SDK: notifications and requests in, commands and
// answers out, and a timer for deadlines. `Attached` and `Daemon` decide what to do with the
// events.

#include "frameworks/service/shell/scheduler.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>

#include <glog/logging.h>
#include <signal.h>
#include <stdlib.h>

#include "common/printable.h"
#include "common/roles.h"
#include "common/text.h"
#include "frameworks/service/core/service_core.h"
#include "frameworks/service/shell/app_file.h"
#include "frameworks/service/shell/measuring.h"
#include "frameworks/service/shell/requests.h"
#include "frameworks/service/shell/story.h"
#include "net/terminal.h"
#include "net/trace_log.h"
#include "proto/json/json.h"
#include "proto/json/service_json.h"
#include "sdk/scheduler.h"
#include "sdk/shell/given_file.h"

namespace proffer::service {
namespace {

constexpr Duration kMasterWait = seconds(10);
// In addition to an app's kill grace, until an attached run no longer waits for its last instance.
constexpr Duration kEndMargin = seconds(10);
constexpr int kRefusedCode = 1;
constexpr int kUsageCode = 2;
constexpr int kUnreachableCode = 3;

// Differs for each process, so that no instance's id is used twice.
std::string life_name() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::random_device random;
  std::string life;
  for (uint32_t bits = random(), i = 0; i < 8; ++i, bits >>= 4) life += kDigits[bits & 15];
  return life;
}

sdk::SchedulerOptions sdk_options(const std::string& name, const RoleName& role,
                                  const std::string& master) {
  sdk::SchedulerOptions options;
  options.name = name;
  options.role = role;
  options.master = master;
  const char* user = ::getenv("USER");
  options.user = user != nullptr ? user : "";
  return options;
}

class Host {
 public:
  struct Handlers {
    std::function<void(const proto::FrameworkRequest&)> on_request;
    std::function<void(const Answer&)> on_answer;
    std::function<void(const WatchAnswer&)> on_servers;
    std::function<void(const std::vector<TraceEvent>&)> on_trace;
    std::function<void()> on_step;  // called after each step
  };
  Host(sdk::SchedulerOptions options, bool has_store, Handlers handlers)
      : service_(ServiceOptions{
            .has_store = has_store, .serves_users = options.serves_users, .life = life_name()}),
        scheduler_(std::move(options)),
        handlers_(std::move(handlers)) {
    scheduler_.on_notification([this](const sdk::Notification& what) {
      if (const auto* request = std::get_if<proto::FrameworkRequest>(&what)) {
        handlers_.on_request(*request);
      } else {
        step(what);
      }
    });
  }

  sdk::Scheduler& scheduler() { return scheduler_; }
  const Service& service() const { return service_; }

  void step(const ServiceEvent& event) {
    ServiceOutbox out;
    service_.handle(event, scheduler_.now(), out);
    for (sdk::Command& command : out.commands) scheduler_.command(std::move(command));
    handlers_.on_trace(out.trace);
    for (const Answer& answer : out.answers) handlers_.on_answer(answer);
    for (const WatchAnswer& answer : out.servers) handlers_.on_servers(answer);
    handlers_.on_step();
    arm();
  }

 private:
  // Called when the core's deadline may have changed. A timer that fires early has no effect.
  void arm() {
    const std::optional<Time> deadline = service_.next_deadline();
    if (!deadline || (armed_ && *armed_ <= *deadline)) return;
    armed_ = deadline;
    const Time now = scheduler_.now();
    scheduler_.after((*deadline > now ? *deadline - now : Duration()) + milliseconds(1),
                     [this, at = *deadline] {
                       if (armed_ == at) armed_.reset();
                       step(Tick{});
                     });
  }

  Service service_;
  sdk::Scheduler scheduler_;
  Handlers handlers_;
  std::optional<Time> armed_;
};

// --- proffer service run -----------------------------------------------------------------------

class Attached {
 public:
  Attached(AppSpec app, const RoleName& role, const RunOptions& options)
      : app_(std::move(app)),
        options_(options),
        host_(attached_options(app_.name, role, options.master), false,
              {.on_request =
                   [this](const proto::FrameworkRequest& request) {
                     host_.scheduler().respond(
                         request.relay,
                         Error::unsupported(
                             "an attached app takes no requests; edit its file and run it again"));
                   },
               .on_answer = [](const Answer&) {},
               .on_servers = [](const WatchAnswer&) {},
               .on_trace =
                   [this](const std::vector<TraceEvent>& events) {
                     for (const TraceEvent& event : events) tell(event);
                   },
               .on_step = [this] { look(); }}) {}

  int run() {
    sdk::Scheduler& scheduler = host_.scheduler();
    scheduler.on_refused([this](const Error& error) {
      exit_code_ = print_error(error, options_.json);
      host_.scheduler().stop(*exit_code_);
    });
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      scheduler.on_signal(signal, [this, signal] { interrupt(signal); });
    }
    scheduler.after(kMasterWait, [this] { give_up_unless_subscribed(); });
    host_.step(Request{1, Apply{.specs = {app_}}, {}});
    const int code = scheduler.run();
    return exit_code_.value_or(code);
  }

 private:
  static sdk::SchedulerOptions attached_options(const std::string& app, const RoleName& role,
                                                const std::string& master) {
    // Not only the app's name: "service" is the name of the scheduler that serves requests.
    sdk::SchedulerOptions options = sdk_options("app-" + app, role, master);
    // If this process is killed, no instance outlives it for long.
    options.failover_timeout = kAttachedFailoverTimeout;
    return options;
  }

  void tell(const TraceEvent& event) {
    if (options_.json) {
      print_json(story_json(event));
    } else {
      print_line(story_line(event));
    }
  }

  // Prints the app's status when it changes, and ends when the app is gone.
  void look() {
    const std::vector<proto::ServiceAppRow> rows = host_.service().status();
    if (rows.empty()) {
      if (ending_) host_.scheduler().stop(exit_code_.value_or(0));
      return;
    }
    const std::string line = app_line(rows.front());
    if (line == last_ || ending_) return;
    last_ = line;
    if (!options_.json) print_line(line);
  }

  void interrupt(int signal) {
    const bool again = std::exchange(ending_, true);
    exit_code_ = 128 + signal;
    // If there is no connection to the master, or on a second signal, it does not wait: the
    // framework is torn down with its tasks.
    if (again || !host_.service().connected()) return host_.scheduler().stop(*exit_code_);
    if (!options_.json) {
      print_line(text("ending ", app_.name, "; press Ctrl-C again to end at once"));
    }
    host_.scheduler().after(app_.drain_delay + app_.kill_grace + kEndMargin,
                            [this] { host_.scheduler().stop(*exit_code_); });
    host_.step(Request{2, Stop{app_.name}, {}});
  }

  void give_up_unless_subscribed() {
    if (ending_ || !host_.service().framework().empty()) return;
    ending_ = true;
    print_error(
        Error::unavailable(
            text("cannot reach a master at ", options_.master, " in ", to_text(kMasterWait)))
            .with_hint(
                "start a local cluster with `proffer dev`, join one with `proffer join`, or give "
                "the "
                "master's address with --master=SOCKET, --master=HOST:PORT or $PROFFER_MASTER"),
        options_.json);
    exit_code_ = kUnreachableCode;
    host_.scheduler().stop(kUnreachableCode);
  }

  const AppSpec app_;
  const RunOptions options_;
  bool ending_ = false;
  std::optional<int> exit_code_;
  std::string last_;
  Host host_;
};

// --- proffer-service scheduler -----------------------------------------------------------------

class Daemon {
 public:
  Daemon(sdk::SchedulerOptions options, Measuring::Options measuring)
      : host_(
            std::move(options), true,
            {.on_request = [this](const proto::FrameworkRequest& request) { on_request(request); },
             .on_answer = [this](const Answer& answer) { on_answer(answer); },
             .on_servers = [this](const WatchAnswer& answer) { on_servers(answer); },
             .on_trace =
                 [this](const std::vector<TraceEvent>& events) {
                   trace_.write(events, host_.scheduler().now().nanos() / seconds(1).nanos());
                 },
             .on_step = [] {}}),
        measuring_(host_.scheduler(), std::move(measuring),
                   [this] { return host_.service().wants_figures(); }) {}

  int run() {
    sdk::Scheduler& scheduler = host_.scheduler();
    scheduler.on_refused([this](const Error& error) {
      print_error(error, false);
      host_.scheduler().detach(kRefusedCode);
    });
    // Its apps continue. Its next life finds them.
    for (const int signal : {SIGINT, SIGTERM}) {
      scheduler.on_signal(signal, [this] { host_.scheduler().detach(0); });
    }
    return scheduler.run();
  }

 private:
  void on_request(const proto::FrameworkRequest& request) {
    Caller by{.user = request.principal, .is_operator = request.is_operator};
    Result<Asked> asked = parse_request(request.data);
    if (!asked) return host_.scheduler().respond(request.relay, std::move(asked).error());
    if (auto* change = std::get_if<Change>(&*asked)) {
      LOG(INFO) << "request"
                << " app=" << app_of(*change) << " principal=" << request.principal;
      return host_.step(Request{request.relay, std::move(*change), std::move(by)});
    }
    if (auto* figures = std::get_if<Figures>(&*asked)) {
      figures->relay = request.relay;
      figures->by = std::move(by);
      return host_.step(std::move(*figures));
    }
    if (auto* watch = std::get_if<Watch>(&*asked)) {
      watch->relay = request.relay;
      return host_.step(std::move(*watch));
    }
    if (!host_.service().loaded()) {
      return host_.scheduler().respond(
          request.relay,
          Error::unavailable("the service scheduler is still reading its apps from the store")
              .with_hint("try again in a moment"));
    }
    host_.scheduler().respond(request.relay, show(host_.service(), std::get<Picture>(*asked),
                                                  host_.scheduler().now(), by));
  }

  void on_answer(const Answer& answer) {
    if (!answer.result) return host_.scheduler().respond(answer.relay, answer.result.error());
    host_.scheduler().respond(answer.relay, proto::service_changes_json(*answer.result));
  }

  void on_servers(const WatchAnswer& answer) {
    if (answer.error) return host_.scheduler().respond(answer.relay, *answer.error);
    host_.scheduler().respond(answer.relay, proto::servers_json(answer.page));
  }

  TraceLog trace_;
  Host host_;
  Measuring measuring_;
};

}  // namespace

int print_error(const Error& error, bool json) {
  if (json) {
    print_json(proto::error_json(error), stderr);
  } else {
    print_error_text(error);
  }
  return error.code() == ErrorCode::kInvalidArgument ? kUsageCode : kRefusedCode;
}

int run_attached(const RunOptions& options) {
  const Result<std::string> yaml =
      sdk::read_given_file(options.app_file, "an app file", kAppFileBytesMax);
  if (!yaml) return print_error(yaml.error(), options.json);
  Result<AppSpec> app = parse_app_file(*yaml);
  if (!app) return print_error(std::move(app).error().in(options.app_file), options.json);
  const std::string_view key = !app->after.empty()        ? "after"
                               : !app->find.empty()       ? "find"
                               : !app->with.empty()       ? "with"
                               : !app->apart_from.empty() ? "apart_from"
                               : app->scale               ? "scale"
                                                          : "";
  if (!key.empty()) {
    return print_error(Error::invalid_argument(
                           text(options.app_file, ": ", key, ": an attached app ",
                                key == "scale" ? "is not measured" : "cannot refer to other apps"))
                           .with_hint("apply the file instead: proffer service apply FILE"),
                       options.json);
  }
  const Result<RoleName> role = parse_role(options.role);
  if (!role) return print_error(role.error(), options.json);
  return Attached(*std::move(app), *role, options).run();
}

int run_scheduler(const SchedulerOptions& options) {
  const Result<RoleName> role = parse_role(options.role);
  if (!role) return print_error(role.error(), false);
  if (Result<void> ok = check_name("--name", options.name); !ok)
    return print_error(ok.error(), false);
  const Result<Duration> every = parse_duration(options.autoscale_every);
  if (!every) return print_error(Error(every.error()).in("--autoscale-every"), false);
  if (*every != Duration() &&
      (*every < proto::kMeasuredEveryMin || *every > proto::kMeasuredEveryMax)) {
    return print_error(
        Error::invalid_argument(
            text("--autoscale-every must be from ", to_text(proto::kMeasuredEveryMin), " to ",
                 to_text(proto::kMeasuredEveryMax), ", or 0s, not ", to_text(*every)))
            .with_hint("with 0s another process must measure: proffer service autoscale"),
        false);
  }
  sdk::SchedulerOptions sdk = sdk_options(options.name, *role, options.master);
  sdk.session_file = options.session_file;
  sdk.stands_by = options.stands_by;
  if (options.stands_by) {  // Whether it serves or stands by is printed too.
    sdk::set_log([](sdk::LogLevel level,
                    std::string_view what) { LOG(INFO) << level << ": " << printable_line(what); },
                 sdk::LogLevel::kInfo);
  }
  sdk.serves_users = options.serves_users;
  return Daemon(std::move(sdk), {.master = options.master, .every = *every}).run();
}

}  // namespace proffer::service
