#include "master/shell/loop_times.h"

#include <algorithm>

#include "common/limits.h"
#include "common/text.h"

namespace proffer::master {

void LoopTimes::note(PeerId peer, const Inbox::Effort& effort, Time now) {
  turn(now);
  if (peers_.size() >= kPeersMax && !peers_.contains(peer)) return;
  const auto [use, is_new] = peers_.try_emplace(peer);
  if (is_new) use->second.name = name_of_(peer);
  const Duration worth = kLoopTimePerTask * static_cast<int64_t>(effort.tasks);
  use->second.net = use->second.net + effort.time - worth;
  ++use->second.frames;
}

std::vector<LoopUse> LoopTimes::most(Time now) {
  turn(now);
  return last_;
}

void LoopTimes::tell(const std::string& object, const Use& use, Duration span) {
  last_.push_back({.object = object,
                   .percent = use.net.micros() * 100 / span.micros(),
                   .frames_per_second = use.frames * 1'000 / span.millis()});
}

// Ends the window if it is over. A window without a frame shows nothing.
void LoopTimes::turn(Time now) {
  if (now - window_begin_ < kLoopWindow) return;
  const Duration span = now - window_begin_;
  window_begin_ = now;
  last_.clear();
  const auto add = [](Use& sum, const Use& use) {
    sum.name = use.name;
    sum.net = sum.net + use.net;
    sum.frames += use.frames;
  };
  std::map<std::string, Use> objects;
  for (const auto& [peer, use] : peers_) {
    if (!use.name.object.empty()) add(objects[use.name.object], use);
  }
  peers_.clear();
  if (span >= kLoopWindow * 2) return;
  const Duration enough = span * kLoopPercentToTell / 100;
  std::map<std::string, Use> users;
  for (const auto& [object, use] : objects) {
    if (use.net >= enough) {
      tell(object, use, span);
    } else if (use.net > Duration()) {
      add(users[use.name.user], use);
    }
  }
  std::sort(last_.begin(), last_.end(),
            [](const LoopUse& a, const LoopUse& b) { return a.percent > b.percent; });
  for (const auto& [user, use] : users) {
    if (use.net >= enough) tell(text("user ", user), use, span);
  }
}

}  // namespace proffer::master
