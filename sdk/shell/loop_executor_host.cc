// Turns bytes and timers into events of the executor's guest, and its calls into bytes and timers.
// It makes no decisions.

#include "sdk/shell/loop_executor_host.h"

#include <cstdlib>
#include <utility>

#include "common/text.h"
#include "net/randomness.h"
#include "sdk/shell/complaints.h"

namespace proffer::sdk {
namespace {

constexpr Duration kGoodbyeLinger = seconds(1);

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') {
    exit_with(Error::invalid_argument(text("$", name, " is not set"))
                  .with_hint("an executor is started by an agent, not by hand"));
  }
  return value;
}

// An agent of an earlier version does not give it.
uint64_t run_of_environment() {
  const char* value = std::getenv("PROFFER_EXECUTOR_RUN");
  if (value == nullptr) return 0;
  const Result<int64_t> run = parse_whole("$PROFFER_EXECUTOR_RUN", value, 0, INT64_MAX);
  if (!run) exit_with(run.error());
  return static_cast<uint64_t>(*run);
}

}  // namespace

LoopExecutorHost::LoopExecutorHost()
    : framework_(environment("PROFFER_FRAMEWORK_ID")),
      executor_(environment("PROFFER_EXECUTOR_ID")),
      token_(environment("PROFFER_EXECUTOR_TOKEN")),
      first_run_(run_of_environment()),
      timer_(loop_, [this] { guest_->on_timer(); }),
      agent_(loop_, {.path = environment("PROFFER_AGENT_SOCKET"), .seed = random_seed()},
             {.on_connected = [this] { guest_->on_connected(); },
              .on_frame = [this](std::span<const std::byte> frame) { on_frame(frame); },
              .on_disconnected =
                  [this](const std::string& reason) { guest_->on_disconnected(reason); },
              .on_failed = {}}),
      timers_(loop_) {
  const auto check = [](std::string_view what, const std::string& value) {
    if (Result<void> checked = check_name(what, value); !checked) exit_with(checked.error());
  };
  check("$PROFFER_FRAMEWORK_ID", framework_.str());
  check("$PROFFER_EXECUTOR_ID", executor_.str());
  if (!is_valid_secret(token_.str())) {
    exit_with(Error::invalid_argument("$PROFFER_EXECUTOR_TOKEN must be 32 of 0-9 a-f"));
  }
}

bool LoopExecutorHost::send(const proto::Envelope& envelope) {
  const Result<std::span<const std::byte>> frame = encoder_.encode(envelope);
  if (frame) return agent_.send(*frame);
  warn(text("cannot send a message to the agent: ", frame.error().message()));
  agent_.reset("cannot send a message");
  return false;
}

void LoopExecutorHost::on_frame(std::span<const std::byte> frame) {
  Result<proto::Envelope> envelope = proto::decode(frame);
  if (envelope) return guest_->on_frame(*std::move(envelope));
  warn(text("cannot read a message from the agent: ", envelope.error().message()));
  agent_.reset("cannot read a message from the agent");
}

void LoopExecutorHost::warn(std::string_view what) { print_warning(what); }

void LoopExecutorHost::leave(int, bool) {
  agent_.close_gracefully(kGoodbyeLinger);
  timer_.arm(std::nullopt);
  loop_.stop();
}

}  // namespace proffer::sdk
