#pragma once

// Checks what masters promise to operators across failovers: acknowledged writes persist, and no
// master leads or acknowledges after a later leader has done so. Its only input is the operators'
// record (operators.h).

#include <cstddef>
#include <string>
#include <vector>

namespace proffer::test {

struct RegistryJudgement {
  std::vector<std::string> violations = {};
  size_t written = 0;  // acknowledged writes
  size_t read = 0;
  size_t epochs = 0;
  std::string summary() const;  // in one line
};

// All times are of one clock; ASKED is just before a call, ANSWERED just after its answer. MASTER
// is the master that was called.
//   leads ASKED MASTER ANSWERED EPOCH            it answered that it leads in this epoch
//   asked ASKED MASTER KEY VALUE                 just before a write; if nothing follows, it may
//                            have been done or not, or may yet be done
//   written ASKED MASTER KEY VALUE ANSWERED BEFORE AFTER     it was acknowledged; BEFORE is the
//                            epoch in which the master led before the call, AFTER the epoch after
//                            the answer, or -1 if it did not lead then
//   read ASKED MASTER KEY VALUE ANSWERED
// Each key is written by one operator, one write after the other, with values that rise from 1. For
// a key that begins with "reserved-" each write adds 1, and the VALUE of a read is the sum.
RegistryJudgement judge_registry(const std::string& records);

}  // namespace proffer::test
