#pragma once

// The releases of files that the author has given in this life. The newest releases are sent again
// in each session, because a new leader does not know them.

#include <deque>
#include <vector>

#include "proto/messages.h"

namespace proffer::sdk {

class ReleasedFiles {
 public:
  // The messages to send. There are none if no part of the release is valid: prefixes that no id
  // can begin with are left out. A release that names too many agents is sent to all agents.
  std::vector<proto::ReleaseFiles> add(const proto::ReleaseFiles& released);
  const std::deque<proto::ReleaseFiles>& newest() const { return newest_; }

 private:
  std::deque<proto::ReleaseFiles> newest_;  // at most kReleasesKeptMax
};

}  // namespace proffer::sdk
