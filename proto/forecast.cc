#include "proto/forecast.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "common/text.h"

namespace proffer::proto {
namespace {

struct Words {
  NoEta why = {};
  std::string_view name = {};
  std::string_view explained = {};
};

constexpr Words kWords[] = {
    {NoEta::kNotYet, "not_yet", "the first forecast is being made; ask again in a few seconds"},
    {NoEta::kNoDurations, "no_durations",
     "it may wait for tasks of unknown duration: no similar task has ended yet"},
    {NoEta::kBeyond, "beyond", "later than a forecast reaches"},
    {NoEta::kImpossible, "impossible", "no agent could run it"},
    {NoEta::kAway, "away", "its scheduler is not connected"},
    {NoEta::kSuppressed, "suppressed", "its scheduler has suppressed offers"},
    {NoEta::kTooLarge, "too_large", "the cluster is too large for a forecast"},
    {NoEta::kFailed, "failed", "the last forecast failed; the master's log says why"},
    {NoEta::kNotYours, "not_yours", "only its user and operators may see it"},
};

const Words& words_of(NoEta why) {
  return *std::find_if(std::begin(kWords), std::end(kWords),
                       [&](const Words& words) { return words.why == why; });
}

}  // namespace

std::string_view to_text(NoEta why) { return words_of(why).name; }
std::string_view explained(NoEta why) { return words_of(why).explained; }

std::optional<NoEta> parse_no_eta(std::string_view text) {
  for (const Words& words : kWords) {
    if (words.name == text) return words.why;
  }
  return std::nullopt;
}

std::string kind_of(const AskName& ask, std::string_view task, const ResourceVector& shape) {
  std::string kind(ask.empty() ? task : std::string_view(ask.str()));
  std::erase_if(kind, [](char c) { return c >= '0' && c <= '9'; });
  return text(kind, "|", proffer::to_text(shape));
}

}  // namespace proffer::proto
