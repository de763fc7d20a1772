#pragma once

// A description of a cluster and its work: the input of `proffer simulate`.
// docs/concepts/simulate.md explains each key. scenario_reader.h parses one, scenario_writer.h
// prints one.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/offers.h"
#include "common/prng.h"
#include "common/resources.h"
#include "common/roles.h"
#include "common/time.h"
#include "master/core/master.h"
#include "slave/core/reserved.h"

namespace proffer::sim {

// Bounds of all agents together, and so on. Larger scenarios are refused when they are read.
inline constexpr int64_t kScenarioAgentsMax = 10'000;
inline constexpr int64_t kScenarioFrameworksMax = 5'000;
inline constexpr int64_t kScenarioTasksMax = 10'000'000;
// Bounds of one framework: entries that want tasks which do not run at 0s, and all entries. A gang
// may need two asks over time; asks beyond the framework's bound then wait for the others.
inline constexpr size_t kScenarioTaskGroupsMax = kAsksMax;
inline constexpr size_t kScenarioEntriesMax = 20'000;
inline constexpr size_t kScenarioReportsMax = 1'000;
inline constexpr size_t kScenarioBytesMax = size_t{16} << 20;
// In virtual time.
inline constexpr Duration kScenarioUntilMax = hours(24 * 366);
inline constexpr Duration kScenarioUntilDefault = hours(24);
inline constexpr Duration kScenarioDelayMax = seconds(10);
inline constexpr uint32_t kScenarioLossMax = 500'000;  // per million frames
// Of a duration, per million, so that the shortest is still above zero.
inline constexpr uint32_t kScenarioSpreadMax = 999'000;

struct ScenarioNetwork {
  Duration delay = milliseconds(1);
  uint32_t loss = 0;  // per million frames, as below
  uint32_t duplicate = 0;

  bool operator==(const ScenarioNetwork&) const = default;
};

struct ScenarioAgent {
  std::string name = {};
  int64_t count = 1;
  Resources resources = {};
  Attributes attributes = {};
  agent::ReservedByRole reserved = {};  // parts of `resources`
  Duration joins = {};
  std::optional<Duration> drains = {};
  Duration drain_grace = seconds(10);
  std::optional<Duration> undrains = {};
  std::optional<Duration> leaves = {};
  std::optional<Duration> returns = {};

  // NAME, or NAME-0, NAME-1, … if there are several.
  AgentId name_of(int64_t number) const;
  bool operator==(const ScenarioAgent&) const = default;
};

// How a framework answers offers.
enum class Takes : uint8_t { kAsks, kOpen, kHoard, kDecline };
std::string_view to_text(Takes takes);
std::optional<Takes> parse_takes(std::string_view text);

// Tasks that run when the scenario begins.
struct ScenarioRunning {
  AgentId agent = {};
  int64_t count = 1;
  Duration since = {};  // how long they have already run

  bool operator==(const ScenarioRunning&) const = default;
};

// Tasks of an entry that arrive together and have the same duration.
struct ScenarioWave {
  int64_t count = 1;
  Duration arrives = {};
  std::optional<Duration> duration = {};  // none: forever
  int64_t first = 0;                      // the number of its first task

  bool operator==(const ScenarioWave&) const = default;
};

// The tasks NAME-0, NAME-1, … of a framework.
struct ScenarioTasks {
  std::string name = {};
  int64_t count = 1;
  ResourceVector resources = {};
  std::optional<Duration> duration = {};  // the mean; none: forever
  uint32_t duration_spread = 0;           // per million of the mean
  bool declared_duration = false;         // the ask declares the mean, or "forever"
  Duration arrives = {};
  std::optional<Duration> every = {};  // instead: one arrives in each interval, from 0s on
  // Constraints, priority and the other fields of an ask; its name, shape, count and duration are
  // the group's.
  Ask ask = {};
  std::vector<ScenarioRunning> running = {};  // the first ones of `count`

  // Sorted by arrival; they replace `count`, `duration` and `arrives` if there are any. See
  // set_waves().
  std::vector<ScenarioWave> waves = {};

  Duration arrival(int64_t number) const {
    if (!waves.empty()) return wave_of(number).arrives;
    return every ? *every * number : arrives;
  }
  // Sorts the waves by arrival, joins equal ones, numbers their tasks and sets `count`.
  void set_waves(std::vector<ScenarioWave> all);
  // Requires waves. O(log waves).
  const ScenarioWave& wave_of(int64_t number) const;
  // The declared ask: `ask` with the group's values, without the count.
  Ask declared() const {
    Ask declared = ask;
    declared.name = AskName(name);
    declared.shape = resources;
    if (declared_duration && waves.empty()) declared.duration = duration.value_or(kDurationMax);
    return declared;
  }
  // Half the width of the interval from which durations are drawn. Requires a duration.
  Duration duration_width() const {
    // In two steps, because a year in nanoseconds times a million exceeds 64 bits.
    const int64_t mean = duration->nanos();
    return nanoseconds(mean / 1'000'000 * duration_spread +
                       mean % 1'000'000 * duration_spread / 1'000'000);
  }
  // How long task `number` runs after its `launch`-th launch, from 1; none: forever. Uniform over
  // mean × (1 ± spread). It depends only on these, not on the order in which tasks start, so that
  // two allocators get the same work.
  std::optional<Duration> duration_of(uint64_t seed, std::string_view framework, int64_t number,
                                      int64_t launch) const {
    if (!waves.empty()) return wave_of(number).duration;
    if (!duration || duration_spread == 0) return duration;
    uint64_t key = seed;
    const auto mix = [&key](uint64_t value) { key = Prng(key ^ value).next(); };
    for (const char c : framework) mix(static_cast<unsigned char>(c));
    mix(256);  // so that no part of one name counts as part of the other
    for (const char c : name) mix(static_cast<unsigned char>(c));
    mix(256);
    mix(static_cast<uint64_t>(number));
    mix(static_cast<uint64_t>(launch));
    const int64_t width = duration_width().nanos();
    return *duration + nanoseconds(Prng(key).between(-width, width));
  }
  int64_t running_count() const;
  // The role in which they count: the framework's, or the one below it that the ask names.
  const RoleName& role_in(const RoleName& of_framework) const {
    return ask.role.empty() ? of_framework : ask.role;
  }
  bool operator==(const ScenarioTasks&) const = default;
};

struct ScenarioFramework {
  std::string name = {};
  RoleName role = RoleName("default");
  Takes takes = Takes::kAsks;
  Duration answers_after = {};  // how long it leaves each offer unanswered
  Duration joins = {};
  std::optional<Duration> leaves = {};
  std::vector<ScenarioTasks> tasks = {};

  bool operator==(const ScenarioFramework&) const = default;
};

struct Scenario {
  uint64_t seed = 1;
  std::optional<Duration> until = {};    // none: when nothing is pending or running, at most a day
  std::vector<Duration> report_at = {};  // rising
  std::map<std::string, std::string> options = {};  // of the master, by the names of its flags
  ScenarioNetwork network = {};
  std::vector<ScenarioAgent> agents = {};
  std::map<RoleName, RoleSettings> roles = {};
  std::vector<ScenarioFramework> frameworks = {};

  bool operator==(const Scenario&) const = default;
};

// The latest end of a scenario without `until`: a day; with waves, a day after the last of them
// would have ended without waiting.
Duration default_until(const Scenario& scenario);

// Takes `shape` out of the part of `free` that a framework of this role may use; or returns none
// and leaves `free` unchanged, if it does not fit.
std::optional<std::vector<Slice>> take_for(const RoleName& role, const ResourceVector& shape,
                                           std::vector<Slice>& free);

// Checks rules across values: names that are used twice, running tasks on agents that do not exist
// or are too small, totals beyond the bounds. Errors: kInvalidArgument.
Result<void> check_scenario(const Scenario& scenario);

// Sets an option by the name of the master's flag. Errors: kInvalidArgument for an unknown name,
// with the nearest, and for a wrong value.
Result<void> set_option(std::string_view name, std::string_view value,
                        master::MasterOptions& options);
std::vector<std::string_view> option_names();

}  // namespace proffer::sim
