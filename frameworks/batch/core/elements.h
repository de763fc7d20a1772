#pragma once

// The elements of an array, and the ranges of elements that run as tasks. An element is pending, in
// a running range, done, or failed. If it waits for an element of another array, it is held until
// that is done, and skipped if that never will be. A range is a task: a piece of the pending
// elements whose size is chosen so that it takes about kRangeTarget (guided self-scheduling:
// Polychronopoulos and Kuck, 1987). Its executor ends it after that time; elements that it has not
// begun are pending again.
//
// A range that is cut off (its agent was lost, its executor killed) may have ended elements whose
// ends the scheduler does not know. Executors that run the rest look for these in the output
// directory.
//
// The elements of a gang are its ranks; each is its own range. They are launched all at the same
// time. If one fails, the others are killed, and all of them begin again.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/result.h"
#include "common/time.h"
#include "frameworks/batch/core/records.h"
#include "frameworks/batch/core/waiting.h"
#include "frameworks/batch/core/work.h"
#include "proto/batch_status.h"
#include "proto/messages.h"

namespace proffer::batch {

// The time that a range should take, so that other jobs get its slot in turn. After it, its
// executor begins no further element.
inline constexpr Duration kRangeTarget = milliseconds(1'500);
inline constexpr Duration kRangeTime = seconds(2);
// The time that a range needs besides its elements: to read its arguments, and to end an element at
// its time limit.
inline constexpr Duration kRangeMargin = seconds(30);
// A shorter range would cost more than it saves at the end of the array.
inline constexpr Duration kRangeLeast = milliseconds(200);
// Elements in a range while their run time is unknown.
inline constexpr uint32_t kRangeElementsFirst = 32;
// The job fails after this many times the attempts of an element in consecutive failed tasks.
inline constexpr int32_t kFailedTasksPerAttempt = 4;

// Disjoint ranges of positions.
class Positions {
 public:
  void add(uint32_t first, uint32_t end);
  void remove(uint32_t first, uint32_t end);
  bool contains(uint32_t first, uint32_t end) const;  // true if all of them are contained
  bool empty() const { return pieces_.empty(); }
  int64_t size() const { return size_; }
  // The first range. Requires one.
  std::pair<uint32_t, uint32_t> front() const { return *pieces_.begin(); }
  const std::map<uint32_t, uint32_t>& pieces() const { return pieces_; }  // end by first

 private:
  std::map<uint32_t, uint32_t> pieces_;
  int64_t size_ = 0;
};

class Elements {
 public:
  // Tasks of earlier lives of the scheduler have attempt numbers up to `attempts_before`. An
  // element whose task has failed `attempts` times has failed. `retries`: retries of the job so
  // far.
  Elements(const JobId& job, const ArrayOrder& order, int32_t attempts, uint32_t attempts_before,
           uint32_t retries = 0);

  // A record that an earlier life of the scheduler stored; call it first. In a record from before
  // the last retry only done elements count; the others run again.
  void restore(uint32_t block, const ElementsRecord& record);

  // --- elements that wait for those of another array ---------------------------------------------
  // Sets the fate that this element waits for. An element that runs or has ended is not changed.
  void follow(uint32_t position, Fate fate);
  // The fate of elements that wait for this one, while the job continues.
  Fate fate_of(uint32_t position) const;
  // Elements that have ended since the last call.
  std::vector<uint32_t> take_ended() { return std::exchange(ended_, {}); }
  // The last problem that finished ranges reported since the last call.
  std::string take_trouble() { return std::exchange(range_trouble_, {}); }
  // No element runs or is pending, and some are held: the other array must go on first.
  bool is_held() const { return pending_.empty() && ranges_.empty() && !held_.empty(); }

  // --- running ranges ----------------------------------------------------------------------------
  // A range that could be launched now; none if there is none. It stays the same until a state
  // changes.
  struct Draft {
    TaskName name = {};
    RangeWork work = {};  // without the parts that the job adds
  };
  std::optional<Draft> draft() const;
  void launch(const Draft& draft, const AgentId& agent);
  // The next rank of a gang that is being launched.
  Draft draft_rank() const;
  // The number of ranges that want an agent.
  int64_t wanted() const;

  // A range of this job ended, or its agent is unreachable, or it still runs. `is_late`: the job is
  // ending. Adds tasks to be killed to `kill`.
  void on_status(const TaskName& name, const proto::TaskStatus& status, bool is_late,
                 std::vector<TaskId>& kill);
  // All tasks of earlier lives are known. If only some ranks of a gang run, the gang begins again.
  void on_tasks_known(std::vector<TaskId>& kill);
  // The job ends. Returns all running tasks.
  std::vector<TaskId> kill_all();
  // No range writes into the output any more, except on unreachable agents.
  bool is_quiet() const;

  // --- results -----------------------------------------------------------------------------------
  bool all_ended() const { return done_ + failed_ + skipped_ == size_; }
  bool all_skipped() const { return skipped_ == size_; }
  // None is done, and none will be.
  bool have_all_failed() const { return failed_ + skipped_ == size_; }
  uint32_t size() const { return size_; }
  int64_t done() const { return done_; }
  int64_t failed() const { return failed_; }
  // The reason to end the job early, if any.
  std::optional<Error> trouble() const;
  // All elements have ended: the reason why the job has failed, if it has.
  std::optional<Error> verdict() const;
  proto::BatchElements status() const;

  std::set<uint32_t> take_changed() { return std::exchange(changed_, {}); }
  // The record to store for a block; none if the block is in its initial state.
  std::optional<ElementsRecord> block(uint32_t block) const;

  void check(std::vector<Violation>& out) const;

 private:
  struct Range {
    uint32_t first = 0;
    uint32_t end = 0;
    AgentId agent = {};
    std::optional<uint32_t> lane = {};  // none if an earlier life launched it
    bool given_up = false;              // its elements are pending, or have ended
    bool kill_asked = false;
    bool is_unreachable = false;
  };
  using Ranges = std::map<TaskId, Range>;

  // For each element, by its place in [first, end): used_, plus all attempt numbers of earlier
  // retries.
  std::map<uint32_t, int32_t> used_attempts(uint32_t first, uint32_t end) const;
  bool has_ended(uint32_t position) const { return is_done_[position] || is_failed_[position]; }
  // The element is no longer pending, held or skipped.
  void take_out(uint32_t position);
  // True if a launched range may consist of these, and no other range has them.
  bool are_free(uint32_t first, uint32_t end) const;
  void take_out(uint32_t first, uint32_t end);
  // Elements of [first, end) that have not ended become pending.
  void want(uint32_t first, uint32_t end);
  uint32_t range_size() const;
  void give_up(Range& range);
  Ranges::iterator adopt(const TaskName& name, const proto::TaskStatus& status, bool is_late);
  void on_finished(const Range& range, const proto::TaskStatus& status);
  void on_failed(const Range& range, const proto::TaskStatus& status);
  // The attempt used_ is over. True if the element runs again because of its exit code.
  bool runs_again_after(uint32_t position, int32_t code);
  // `lost`: the reason why its end could not be stored.
  void on_element_failed(uint32_t position, const ElementFailure& failure,
                         std::string_view stderr_tail, std::string_view lost);
  void on_rank_ended(const TaskName& name, const Range& range, const proto::TaskStatus& status,
                     std::vector<TaskId>& kill);
  // The attempt of the gang to which this rank belongs, over all lives. Each attempt starts all
  // ranks.
  uint32_t gang_attempt(const TaskName& name) const { return name.attempt + name.number / size_; }
  // All ranks begin again. Ranks of this or earlier attempts that are reported later are ended.
  void break_gang(uint32_t attempt, std::vector<TaskId>& kill);
  // The same, because a rank of attempt `attempt` of the gang failed. An attempt fails once: an
  // earlier life may have counted it before its acknowledgement was lost.
  void fail_gang(uint32_t attempt, int32_t code, std::string_view how, std::vector<TaskId>& kill);
  std::string exit_text(int32_t code) const;
  void fail_for_good(uint32_t position, std::string_view how);
  std::string skipped_text() const;
  void note_end(uint32_t position) {
    note_change(position);
    ended_.push_back(position);
  }
  void note_change(uint32_t position) { changed_.insert(position / kBlockElements); }

  const JobId job_;
  const ArrayOrder& order_;
  const int32_t attempts_;
  const uint32_t attempts_before_;
  const uint32_t retries_;
  // Attempts of an element are numbered over all retries of the job. Numbers up to this one belong
  // to earlier retries.
  const int32_t element_attempts_before_;
  const uint32_t size_;

  std::vector<bool> is_done_;
  std::vector<bool> is_failed_;
  // Attempts that failed or were requeued since the last retry, of elements that have not ended.
  std::map<uint32_t, int32_t> used_;
  std::map<uint32_t, int32_t> requeues_;  // of these, the requeued ones
  std::vector<int64_t> failed_attempts_;  // by block
  int64_t done_ = 0;
  int64_t failed_ = 0;
  int64_t skipped_ = 0;
  Positions pending_;
  Positions held_;
  std::vector<bool> is_skipped_;
  std::vector<uint32_t> ended_;  // not yet reported
  Ranges ranges_;
  std::set<uint32_t> lanes_;  // of ranges_
  std::set<uint32_t> changed_;

  uint32_t launches_ = 0;
  uint32_t gang_launches_ = 0;
  uint32_t last_failed_ = 0;     // the last attempt of the gang that failed
  uint32_t last_broken_ = 0;     // the last that failed or lost a rank, as far as known
  uint32_t launched_until_ = 0;  // the position after the last one that was ever launched
  bool was_cut_ = false;         // a range was cut off; or perhaps in an earlier life
  // Ranges in which a task has failed are launched alone: length by first position. So the element
  // that ends its executor is found.
  std::map<uint32_t, uint32_t> suspects_;
  std::map<uint32_t, int32_t> task_failures_;  // of elements that were launched alone
  int32_t failed_in_a_row_ = 0;
  std::string last_failure_;
  std::string range_trouble_;
  int64_t element_micros_ = 0;  // estimated run time of an element; 0: unknown
  std::string first_failure_;   // for people
};

}  // namespace proffer::batch
