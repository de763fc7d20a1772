#pragma once

// The number of instances of an app, by a figure of its load: cpu or memory of its instances, or a
// number that each of them reports over HTTP. Pure, and in whole numbers: figures are in
// thousandths, for cpu and memory of the instance's own resources (600 is 60%).
//
// The figures come from outside (`proffer service autoscale`). Each report gives a recommendation:
// the number of instances that would bring the mean figure to the target. The app grows to the
// least recommendation of `up_after`, and shrinks to the greatest of `down_after`, so a peak that
// is shorter than the window changes nothing.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "common/result.h"
#include "common/time.h"

namespace proffer::service {

// A mean within a tenth of the target recommends the present number.
inline constexpr int64_t kScaleToleranceMilli = 100;
inline constexpr int64_t kFigureMax = int64_t{1} << 40;  // of one instance, in thousandths
inline constexpr Duration kScaleWindowMax = hours(1);
// The shortest time between two reports of an app; others are ignored.
inline constexpr Duration kFiguresEvery = milliseconds(500);
// Without a report for this time the load is unknown.
inline constexpr Duration kFiguresOld = seconds(30);

enum class LoadSource : uint8_t { kCpu, kMemory, kHttp };
inline constexpr size_t kLoadSourceCount = 3;
std::string_view to_text(LoadSource source);  // "cpu", "memory", "http"

struct ScalePolicy {
  int64_t min = 1;
  int64_t max = 1;
  LoadSource source = LoadSource::kCpu;
  int64_t target = 0;     // for the mean figure; in thousandths
  std::string port = {};  // for kHttp: a GET of `path` at this port answers with a number
  std::string path = {};
  Duration up_after = seconds(30);
  Duration down_after = minutes(5);
  bool is_dry_run = false;  // only reports what it would do
  bool operator==(const ScalePolicy&) const = default;
};
// Errors: kInvalidArgument names the value that is wrong and what is allowed.
Result<void> check_scale(const ScalePolicy& policy, int64_t instances_max);

// The figures that were reported for ready instances.
struct LoadReport {
  int64_t ready = 0;     // instances
  int64_t measured = 0;  // ready instances with a figure
  int64_t sum = 0;       // sum of the figures
};

struct ScaleVerdict {
  int64_t instances = 0;
  std::string why = {};  // for people: "goes from 2 to 4: cpu 95%, target 60%"
  bool operator==(const ScaleVerdict&) const = default;
};

// The recommendations of an app's windows.
class ScaleHistory {
 public:
  // The result of a report for an app that wants `instances`. O(recommendations of the window): a
  // window holds at most kScaleWindowMax / kFiguresEvery.
  ScaleVerdict take(const ScalePolicy& policy, int64_t instances, const LoadReport& report,
                    Time now);
  std::optional<Time> last() const {
    return all_.empty() ? std::nullopt : std::optional(all_.back().at);
  }
  size_t size() const { return all_.size(); }

 private:
  struct Recommendation {
    Time at = {};
    int64_t instances = 0;
  };
  // The least and the greatest of the last `window`; none until it is full.
  struct Range {
    int64_t least = 0;
    int64_t greatest = 0;
  };
  std::optional<Range> range_of(Duration window, Time now) const;

  std::deque<Recommendation> all_;
  Time since_ = {};  // the first report after the last gap
};

}  // namespace proffer::service
