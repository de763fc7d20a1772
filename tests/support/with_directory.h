#pragma once

// A test that has a directory of its own, which is removed behind it.

#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "common/check.h"

namespace proffer::test {

class WithDirectory : public ::testing::Test {
 protected:
  WithDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "proffer-test-XXXXXX").string();
    CHECK(::mkdtemp(pattern.data()) != nullptr) << pattern;
    root_ = pattern;
  }
  ~WithDirectory() override { std::filesystem::remove_all(root_); }

  std::filesystem::path root_;
};

}  // namespace proffer::test
