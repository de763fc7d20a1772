// Runs the commands of docs/guides/operate.md as written, against a cluster.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/processes.h"
#include "tests/support/shell_blocks.h"

namespace proffer::operations_test {
namespace {

using namespace test;
using testing::HasSubstr;

TEST(Operate, TheGuideWorksAsWritten) {
  const std::string guide = read_file(std::string(PROFFER_SOURCE_DIR) + "/docs/guides/operate.md");
  // Kill its background processes at its end, even if a command fails.
  std::string script = "set -e\ntrap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n";
  for (const std::string& line : commands_between(guide + "\n## End\n", "## Morning", "## End")) {
    script += line + "\n";
  }
  const Cluster cluster(
      {.agents = 2, .resources = "cpus:2;mem:1024", .more = {"--attributes", "rack:r1"}});
  const TemporaryDirectory home;
  const Exit done = run({"bash", "-c", script},
                        {{"PROFFER_MASTER", cluster.master()},
                         {"DIR", cluster.dir()},
                         {"PATH", program("") + ":/usr/sbin:/usr/bin:/sbin:/bin"}},
                        home.path(), Seconds(120));
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  for (const char* says : {"nothing is wrong\n", "AskFitsNowhere report-", "16 cpus", "drained",
                           "\nlimit ", "AgentLost agent-4", "agent disconnected  agent=agent-4",
                           "manifest.txt", "wrote bundle.tar.gz"}) {
    EXPECT_THAT(done.out, HasSubstr(says)) << done.err;
  }
}

}  // namespace
}  // namespace proffer::operations_test
