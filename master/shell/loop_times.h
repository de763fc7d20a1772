#pragma once

// How much of the master's time each scheduler, and each user's calls, take. Pure. `proffer status`
// names those that take much of it for work that starts no tasks (ADR 0167).

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/ids.h"
#include "common/time.h"
#include "master/shell/inbox.h"

namespace proffer::master {

inline constexpr Duration kLoopWindow = seconds(10);
// A part of the loop's time, for work that starts no tasks, that is worth a warning.
inline constexpr int64_t kLoopPercentToTell = 10;

// In the last whole window.
struct LoopUse {
  std::string object = {};  // "ml-1-4" for a framework, "calls of ada", "user ada" for the rest
  int64_t percent = 0;      // of the time, less what its tasks are worth
  int64_t frames_per_second = 0;
  bool operator==(const LoopUse&) const = default;
};

class LoopTimes {
 public:
  struct Name {
    std::string object = {};  // empty: it is not named
    std::string user = {};
  };
  using NameOf = std::function<Name(PeerId)>;
  // Names a peer that is connected. It is called once for each peer and window.
  explicit LoopTimes(NameOf name_of) : name_of_(std::move(name_of)) {}

  // O(1), but for the first frame of a window: O(peers of the last one).
  void note(PeerId peer, const Inbox::Effort& effort, Time now);
  // Those with at least kLoopPercentToTell, the largest first; then the users whose other
  // connections have as much together.
  std::vector<LoopUse> most(Time now);

 private:
  struct Use {
    Name name = {};
    Duration net = {};
    int64_t frames = 0;
  };
  void turn(Time now);
  void tell(const std::string& object, const Use& use, Duration span);

  NameOf name_of_;
  Time window_begin_ = {};
  std::unordered_map<PeerId, Use> peers_;
  std::vector<LoopUse> last_;
};

}  // namespace proffer::master
