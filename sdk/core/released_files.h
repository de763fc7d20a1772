#pragma once

// The releases of files that the author has given in this life. The newest are told again in each
// session: a master that takes over does not know them.

#include <deque>
#include <vector>

#include "proto/messages.h"

namespace proffer::sdk {

class ReleasedFiles {
 public:
  // The messages that say it, none if nothing in it can be said: names that no id can begin with
  // are left out. One for too many agents goes to all.
  std::vector<proto::ReleaseFiles> add(const proto::ReleaseFiles& released);
  const std::deque<proto::ReleaseFiles>& newest() const { return newest_; }

 private:
  std::deque<proto::ReleaseFiles> newest_;  // at most kReleasesKeptMax
};

}  // namespace proffer::sdk
