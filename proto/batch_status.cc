#include "proto/batch_status.h"

namespace proffer::proto {
namespace {

constexpr std::array<std::string_view, kBatchPhaseCount> kPhases = {
    "queued", "map",       "reduce",  "committing", "removing", "finished",
    "failed", "cancelled", "skipped", "waiting",    "planning"};

}  // namespace

std::string_view to_text(BatchPhase phase) { return kPhases[static_cast<size_t>(phase)]; }

std::optional<BatchPhase> parse_batch_phase(std::string_view text) {
  for (size_t i = 0; i < kPhases.size(); ++i) {
    if (kPhases[i] == text) return static_cast<BatchPhase>(i);
  }
  return std::nullopt;
}

}  // namespace proffer::proto
