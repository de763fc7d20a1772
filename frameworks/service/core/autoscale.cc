// Computes a number of instances from figures: ScaleHistory::take.

#include "frameworks/service/core/autoscale.h"

#include <algorithm>

#include "common/text.h"

namespace proffer::service {
namespace {

// "95%" of an instance's resources, or "12.5".
std::string figure_text(LoadSource source, int64_t milli) {
  return source == LoadSource::kHttp ? print_milli(milli) : text(print_milli(milli * 100), '%');
}

int64_t ceil_divide(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

// The number that would bring the mean to the target, within the bounds.
int64_t recommend(const ScalePolicy& policy, int64_t instances, const LoadReport& report,
                  int64_t mean) {
  const int64_t tolerated = policy.target * kScaleToleranceMilli / 1'000;
  const bool is_near = mean >= policy.target - tolerated && mean <= policy.target + tolerated;
  const int64_t wanted = is_near ? instances : ceil_divide(mean * report.ready, policy.target);
  return std::clamp(wanted, policy.min, policy.max);
}

}  // namespace

std::string_view to_text(LoadSource source) {
  switch (source) {
    case LoadSource::kCpu:
      return "cpu";
    case LoadSource::kMemory:
      return "memory";
    case LoadSource::kHttp:
      return "http";
  }
  return "http";
}

Result<void> check_scale(const ScalePolicy& policy, int64_t instances_max) {
  if (policy.min < 1 || policy.min > policy.max || policy.max > instances_max) {
    return Error::invalid_argument(text("scale: min and max must be from 1 to ", instances_max,
                                        ", and min at most max, not ", policy.min, " and ",
                                        policy.max));
  }
  if (policy.target < 1 || policy.target > kFigureMax) {
    return Error::invalid_argument(text("scale: the target must be from 0.001 to ",
                                        print_milli(kFigureMax), ", not ",
                                        print_milli(policy.target)));
  }
  for (const auto& [key, value] :
       {std::pair("up_after", policy.up_after), {"down_after", policy.down_after}}) {
    if (value < Duration() || value > kScaleWindowMax) {
      return Error::invalid_argument(text("scale: ", key, " must be from 0 to ",
                                          to_text(kScaleWindowMax), ", not ", to_text(value)));
    }
  }
  return {};
}

std::optional<ScaleHistory::Range> ScaleHistory::range_of(Duration window, Time now) const {
  if (now - since_ < window) return std::nullopt;
  Range range{.least = all_.back().instances, .greatest = all_.back().instances};
  for (auto one = all_.rbegin(); one != all_.rend() && now - one->at <= window; ++one) {
    range.least = std::min(range.least, one->instances);
    range.greatest = std::max(range.greatest, one->instances);
  }
  return range;
}

ScaleVerdict ScaleHistory::take(const ScalePolicy& policy, int64_t instances,
                                const LoadReport& report, Time now) {
  ScaleVerdict verdict{.instances = instances};
  const std::string_view source = to_text(policy.source);
  if (instances < policy.min || instances > policy.max) {
    verdict.instances = std::clamp(instances, policy.min, policy.max);
    verdict.why = text("goes from ", instances, " to ", verdict.instances, ", to be within ",
                       policy.min, " to ", policy.max);
    return verdict;
  }
  if (report.measured == 0) {
    verdict.why = text("stays at ", instances, ": no measured ", source, " from its ", report.ready,
                       " ready instances");
    return verdict;
  }
  const int64_t mean = ceil_divide(report.sum, report.measured);
  const int64_t recommended = recommend(policy, instances, report, mean);
  if (all_.empty() || now - all_.back().at > kFiguresOld) {
    all_.clear();
    since_ = now;
  }
  all_.push_back({.at = now, .instances = recommended});
  const Duration longest = std::max(policy.up_after, policy.down_after);
  while (now - all_.front().at > longest) all_.pop_front();
  const std::string load = text(source, ' ', figure_text(policy.source, mean), ", target ",
                                figure_text(policy.source, policy.target));
  const std::string_view would = policy.is_dry_run ? "would go from " : "goes from ";
  const auto goes = [&](int64_t to) {
    verdict.instances = to;
    verdict.why = text(would, instances, " to ", to, ": ", load);
    return verdict;
  };
  const std::optional<Range> up = range_of(policy.up_after, now);
  const std::optional<Range> down = range_of(policy.down_after, now);
  if (up && up->least > instances) return goes(up->least);
  if (down && down->greatest < instances) return goes(down->greatest);
  verdict.why = text("stays at ", instances, ": ", load);
  if (recommended != instances) {
    const bool is_up = recommended > instances;
    verdict.why += text("; ", recommended, " instances would suffice, if that holds for ",
                        to_text(is_up ? policy.up_after : policy.down_after));
  } else if (instances == policy.max && mean > policy.target) {
    verdict.why += ", the maximum";
  } else if (instances == policy.min && mean < policy.target) {
    verdict.why += ", the minimum";
  }
  return verdict;
}

}  // namespace proffer::service
