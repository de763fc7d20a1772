#pragma once

// Small files of the kernel (cgroups) that are read and written often. Each stays open after its
// first use, since opening takes ten times as long as reading.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "net/fd.h"

namespace proffer::agent {

class KeptFiles {
 public:
  // At most `max` are open at a time; further ones are opened for each use.
  explicit KeptFiles(size_t max) : max_(max) {}

  // The content of a small file; none if it cannot be read.
  std::optional<std::string> read(const std::string& path);
  // Returns an errno, or 0. The value is written at once.
  int write(const std::string& path, std::string_view value);
  // Closes the files in the directory `folder`, which will be removed. O(log files), plus those
  // files.
  void forget(const std::string& folder);

  size_t open_files() const { return files_.size(); }

 private:
  enum class Use : char { kRead = 'r', kWrite = 'w' };
  // The kept descriptor, or `own`, which is opened for this use only; -1 with errno.
  int find(const std::string& path, Use use, Fd& own);

  size_t max_;
  std::map<std::pair<std::string, Use>, Fd> files_;
};

}  // namespace proffer::agent
