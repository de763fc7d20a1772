#pragma once

// A fresh Debian with our packages in /debs, made once for all suites of this program. At night
// only
// (./test --long), and for root only.

#include <string>

#include "tests/packages/debian_root.h"

namespace proffer::test {

class PackedDebian {
 public:
  // Why there can be none here; empty: there can.
  static std::string obstacle();
  // The first call takes minutes. made() says whether it worked. Suites change copies of it.
  static const DebianRoot& pristine();
  // The path of a package inside it.
  static std::string package(const std::string& name);
};

}  // namespace proffer::test
