#include "cli/attached_terminal.h"

#include <csignal>
#include <utility>

namespace proffer::cli {
namespace {

// The window of the executor has room for several of these.
constexpr uint64_t kTellShownEach = proto::kTerminalWindow / 4;
constexpr Duration kViewAgainAfter = seconds(1);

}  // namespace

AttachedTerminal::AttachedTerminal(sdk::Scheduler& scheduler, std::function<void()> leave)
    : scheduler_(scheduler), leave_(std::move(leave)) {
  scheduler_.on_signal(SIGWINCH, [this] { send(); });
}

void AttachedTerminal::on_room(const proto::FrameworkMessage& from, const proto::StdinRoom& room) {
  if (place_ && sent_.task == room.task) return;
  const bool is_first = !place_;
  place_ = {.agent = from.agent, .executor = from.executor};
  sent_.task = room.task;
  mode_.set(TerminalMode::Mode::kRaw);
  send();
  if (is_first) look_after();
}

void AttachedTerminal::on_view(const proto::TerminalView& view) { is_answered_ |= view == sent_; }

std::string AttachedTerminal::keys(std::string_view typed) {
  std::string taken = escape_.take(typed);
  if (escape_.has_left()) leave_();
  return taken;
}

void AttachedTerminal::shown(uint64_t bytes) {
  const uint64_t now = shown_ += bytes;
  if (now < told_ + kTellShownEach) return;
  told_ = now;
  scheduler_.post([this] { send(); });
}

void AttachedTerminal::send() {
  if (!place_) return;  // The first message will have it all.
  sent_ = {.task = sent_.task, .shown = shown_, .size = local_terminal_size()};
  is_answered_ = false;
  scheduler_.message(place_->agent, place_->executor, proto::encode(sent_));
}

// Messages may be lost.
void AttachedTerminal::look_after() {
  scheduler_.after(kViewAgainAfter, [this] {
    if (!is_answered_) send();
    look_after();
  });
}

}  // namespace proffer::cli
