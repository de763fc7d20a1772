#pragma once

// How long ended tasks ran, by kind: what a forecast supposes of those that run and wait now. A
// bounded table of the last durations, made of the history and of what ends (ADR 0135).

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "proto/forecast.h"
#include "proto/history.h"

namespace proffer::master {

// Of each kind the last so many.
inline constexpr size_t kDurationsKept = 64;
// Kinds, frameworks and roles together. When there are more, the half that was added to longest ago
// is forgotten.
inline constexpr size_t kDurationKindsMax = 8'192;
// Of one kind that suffice; of fewer, those of the framework count instead, or of the role.
inline constexpr size_t kDurationsEnough = 3;

class RememberedDurations {
 public:
  // A task that ended by itself; others say nothing about how long their kind runs. O(log kinds).
  void remember(const proto::EndedTask& ended) { add(ended, false); }
  // One that ended before all that are remembered: the history is read backwards.
  void remember_older(const proto::EndedTask& ended) { add(ended, true); }

  // All that a forecast of this cluster can use.
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
    std::vector<Duration> ran = {};  // a ring, once it is full
    size_t oldest = 0;
    uint64_t added = 0;  // when one was added last
  };

  void add(const proto::EndedTask& ended, bool is_older);
  void add(Key key, Duration ran, bool is_older);
  void forget_half();

  std::map<Key, Kept> kept_;
  uint64_t additions_ = 0;
};

// Of a task of this framework, role and kind: its kind's, or its framework's, or its role's, the
// first that are enough; else the first that are any. nullptr: none is known.
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
