#include "master/shell/loop_times.h"

#include <algorithm>

namespace proffer::master {

void LoopTimes::note(PeerId peer, const Inbox::Effort& effort, Time now) {
  turn(now);
  const auto [use, is_new] = peers_.try_emplace(peer);
  if (is_new) use->second.object = name_of_(peer);
  const Duration worth = kLoopTimePerTask * static_cast<int64_t>(effort.tasks);
  use->second.net = use->second.net + effort.time - worth;
  ++use->second.frames;
}

std::vector<LoopUse> LoopTimes::most(Time now) {
  turn(now);
  return last_;
}

// Ends the window if it is over. A window without a frame shows nothing.
void LoopTimes::turn(Time now) {
  if (now - window_begin_ < kLoopWindow) return;
  const Duration span = now - window_begin_;
  window_begin_ = now;
  last_.clear();
  std::map<std::string, Use> objects;
  for (const auto& [peer, use] : peers_) {
    Use& sum = objects[use.object];
    sum.net = sum.net + use.net;
    sum.frames += use.frames;
  }
  peers_.clear();
  if (span >= kLoopWindow * 2) return;
  for (const auto& [object, use] : objects) {
    const int64_t percent = use.net.micros() * 100 / span.micros();
    if (object.empty() || percent < kLoopPercentToTell) continue;
    last_.push_back({.object = object,
                     .percent = percent,
                     .frames_per_second = use.frames * 1'000 / span.millis()});
  }
  std::sort(last_.begin(), last_.end(),
            [](const LoopUse& a, const LoopUse& b) { return a.percent > b.percent; });
}

}  // namespace proffer::master
