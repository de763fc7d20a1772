// Executors of agents from before tasks had users look for the agent's socket at its old place: in
// the user's directory in $XDG_RUNTIME_DIR or the temporary directory.

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/text.h"
#include "net/local_server.h"
#include "slave/shell/checkpoint.h"
#include "slave/shell/machine.h"
#include "tests/net/support.h"

namespace proffer::agent::former_executors_test {
namespace {

namespace fs = std::filesystem;

class FormerExecutors : public testing::Test {
 protected:
  FormerExecutors() {
    const char* before = std::getenv("XDG_RUNTIME_DIR");
    if (before != nullptr) before_ = before;
    ::setenv("XDG_RUNTIME_DIR", home_.path().c_str(), 1);
    fs::create_directory(folder_);
    fs::permissions(folder_, fs::perms::owner_all);
  }
  ~FormerExecutors() override {
    if (before_.empty()) {
      ::unsetenv("XDG_RUNTIME_DIR");
    } else {
      ::setenv("XDG_RUNTIME_DIR", before_.c_str(), 1);
    }
  }
  void lead(bool is_wanted) const { lead_former_executors(work_dir_, socket_, is_wanted); }

  net_test::TempDir home_;
  std::string before_;
  const std::string work_dir_ = home_.path() / "work";
  const std::string socket_ = home_.path() / "executors.sock";
  const std::string folder_ = home_.path() / text("proffer-", ::geteuid());
  const std::string former_ = text(folder_, "/", hash_of(work_dir_), ".sock");
};

TEST_F(FormerExecutors, FindTheAgentOfToday) {
  Loop loop;
  int heard = 0;
  const auto server =
      LocalServer::bind(loop, socket_, {.on_frame = [&](PeerId, auto) { ++heard; }});
  ASSERT_TRUE(server);
  std::ofstream(former_) << "what the agent that was killed left behind";
  lead(true);
  const Fd executor = net_test::connect_path(former_);
  net_test::send_all(executor, std::string("\x01\0\0\0x", 5));
  EXPECT_TRUE(net_test::run_until(loop, [&] { return heard == 1; }));
}

TEST_F(FormerExecutors, LeaveNoLinkBehindWhenTheyHaveEnded) {
  lead(true);
  EXPECT_TRUE(fs::is_symlink(former_));
  lead(false);
  EXPECT_FALSE(fs::exists(fs::symlink_status(former_)));
}

// The socket of a running agent of that version, in another work directory, is not touched.
TEST_F(FormerExecutors, NothingElseIsTouchedIfThereAreNone) {
  std::ofstream(former_) << "";
  lead(false);
  EXPECT_TRUE(fs::exists(former_));
}

TEST_F(FormerExecutors, AFolderThatOthersMayEnterIsNotUsed) {
  fs::permissions(folder_, fs::perms::all);
  lead(true);
  EXPECT_FALSE(fs::exists(fs::symlink_status(former_)));
}

TEST_F(FormerExecutors, AreThoseWithoutAUser) {
  const proto::ExecutorRecord former{.framework = FrameworkId("f"), .executor = ExecutorId("e")};
  proto::ExecutorRecord today = former;
  today.user = "ada";
  EXPECT_TRUE(names_former_executors({{today, former}}));
  EXPECT_FALSE(names_former_executors({{today}}));
}

}  // namespace
}  // namespace proffer::agent::former_executors_test
