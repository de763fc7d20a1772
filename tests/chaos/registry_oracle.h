#pragma once

// Whether masters that took over from each other kept their word to operators: what was
// acknowledged is there, and no master leads, or acknowledges, when a later one has done so. It
// reads only what operators wrote down (operators.h).

#include <cstddef>
#include <string>
#include <vector>

namespace proffer::test {

struct RegistryJudgement {
  std::vector<std::string> violations = {};
  size_t written = 0;  // and acknowledged
  size_t read = 0;
  size_t epochs = 0;
  std::string summary() const;  // in one line
};

// Times are of one clock; ASKED is just before a question, ANSWERED just after its answer. MASTER
// is whom was asked, and nobody else.
//   leads ASKED MASTER ANSWERED EPOCH            it said that it leads in this epoch
//   asked ASKED MASTER KEY VALUE                 just before a write; if nothing follows, it may
//                            have been done or not, or may yet be done
//   written ASKED MASTER KEY VALUE ANSWERED BEFORE AFTER     it was acknowledged; BEFORE is the
//                            epoch that the master led in before it was asked, AFTER that after the
//                            answer, or -1: it did not lead then
//   read ASKED MASTER KEY VALUE ANSWERED
// Each key is written by one operator, one write after the other, with values from 1 that rise.
// Of a key that begins with "reserved-" each write adds 1, and VALUE of a read is the sum.
RegistryJudgement judge_registry(const std::string& records);

}  // namespace proffer::test
