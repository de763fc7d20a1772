// The program that a shell command line runs, if that can be known.

#include "slave/shell/shell_program.h"

#include <gtest/gtest.h>

namespace proffer::agent {
namespace shell_program_test {
namespace {

TEST(ShellProgram, IsTheAbsolutePathThatTheLineRuns) {
  for (const char* line : {"/opt/run", "exec /opt/run", "  exec   '/opt/run' --flag=1 'a b'",
                           "\"/opt/run\" one", "/opt/run 'two words'"}) {
    EXPECT_EQ(absolute_program_of(line), "/opt/run") << line;
  }
  EXPECT_EQ(absolute_program_of("exec '/opt/my programs/run' 1"), "/opt/my programs/run");
}

TEST(ShellProgram, IsUnknownWhereOnlyTheShellKnows) {
  for (const char* line :
       {"", "exec", "run", "./run", "exec ./run", "$HOME/run", "/opt/run || true",
        "/opt/run; exit 0", "/opt/*/run", "'/opt/run", "'/opt/run'x", "/opt/run > out",
        "/opt/run `cat args`", "NAME=/opt /opt/run", "/opt/run\n/opt/other", "cd /opt && ./run"}) {
    EXPECT_EQ(absolute_program_of(line), std::nullopt) << line;
  }
}

}  // namespace
}  // namespace shell_program_test
}  // namespace proffer::agent
