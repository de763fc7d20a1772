// `Daemon` connects the core with the SDK: notifications and requests in, commands and answers out,
// and a timer for deadlines.

#include "frameworks/batch/shell/scheduler.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <glog/logging.h>
#include <signal.h>
#include <stdlib.h>

#include "common/printable.h"
#include "common/roles.h"
#include "common/text.h"
#include "frameworks/batch/core/jobs.h"
#include "frameworks/batch/shell/commands.h"
#include "frameworks/batch/shell/requests.h"
#include "frameworks/batch/shell/zones.h"
#include "net/trace_log.h"
#include "proto/json/batch_json.h"
#include "proto/json/batch_schedule_json.h"
#include "sdk/scheduler.h"

namespace proffer::batch {
namespace {

constexpr Duration kTimerMax = minutes(1);
// The master relays fewer at a time.
constexpr size_t kWaitingMax = 2 * kRelaysPerFrameworkMax;

class Daemon {
 public:
  explicit Daemon(sdk::SchedulerOptions options)
      : jobs_({.role = options.role, .serves_users = options.serves_users}),
        scheduler_(std::move(options)) {
    scheduler_.on_notification([this](const sdk::Notification& what) {
      if (const auto* request = std::get_if<proto::FrameworkRequest>(&what)) {
        on_request(*request);
      } else {
        step(what);
      }
    });
    scheduler_.on_refused([this](const Error& error) {
      print_error(error, false);
      scheduler_.detach(1);
    });
    // Its tasks continue: the next process finds them.
    for (const int signal : {SIGINT, SIGTERM}) {
      scheduler_.on_signal(signal, [this] { scheduler_.detach(0); });
    }
  }

  int run() { return scheduler_.run(); }

 private:
  void step(const JobsEvent& event) {
    JobsOutbox out;
    jobs_.handle(event, scheduler_.now(), out);
    for (sdk::Command& command : out.commands) scheduler_.command(std::move(command));
    trace_.write(out.trace, scheduler_.now().nanos() / seconds(1).nanos());
    for (const Answer& answer : out.answers) on_answer(answer);
    for (const ScheduleAnswer& answer : out.schedule_answers) {
      callers_.erase(answer.relay);
      scheduler_.respond(answer.relay, proto::batch_schedule_json(answer.schedule));
    }
    for (const std::string& zone : out.zones_wanted) {
      step(ZoneRead{zone, read_zone(zone, unix_seconds(scheduler_.now()))});
    }
    arm();
    if (!jobs_.loaded() || waiting_.empty()) return;
    for (const proto::FrameworkRequest& request : std::exchange(waiting_, {})) on_request(request);
  }

  // Called when the core's deadline may have changed. A timer that fires early has no effect.
  // Timers are short, since an outdated timer stays until it fires.
  void arm() {
    const std::optional<Time> deadline = jobs_.next_deadline();
    if (!deadline) return;
    const Time now = scheduler_.now();
    const Time at = std::clamp(*deadline, now, now + kTimerMax);
    if (armed_ && *armed_ <= at) return;
    armed_ = at;
    scheduler_.after(at - now + milliseconds(1), [this, at] {
      if (armed_ == at) armed_.reset();
      step(Tick{});
    });
  }

  // Requests wait until the store is read. They are not refused, because a retry with the same id
  // would get the same answer.
  void on_request(const proto::FrameworkRequest& request) {
    if (!jobs_.loaded() && waiting_.size() < kWaitingMax) return waiting_.push_back(request);
    Result<Asked> asked = parse_request(request);
    if (!asked) return scheduler_.respond(request.relay, std::move(asked).error());
    if (auto* one = std::get_if<Request>(&*asked)) {
      if (!std::holds_alternative<WatchJob>(one->what)) callers_[request.relay] = request.principal;
      return step(*one);
    }
    const auto show_list = [&](const auto& list) {
      scheduler_.respond(request.relay, show(jobs_, list, caller_of(request), scheduler_.now()));
    };
    if (const auto* jobs = std::get_if<ListJobs>(&*asked)) return show_list(*jobs);
    show_list(std::get<ListSchedules>(*asked));
  }

  void on_answer(const Answer& answer) {
    const auto caller = callers_.extract(answer.relay);
    if (answer.job) return scheduler_.respond(answer.relay, proto::batch_job_json(*answer.job));
    if (answer.job.error().code() == ErrorCode::kPermissionDenied) {
      LOG(WARNING) << "audit: refused user=" << (caller.empty() ? "?" : caller.mapped())
                   << " reason=" << log_value(answer.job.error().message());
    }
    scheduler_.respond(answer.relay, answer.job.error());
  }

  Jobs jobs_;
  sdk::Scheduler scheduler_;
  TraceLog trace_;
  std::map<uint64_t, std::string> callers_;  // of changes in progress, by relay
  std::vector<proto::FrameworkRequest> waiting_;
  std::optional<Time> armed_;
};

}  // namespace

int run_scheduler(const SchedulerOptions& options) {
  const Result<RoleName> role = parse_role(options.role);
  if (!role) return print_error(role.error(), false);
  if (Result<void> ok = check_name("--name", options.name); !ok) {
    return print_error(ok.error(), false);
  }
  sdk::SchedulerOptions sdk;
  sdk.name = options.name;
  sdk.role = *role;
  sdk.master = options.master;
  const char* user = ::getenv("USER");
  sdk.user = user != nullptr ? user : "";
  sdk.session_file = options.session_file;
  sdk.stands_by = options.stands_by;
  if (options.stands_by) {  // Whether it serves or stands by is printed too.
    sdk::set_log([](sdk::LogLevel level,
                    std::string_view what) { LOG(INFO) << level << ": " << printable_line(what); },
                 sdk::LogLevel::kInfo);
  }
  sdk.serves_users = options.serves_users;
  sdk.acknowledges_ends = true;
  return Daemon(std::move(sdk)).run();
}

}  // namespace proffer::batch
