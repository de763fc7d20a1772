#include "cli/conformance_report.h"

#include <array>

#include "common/text.h"
#include "proto/json/json.h"

namespace proffer::cli {
namespace {

constexpr std::array kVerdicts = {Verdict::kPassed, Verdict::kFailed, Verdict::kNotTested};

std::string padded(std::string_view word, size_t width) {
  std::string cell(word);
  cell.resize(std::max(cell.size() + 1, width), ' ');
  return cell;
}

}  // namespace

std::string_view to_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPassed:
      return "passed";
    case Verdict::kFailed:
      return "FAILED";
    case Verdict::kNotTested:
      break;
  }
  return "not tested";
}

std::string outcome_json(std::string_view item, std::string_view what, const Outcome& outcome) {
  return proto::json_line({{"item", std::string(item)},
                           {"result", std::string(to_text(outcome.verdict))},
                           {"what", std::string(what)},
                           {"seen", outcome.seen},
                           {"output", outcome.output},
                           {"took_s", proto::MilliNumber{outcome.took.nanos() / 1'000'000}}});
}

Result<Outcome> parse_outcome(std::string_view line) {
  const auto members = proto::parse_json_line(line);
  if (!members) return members.error();
  Outcome outcome;
  bool has_verdict = false;
  for (const auto& [name, value] : *members) {
    const auto* word = std::get_if<std::string>(&value);
    if (name == "result" && word != nullptr) {
      for (const Verdict verdict : kVerdicts) {
        if (to_text(verdict) != *word) continue;
        outcome.verdict = verdict;
        has_verdict = true;
      }
    } else if (name == "seen" && word != nullptr) {
      outcome.seen = *word;
    } else if (const auto* lines = std::get_if<std::vector<std::string>>(&value);
               name == "output" && lines != nullptr) {
      outcome.output = *lines;
    } else if (const auto* number = std::get_if<proto::MilliNumber>(&value);
               name == "took_s" && number != nullptr) {
      outcome.took = milliseconds(number->milli);
    } else if (const auto* whole = std::get_if<int64_t>(&value);
               name == "took_s" && whole != nullptr) {
      outcome.took = seconds(*whole);
    }
  }
  if (!has_verdict) return Error::invalid_argument("the result is missing");
  return outcome;
}

std::vector<std::string> outcome_lines(std::string_view item, std::string_view what,
                                       const Outcome& outcome) {
  std::vector<std::string> lines = {
      text(padded(item, 18), padded(to_text(outcome.verdict), 11), outcome.seen)};
  if (outcome.verdict != Verdict::kFailed) return lines;
  lines.push_back(text("      (", what, "; last output:)"));
  for (const std::string& line : outcome.output) lines.push_back(text("      | ", line));
  return lines;
}

void Tally::count(Verdict verdict) {
  (verdict == Verdict::kPassed ? passed : verdict == Verdict::kFailed ? failed : not_tested)++;
}

std::string Tally::to_text() const {
  return text(passed, " passed, ", failed, " failed, ", not_tested, " not tested");
}

}  // namespace proffer::cli
