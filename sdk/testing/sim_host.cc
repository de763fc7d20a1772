// The life of a simulated scheduler's process: start makes a Scheduler, lets its author install the
// callbacks, and connects. Then the world calls it, until it leaves or is killed.

#include "sdk/testing/sim_host.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/text.h"
#include "sdk/testing/trace.h"
#include "sim/trace.h"

namespace proffer::sdk {

SimHost::SimHost(sim::World& world, sim::Network& network, sim::Journal& journal, sim::Place master,
                 SchedulerOptions options, std::function<void(Scheduler&)> install)
    : Node(world, options.name),
      network_(network),
      journal_(journal),
      master_(master),
      party_(network.add_party()),
      options_(std::move(options)),
      install_(std::move(install)),
      chance_(world.chance(text("scheduler ", name()))),
      secret_(sim::random_secret(chance_)) {}

SimHost::~SimHost() = default;

template <class Call>
void SimHost::enter(const Call& call) {
  ++inside_;
  call();
  --inside_;
}

void SimHost::start() {
  if (is_up()) return;
  CHECK(inside_ == 0) << name() << " cannot be started from within its own callback";
  scheduler_.reset();
  guest_ = nullptr;
  if (!framework_.empty() && (forgotten_ || !keeps_identity())) {
    framework_ = FrameworkId();
    secret_ = sim::random_secret(chance_);
  }
  forgotten_ = false;
  deadline_.reset();
  signals_.clear();
  launched_.clear();
  exit_code_.reset();
  refusal_.reset();
  begin_life();
  note(sim::SchedulerBegins{framework_});
  scheduler_ = std::make_unique<Scheduler>(*this, options_);
  enter([this] {
    install_(*scheduler_);
    scheduler_->run();
  });
  if (is_up()) stepped();
}

void SimHost::kill() {
  if (!is_up()) return;
  CHECK(inside_ == 0) << name() << " cannot be killed from within its own callback";
  note(SchedulerKilled{});
  if (!is_continued() && !framework_.empty()) {
    over_.insert(framework_);
    journal_.torn_down(framework_);
  }
  hang_up();
  end_life();
  network_.thaw(party_);
  scheduler_.reset();
  guest_ = nullptr;
}

void SimHost::leave(int exit_code) {
  if (!is_up()) return;
  note(SchedulerLeaves{exit_code});
  exit_code_ = exit_code;
  if (!is_continued() && !framework_.empty()) {
    over_.insert(framework_);
    journal_.torn_down(framework_);
  }
  hang_up();
  end_life();
  network_.thaw(party_);
}

void SimHost::hang_up() {
  if (line_) network_.hang_up(*std::exchange(line_, std::nullopt));
}

Scheduler& SimHost::scheduler() {
  CHECK(scheduler_ != nullptr) << name() << " was killed: start_scheduler() first";
  return *scheduler_;
}

void SimHost::deliver_signal(int signal) {
  const auto at = signals_.find(signal);
  if (!is_up() || at == signals_.end()) return;
  const std::function<void()> handler = at->second;  // the handler may be replaced meanwhile
  enter(handler);
}

void SimHost::break_connection() {
  if (is_up() && line_) network_.reset(*line_);
}

// --- the world calls in --------------------------------------------------------------------------

void SimHost::tick() {
  enter([this] { guest_->on_timer(); });
}

std::vector<Violation> SimHost::violations() const { return guest_->violations(); }

void SimHost::on_line_connected() {
  enter([this] { guest_->on_connected(); });
}

void SimHost::on_line_frame(proto::Envelope envelope) {
  enter([&] { guest_->on_frame(std::move(envelope)); });
}

void SimHost::on_line_disconnected(const std::string& reason) {
  enter([&] { guest_->on_disconnected(reason); });
}

// --- the scheduler calls out ---------------------------------------------------------------------

void SimHost::save_identity(const FrameworkId& framework, const Secret& secret) {
  framework_ = framework;
  secret_ = secret;
  frameworks_.insert(framework);
}

// Called after each step of its driver with the deadline: this is a node's step.
void SimHost::arm(std::optional<Time> due) {
  deadline_ = due;
  stepped();
}

void SimHost::after(Duration duration, std::function<void()> what) {
  later(std::max(duration, Duration()), [this, what = std::move(what)] { enter(what); });
}

void SimHost::work(std::function<void()> work, std::function<void()> done) {
  after(kSimulatedWork, [work = std::move(work), done = std::move(done)] {
    work();
    done();
  });
}

void SimHost::on_signal(int signal, std::function<void()> what) {
  signals_[signal] = std::move(what);
}

Result<std::shared_ptr<void>> SimHost::watch(int, WatchEvents, std::function<void(WatchEvents)>) {
  return Error::unsupported("a simulated cluster has no descriptors to watch")
      .with_hint("in the test, call the code that the callback would run");
}

void SimHost::connect() {
  if (is_up() && !line_) line_ = network_.call(party_, {master_}, this);
}

bool SimHost::send(const proto::Envelope& envelope) {
  if (!line_) return false;
  if (const auto* accept = std::get_if<proto::Accept>(&*envelope.message)) {
    for (const proto::Operation& operation : accept->operations) {
      for (const proto::TaskSpec& task : proto::launched_by(operation)) {
        const sim::TaskKey key(framework_, task.id);
        accepted_.insert(key);
        launched_.insert(key);
        journal_.accepted(key);
      }
    }
  }
  if (std::holds_alternative<proto::Teardown>(*envelope.message)) {
    over_.insert(framework_);
    journal_.torn_down(framework_);
  }
  network_.send(*line_, envelope);
  return true;
}

void SimHost::reset(const std::string&) {
  if (line_) network_.reset(*line_);
}

void SimHost::warn(std::string_view what) { note(SchedulerWarns{std::string(what)}); }

void SimHost::refused(const Error& error, bool) {
  note(SchedulerRefused{error.message()});
  refusal_ = error;
}

void SimHost::on_command(const Command& command) {
  if (std::holds_alternative<proto::Teardown>(command)) {
    note(SchedulerTearsDown{});
  }
}

bool SimHost::hears(const Notification& notification) {
  if (const auto* subscribed = std::get_if<proto::Subscribed>(&notification)) {
    framework_ = subscribed->framework;
    frameworks_.insert(framework_);
    ++sessions;
  } else if (const auto* made = std::get_if<proto::Offers>(&notification)) {
    if (now() < nothing_until_) {
      proto::Decline decline{.refusal = {.refuse_for = nothing_until_ - now()}};
      for (const Offer& offer : made->offers) decline.offers.push_back(offer.id);
      scheduler_->command(std::move(decline));
      return false;
    }
    offers += made->offers.size();
  } else if (const auto* gone = std::get_if<proto::Rescind>(&notification)) {
    rescinds += gone->offers.size();
  } else if (std::holds_alternative<Disconnected>(notification)) {
    ++disconnects;
  } else if (const auto* status = std::get_if<proto::TaskStatus>(&notification)) {
    told_[{framework_, status->task}] = *status;
    for (const Violation& violation : journal_.heard(framework_, *status)) {
      world().violated(name(), violation);
    }
  }
  return true;
}

}  // namespace proffer::sdk
