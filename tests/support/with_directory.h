#pragma once

// A test fixture with a temporary directory, which is removed afterwards.

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace proffer::test {

class WithDirectory : public ::testing::Test {
 protected:
  const TemporaryDirectory directory_;
  const std::filesystem::path root_ = directory_.path();
};

}  // namespace proffer::test
