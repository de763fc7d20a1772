#pragma once

// A file that leads a browser to a link. Command lines can be read by all users of a machine, and
// the link has a key: so the browser is given the file, which its user alone may read.

#include <string>
#include <string_view>

#include "common/result.h"

namespace proffer::cli {

class LinkFile {
 public:
  // In a directory of its own below $XDG_RUNTIME_DIR, or that of temporary files. Errors:
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
