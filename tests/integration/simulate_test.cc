// `proffer simulate` as users type it.

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

Exit simulate(std::vector<std::string> words) {
  words.insert(words.begin(), {program("proffer"), "simulate"});
  return run(words, {}, PROFFER_SOURCE_DIR);
}

// Runs each command of the page as written.
TEST(Simulate, TheCommandsOfItsPageWork) {
  const std::string page =
      read_file(std::string(PROFFER_SOURCE_DIR) + "/docs/concepts/simulate.md");
  TemporaryDirectory home;
  size_t tried = 0;
  for (size_t at = page.find("\nproffer simulate "); at != std::string::npos;
       at = page.find("\nproffer simulate ", at + 1)) {
    std::string command = page.substr(at + 1, page.find('\n', at + 1) - at - 1);
    if (command.ends_with(" live.yaml")) continue;               // snapshot_test.cc
    if (command.find("--openb") != std::string::npos) continue;  // needs a trace that is not here
    if (const size_t temporary = command.find("/tmp/"); temporary != std::string::npos) {
      command.replace(temporary, 5, home.path() + "/");
    }
    const Exit done = run({"bash", "-c", command}, {{"PATH", program("") + ":/usr/bin:/bin"}},
                          PROFFER_SOURCE_DIR);
    EXPECT_EQ(done.code, 0) << command << "\n" << done.err;
    EXPECT_EQ(done.err, "") << command;
    EXPECT_NE(
        done.out.find(command.find("--json") != std::string::npos ? "\"trace_hash\"" : "FRAMEWORK"),
        std::string::npos)
        << command << "\n"
        << done.out;
    ++tried;
  }
  EXPECT_EQ(tried, 6u);
  EXPECT_NE(read_file(home.path() + "/hoarder.trace").find("offer made"), std::string::npos);
}

TEST(Simulate, AWrongFileIsToldOnStandardErrorAlone) {
  TemporaryDirectory home;
  const std::string file = home.path() + "/wrong.yaml";
  std::ofstream(file) << "agents: [{name: a, resources: \"cpus:1\"}]\nframeworx: []\n";
  const Exit plain = simulate({file});
  EXPECT_EQ(plain.code, 2);
  EXPECT_EQ(plain.out, "");
  EXPECT_NE(plain.err.find("line 2: unknown key 'frameworx'"), std::string::npos) << plain.err;
  EXPECT_NE(plain.err.find("'frameworks'"), std::string::npos) << plain.err;
  const Exit json = simulate({file, "--json"});
  EXPECT_EQ(json.code, 2);
  EXPECT_EQ(json.out, "");
  EXPECT_EQ(json.err.find("{\"error\":"), 0u) << json.err;
}

TEST(Simulate, WrongUsageIsToldWithWhatToDo) {
  const std::string good = "examples/scenarios/drf_paper.yaml";
  for (const auto& [words, told] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{}, "FILE is missing"},
           {{"no/such/file"}, "'no/such/file': No such file"},
           {{"examples"}, "'examples': Is a directory"},
           {{"/dev/zero"}, "bytes"},
           {{good, "--compact", "--trace", "/tmp/x"}, "--compact and --trace exclude each other"},
           {{good, "--untl", "3s"}, "--until"},
           {{good, "--until"}, "--until needs a value"},
           {{good, "--until=3"}, "'3'"},
           {{good, "--seed", "x"}, "--seed"},
           {{good, good}, "one FILE"},
           {{"--csv", "examples/scenarios/night_work.csv"}, "the scenario has no agents"},
           {{good, "--csv", good}, "drf_paper.yaml: line 1: unknown column"},
           {{good, "--csv", "no/such/file"}, "'no/such/file': No such file"},
           {{good, "--csv="}, "--csv needs a file"},
           {{good, "--trace", "/no/such/folder/x"}, "cannot write"}}) {
    const Exit done = simulate(words);
    EXPECT_EQ(done.code, 2) << told;
    EXPECT_NE(done.err.find(told), std::string::npos) << done.err;
    EXPECT_EQ(done.out, "");
  }
}

}  // namespace
}  // namespace proffer::test
