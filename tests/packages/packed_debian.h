#pragma once

// A fresh Debian with our packages in /debs, made once for all suites of this program. Only at
// night (./test --long), and only as root.

#include <string>

#include "tests/packages/debian_root.h"

namespace proffer::test {

class PackedDebian {
 public:
  // The reason why it cannot be made here; empty if it can.
  static std::string obstacle();
  // The first call takes minutes. made() returns whether it worked. Suites change copies of it.
  static const DebianRoot& pristine();
  // The path of a package inside it.
  static std::string package(const std::string& name);
};

}  // namespace proffer::test
