// The commands of the README's tour, each as it stands there, against a cluster.

#include <gtest/gtest.h>

#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

// The commands of all ```sh blocks between two headings, continuation lines joined.
std::vector<std::string> commands_between(const std::string& text, const std::string& from,
                                          const std::string& to) {
  const size_t begin = text.find(from);
  const size_t end = text.find(to, begin);
  EXPECT_NE(begin, std::string::npos);
  EXPECT_NE(end, std::string::npos);
  std::vector<std::string> commands;
  bool inside = false;
  bool continues = false;
  for (size_t at = begin; at < end;) {
    const size_t newline = text.find('\n', at);
    std::string line = text.substr(at, newline - at);
    at = newline + 1;
    if (line.starts_with("```")) {
      inside = line == "```sh";
      continue;
    }
    if (!inside || line.empty()) continue;
    const bool more = line.ends_with("\\");
    if (more) line.pop_back();
    if (continues)
      commands.back() += line;
    else
      commands.push_back(line);
    continues = more;
  }
  return commands;
}

TEST(Readme, TheTourWorksAsWritten) {
  const std::string readme = read_file(std::string(PROFFER_SOURCE_DIR) + "/README.md");
  const std::vector<std::string> commands =
      commands_between(readme, "## Two minutes", "## The picture");
  ASSERT_GE(commands.size(), 8u);
  Cluster cluster({.agents = 3, .service = true});
  TemporaryDirectory home;
  int run_here = 0;
  for (std::string command : commands) {
    if (command.starts_with("proffer dev") || command.starts_with("export PATH")) continue;
    if (const size_t at = command.find("/tmp/"); at != std::string::npos) {
      command.replace(at, 5, home.path() + "/");
    }
    ++run_here;
    const Exit done =
        run({"bash", "-c", command},
            {{"PROFFER_MASTER", cluster.master()}, {"PATH", program("") + ":/usr/bin:/bin"}},
            PROFFER_SOURCE_DIR);
    // With several tasks so far, `proffer logs run` lists the candidates, as the comment there
    // says.
    const bool lists = command.starts_with("proffer logs run");
    EXPECT_EQ(done.code, lists ? 1 : 0) << command << "\n" << done.out << done.err;
    // What only sets something says nothing if it worked.
    const bool sets =
        command.starts_with("proffer role set") || command.starts_with("proffer drain");
    EXPECT_EQ((done.out + done.err).empty(), sets) << command;
  }
  EXPECT_GE(run_here, 7);
}

}  // namespace
}  // namespace proffer::test
