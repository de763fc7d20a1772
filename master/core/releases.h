#pragma once

// The newest releases of files that concern one agent. The agent gets them with each registration,
// because it may have been away or have lost them in a restart. They are not durable: when no
// master remembers a release, agents remove the files by their age.

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
  // No duplicates; at most kReleasesKeptMax.
  std::vector<std::pair<FrameworkId, std::string>> newest_;
};

}  // namespace proffer::master
