#pragma once

// The newest releases of files that concern one agent. It is told of them each time that it
// registers: it may have been away, or have forgotten them in a restart. They are soft: what no
// master remembers is removed by agents when it is old.

#include <string>
#include <utility>
#include <vector>

#include "proto/messages.h"

namespace proffer::master {

class Releases {
 public:
  void add(const FrameworkId& framework, const std::vector<std::string>& begins);
  // One message for each framework.
  std::vector<proto::ReleaseFiles> messages() const;
  size_t size() const { return newest_.size(); }

 private:
  std::vector<std::pair<FrameworkId, std::string>> newest_;  // each once; at most kReleasesKeptMax
};

}  // namespace proffer::master
