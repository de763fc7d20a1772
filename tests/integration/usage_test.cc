// The help of programs, and valid positions of options.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/processes.h"

namespace proffer::usage_test {
namespace {

using namespace test;
using testing::HasSubstr;
using testing::Not;

TEST(Usage, HelpOfADaemonShowsItsOwnFlagsAndHelpfullThoseOfLibrariesToo) {
  for (const char* daemon : {"proffer-master", "proffer-agent"}) {
    const Exit help = run({program(daemon), "--help"});
    EXPECT_EQ(help.code, 0) << help.err;
    EXPECT_THAT(help.out, HasSubstr("\n  --heartbeat=5s\n"));
    EXPECT_THAT(help.out, HasSubstr("\n  --flagfile=…\n"));
    EXPECT_THAT(help.out, Not(HasSubstr("logtostderr")));
    const Exit full = run({program(daemon), "--helpfull"});
    EXPECT_EQ(full.code, 0) << full.err;
    EXPECT_THAT(full.out, HasSubstr("-heartbeat"));
    EXPECT_THAT(full.out, HasSubstr("-logtostderr"));
    const Exit version = run({program(daemon), "--version"});
    EXPECT_THAT(version.out, HasSubstr(std::string(daemon) + " 0."));
    EXPECT_EQ(run({program(daemon), "--no_such_flag"}).code, 2);
    EXPECT_EQ(run({program(daemon), "word"}).code, 2);
  }
}

TEST(Usage, OptionsMayStandBeforeTheCommand) {
  const TemporaryDirectory none;
  const std::string master = none / "master.sock";
  const Words lines[] = {{"--json", "--master=" + master, "tasks"},
                         {"--master", master, "tasks", "--json"},
                         {"--master", master, "--json", "role", "list"},
                         {"--json", "--master=" + master, "service", "list"}};
  for (Words words : lines) {
    words.insert(words.begin(), program("proffer"));
    const Exit refused = run(words);
    EXPECT_EQ(refused.code, 3);
    EXPECT_THAT(refused.err, HasSubstr("cannot reach a master at " + master));
    EXPECT_TRUE(refused.err.starts_with("{\"error\"")) << refused.err;
  }
}

TEST(Usage, OptionsWithoutACommandAreRefused) {
  for (const Words& options : {Words{"--json"}, Words{"--master", "tasks"}}) {
    Words words = options;
    words.insert(words.begin(), program("proffer"));
    const Exit refused = run(words);
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("no command follows '" + options.back() + "'"));
  }
}

}  // namespace
}  // namespace proffer::usage_test
