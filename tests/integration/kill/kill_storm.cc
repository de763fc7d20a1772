// kill_storm [--kills N | --minutes M] [--seed S] [--agents A] [--schedulers F] [--masters M]
// [--only KIND] [--dir DIR]: runs one storm by hand; several masters share a ZooKeeper server. With
// --only, only that kind is killed, such as "leader". Prints kills, updates and the judgement; exit
// code 1 if the oracle found a violation. The default seed comes from the clock and is printed.

#include "tests/integration/kill_storm.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include <unistd.h>

#include "tests/integration/kill/record.h"

int main(int argc, char** argv) {
  using namespace proffer::test;
  StormOptions options{
      .kills = 30, .seed = static_cast<uint64_t>(now_nanos()) % 1'000'000, .verbose = true};
  std::string only;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const std::string value = i + 1 < argc ? argv[++i] : "";
    const int number = std::atoi(value.c_str());
    if (name == "--dir" && !value.empty()) {
      options.dir = value;
    } else if (name == "--seed" && !value.empty()) {
      options.seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (name == "--only" && !value.empty()) {
      only = value;
    } else if (name == "--kills" && number > 0) {
      options.kills = number;
    } else if (name == "--minutes" && number > 0) {
      options.minutes = number;
    } else if (name == "--agents" && number > 0) {
      options.agents = number;
    } else if (name == "--schedulers" && number > 0) {
      options.schedulers = number;
    } else if (name == "--masters" && number > 1) {
      options.masters = number;
      options.kinds.push_back("leader");
      options.kinds.push_back("paused leader");
    } else {
      std::cerr << "usage: kill_storm [--kills N | --minutes M] [--seed S] [--agents A] "
                   "[--schedulers F] [--masters M] [--only KIND] [--dir DIR]\n";
      return 2;
    }
  }
  if (!only.empty()) {
    if (std::count(options.kinds.begin(), options.kinds.end(), only) == 0) {
      std::cerr << "nobody is a '" << only << "' here; with several masters one is a 'leader'\n";
      return 2;
    }
    options.kinds = {only};
  }
  if (options.dir.empty()) {
    std::string pattern = std::filesystem::temp_directory_path() / "proffer-kill-storm-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) return 1;
    options.dir = pattern;
  }
  std::filesystem::create_directories(options.dir);
  options.dir = std::filesystem::canonical(options.dir);
  std::cout << "kill_storm " << (options.minutes > 0 ? "--minutes " : "--kills ")
            << (options.minutes > 0 ? options.minutes : options.kills) << " --seed " << options.seed
            << " --agents " << options.agents << " --schedulers " << options.schedulers
            << (options.masters > 1 ? " --masters " + std::to_string(options.masters) : "")
            << (only.empty() ? "" : " --only '" + only + "'") << "  in " << options.dir
            << std::endl;
  const Judgement judgement = run_storm(options);
  for (const std::string& violation : judgement.violations)
    std::cout << "UNTRUE " << violation << "\n";
  std::cout << judgement.summary() << std::endl;
  if (!judgement.violations.empty()) {
    std::cout << "logs and records are kept in " << options.dir << std::endl;
    return 1;
  }
  std::filesystem::remove_all(options.dir);
  return 0;
}
