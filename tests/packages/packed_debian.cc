#include "tests/packages/packed_debian.h"

#include <filesystem>

#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "tests/support/long.h"

namespace proffer::test {

namespace fs = std::filesystem;

std::string PackedDebian::obstacle() {
  if (!test::is_long()) return "it takes minutes";
  if (geteuid() != 0) return "only root can enter another root";
  for (const char* tool : {"debootstrap", "dpkg-shlibdeps", "file", "ip"}) {
    if (run({"which", tool}).code != 0) return text("no ", tool, ", see tools/setup.sh --long");
  }
  return "";
}

const DebianRoot& PackedDebian::pristine() {
  static const DebianRoot root;
  static const bool is_packed = [] {
    if (root.made().code != 0) return false;
    const std::string build = program("") + "..";
    const Exit packed = run(
        {"cpack", "-G", "DEB", "--config", build + "/CPackConfig.cmake", "-B", root.at("/debs")},
        {{"SOURCE_DATE_EPOCH", "1764288000"}}, {}, Seconds{300});
    CHECK_EQ(packed.code, 0) << packed.out << packed.err;
    fs::remove_all(root.at("/debs/_CPack_Packages"));
    return true;
  }();
  (void)is_packed;
  return root;
}

std::string PackedDebian::package(const std::string& name) {
  for (const auto& entry : fs::directory_iterator(pristine().at("/debs"))) {
    const std::string file = entry.path().filename();
    if (file.starts_with(name + "_")) return "/debs/" + file;
  }
  return "/debs/" + name;
}

}  // namespace proffer::test
