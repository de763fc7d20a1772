#pragma once

// The earlier versions with which current programs must work during an upgrade: the list in
// tools/previous_versions.txt, and the programs that tools/previous built from them.

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/integration/processes.h"

namespace proffer::upgrade_test {

struct Version {
  std::string commit = {};
  bool by_tcp = false;     // it has no sockets: --insecure_tcp
  std::string built = {};  // directory of its programs; empty: that of tools/previous

  std::string fixture(const std::string& name) const {
    return std::string(PROFFER_SOURCE_DIR) + "/tests/upgrade/fixtures/" + commit + "/" + name;
  }
  // The directory of its programs.
  std::string bin() const {
    if (!built.empty()) return built;
    return std::string(PROFFER_SOURCE_DIR) + "/build/previous/" + commit + "/bin";
  }
  std::string program(const std::string& name) const { return bin() + "/" + name; }
  bool is_built() const { return std::filesystem::exists(program("proffer")); }
};

inline std::vector<Version> versions() {
  std::vector<Version> all;
  std::istringstream lines(
      test::read_file(std::string(PROFFER_SOURCE_DIR) + "/tools/previous_versions.txt"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string commit, joins;
    words >> commit >> joins;
    if (commit.empty() || commit.starts_with('#')) continue;
    all.push_back({.commit = commit, .by_tcp = joins == "tcp"});
  }
  return all;
}

// Current programs as the earlier version: a rolling restart.
inline Version today() {
  return {.commit = "today",
          .built = std::filesystem::path(test::program("proffer")).parent_path().string()};
}

// Versions that connect by sockets, and the current one.
inline std::vector<Version> versions_by_socket() {
  std::vector<Version> all = versions();
  std::erase_if(all, [](const Version& version) { return version.by_tcp; });
  all.push_back(today());
  return all;
}

// Names for the cases of a test that runs for each version.
inline std::string name_of(const testing::TestParamInfo<Version>& info) {
  return info.param.commit;
}
// Its form in failure messages.
inline void PrintTo(const Version& version, std::ostream* out) { *out << version.commit; }

}  // namespace proffer::upgrade_test
