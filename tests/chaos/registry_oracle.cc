// Read judge_registry() first: epochs_rise() checks the leaders, and each read is compared with the
// writes of its key.

#include "tests/chaos/registry_oracle.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <sstream>

#include "common/text.h"

namespace proffer::test {
namespace {

// At some time between `asked` and `answered`, a master led in an epoch from `least` to `most`.
struct Sight {
  int64_t asked = 0;
  int64_t answered = 0;
  int64_t least = 0;
  int64_t most = -1;  // -1: not known
  std::string line = {};
};

struct Write {
  int64_t asked = 0;
  int64_t value = 0;
  int64_t answered = -1;  // -1: it was not acknowledged
};

struct Read {
  int64_t asked = 0;
  int64_t answered = 0;
  std::string key = {};
  int64_t value = 0;
  std::string line = {};
};

struct Records {
  std::vector<Sight> sights = {};
  std::map<int64_t, std::set<std::string>> leaders = {};  // by epoch
  std::map<std::string, std::vector<Write>> writes = {};  // by key, in the order of time
  std::vector<Read> reads = {};
  std::vector<std::string> broken = {};
};

Records parse(const std::string& text_of_records) {
  Records records;
  std::istringstream lines(text_of_records);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word, master, key;
    int64_t asked = 0;
    int64_t value = 0;
    int64_t answered = 0;
    line = std::string(trimmed(line));
    words >> word >> asked >> master;
    if (word == "leads") {
      int64_t epoch = 0;
      words >> answered >> epoch;
      records.sights.push_back({asked, answered, epoch, epoch, line});
      records.leaders[epoch].insert(master);
    } else if (word == "asked") {
      words >> key >> value;
      records.writes[key].push_back({.asked = asked, .value = value});
    } else if (word == "written") {
      int64_t before = 0;
      int64_t after = 0;
      words >> key >> value >> answered >> before >> after;
      std::vector<Write>& writes = records.writes[key];
      const auto write = std::find_if(writes.rbegin(), writes.rend(),
                                      [&](const Write& one) { return one.value == value; });
      if (write == writes.rend()) {
        records.broken.push_back("was not asked for: " + line);
      } else {
        write->answered = answered;
      }
      records.sights.push_back({asked, answered, before, after, line});
    } else if (word == "read") {
      words >> key >> value >> answered;
      records.reads.push_back({asked, answered, key, value, line});
    } else {
      records.broken.push_back("means nothing: " + line);
    }
    if (!words) records.broken.push_back("a broken record: " + line);
  }
  return records;
}

// A question after the answer with an epoch never gets an answer with an older epoch.
void epochs_rise(const Records& records, std::vector<std::string>& violations) {
  for (const auto& [epoch, masters] : records.leaders) {
    if (masters.size() > 1) violations.push_back(text("several masters led in epoch ", epoch));
  }
  std::vector<const Sight*> by_answer;
  for (const Sight& sight : records.sights) by_answer.push_back(&sight);
  std::vector<const Sight*> by_question = by_answer;
  std::sort(by_answer.begin(), by_answer.end(),
            [](const Sight* a, const Sight* b) { return a->answered < b->answered; });
  std::sort(by_question.begin(), by_question.end(),
            [](const Sight* a, const Sight* b) { return a->asked < b->asked; });
  const Sight* latest = nullptr;  // among the answers before this question
  auto next = by_answer.begin();
  for (const Sight* sight : by_question) {
    for (; next != by_answer.end() && (*next)->answered < sight->asked; ++next) {
      if (latest == nullptr || (*next)->least > latest->least) latest = *next;
    }
    if (latest == nullptr || sight->most < 0 || sight->most >= latest->least) continue;
    violations.push_back(
        text("an earlier leader goes on:\n    ", latest->line, "\n    ", sight->line));
  }
}

// A read of a role may return the last write acknowledged before it, a write requested since then,
// or one that was never answered.
bool may_be_read(const Read& read, const std::vector<Write>& writes) {
  const Write* last = nullptr;
  for (const Write& write : writes) {
    const bool is_before = write.answered >= 0 && write.answered < read.asked;
    if (is_before) last = &write;
  }
  if (last == nullptr && read.value == 0) return true;
  return std::any_of(writes.begin(), writes.end(), [&](const Write& write) {
    if (write.value != read.value || write.asked > read.answered) return false;
    return write.answered < 0 || last == nullptr || write.asked >= last->asked;
  });
}

bool may_be_counted(const Read& read, const std::vector<Write>& writes) {
  int64_t least = 0;
  int64_t most = 0;
  for (const Write& write : writes) {
    least += write.answered >= 0 && write.answered < read.asked;
    most += write.asked < read.answered;
  }
  return read.value >= least && read.value <= most;
}

}  // namespace

std::string RegistryJudgement::summary() const {
  return text(written, " writes acknowledged, ", read, " reads, ", epochs, " epochs");
}

RegistryJudgement judge_registry(const std::string& records) {
  const Records all = parse(records);
  RegistryJudgement judgement{.violations = all.broken, .read = all.reads.size()};
  epochs_rise(all, judgement.violations);
  for (const Read& read : all.reads) {
    const auto writes = all.writes.find(read.key);
    const std::vector<Write> none;
    const std::vector<Write>& of_key = writes == all.writes.end() ? none : writes->second;
    const bool is_true = read.key.starts_with("reserved-") ? may_be_counted(read, of_key)
                                                           : may_be_read(read, of_key);
    if (!is_true)
      judgement.violations.push_back("what was acknowledged is not there: " + read.line);
  }
  for (const auto& [key, writes] : all.writes) {
    for (const Write& write : writes) judgement.written += write.answered >= 0;
  }
  judgement.epochs = all.leaders.size();
  return judgement;
}

}  // namespace proffer::test
