// The life of an executor's process: on_begin makes an Executor, lets its author install the
// callbacks, and connects. Then the world calls it, until it leaves or is killed.

#include "sdk/testing/sim_executor.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "sdk/testing/sim_host.h"
#include "sdk/testing/trace.h"

namespace proffer::sdk {

SimExecutor::SimExecutor(sim::World& world, sim::Network& network, sim::Host& host,
                         sim::ProcessStart start, int32_t pid,
                         std::function<void(Executor&)> install)
    : ExecutorProcess(world, network, host, std::move(start), pid), install_(std::move(install)) {}

SimExecutor::~SimExecutor() = default;

template <class Call>
void SimExecutor::enter(const Call& call) {
  ++inside_;
  call();
  --inside_;
}

void SimExecutor::on_begin() {
  executor_ = std::make_unique<Executor>(static_cast<ExecutorHost&>(*this));
  enter([this] {
    install_(*executor_);
    executor_->run();
  });
  if (is_up()) stepped();
}

void SimExecutor::on_killed() {
  CHECK(inside_ == 0) << name() << " cannot be killed from within its own callback";
  guest_ = nullptr;
  executor_.reset();
}

void SimExecutor::leave(int exit_code, bool is_all_acknowledged) {
  if (!is_up()) return;
  exits(exit_code, is_all_acknowledged);
  // As main() does when run() has returned; but here the executor is still inside its callback.
  world().after(Duration(), [this] {
    guest_ = nullptr;
    executor_.reset();
  });
}

// --- the world calls in --------------------------------------------------------------------------

void SimExecutor::tick() {
  enter([this] { guest_->on_timer(); });
}

std::vector<Violation> SimExecutor::violations() const { return guest_->violations(); }

void SimExecutor::on_line_connected() {
  enter([this] { guest_->on_connected(); });
}

void SimExecutor::on_line_frame(proto::Envelope envelope) {
  enter([&] { guest_->on_frame(std::move(envelope)); });
}

void SimExecutor::on_line_disconnected(const std::string& reason) {
  enter([&] { guest_->on_disconnected(reason); });
}

// --- the executor calls out ----------------------------------------------------------------------

// Called after each step of its driver with the deadline: this is a node's step.
void SimExecutor::arm(std::optional<Time> due) {
  deadline_ = due;
  stepped();
}

void SimExecutor::after(Duration duration, std::function<void()> what) {
  later(std::max(duration, Duration()), [this, what = std::move(what)] { enter(what); });
}

void SimExecutor::work(std::function<void()> work, std::function<void()> done) {
  after(kSimulatedWork, [work = std::move(work), done = std::move(done)] {
    work();
    done();
  });
}

void SimExecutor::connect() {
  if (is_up() && !std::exchange(connected_, true)) call(this);
}

bool SimExecutor::send(const proto::Envelope& envelope) {
  if (!is_up() || !connected_) return false;
  network().send(line(), envelope);
  return true;
}

void SimExecutor::reset(const std::string&) {
  if (is_up() && connected_) network().reset(line());
}

void SimExecutor::warn(std::string_view what) { note(ExecutorWarns{std::string(what)}); }

bool SimExecutor::starts(const proto::RunTask& run) { return task_starts(run); }

void SimExecutor::says(const proto::TaskStatus& status) {
  if (proto::is_terminal(status.state) && is_running(status.task)) task_ends_as_reported(status);
}

}  // namespace proffer::sdk
