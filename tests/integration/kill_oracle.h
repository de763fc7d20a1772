#pragma once

// Whether a kill storm or chaos was survived: every launch ended in exactly one true terminal
// update, none ran twice, and no agent ran more than it has. It reads only what the tasks' own
// processes, the hand that killed and the schedulers wrote down (kill/record.h); nothing of what
// Proffer thinks.

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

// What was written, as text of many records. A time is in nanoseconds of the machine's clock.
//
// The journal:
//   start TIME TASK AGENT PID PARENT CPUS_MILLI MEM PORT    a task's process, first of all; PARENT
//                            is its executor, or 0 if that was gone before it could be seen
//   alive TIME TASK          every 40 ms, also of what it left behind
//   end TIME TASK exit:N|signal:N                  just before it ends so
//   kill TIME KIND NAME PID                        just before the kill -9, or after its own end
//   fault TIME KIND NAME WHAT                      just before the member is disturbed: stopped,
//                            cut off, slow, short of disk, damaged; WHAT is one word
//   healed TIME KIND NAME WHAT                     when that is over
// Of each scheduler; PID is that of its life:
//   life TIME PID
//   launch TIME TASK AGENT CPUS_MILLI MEM PORTS             before it is said
//   kill TIME TASK                                          likewise
//   update TIME TASK STATE REASON EXIT SIGNAL SOURCE SEQUENCE PID    before it is acknowledged;
//                            without PID, as earlier versions write it, it is of the latest life
//   refused TIME …, settled TIME
//   replaced TIME PID                              a newer life told it to end
struct Testimony {
  std::string journal = {};
  std::map<std::string, std::string> heard = {};  // by scheduler
  std::map<std::string, AgentHas> agents = {};
};

struct Judgement {
  std::vector<std::string> violations = {};  // each with all that was written about its task
  size_t launches = 0;
  size_t started = 0;
  size_t heard_again = 0;                    // ends that a later life of a scheduler was told again
  std::map<std::string, size_t> ends = {};   // by "state reason"
  std::map<std::string, size_t> kills = {};  // by kind
  std::map<std::string, size_t> faults = {};  // by what they are
  // Of each kill of a master, how long it took until the next launch that was to start was said.
  std::vector<int64_t> gaps_nanos = {};
  std::string summary() const;  // one line
};

// An acknowledgement goes from a scheduler over the master to the agent. It may be lost if one of
// them is killed or disturbed within this time of the update, before or after; otherwise it has
// arrived, and nobody may be told the same end again. For as long after a fault has healed, what it
// held up may still be on its way.
inline constexpr int64_t kAcknowledgedWithinNanos = 5'000'000'000;

Judgement judge(const Testimony& testimony);

}  // namespace proffer::test
