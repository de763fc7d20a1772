#pragma once

// Scenarios for tests, with only the values that matter:
//
//   Story s;
//   s.agent("a1", "cpus:9;mem:18GiB").role("eng", "cpus:4");
//   s.framework("A", "eng").tasks("t", "cpus:1;mem:4GiB", 10, seconds(5));
//   replay::Replay run = s.play();

#include <optional>
#include <string>
#include <utility>

#include "common/check.h"
#include "tests/support/replay/replay.h"

namespace proffer::replay {

class Story {
 public:
  Story& agent(const std::string& name, const std::string& resources,
               const std::string& attributes = "") {
    scenario_.agents.push_back({.name = name,
                                .resources = parse_agent_resources(resources).value(),
                                .attributes = parse_attributes(attributes).value()});
    return *this;
  }
  Story& role(const std::string& name, const std::string& guarantee, const std::string& limit = "",
              int64_t weight = kWeightOne) {
    scenario_.roles[RoleName(name)] = {.weight = weight,
                                       .guarantee = parse_quota(guarantee).value(),
                                       .limit = parse_quota(limit).value()};
    return *this;
  }
  Story& framework(const std::string& name, const std::string& role,
                   sim::Takes takes = sim::Takes::kAsks, Duration joins = {}) {
    scenario_.frameworks.push_back(
        {.name = name, .role = RoleName(role), .takes = takes, .joins = joins});
    return *this;
  }
  // Tasks of the last framework. Without a duration they run for ever.
  Story& tasks(const std::string& name, const std::string& shape, int64_t count,
               std::optional<Duration> duration = {}, Duration arrives = {}) {
    scenario_.frameworks.back().tasks.push_back({.name = name,
                                                 .count = count,
                                                 .resources = parse_shape(shape).value(),
                                                 .duration = duration,
                                                 .arrives = arrives});
    return *this;
  }
  // The ask of the last tasks.
  Ask& ask() { return scenario_.frameworks.back().tasks.back().ask; }
  Story& every(Duration interval) {
    scenario_.frameworks.back().tasks.back().every = interval;
    return *this;
  }
  sim::Scenario& scenario() { return scenario_; }

  Replay play(ReplayOptions options = {}) const { return Replay(scenario_, std::move(options)); }

 private:
  sim::Scenario scenario_;
};

}  // namespace proffer::replay
