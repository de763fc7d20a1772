// Secrets of a task on a second machine, set by a user on a third: CURVE encrypts both ways, and no
// machine's disk has the value.

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/text.h"
#include "tests/integration/processes.h"
#include "tests/machines/joined.h"

namespace proffer::secrets_machines_test {
namespace {

namespace fs = std::filesystem;
using namespace test;

class SecretsOnMachines : public JoinedMachines {
 protected:
  // Files below the directory that contain the value.
  static std::vector<std::string> files_with(const std::string& directory,
                                             const std::string& value) {
    std::vector<std::string> found;
    std::error_code failed;
    for (const auto& entry : fs::recursive_directory_iterator(directory, failed)) {
      std::error_code gone;
      if (!entry.is_regular_file(gone) || entry.is_symlink(gone)) continue;
      if (read_file(entry.path()).find(value) != std::string::npos) found.push_back(entry.path());
    }
    return found;
  }
};

TEST_F(SecretsOnMachines, AreGivenToATaskOfTheirUserOnAnother) {
  const std::string value = "Zq7-over-the-wire-Wk4";
  fs::copy_file(program("proffer-service"), home_ / "proffer-service");
  join_agent("a2");
  start_agent();
  const auto scheduler = master_machine_->starts(
      {home_ / "proffer", "service", "scheduler", "--master=" + socket_path(),
       "--session-file=" + (home_ / "service.session"), "--serve-users"});
  ASSERT_TRUE(eventually([&] {
    return operates({"service", "list"}).code == 0;
  })) << scheduler->err();
  join_user("nobody");
  const std::string mine = home_ / "mine";
  fs::create_directory(mine);
  ASSERT_EQ(chown(mine.c_str(), kNobody, kNobody), 0);
  write_file(mine + "/value", value);
  ASSERT_EQ(chown((mine + "/value").c_str(), kNobody, kNobody), 0);
  write_file(mine + "/app.yaml",
             text("name: db\nresources: 'cpus:0.1;mem:32'\ncommand: '[ \"$P\" = \"$(cat "
                  "secrets/p.txt)\" ] && printf %s \"$P\" | wc -c > ",
                  mine, "/told; id -un >> ", mine,
                  "/told; exec sleep 1000'\nsecrets: {password: {env: P, file: p.txt}}\n"));
  const Exit set = user_runs({"secret", "set", "password", "--file", mine + "/value"});
  ASSERT_EQ(set.code, 0) << set.err;
  const Exit applied = user_runs({"service", "apply", mine + "/app.yaml", "--wait"});
  ASSERT_EQ(applied.code, 0) << applied.err;
  EXPECT_EQ(read_file(mine + "/told"), text(value.size(), "\nnobody\n"));
  for (const char* directory : {"agent", "master", "run"}) {
    EXPECT_EQ(files_with(home_ / directory, value), std::vector<std::string>()) << directory;
  }
  EXPECT_EQ(user_runs({"service", "stop", "db", "--wait"}).code, 0);
  scheduler->kill(SIGTERM);
  EXPECT_EQ(scheduler->wait().code, 0) << scheduler->err();
}

}  // namespace
}  // namespace proffer::secrets_machines_test
