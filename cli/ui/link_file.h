#pragma once

// A file that sends a browser to a link. The link contains a key, and all users of a machine can
// read command lines. So the browser gets this file, which only its user may read.

#include <string>
#include <string_view>

#include "common/result.h"

namespace proffer::cli {

class LinkFile {
 public:
  // In a new directory below $XDG_RUNTIME_DIR, or below the directory of temporary files. Errors:
  // kUnavailable.
  static Result<LinkFile> write(std::string_view link);
  LinkFile(LinkFile&& other) noexcept;
  LinkFile& operator=(LinkFile&&) = delete;
  ~LinkFile();  // removes it

  std::string path() const { return directory_ + "/page.html"; }

 private:
  explicit LinkFile(std::string directory);
  std::string directory_;
};

}  // namespace proffer::cli
