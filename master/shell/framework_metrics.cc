#include "master/shell/framework_metrics.h"

#include <string>
#include <string_view>

namespace proffer::master {
namespace {

MetricsText::Labels label(const FrameworkSeriesRow& row) { return {{"framework", row.framework}}; }

}  // namespace

void write_frameworks(const std::vector<FrameworkSeriesRow>& rows, MetricsText& text) {
  const auto counters = [&](std::string_view name, std::string_view help,
                            uint64_t FrameworkFigures::*figure) {
    text.family(MetricType::kCounter, name, help);
    for (const FrameworkSeriesRow& row : rows) {
      text.sample(static_cast<int64_t>(row.figures.*figure), label(row));
    }
  };
  counters("proffer_framework_offers_total", "Offers made.", &FrameworkFigures::offers);
  counters("proffer_framework_accepted_total", "Offers accepted.", &FrameworkFigures::accepted);
  counters("proffer_framework_declined_total", "Offers declined.", &FrameworkFigures::declined);
  counters("proffer_framework_rescinded_total", "Offers rescinded, including expired ones.",
           &FrameworkFigures::rescinded);
  counters("proffer_framework_expired_total", "Offers whose lease ended without an answer.",
           &FrameworkFigures::expired);
  counters("proffer_framework_unanswered_total",
           "Offers rescinded while they were unanswered and others below their share waited.",
           &FrameworkFigures::unanswered);
  counters("proffer_framework_launches_total", "Tasks in accepts, including refused ones.",
           &FrameworkFigures::launches);
  text.family(MetricType::kCounter, "proffer_framework_refused_total",
              "Launches that the master or an agent refused.");
  for (const FrameworkSeriesRow& row : rows) {
    for (const auto& [reason, count] : row.figures.refused) {
      text.sample(static_cast<int64_t>(count),
                  {{"framework", row.framework}, {"reason", std::string(to_text(reason))}});
    }
  }
  text.family(MetricType::kSummary, "proffer_framework_wait_seconds",
              "Time from an unmet ask, or from the answer to an open offer, until the next offer.");
  for (const FrameworkSeriesRow& row : rows) text.sample(row.figures.waits, label(row));
  const auto ages = [&](std::string_view name, std::string_view help,
                        Duration FrameworkSeriesRow::*age) {
    text.family(MetricType::kGauge, name, help);
    for (const FrameworkSeriesRow& row : rows) text.sample_seconds(row.*age, label(row));
  };
  ages("proffer_framework_longest_wait_seconds", "Age of the oldest wait that has not ended.",
       &FrameworkSeriesRow::longest_wait);
  ages("proffer_framework_oldest_offer_seconds", "Age of the oldest offer without an answer.",
       &FrameworkSeriesRow::oldest_offer);
  text.family(MetricType::kGauge, "proffer_framework_backing_off",
              "Asks, or the whole framework, that are in back-off after their own failures.");
  for (const FrameworkSeriesRow& row : rows) text.sample(row.backing_off, label(row));
}

}  // namespace proffer::master
