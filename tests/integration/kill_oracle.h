#pragma once

// Judges a kill storm or chaos: every launch ended in exactly one true terminal update, no task ran
// twice, and no agent ran more than its resources. It reads only the records of the tasks'
// processes, of the killer and of the schedulers (kill/record.h), and no state of Proffer.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace proffer::test {

struct AgentHas {
  int64_t cpus_milli = 0;
  int64_t mem = 0;
  int64_t first_port = 0;
  int64_t last_port = -1;
};

// The records, as text. A time is in nanoseconds of the machine's monotonic clock.
//
// The journal:
//   start TIME TASK AGENT PID PARENT CPUS_MILLI MEM PORT    the first record of a task's process;
//                            PARENT is its executor, or 0 if that ended too early
//   alive TIME TASK          every 40 ms, also by a process that the task left behind
//   end TIME TASK exit:N|signal:N                  just before this end
//   kill TIME KIND NAME PID                        just before the kill -9, or after its own end
//   fault TIME KIND NAME WHAT                      just before the member is disturbed: stopped,
//                            cut off, slow, short of disk, damaged; WHAT is one word
//   healed TIME KIND NAME WHAT                     when that is over
// Each scheduler; PID is that of its current process:
//   life TIME PID
//   launch TIME TASK AGENT CPUS_MILLI MEM PORTS             before it is sent
//   kill TIME TASK                                          before it is sent
//   update TIME TASK STATE REASON EXIT SIGNAL SOURCE SEQUENCE PID    before it is acknowledged;
//                            without PID, as earlier versions write it, the latest process
//   refused TIME …, settled TIME
//   replaced TIME PID                              a newer process has replaced it
struct Testimony {
  std::string journal = {};
  std::map<std::string, std::string> heard = {};  // by scheduler
  std::map<std::string, AgentHas> agents = {};
};

struct Judgement {
  std::vector<std::string> violations = {};  // each with all records of its task
  size_t launches = 0;
  size_t started = 0;
  size_t heard_again = 0;  // ends that a later process of a scheduler received again
  std::map<std::string, size_t> ends = {};    // by "state reason"
  std::map<std::string, size_t> kills = {};   // by kind
  std::map<std::string, size_t> faults = {};  // by kind
  // For each kill of a master, the time until the next launch that then started.
  std::vector<int64_t> gaps_nanos = {};
  std::string summary() const;  // one line
};

// An acknowledgement goes from a scheduler through the master to the agent. It may be lost if one
// of them is killed or disturbed within this time before or after the update. Otherwise it has
// arrived, and the same end may not be reported again. For the same time after a fault has healed,
// delayed messages may still be in flight.
inline constexpr int64_t kAcknowledgedWithinNanos = 5'000'000'000;

Judgement judge(const Testimony& testimony);

}  // namespace proffer::test
