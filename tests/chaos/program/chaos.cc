// chaos [--minutes M | --seconds N] [--count C] [--seed S] [--faults A,B,…] [--dir DIR]: runs chaos
// by hand, at most C faults. Prints each fault and the judgement. Exit code 1: an oracle found a
// violation; 77: this machine cannot run chaos. The default seed comes from the clock and is
// printed.

#include "tests/chaos/chaos.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include <unistd.h>

#include "common/text.h"
#include "tests/integration/kill/record.h"

namespace {

constexpr int kSecondsPerMinute = 60;
constexpr int kImpossible = 77;

int usage() {
  std::cerr << "usage: chaos [--minutes M | --seconds N] [--count C] [--seed S] [--faults A,B,...] "
               "[--dir DIR]\n"
               "faults:";
  for (const std::string& name : proffer::test::names_of_faults()) std::cerr << " " << name;
  std::cerr << "\n";
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace proffer::test;
  ChaosOptions options{
      .seconds = 60, .seed = static_cast<uint64_t>(now_nanos()) % 1'000'000, .verbose = true};
  std::string faults;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const std::string value = i + 1 < argc ? argv[++i] : "";
    const int number = std::atoi(value.c_str());
    if (name == "--dir" && !value.empty()) {
      options.dir = value;
    } else if (name == "--seed" && !value.empty()) {
      options.seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (name == "--minutes" && number > 0) {
      options.seconds = number * kSecondsPerMinute;
    } else if (name == "--seconds" && number > 0) {
      options.seconds = number;
    } else if (name == "--count" && number > 0) {
      options.count = number;
    } else if (name == "--faults" && !value.empty()) {
      faults = " --faults " + value;
      const std::vector<std::string> known = names_of_faults();
      for (const std::string_view fault : proffer::split(value, ',')) {
        if (std::find(known.begin(), known.end(), fault) == known.end()) return usage();
        options.faults.emplace_back(fault);
      }
    } else {
      return usage();
    }
  }
  if (const std::string why = chaos_is_impossible(); !why.empty()) {
    std::cerr << "not run: " << why << "\n";
    return kImpossible;
  }
  if (options.dir.empty()) {
    std::string pattern = std::filesystem::temp_directory_path() / "proffer-chaos-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) return 1;
    options.dir = pattern;
  }
  std::filesystem::create_directories(options.dir);
  options.dir = std::filesystem::canonical(options.dir);
  std::cout << "chaos --seconds " << options.seconds << " --seed " << options.seed << faults
            << "  in " << options.dir << std::endl;
  const ChaosJudgement judgement = run_chaos(options);
  for (const std::string& violation : judgement.tasks.violations) {
    std::cout << "UNTRUE " << violation << "\n";
  }
  std::cout << judgement.tasks.summary() << "; " << judgement.registry << std::endl;
  if (!judgement.tasks.violations.empty()) {
    std::cout << "logs and records are kept in " << options.dir << std::endl;
    return 1;
  }
  std::filesystem::remove_all(options.dir);
  return 0;
}
