// `proffer doctor` on this machine, as root and as an ordinary user, with and without a cluster.

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Doctor : public testing::Test {
 protected:
  // Uses a writable work directory for the agent, and a directory of programs.
  Exit doctor(const Words& more = {}, const std::map<std::string, std::string>& environment = {},
              const Words& become = {}) const {
    Words words = become;
    words.insert(words.end(), {programs_ / "proffer", "doctor", "--work_dir=" + (home_ / "work"),
                               "--disk_reserve=1"});
    words.insert(words.end(), more.begin(), more.end());
    return run(words, environment);
  }
  // Other users may have no access to the build directory.
  Doctor() {
    for (const fs::path& folder : {fs::path(home_.path()), fs::path(programs_.path())}) {
      fs::permissions(folder, fs::perms::owner_all | fs::perms::others_exec |
                                  fs::perms::others_read | fs::perms::group_exec);
    }
    for (const char* name : {"proffer", "proffer-master", "proffer-agent", "proffer-executor",
                             "proffer-fetch", "proffer-doctor"}) {
      fs::copy_file(program(name), programs_ / name);
    }
  }

  TemporaryDirectory home_;
  TemporaryDirectory programs_;
};

TEST_F(Doctor, SaysOfEachCheckWhetherItIsWell) {
  const Exit text = doctor();
  EXPECT_EQ(text.code, 0) << text.out << text.err;
  for (const char* check : {"limits", "namespaces", "descriptors", "processes", "clock", "disk",
                            "ports", "programs", "run folder", "master"}) {
    EXPECT_THAT(text.out, HasSubstr(check));
  }
  EXPECT_FALSE(fs::exists(fs::path(home_ / "work")));  // it changes nothing
  const Exit json = doctor({"--json"});
  EXPECT_EQ(json.code, 0) << json.out;
  EXPECT_THAT(json.out, HasSubstr("\"check\":\"disk\""));
  EXPECT_THAT(json.out, HasSubstr("\"ok\":true"));
}

TEST_F(Doctor, FailsWithWhatIsMissingAndTheFix) {
  fs::remove(fs::path(programs_ / "proffer-executor"));
  const Exit text = doctor();
  EXPECT_EQ(text.code, 1);
  EXPECT_THAT(text.out, HasSubstr("fails    programs"));
  EXPECT_THAT(text.out, HasSubstr("proffer-executor"));
  EXPECT_THAT(text.out, HasSubstr("fix: "));
  const Exit json = doctor({"--json"});
  EXPECT_EQ(json.code, 1);
  EXPECT_THAT(json.out, HasSubstr("\"ok\":false"));
  EXPECT_EQ(doctor({"--nothing"}).code, 2);
}

TEST_F(Doctor, FindsTheMasterAndWhoServesIt) {
  EXPECT_THAT(doctor({}, {{"PROFFER_MASTER", home_ / "none.sock"}}).out,
              HasSubstr("no master can be reached at"));
  const Cluster cluster;
  const Exit exit = doctor({}, {{"PROFFER_MASTER", cluster.master()}});
  EXPECT_EQ(exit.code, 0) << exit.out;
  EXPECT_THAT(exit.out, HasSubstr(cluster.master() + ", served by uid "));
}

TEST_F(Doctor, SaysAnOrdinaryUserThatLimitsNeedRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "not run: only root can become another user";
  const Words become = {"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
  const Exit refused = doctor({}, {}, become);
  EXPECT_EQ(refused.code, 1) << refused.out;
  EXPECT_THAT(refused.out, HasSubstr("this user may not write to"));
  ASSERT_EQ(chown(home_.path().c_str(), 65'534, 65'534), 0);
  const Exit exit = doctor({}, {}, become);
  EXPECT_EQ(exit.code, 0) << exit.out << exit.err;
  EXPECT_THAT(exit.out, HasSubstr("warning  limits"));
  EXPECT_THAT(exit.out, HasSubstr("run the agent as root"));
}

}  // namespace
}  // namespace proffer::test
