#pragma once

// The elements of an array, and the ranges of them that run as tasks. An element is pending, in a
// running range, done, or failed for good; if it waits for an element of another array, it is held
// until that is done, and skipped if that never will be. A range is a task: a piece of what is
// pending, of a size by which it takes about kRangeTarget (guided self-scheduling: Polychronopoulos
// and Kuck, 1987). Its executor ends it when its time is over; what it has not begun is pending
// again.
//
// A range that is cut off (its agent was lost, its executor killed) may have ended elements that
// the scheduler was not told of: executors that run the rest look for these in the output
// directory.
//
// The elements of a gang are its ranks, each a range of its own. They are launched all at the same
// time; if one ends otherwise than well, the others are killed, and all of them begin again.

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

// The time that a range should take, so that others get their turn on its slot; and the time after
// which its executor begins no further element.
inline constexpr Duration kRangeTarget = milliseconds(1'500);
inline constexpr Duration kRangeTime = seconds(2);
// Of a range beside its elements: to read its arguments, to end an element at its time limit.
inline constexpr Duration kRangeMargin = seconds(30);
// A shorter range would cost more than it saves at the end of the array.
inline constexpr Duration kRangeLeast = milliseconds(200);
// Elements in a range as long as it is not known how long they take.
inline constexpr uint32_t kRangeElementsFirst = 32;
// The job has failed after so many times as many failed tasks, one after the other, as an element
// may have.
inline constexpr int32_t kFailedTasksPerAttempt = 4;

// Disjoint pieces of positions.
class Positions {
 public:
  void add(uint32_t first, uint32_t end);
  void remove(uint32_t first, uint32_t end);
  bool contains(uint32_t first, uint32_t end) const;  // all of them
  bool empty() const { return pieces_.empty(); }
  int64_t size() const { return size_; }
  // The first piece. Needs one.
  std::pair<uint32_t, uint32_t> front() const { return *pieces_.begin(); }
  const std::map<uint32_t, uint32_t>& pieces() const { return pieces_; }  // end by first

 private:
  std::map<uint32_t, uint32_t> pieces_;
  int64_t size_ = 0;
};

class Elements {
 public:
  // Tasks of earlier lives of the scheduler have attempt numbers up to `attempts_before`. An
  // element whose task has failed `attempts` times has failed. `retries` is how often the job was
  // retried.
  Elements(const JobId& job, const ArrayOrder& order, int32_t attempts, uint32_t attempts_before,
           uint32_t retries = 0);

  // What an earlier life of the scheduler has kept; before anything else. Of a record that was made
  // before the last retry only elements that are done count: the others run again.
  void restore(uint32_t block, const ElementsRecord& record);

  // --- elements that wait for those of another array ---------------------------------------------
  // What this element waits for is so far. One that runs or has ended goes on as it is.
  void follow(uint32_t position, Fate fate);
  // The fate of what waits for this element, as long as the job goes on.
  Fate fate_of(uint32_t position) const;
  // Elements that have ended since this was last called.
  std::vector<uint32_t> take_ended() { return std::exchange(ended_, {}); }
  // What ranges that finished could not do, since this was last called; the last of it.
  std::string take_trouble() { return std::exchange(range_trouble_, {}); }
  // Nothing runs or wants to: it is the other array's turn.
  bool is_held() const { return pending_.empty() && ranges_.empty() && !held_.empty(); }

  // --- what runs -------------------------------------------------------------------------------
  // A range that could be launched now, or nothing. The same until something changes.
  struct Draft {
    TaskName name = {};
    RangeWork work = {};  // but for what the job knows
  };
  std::optional<Draft> draft() const;
  void launch(const Draft& draft, const AgentId& agent);
  // The next rank of a gang that is being launched.
  Draft draft_rank() const;
  // How many ranges want an agent.
  int64_t wanted() const;

  // A range of this job ended, or its agent cannot be reached, or it runs on. `is_late`: the job is
  // ending. `kill` gets tasks that are to be killed.
  void on_status(const TaskName& name, const proto::TaskStatus& status, bool is_late,
                 std::vector<TaskId>& kill);
  // All tasks of earlier lives are known: if only some ranks of a gang run, it is begun again.
  void on_tasks_known(std::vector<TaskId>& kill);
  // The job ends: all that run.
  std::vector<TaskId> kill_all();
  // No range writes into the output any more, but for those on agents that cannot be reached.
  bool is_quiet() const;

  // --- what has come of it ---------------------------------------------------------------------
  bool all_ended() const { return done_ + failed_ + skipped_ == size_; }
  bool all_skipped() const { return skipped_ == size_; }
  uint32_t size() const { return size_; }
  int64_t done() const { return done_; }
  int64_t failed() const { return failed_; }
  // The reason to end the job early, if there is one.
  std::optional<Error> trouble() const;
  // All elements have ended: the reason why the job has failed, if it has.
  std::optional<Error> verdict() const;
  proto::BatchElements status() const;

  std::set<uint32_t> take_changed() { return std::exchange(changed_, {}); }
  // What is to be kept of a block; nothing, if that is as it began.
  std::optional<ElementsRecord> block(uint32_t block) const;

  void check(std::vector<Violation>& out) const;

 private:
  struct Range {
    uint32_t first = 0;
    uint32_t end = 0;
    AgentId agent = {};
    std::optional<uint32_t> lane = {};  // not of one that an earlier life has launched
    bool given_up = false;              // its elements are pending, or have ended
    bool kill_asked = false;
    bool is_unreachable = false;
  };
  using Ranges = std::map<TaskId, Range>;

  // How many attempts of an element have failed, in all retries of the job; or belong to earlier
  // ones.
  std::map<uint32_t, int32_t> used_attempts(uint32_t first, uint32_t end) const;
  bool has_ended(uint32_t position) const { return is_done_[position] || is_failed_[position]; }
  // It is neither pending nor held nor skipped any more.
  void take_out(uint32_t position);
  // Whether a range of these can be one that was launched, and that nobody else has.
  bool are_free(uint32_t first, uint32_t end) const;
  void take_out(uint32_t first, uint32_t end);
  // Those of [first, end) that have not ended are pending.
  void want(uint32_t first, uint32_t end);
  uint32_t range_size() const;
  void give_up(Range& range);
  Ranges::iterator adopt(const TaskName& name, const proto::TaskStatus& status, bool is_late);
  void on_finished(const Range& range, const proto::TaskStatus& status);
  void on_failed(const Range& range, const proto::TaskStatus& status);
  // `lost`: its end could not be kept, and why.
  void on_element_failed(uint32_t position, const ElementFailure& failure,
                         std::string_view stderr_tail, std::string_view lost);
  void on_rank_ended(const TaskName& name, const Range& range, const proto::TaskStatus& status,
                     std::vector<TaskId>& kill);
  // Which beginning of the gang this rank is of, through all lives: each begins all ranks.
  uint32_t gang_attempt(const TaskName& name) const { return name.attempt + name.number / size_; }
  // All ranks begin again. Those of attempt `attempt`, and of earlier ones, that are told of later
  // are ended.
  void break_gang(uint32_t attempt, std::vector<TaskId>& kill);
  // The same by the fault of a rank of attempt `attempt` of the gang. An attempt fails once: an
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
  // Attempts of an element are numbered through all retries of the job: numbers up to this one
  // belong to those before.
  const int32_t element_attempts_before_;
  const uint32_t size_;

  std::vector<bool> is_done_;
  std::vector<bool> is_failed_;
  std::map<uint32_t, int32_t> failures_;  // since the last retry, of elements that have not ended
  std::vector<int64_t> failed_attempts_;  // by block
  int64_t done_ = 0;
  int64_t failed_ = 0;
  int64_t skipped_ = 0;
  Positions pending_;
  Positions held_;
  std::vector<bool> is_skipped_;
  std::vector<uint32_t> ended_;  // not yet told
  Ranges ranges_;
  std::set<uint32_t> lanes_;  // of ranges_
  std::set<uint32_t> changed_;

  uint32_t launches_ = 0;
  uint32_t gang_launches_ = 0;
  uint32_t last_failed_ = 0;     // the attempt of the gang that failed last
  uint32_t last_broken_ = 0;     // the last that failed or lost a rank, as far as this life knows
  uint32_t launched_until_ = 0;  // behind the last position that was ever launched
  bool was_cut_ = false;         // a range was; or an earlier life cannot tell
  // Pieces in which a task has failed are launched alone: length by first position. So the element
  // that ends its executor is found.
  std::map<uint32_t, uint32_t> suspects_;
  std::map<uint32_t, int32_t> task_failures_;  // of elements that were launched alone
  int32_t failed_in_a_row_ = 0;
  std::string last_failure_;
  std::string range_trouble_;
  int64_t element_micros_ = 0;  // how long one takes, as far as is known; 0: nothing is
  std::string first_failure_;   // for people
};

}  // namespace proffer::batch
