#pragma once

// Connects a scheduler's pure core with a Scheduler, in main() and in a SimCluster alike: the core
// receives notifications of the SDK, its commands are carried out, and a timer calls it at its
// deadlines. A core is any type with
//
//   void hear(const sdk::Notification& what, Time now, std::vector<sdk::Command>& out);
//   void tick(Time now, std::vector<sdk::Command>& out);
//   std::optional<Time> next_deadline() const;
//
//   cluster.add({.name = "mine"}, [](sdk::Scheduler& scheduler) {
//     sdk::drive(scheduler, std::make_shared<MyCore>());
//   });
//
// A core that wants to leave sends proto::Teardown, or its owner calls Scheduler::stop().

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sdk/scheduler.h"

namespace proffer::sdk {

template <class Core>
class CoreDrive : public std::enable_shared_from_this<CoreDrive<Core>> {
 public:
  CoreDrive(Scheduler& scheduler, std::shared_ptr<Core> core)
      : scheduler_(scheduler), core_(std::move(core)) {}

  void hear(const Notification& what) {
    std::vector<Command> commands;
    core_->hear(what, scheduler_.now(), commands);
    give(std::move(commands));
  }
  // Call this after a change to the core that the SDK did not cause.
  void look() {
    std::vector<Command> commands;
    core_->tick(scheduler_.now(), commands);
    give(std::move(commands));
  }

 private:
  void give(std::vector<Command> commands) {
    for (Command& command : commands) scheduler_.command(std::move(command));
    arm();
  }
  // A timer that fires early does nothing.
  void arm() {
    const std::optional<Time> deadline = core_->next_deadline();
    if (!deadline || (armed_ && *armed_ <= *deadline)) return;
    armed_ = deadline;
    const Time now = scheduler_.now();
    scheduler_.after((*deadline > now ? *deadline - now : Duration()) + milliseconds(1),
                     [self = this->shared_from_this(), at = *deadline] {
                       if (self->armed_ == at) self->armed_.reset();
                       self->look();
                     });
  }

  Scheduler& scheduler_;
  std::shared_ptr<Core> core_;
  std::optional<Time> armed_;
};

// Call this before run(). The scheduler keeps the core alive.
template <class Core>
void drive(Scheduler& scheduler, std::shared_ptr<Core> core) {
  auto drive = std::make_shared<CoreDrive<Core>>(scheduler, std::move(core));
  scheduler.on_notification([drive](const Notification& what) { drive->hear(what); });
  scheduler.after(Duration(), [drive] { drive->look(); });
}

}  // namespace proffer::sdk
