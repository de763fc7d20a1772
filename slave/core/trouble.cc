// What keeps the agent from taking tasks although it runs: its master is told once, and offers
// nothing of it until it says that this is over. What runs here runs on.

#include "common/text.h"
#include "slave/core/state.h"

namespace proffer::agent {
namespace {

constexpr int64_t kBytesPerMib = int64_t{1} << 20;

}  // namespace

void Agent::State::on(const DiskSpace& space, Step& step) {
  if (space.is_low == !trouble_.empty()) return;
  trouble_ = space.is_low
                 ? text("its disk is full: ", space.free_bytes / kBytesPerMib, " MiB are free, ",
                        space.reserve_bytes / kBytesPerMib, " MiB are to stay free")
                 : std::string();
  trace(TraceLevel::kOperator,
        space.is_low ? "no tasks are taken; make room on the disk of the work directory"
                     : "tasks are taken again",
        {{"agent", options_.name.str()},
         {"free_mib", std::to_string(space.free_bytes / kBytesPerMib)},
         {"reserve_mib", std::to_string(space.reserve_bytes / kBytesPerMib)}},
        step);
  tell_trouble(step);
}

void Agent::State::tell_trouble(Step& step) {
  if (session_ != Session::kRegistered || told_trouble_ == trouble_) return;
  told_trouble_ = trouble_;
  send_to_master(proto::AgentTrouble{trouble_}, step);
}

}  // namespace proffer::agent
