#pragma once

// Finds the recordings of a cluster's masters and puts them in order. Each is one life of a leader;
// at most one leads at a time.

#include <string>
#include <vector>

#include "common/ids.h"
#include "common/result.h"
#include "common/time.h"

namespace proffer::master {

struct RecordedLife {
  std::string file = {};
  LeaderEpoch leader = {};  // 0: the file does not contain it
};

// The recordings at these paths, which are files or directories, ordered by leader epoch.
// Recordings without a beginning come first; reading them reports the error. Errors: kNotFound: a
// directory has none.
Result<std::vector<RecordedLife>> find_lives(const std::vector<std::string>& paths);

// The gap between two consecutive recordings.
struct LivesGap {
  LeaderEpoch after = {};
  LeaderEpoch before = {};
  Duration duration = {};  // from the last step of one to the beginning of the next
};
// "between leaders 3 and 6: 12.5s; nothing is here of leaders 4 and 5".
std::string to_text(const LivesGap& gap);

}  // namespace proffer::master
