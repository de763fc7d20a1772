// batch_kills [--kills N] [--seed S] [--only EXAMPLE] [--dir DIR]: kills N processes during each
// job of examples/batch, one job after another; each job runs again until N is reached. Prints the
// kills; exit code 1 if a result was wrong. The default seed comes from the clock and is printed.

#include "tests/integration/batch_kills.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include <unistd.h>

#include "tests/integration/kill/record.h"

int main(int argc, char** argv) {
  using namespace proffer::test;
  BatchKills options{
      .kills = 100, .seed = static_cast<uint64_t>(now_nanos()) % 1'000'000, .verbose = true};
  std::string only;
  std::string dir;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const std::string value = i + 1 < argc ? argv[++i] : "";
    if (name == "--dir" && !value.empty()) {
      dir = value;
    } else if (name == "--seed" && !value.empty()) {
      options.seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (name == "--only" && !value.empty()) {
      only = value;
    } else if (name == "--kills" && std::atoi(value.c_str()) > 0) {
      options.kills = std::atoi(value.c_str());
    } else {
      std::cerr << "usage: batch_kills [--kills N] [--seed S] [--only EXAMPLE] [--dir DIR]\n";
      return 2;
    }
  }
  if (dir.empty()) {
    std::string pattern = std::filesystem::temp_directory_path() / "proffer-batch-kills-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) return 1;
    dir = pattern;
  }
  std::filesystem::create_directories(dir);
  dir = std::filesystem::canonical(dir);
  constexpr int kLines = 100'000;
  std::vector<BatchExample> examples = batch_examples(dir, kLines);
  examples.push_back(schedule_example(dir));
  if (const std::string why = why_no_mpi(); why.empty()) {
    examples.push_back(mpi_example(dir));
  } else {
    std::cout << "mpi: " << why << std::endl;
    constexpr int kSkipped = 77;  // ctest's code for a skipped test
    if (only == "mpi") {
      std::filesystem::remove_all(dir);
      return kSkipped;
    }
  }
  bool is_right = true;
  int tried = 0;
  for (const BatchExample& example : examples) {
    if (!only.empty() && example.name != only) continue;
    ++tried;
    options.examples = {example};
    options.dir = dir + "/cluster-" + example.name;
    std::filesystem::create_directories(options.dir);
    std::cout << "batch_kills --kills " << options.kills << " --seed " << options.seed << " --only "
              << example.name << "  in " << options.dir << std::endl;
    const BatchKillsReport report = run_batch_kills(options);
    for (const std::string& violation : report.violations) std::cout << violation << "\n";
    std::cout << report.summary() << ": " << report.violations.size() << " wrong" << std::endl;
    is_right = is_right && report.violations.empty();
  }
  if (tried == 0) {
    std::cerr << "there is no example '" << only << "' that can be run here\n";
    return 2;
  }
  if (is_right) std::filesystem::remove_all(dir);
  return is_right ? 0 : 1;
}
