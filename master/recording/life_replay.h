#pragma once

// One recorded life of a master, replayed in a core of the production code. The results are
// compared with the recorded results.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "master/recording/recording.h"
#include "master/recording/step_watcher.h"

namespace proffer::master {

// The part of a recording that is replayed.
struct ReplayBounds {
  std::optional<Duration> until = {};  // since its beginning
  std::optional<uint64_t> steps = {};
  bool is_kept = false;  // needed by LifeReplay::saved()
};

class LifeReplay {
 public:
  // `watcher` is called for each step, if there is one; it must outlive this.
  explicit LifeReplay(ReplayBounds bounds = {}, StepWatcher* watcher = nullptr)
      : bounds_(bounds), watcher_(watcher) {}

  // Replays the next record. False: no more records are needed, because a bound is reached or the
  // results differ. Errors: as RecordingReader::read(), and kCorruption for missing steps.
  Result<bool> take(const std::string& record);
  // Stops at the first wrong record, or when no more records are needed.
  Result<void> take_all(const std::vector<std::string>& records);

  bool has_begun() const { return core_ != nullptr; }
  // Needs has_begun().
  const Master& core() const { return *core_; }
  const std::string& version() const { return version_; }
  LeaderEpoch leader() const { return leader_; }
  Time began() const { return began_; }
  // The time of the last step.
  Time now() const { return now_; }
  uint64_t steps() const { return steps_; }
  uint64_t hash() const { return hash_.value(); }
  uint64_t tasks_launched() const { return tasks_launched_; }
  // The number of compared sums. same_until(): the last step at which the results were equal.
  uint64_t sums() const { return sums_; }
  uint64_t same_until() const { return same_until_; }
  // The results differ somewhere between `same_until` and this step.
  std::optional<uint64_t> differs_at() const { return differs_at_; }
  bool is_compared() const { return sums_ > 0 || steps_ == 0; }
  bool is_same() const { return is_compared() && !differs_at_; }
  // A bound ended the replay before the end of the recording.
  bool is_cut() const { return is_cut_; }
  // The recorded reason; empty: none was recorded.
  const std::string& why_ended() const { return why_ended_; }
  // The master continued after the recording ended.
  bool is_ended_early() const { return !why_ended_.empty() && why_ended_ != kMasterEnded; }
  // The replayed records with their recorded sums, and at the end the sum of this version. Needs
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
