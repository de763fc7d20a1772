// The surroundings of a shell that its commands get on an agent.

#include "net/exported_environment.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "common/limits.h"
#include "net/process_settings.h"

namespace proffer::exported_environment_test {
namespace {

using testing::HasSubstr;

struct Exported : testing::Test {
  Exported() {
    ::setenv("TOOL_HOME", "/opt/tool", 1);
    ::setenv("TMPDIR", "/tmp/mine", 1);
    ::setenv("HOME", "/home/ada", 1);
    ::setenv("PROFFER_TASK_ID", "outer-1", 1);
    ::setenv("PROFFER_MASTER", "/run/master.sock", 1);
  }
  ~Exported() override {
    for (const char* name : {"TOOL_HOME", "TMPDIR", "PROFFER_TASK_ID", "PROFFER_MASTER", "BIG"}) {
      ::unsetenv(name);
    }
  }
};

TEST_F(Exported, AllIsTheShellsWithoutWhatIsTrueOnlyThere) {
  const auto all = exported_environment({});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->at("TOOL_HOME"), "/opt/tool");
  EXPECT_EQ(all->at("HOME"), "/home/ada");
  EXPECT_EQ(all->at("PROFFER_MASTER"), "/run/master.sock");
  for (const char* name : {"TMPDIR", "PWD", "SHLVL", "_", "USER", "LOGNAME", "PROFFER_TASK_ID"}) {
    EXPECT_FALSE(all->contains(name)) << name;
  }
  EXPECT_TRUE(all->contains("PROFFER_UMASK"));
  EXPECT_TRUE(all->contains("PROFFER_RLIMIT_NOFILE"));
}

TEST_F(Exported, NamesAndNoneKeepHomeAndMask) {
  const auto named = exported_environment({.variables = "TOOL_HOME, TMPDIR"});
  ASSERT_TRUE(named);
  EXPECT_EQ(named->at("TMPDIR"), "/tmp/mine");
  EXPECT_FALSE(named->contains("PATH"));
  const auto none = exported_environment({.variables = "NONE"});
  ASSERT_TRUE(none);
  EXPECT_EQ(none->size(), 2u);
  EXPECT_EQ(none->at("HOME"), "/home/ada");
  EXPECT_TRUE(none->contains("PROFFER_UMASK"));
  EXPECT_FALSE(exported_environment({.has_sandbox_home = true})->contains("HOME"));
}

TEST_F(Exported, AListMaySetVariablesAndBeginWithAll) {
  const auto set = exported_environment({.variables = "TOOL_HOME=/x=y,ALL,HOME=/h,EMPTY="});
  ASSERT_TRUE(set);
  EXPECT_EQ(set->at("TOOL_HOME"), "/x=y");
  EXPECT_EQ(set->at("HOME"), "/h");
  EXPECT_EQ(set->at("EMPTY"), "");
  EXPECT_EQ(set->at("PROFFER_MASTER"), "/run/master.sock");
  EXPECT_FALSE(exported_environment({.variables = "NONE,TOOL_HOME"}));
  EXPECT_FALSE(exported_environment({.variables = "=x"}));
}

TEST_F(Exported, BadChoicesSayWhatIsAllowed) {
  const auto unset = exported_environment({.variables = "TOOL_HOME,NO_SUCH"});
  ASSERT_FALSE(unset);
  EXPECT_THAT(unset.error().message(), HasSubstr("'NO_SUCH'"));
  EXPECT_THAT(unset.error().hint(), HasSubstr("--env NAME=VALUE"));
  EXPECT_FALSE(exported_environment({.variables = ""}));
  ::setenv("BIG", std::string(kEnvironmentBytesMax, 'x').c_str(), 1);
  const auto big = exported_environment({});
  ASSERT_FALSE(big);
  EXPECT_THAT(big.error().message(), HasSubstr("262144 are allowed"));
  EXPECT_THAT(big.error().hint(), HasSubstr("--export=PATH,LANG"));
}

TEST(ProcessSettings, AreShellCommandsOfNumbersOnly) {
  EXPECT_EQ(settings_as_shell({"PROFFER_UMASK=0027", "PROFFER_RLIMIT_NOFILE=1024",
                               "PROFFER_RLIMIT_STACK=8388608", "PROFFER_RLIMIT_CORE=unlimited"}),
            "umask 0027;ulimit -S -n 1024 2>/dev/null;ulimit -S -s 8192 2>/dev/null;"
            "ulimit -S -c unlimited 2>/dev/null;");
  EXPECT_EQ(settings_as_shell({"PROFFER_UMASK=1$(id)", "PROFFER_UMASK=8", "PROFFER_UMASK=7777",
                               "PROFFER_RLIMIT_NOFILE=;id", "PROFFER_RLIMIT_X=1", "LANG=C"}),
            "");
}

TEST(ProcessSettings, OfThisProcessComeBackTheSame) {
  const mode_t mask = ::umask(0077);
  const auto settings = process_settings();
  EXPECT_EQ(settings.at("PROFFER_UMASK"), "0077");
  ::umask(0);
  EXPECT_EQ(apply_settings({"PROFFER_UMASK=0077"}), "");
  EXPECT_EQ(::umask(mask), mode_t{0077});
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(apply_settings({"PROFFER_RLIMIT_NOFILE=300", "PROFFER_RLIMIT_CPU=900"}),
            "ulimit -S -t 900 2>/dev/null;");
  rlimit now = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(now.rlim_cur, rlim_t{300});
  EXPECT_EQ(apply_settings({"PROFFER_RLIMIT_NOFILE=64"}), "ulimit -S -n 64 2>/dev/null;");
  ::setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace proffer::exported_environment_test
