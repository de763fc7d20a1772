#pragma once

// One life of a master, told again to a core of the production code: what comes of it is compared
// with what came of it then.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "master/recording/recording.h"
#include "master/recording/step_watcher.h"

namespace proffer::master {

// How much of a life is told.
struct ReplayBounds {
  std::optional<Duration> until = {};  // from its beginning
  std::optional<uint64_t> steps = {};
  bool is_kept = false;  // for LifeReplay::saved()
};

class LifeReplay {
 public:
  // `watcher`: is told each step, if there is one; outlives this.
  explicit LifeReplay(ReplayBounds bounds = {}, StepWatcher* watcher = nullptr)
      : bounds_(bounds), watcher_(watcher) {}

  // The next record. False: nothing further is wanted, because of the bounds or because it differs.
  // Errors: as RecordingReader::read(), and kCorruption for steps that are missing.
  Result<bool> take(const std::string& record);
  // Until a record is wrong, or nothing further is wanted.
  Result<void> take_all(const std::vector<std::string>& records);

  bool has_begun() const { return core_ != nullptr; }
  // Needs has_begun().
  const Master& core() const { return *core_; }
  const std::string& version() const { return version_; }
  LeaderEpoch leader() const { return leader_; }
  Time began() const { return began_; }
  // Of the last step.
  Time now() const { return now_; }
  uint64_t steps() const { return steps_; }
  uint64_t hash() const { return hash_.value(); }
  uint64_t tasks_launched() const { return tasks_launched_; }
  // That were compared; and the last step at which all was the same.
  uint64_t sums() const { return sums_; }
  uint64_t same_until() const { return same_until_; }
  // Between `same_until` and this step something else came of it.
  std::optional<uint64_t> differs_at() const { return differs_at_; }
  bool is_compared() const { return sums_ > 0 || steps_ == 0; }
  bool is_same() const { return is_compared() && !differs_at_; }
  // The bounds ended it: more was recorded.
  bool is_cut() const { return is_cut_; }
  // As it was recorded; empty: nothing was.
  const std::string& why_ended() const { return why_ended_; }
  // The master went on, and was recorded no more.
  bool is_ended_early() const { return !why_ended_.empty() && why_ended_ != kMasterEnded; }
  // What was told, with the sums that were recorded, and at its end the one of this version. Needs
  // ReplayBounds::is_kept.
  std::vector<std::string> saved() const;

 private:
  bool is_enough(Time now) const;
  Result<bool> compare(const RecordedSum& sum);
  void step(RecordedEvent& recorded);

  const ReplayBounds bounds_;
  StepWatcher* const watcher_;
  RecordingReader reader_;
  std::unique_ptr<Master> core_;
  MasterOutbox out_;
  TraceHash hash_;
  std::string version_ = {};
  LeaderEpoch leader_ = {};
  Time began_ = {};
  Time now_ = {};
  uint64_t steps_ = 0;
  uint64_t tasks_launched_ = 0;
  uint64_t sums_ = 0;
  uint64_t same_until_ = 0;
  std::optional<uint64_t> differs_at_ = {};
  bool is_cut_ = false;
  std::string why_ended_ = {};
  std::vector<std::string> kept_ = {};
};

}  // namespace proffer::master
