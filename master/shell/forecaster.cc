// The life of a forecast: ask, begin (the snapshot), start_child, reap, on_answer, tell.

#include "master/shell/forecaster.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <utility>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/check.h"
#include "common/printable.h"
#include "common/text.h"
#include "master/core/trace.h"
#include "net/child.h"
#include "net/fd.h"
#include "net/trace_log.h"
#include "proto/json/forecast_json.h"

namespace proffer::master {
namespace {

using proto::NoEta;

// Maximum text in the log from the output of a failed child.
constexpr size_t kSaidMax = 300;

Duration of_timeval(const timeval& time) {
  return seconds(time.tv_sec) + microseconds(time.tv_usec);
}

// The output of the child, shortened.
std::string read_answer(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string said(kForecastAnswerMax, '\0');
  file.read(said.data(), static_cast<std::streamsize>(said.size()));
  said.resize(static_cast<size_t>(file.gcount()));
  return said;
}

std::optional<Duration> from_now(const std::optional<Duration>& since, Duration elapsed) {
  return since ? std::optional(std::max(Duration(), *since - elapsed)) : std::nullopt;
}

}  // namespace

Forecaster::Forecaster(Loop& loop, const Master& core, History* history, ForecasterOptions options)
    : loop_(loop),
      core_(core),
      history_(history),
      options_(std::move(options)),
      learns_again_(loop, [this] { learn(); }),
      child_too_long_(loop, [this] { end_child(); }) {
  loop_.on_signal(SIGCHLD, [this] { reap(); });
  if (history_ != nullptr) learn();
}

Forecaster::~Forecaster() {
  *alive_ = false;
  loop_.on_signal(SIGCHLD, {});
  if (child_ == 0) return;
  ::kill(child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
}

// --- known durations -----------------------------------------------------------------------------

void Forecaster::learn() {
  // Ends of this life are recorded as they happen.
  history_->read_past({.before = learns_before_},
                      [this, alive = alive_](const Result<FoundHistory>& found) {
                        if (*alive) on_history(found);
                      });
}

// A read that fails because of a disk, or of too many readers, is repeated later.
void Forecaster::on_history(const Result<FoundHistory>& found) {
  if (!found) {
    const bool is_last = --tries_left_ == 0;
    LOG(WARNING) << "forecasts know only a part of the history again="
                 << (is_last ? "never" : to_text(options_.history_retry))
                 << " error=" << log_value(found.error().message());
    if (!is_last) learns_again_.arm(loop_.now() + options_.history_retry);
    return;
  }
  tries_left_ = kForecastHistoryTries;
  for (const proto::EndedTask& ended : found->page.tasks) durations_.remember_older(ended);
  learns_before_ = found->next;
  if (!learns_before_.empty() && --pages_left_ > 0) learn();
}

void Forecaster::hear(const std::vector<TraceEvent>& trace,
                      const std::vector<proto::HistoryRecord>& ended) {
  for (const proto::HistoryRecord& record : ended) {
    if (const auto* task = std::get_if<proto::EndedTask>(&record)) durations_.remember(*task);
  }
  if (!is_making_ && calibration_.predictions() == 0) return;
  const Time now = loop_.now();
  for (const TraceEvent& event : trace) {
    if (const auto* launched = event.as<TaskLaunched>()) {
      calibration_.launched(launched->framework, launched->ask, launched->asked_at, now);
    } else if (const auto* declined = event.as<OfferDeclined>()) {
      for (const AskName& ask : declined->asks) {
        calibration_.declined(declined->framework, ask, now);
      }
    } else if (const auto* accepted = event.as<OfferAccepted>()) {
      for (const AskName& ask : accepted->unused_for) {
        calibration_.declined(accepted->framework, ask, now);
      }
    }
  }
}

// --- making a forecast ---------------------------------------------------------------------------

void Forecaster::ask() {
  const Time now = loop_.now();
  if (is_making_ || (next_ && now < *next_)) return;
  begin();
}

void Forecaster::begin() {
  begun_ = loop_.now();
  next_ = begun_ + rest_;
  const proto::MasterStatus status = core_.status();
  if (status.agents_connected + status.agents_disconnected > options_.agents_max ||
      status.frameworks_connected + status.frameworks_disconnected > options_.frameworks_max ||
      status.tasks_staging + status.tasks_running + status.tasks_killing > options_.tasks_max) {
    trouble_ = NoEta::kTooLarge;
    return;
  }
  auto request = std::make_shared<proto::ForecastRequest>();
  request->live = core_.live_snapshot(begun_);
  request->durations = durations_.used_by(request->live);
  taken_ = request->live.taken;
  calibration_.begin(request->live);
  is_making_ = true;
  auto written = std::make_shared<Result<void>>();
  loop_.work(
      [request, written, directory = options_.directory] {
        ::mkdir(directory.c_str(), 0700);
        *written =
            write_file_atomically(directory + "/request", proto::forecast_request_lines(*request));
      },
      [this, written, alive = alive_] {
        if (!*alive) return;
        if (!*written) return fail(written->error().message());
        start_child();
      });
}

void Forecaster::start_child() {
  const Result<std::string> program = find_program_file("proffer-simulate");
  if (!program) return fail(program.error().message());
  const std::string path = options_.directory + "/answer";
  const Fd answer(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (answer.get() < 0)
    return fail(text("cannot write ", quoted(path), ": ", std::strerror(errno)));
  const uint64_t seed = figures_.made + figures_.failed + 1;
  const Result<pid_t> child = proffer::start_child(
      {*program, "--forecast", options_.directory + "/request", "--seed", std::to_string(seed)},
      answer.get());
  if (!child) return fail(child.error().message());
  child_ = *child;
  // The output is on the disk that also has the master's registry.
  const rlimit bytes = {kForecastAnswerMax, kForecastAnswerMax};
  ::prlimit(child_, RLIMIT_FSIZE, &bytes, nullptr);
  took_too_long_ = false;
  child_too_long_.arm(loop_.now() + options_.time_max);
}

void Forecaster::end_child() {
  if (child_ == 0) return;
  took_too_long_ = true;
  ::kill(child_, SIGKILL);
}

void Forecaster::reap() {
  int status = 0;
  rusage used = {};
  if (child_ == 0 || ::wait4(child_, &status, WNOHANG, &used) != child_) return;
  child_ = 0;
  child_too_long_.arm(std::nullopt);
  const Duration cpu = of_timeval(used.ru_utime) + of_timeval(used.ru_stime);
  figures_.cpu = figures_.cpu + cpu;
  rest_ = std::max(options_.every, cpu * kForecastRest);
  next_ = begun_ + rest_;
  auto answer = std::make_shared<Result<proto::Forecast>>(proto::Forecast());
  loop_.work(
      [answer, status, path = options_.directory + "/answer",
       too_long = took_too_long_ ? to_text(options_.time_max) : std::string()] {
        const std::string said = read_answer(path);
        if (!too_long.empty()) {
          *answer = Error::timeout(text("proffer-simulate was ended after ", too_long));
        } else if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
          *answer = proto::parse_forecast(said);
        } else {
          *answer = Error::internal(text("proffer-simulate ended by ", how_it_ended(status), ": ",
                                         said.substr(0, kSaidMax)));
        }
      },
      [this, answer, alive = alive_] {
        if (*alive) on_answer(*answer);
      });
}

void Forecaster::on_answer(const Result<proto::Forecast>& answer) {
  if (!answer) return fail(answer.error().message());
  if (answer->as_of == Time()) return fail("the forecast of proffer-simulate has no time");
  is_making_ = false;
  failed_rest_ = {};
  trouble_.reset();
  ++figures_.made;
  last_ = *answer;
  // The child rounds the time, so an ask that was declared just before would seem to be newer.
  last_.as_of = taken_;
  calibration_.correct(last_);
  asks_.clear();
  for (const proto::AskForecast& row : last_.asks) asks_[{row.framework, row.ask}] = row;
  last_.asks.clear();
}

void Forecaster::fail(std::string why) {
  is_making_ = false;
  trouble_ = NoEta::kFailed;
  ++figures_.failed;
  // A failure is likely to repeat, and each attempt makes the loop take a snapshot.
  failed_rest_ = std::min(std::max(failed_rest_, rest_) * 2, kForecastFailedRestMax);
  next_ = begun_ + failed_rest_;
  LOG_EVERY_T(WARNING, 60) << "starts cannot be forecast error=" << log_value(why);
}

// --- showing a forecast --------------------------------------------------------------------------

void Forecaster::tell(std::vector<proto::PendingRow>& rows) const {
  const Duration elapsed = loop_.now() - last_.as_of;
  const bool is_there = figures_.made > 0 && elapsed <= std::max(kForecastKept, rest_ * 2);
  for (proto::PendingRow& row : rows) {
    if (row.no_eta) continue;
    const auto found = asks_.find({row.framework, row.ask});
    if (!is_there || found == asks_.end()) {
      row.no_eta = trouble_.value_or(NoEta::kNotYet);
      continue;
    }
    const proto::AskForecast& says = found->second;
    if (!says.first.p50) {
      row.no_eta = last_.unknown.empty() ? NoEta::kBeyond : NoEta::kNoDurations;
      if (!last_.unknown.empty()) row.unknown = last_.unknown.front();
      continue;
    }
    row.eta = proto::Eta{.p50 = from_now(says.first.p50, elapsed),
                         .p90 = from_now(says.first.p90, elapsed),
                         .all_p50 = from_now(says.last.p50, elapsed),
                         .all_p90 = from_now(says.last.p90, elapsed),
                         .as_of = last_.as_of,
                         .runs = last_.runs};
  }
}

}  // namespace proffer::master
