#pragma once

// The recordings of a cluster's masters, found and put in order: each is a life, and one of them
// leads after the other.

#include <string>
#include <vector>

#include "common/ids.h"
#include "common/result.h"
#include "common/time.h"

namespace proffer::master {

struct RecordedLife {
  std::string file = {};
  LeaderEpoch leader = {};  // 0: the file does not say
};

// The recordings at these paths, files or directories of them, by leader. Those that do not begin
// come first: they are found to be wrong when they are read. Errors: kNotFound: there is none in
// one of the directories.
Result<std::vector<RecordedLife>> find_lives(const std::vector<std::string>& paths);

// What is missing between two lives that follow each other here.
struct LivesGap {
  LeaderEpoch after = {};
  LeaderEpoch before = {};
  Duration duration = {};  // from the last step of one to the beginning of the other
};
// "between leaders 3 and 6: 12.5s; nothing is here of leaders 4 and 5".
std::string to_text(const LivesGap& gap);

}  // namespace proffer::master
