#pragma once

// Expected texts that are reviewed as diffs. GOLDEN_UPDATE=1 in the environment rewrites them.

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace proffer::test {

// `path` is below the source tree.
inline void expect_golden(const std::string& path, const std::string& actual) {
  const std::string whole = std::string(PROFFER_SOURCE_DIR) + "/" + path;
  if (std::getenv("GOLDEN_UPDATE") != nullptr) {
    std::ofstream(whole, std::ios::binary) << actual;
    return;
  }
  std::ifstream file(whole, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  EXPECT_EQ(content.str(), actual) << path << " is not up to date; GOLDEN_UPDATE=1 rewrites it";
}

}  // namespace proffer::test
