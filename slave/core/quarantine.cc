#include "slave/core/quarantine.h"

#include <algorithm>

#include "common/printable.h"
#include "common/text.h"

namespace proffer::agent {
namespace {

// If there are this many owners, no single one can have caused all failures.
constexpr size_t kOwnersThatMatter = 2;
}  // namespace

void Quarantine::on_hello() { *this = Quarantine(); }

bool Quarantine::on_failure(const StartFailure& failure, Time now) {
  // Executors that were starting when the quarantine began do not prolong it.
  if (ends_at_) return false;
  ++failures_;
  machines_ += failure.is_machines ? 1 : 0;
  if (owners_.size() < kOwnersThatMatter) owners_.insert(failure.owner);
  last_ = printable(failure.why);  // Short: it is a part of an AgentTrouble.

  const bool is_machines = machines_ >= (is_trying() ? 1 : kFailuresInARow);
  const bool is_everybodys = failures_ >= kFailuresInARow && owners_.size() >= kOwnersThatMatter;
  if (!is_machines && !is_everybodys) return false;
  wait_ = std::clamp(wait_ * 2, kQuarantineMin, kQuarantineMax);
  ends_at_ = now + wait_;
  return true;
}

bool Quarantine::on_tick(Time now) {
  if (!ends_at_ || now < *ends_at_) return false;
  ends_at_.reset();
  failures_ = 0;
  machines_ = 0;
  owners_.clear();
  return true;
}

std::string Quarantine::why() const {
  if (!ends_at_) return {};
  return text("executors cannot be started here: ", last_, "; the next attempt is ", to_text(wait_),
              " after the last failure");
}

}  // namespace proffer::agent
