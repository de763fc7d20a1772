#include "frameworks/service/shell/measuring.h"

#include <algorithm>

#include <glog/logging.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/printable.h"
#include "common/text.h"
#include "net/child.h"

namespace proffer::service {
namespace {

constexpr Duration kLookEvery = seconds(1);
// After its end it is restarted: first after the shortest pause, then after twice as long, up to
// the longest. If it ran longer than that, the next pause is the shortest.
constexpr Duration kPauseShortest = seconds(1);
constexpr Duration kPauseLongest = minutes(1);

}  // namespace

Measuring::Measuring(sdk::Scheduler& scheduler, Options options, std::function<bool()> is_wanted)
    : scheduler_(scheduler),
      options_(std::move(options)),
      is_wanted_(std::move(is_wanted)),
      pause_(kPauseShortest) {
  if (options_.every == Duration()) return;
  scheduler_.on_signal(SIGCHLD, [this] { reap(); });
  look();
}

void Measuring::look() {
  scheduler_.after(kLookEvery, [this] { look(); });
  const bool is_wanted = !scheduler_.framework().empty() && is_wanted_();
  if (is_wanted && pid_ == 0 && scheduler_.now() >= not_before_) start();
  if (!is_wanted && pid_ != 0 && !is_ending_) is_ending_ = ::kill(pid_, SIGTERM) == 0;
}

void Measuring::start() {
  started_at_ = scheduler_.now();
  not_before_ = started_at_ + pause_;
  const Result<std::string> program = find_program_file("proffer");
  // Selected by its id, since other frameworks may have the same name.
  const Result<pid_t> pid =
      program ? start_child(
                    {*program, "service", "autoscale", "--master", options_.master, "--framework",
                     scheduler_.framework().str(), "--every", to_text(options_.every), "--quiet"},
                    STDERR_FILENO)
              : Result<pid_t>(program.error());
  if (pid) {
    pid_ = *pid;
    return;
  }
  LOG(ERROR) << "apps are not measured, so they are not scaled by load error="
             << quoted(pid.error().message()) << " again_in=" << to_text(pause_);
  pause_ = std::min(pause_ * 2, kPauseLongest);
}

void Measuring::reap() {
  int status = 0;
  if (pid_ == 0 || ::waitpid(pid_, &status, WNOHANG) != pid_) return;
  pid_ = 0;
  if (std::exchange(is_ending_, false)) return;
  const Time now = scheduler_.now();
  if (now - started_at_ > kPauseLongest) pause_ = kPauseShortest;
  LOG(WARNING) << "the process that measures apps ended how=" << log_value(how_it_ended(status))
               << " again_in=" << to_text(pause_);
  not_before_ = now + pause_;
  pause_ = std::min(pause_ * 2, kPauseLongest);
}

}  // namespace proffer::service
