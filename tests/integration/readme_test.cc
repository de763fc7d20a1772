// Runs the commands of the README, of the tour and of guides as written, against a cluster.

#include <gtest/gtest.h>

#include "tests/integration/batch_examples.h"
#include "tests/integration/processes.h"
#include "tests/support/shell_blocks.h"

namespace proffer::test {
namespace {

// Runs the commands of a document between two headings one by one against one cluster.
void expect_commands_work(const std::string& document, const std::string& from,
                          const std::string& to, int commands_min) {
  const std::string text = read_file(PROFFER_SOURCE_DIR + document);
  Cluster cluster({.agents = 3, .service = true, .batch = true});
  const std::string agents = cluster.proffer({"agents"}).out;
  TemporaryDirectory home;
  int run_here = 0;
  for (std::string command : commands_between(text, from, to)) {
    if (command.starts_with("proffer dev") || command.starts_with("export PATH")) continue;
    if (const size_t at = command.find("/tmp/"); at != std::string::npos) {
      command.replace(at, 5, home.path() + "/");
    }
    ++run_here;
    const Exit done =
        run({"bash", "-c", command},
            {{"PROFFER_MASTER", cluster.master()}, {"PATH", program("") + ":/usr/bin:/bin"}},
            PROFFER_SOURCE_DIR);
    if (command.starts_with("proffer run --mem")) {
      const bool is_limited = agents.find("  not enforced: ") == std::string::npos;
      EXPECT_EQ(done.err.find("out_of_memory") != std::string::npos, is_limited) << done.err;
      continue;
    }
    // Several tasks have run by then, so `proffer logs run` lists the candidates, as the comment
    // there says.
    const bool lists = command.starts_with("proffer logs run");
    EXPECT_EQ(done.code, lists ? 2 : 0) << command << "\n" << done.out << done.err;
    // A command that only changes a setting prints nothing if it worked.
    const bool sets = command.starts_with("proffer role set") ||
                      command.starts_with("proffer drain") ||
                      command.starts_with("proffer batch wait");
    EXPECT_EQ((done.out + done.err).empty(), sets) << command;
  }
  EXPECT_GE(run_here, commands_min);
}

TEST(Readme, TheExamplesWorkAsWritten) {
  expect_commands_work("/README.md", "## Three examples", "## Where to go next", 6);
}

TEST(Readme, TheTourWorksAsWritten) {
  expect_commands_work("/docs/guides/tour.md", "## A cluster on this machine", "## The picture",
                       27);
}

// The package's path of the examples does not exist during tests; use the source's.
std::string with_examples_of_the_source(std::string script) {
  const std::string installed = "/usr/share/doc/proffer/examples";
  for (size_t at = 0; (at = script.find(installed, at)) != std::string::npos;) {
    script.replace(at, installed.size(), std::string(PROFFER_SOURCE_DIR) + "/examples");
  }
  return script;
}

// All blocks of the guide except those of MPI, as one script.
TEST(Readme, TheGuideToBatchWorksAsWritten) {
  const std::string guide = read_file(std::string(PROFFER_SOURCE_DIR) + "/docs/guides/batch.md");
  std::string script = "set -e\n";
  for (const std::string& line : commands_between(guide, "## Many commands", "## MPI")) {
    script += line + "\n";
  }
  script = with_examples_of_the_source(script);
  Cluster cluster({.agents = 2, .batch = true});
  const TemporaryDirectory home;
  const Exit done =
      run({"bash", "-c", script},
          {{"PROFFER_MASTER", cluster.master()}, {"PATH", program("") + ":/usr/bin:/bin"}},
          home.path(), Seconds(120));
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  for (const char* says :
       {"12 squared is 144", "48 texts/3.txt", "lines-2 of ", "      3 50",
        "pipeline-5 has finished", "  to come", "c0\tcustomer 0\t", "c=60 start=758 length=1365"}) {
    EXPECT_NE(done.out.find(says), std::string::npos) << says << "\n" << done.out << done.err;
  }
}

TEST(Readme, TheGuideToMpiWorksAsWritten) {
  if (const std::string why = why_no_mpi(); !why.empty()) GTEST_SKIP() << why;
  const std::string guide = read_file(std::string(PROFFER_SOURCE_DIR) + "/docs/guides/batch.md");
  std::string script = "set -e\n";
  for (const std::string& line : commands_between(guide, "## MPI", "## The same in Slurm")) {
    script += line + "\n";
  }
  const Cluster cluster({.agents = 2, .batch = true});
  const TemporaryDirectory home;
  const Exit done =
      run({"bash", "-c", with_examples_of_the_source(script) + "proffer batch results mpi-1\n"},
          {{"PROFFER_MASTER", cluster.master()}, {"PATH", program("") + ":/usr/bin:/bin"}},
          home.path(), Seconds(120));
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_NE(done.out.find("pi is 3.1415926536\n"), std::string::npos) << done.out << done.err;
}

TEST(Readme, TheGuideToServicesWorksAsWritten) {
  const std::string guide = read_file(std::string(PROFFER_SOURCE_DIR) + "/docs/guides/service.md");
  // Kill its background processes at its end, even if a command fails.
  std::string script = "set -e\ntrap 'kill $! $(cat haproxy.pid) 2>/dev/null || true' EXIT\n";
  for (const std::string& line : commands_between(guide, "## An app", "## The same in Marathon")) {
    script += line + "\n";
  }
  Cluster cluster({.agents = 2, .service = true});
  const TemporaryDirectory home;
  const Exit done = run(
      {"bash", "-c", script},
      {{"PROFFER_MASTER", cluster.master()}, {"PATH", program("") + ":/usr/sbin:/usr/bin:/bin"}},
      home.path(), Seconds(180));
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  for (const char* says :
       {"hello from version 1", "hello from version 2", "would be updated to version 2",
        "it was rolled back", "web: rolled back to version 1", "web: promoted version 2",
        "web: scaled from 5 to 1 instances"}) {
    EXPECT_NE(done.out.find(says), std::string::npos) << says << "\n" << done.out << done.err;
  }
  EXPECT_NE(done.err.find("version 3 failed: "), std::string::npos) << done.err;
}

// A new user has run only ./quickstart and the command that it prints for the other programs.
TEST(Readme, TheProgramsThatUsersReadOfAreThoseThatQuickstartNames) {
  const std::string source = PROFFER_SOURCE_DIR;
  const Exit built = run({"ninja", "-C", program("") + "..", "-t", "query", "programs"});
  ASSERT_EQ(built.code, 0) << built.out << built.err;
  int named = 0;
  for (const char* document : {"/README.md", "/examples/README.md", "/docs/ARCHITECTURE.md",
                               "/docs/guides/tour.md", "/docs/guides/write-a-framework.md"}) {
    const std::string text = read_file(source + document);
    const std::string begin = "build/bin/";
    for (size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
      const size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_-/", at);
      const std::string name = text.substr(at + 6, end - at - 6);
      if (name.ends_with("/")) continue;
      ++named;
      EXPECT_NE(built.out.find("    " + name + "\n"), std::string::npos) << document << " " << name;
    }
  }
  EXPECT_GE(named, 3);
  // examples/README.md has one list item per example.
  const std::string examples = read_file(source + "/examples/README.md");
  int listed = 0;
  for (size_t at = examples.find("* **`"); at != std::string::npos;
       at = examples.find("* **`", at + 1)) {
    const std::string name = examples.substr(at + 5, examples.find('`', at + 5) - at - 5);
    if (name == "wordcount" || name == "pipeline") continue;  // scripts
    if (name == "batch" || name == "service") continue;
    ++listed;
    EXPECT_NE(built.out.find("    bin/examples/" + name + "\n"), std::string::npos) << name;
  }
  EXPECT_GE(listed, 6);
}

}  // namespace
}  // namespace proffer::test
