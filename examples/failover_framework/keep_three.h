#pragma once

// Keeps three tasks running over all lives of its scheduler. It is separate from main() so that
// tests/sdk_testing/guide_test.cc can run it in a SimCluster.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "sdk/scheduler.h"

namespace examples {

inline void keep_three(proffer::sdk::Scheduler& self, std::ostream& out) {
  namespace sdk = proffer::sdk;
  namespace proto = proffer::proto;
  using Outcomes = proffer::Result<std::vector<proto::StoreResult::Outcome>>;

  // The number of this life, counted in the framework's store; 0: not known yet.
  auto life = std::make_shared<int64_t>(0);

  // Compares the running tasks with the wanted number, and asks for or kills the difference. It
  // does not matter which life launched a task, or why there is one too many (its agent was away
  // and came back).
  const auto look = [&self, life] {
    if (*life == 0 || !self.all_tasks_known()) return;
    const std::vector<proffer::TaskId> live = self.live_tasks();
    for (size_t i = 3; i < live.size(); ++i) self.kill(live[i]);
    self.ask("sleep", "cpus:0.1;mem:32", std::max<int64_t>(3 - std::ssize(live), 0));
  };

  self.on_offer([&self](const proffer::Offer& offer) { self.launch(offer, "exec sleep 86400"); });

  // The master may have been restarted too, and its agents may still be reconnecting.
  self.on_all_tasks_known(look);

  // After a restart each task that still exists is reported once.
  self.on_update([look, &out](const proto::TaskStatus& task) {
    out << task.task.str() << " is " << to_text(task.state) << std::endl;
    if (task.state != proto::TaskState::kRefused) look();  // its ask wants it again
  });

  // Sent when there is a session. The master answers in order: before this answer it has reported
  // the tasks that it knows.
  self.store({sdk::get("life")}, [&self, &out, life, look](const Outcomes& got) {
    if (!got) {
      out << "the store: " << got.error().message() << std::endl;
      return self.detach(1);
    }
    const std::string& last = got->front().value;
    const int64_t next = last.empty() ? 1 : std::stoll(last) + 1;
    self.store({sdk::put("life", std::to_string(next))},
               [&self, &out, life, look, next](const Outcomes& kept) {
                 if (!kept) {
                   out << "the store: " << kept.error().message() << std::endl;
                   return self.detach(1);
                 }
                 *life = next;
                 out << "life " << next << " of " << self.framework().str() << " finds "
                     << self.live_tasks().size() << " tasks" << std::endl;
                 look();
               });
  });
}

}  // namespace examples
