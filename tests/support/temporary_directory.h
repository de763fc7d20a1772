#pragma once

#include <filesystem>
#include <string>
#include <system_error>

#include <stdlib.h>

#include "common/check.h"

namespace proffer::test {

// A temporary directory, which is removed with its content.
class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(
      const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    path_ = (parent / "proffer-test-XXXXXX").string();
    CHECK(::mkdtemp(path_.data()) != nullptr) << path_;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace proffer::test
