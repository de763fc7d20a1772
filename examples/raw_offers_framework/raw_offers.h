#pragma once

// Runs four tasks from open offers, and gives a reason for each decline, so that the same offer
// does not come again at once. It is separate from main() so that
// tests/sdk_testing/examples_test.cc can run it in a SimCluster.

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "sdk/scheduler.h"

namespace examples {

// `disk`: the agents' attribute of that name must have this value; empty: any agent will do.
inline void raw_offers(proffer::sdk::Scheduler& self, const std::string& disk, std::ostream& out) {
  using namespace proffer;
  using enum proto::TaskState;
  const ResourceVector shape = *parse_shape("cpus:0.5;mem:64");
  struct Counts {
    int wanted = 4;  // not launched yet
    int left = 4;    // not finished yet
    int named = 0;
  };
  auto counts = std::make_shared<Counts>();  // lives as long as the callbacks

  self.on_offer([&self, &out, disk, shape, counts](const Offer& offer) {
    const std::string agent = offer.agent.str();
    if (counts->wanted == 0) return self.decline(offer);

    const auto found = offer.attributes.find("disk");
    if (!disk.empty() && (found == offer.attributes.end() || found->second != disk)) {
      out << agent << ": declined, its disk is not " << disk << std::endl;
      return self.decline(offer, Refusal{.wrong_agent = true});
    }

    const Resources offered = offer.total();
    const int64_t count = count_that_fits(shape, offered, counts->wanted);
    if (count == 0) {
      Refusal refusal;
      for (const ResourceKind kind : kResourceKinds) {
        if (offered.amounts[kind] < shape[kind]) refusal.too_little.push_back(kind);
      }
      out << agent << ": declined, " << to_text(offered.amounts) << " is too little" << std::endl;
      return self.decline(offer, refusal);
    }

    // The offer is a whole agent: the rest of it is free for others at once.
    std::vector<proto::TaskSpec> tasks;
    for (int64_t i = 0; i < count; ++i) {
      tasks.push_back({.id = TaskId("raw-" + std::to_string(++counts->named)),
                       .shape = shape,
                       .command = "echo hello from $PROFFER_AGENT"});
    }
    counts->wanted -= static_cast<int>(count);
    out << agent << ": takes " << count << " tasks" << std::endl;
    self.accept(offer, std::move(tasks), seconds(5));
    if (counts->wanted == 0) self.suppress();  // no further offers, for now
  });

  self.on_update([&self, &out, counts](const proto::TaskStatus& task) {
    // The offer was void by then, or the message that accepted it was lost: try again.
    if (task.state == kRefused || task.state == kLost) {
      ++counts->wanted;
      return self.revive();
    }
    if (!is_terminal(task.state)) return;
    out << task.task.str() << " is " << to_text(task.state) << std::endl;
    if (task.state != kFinished) return self.stop(1);
    if (--counts->left == 0) self.stop();
  });
}

}  // namespace examples
