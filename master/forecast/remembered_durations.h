#pragma once

// Run times of ended tasks, by kind: a forecast uses them for running and waiting tasks. A bounded
// table of the last durations, filled from the history and from tasks that end (ADR 0135).

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "proto/forecast.h"
#include "proto/history.h"

namespace proffer::master {

// Durations kept per kind, the newest.
inline constexpr size_t kDurationsKept = 64;
// Maximum of kinds, frameworks and roles together. At this size, the half that was not updated for
// the longest time is dropped.
inline constexpr size_t kDurationKindsMax = 8'192;
// Durations of one kind that are enough. A kind with fewer uses those of its framework, or of its
// role.
inline constexpr size_t kDurationsEnough = 3;

class RememberedDurations {
 public:
  // A task that ended by itself. Others give no information about their kind. O(log kinds).
  void remember(const proto::EndedTask& ended) { add(ended, false); }
  // A task that ended before all others in the table, since the history is read backwards.
  void remember_older(const proto::EndedTask& ended) { add(ended, true); }

  // All durations that a forecast of this cluster can use.
  std::vector<proto::KindDurations> used_by(const proto::LiveSnapshot& live) const;
  size_t kinds() const { return kept_.size(); }

 private:
  struct Key {
    std::string framework = {};
    RoleName role = {};
    std::string kind = {};
    auto operator<=>(const Key&) const = default;
  };
  struct Kept {
    std::vector<Duration> ran = {};  // a ring buffer when it is full
    size_t oldest = 0;
    uint64_t added = 0;  // the time of the last addition
  };

  void add(const proto::EndedTask& ended, bool is_older);
  void add(Key key, Duration ran, bool is_older);
  void forget_half();

  std::map<Key, Kept> kept_;
  uint64_t additions_ = 0;
};

// The durations for a task of this framework, role and kind: the first of its kind's, its
// framework's and its role's that are enough; else the first that are not empty. nullptr: none is
// known.
class DurationsByKind {
 public:
  // `rows` must outlive it.
  explicit DurationsByKind(const std::vector<proto::KindDurations>& rows);
  const std::vector<Duration>* find(std::string_view framework, const RoleName& role,
                                    std::string_view kind) const;

 private:
  std::map<std::pair<std::string_view, std::string_view>, const std::vector<Duration>*> by_kind_;
  std::map<std::string_view, const std::vector<Duration>*> by_role_;
};

}  // namespace proffer::master
