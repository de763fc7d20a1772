// The Debian packages in a fresh Debian 12: what an operator and two users see from the first
// installation until nothing is left. At night only (./test --long), and for root only.

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/text.h"
#include "tests/packages/debian_root.h"
#include "tests/support/shell_blocks.h"

namespace proffer::debian_test {
namespace {

namespace fs = std::filesystem;
using namespace test;
using testing::HasSubstr;
using testing::Not;

class Debian : public testing::Test {
 protected:
  // Why it cannot be run here; empty: it can.
  static std::string obstacle() {
    if (std::getenv("PROFFER_LONG") == nullptr) return "it takes minutes";
    if (geteuid() != 0) return "only root can enter another root";
    for (const char* tool : {"debootstrap", "dpkg-shlibdeps", "file", "ip"}) {
      if (run({"which", tool}).code != 0) return text("no ", tool, ", see tools/setup.sh --long");
    }
    return "";
  }

  static void SetUpTestSuite() {
    if (!obstacle().empty()) return;
    root_ = std::make_unique<DebianRoot>();
    ASSERT_EQ(root_->made().code, 0) << root_->made().out << root_->made().err;
    const std::string build = program("") + "..";
    const Exit packed = run(
        {"cpack", "-G", "DEB", "--config", build + "/CPackConfig.cmake", "-B", root_->at("/debs")},
        {}, {}, Seconds{300});
    ASSERT_EQ(packed.code, 0) << packed.out << packed.err;
    fs::remove_all(root_->at("/debs/_CPack_Packages"));
  }
  static void TearDownTestSuite() { root_ = nullptr; }

  void SetUp() override {
    if (const std::string why = obstacle(); !why.empty()) GTEST_SKIP() << "not run: " << why;
    ASSERT_EQ(root_->made().code, 0);
  }

  // A command of the guide: of root with sudo, of alice without; apt-get does not ask.
  static void run_as_written(std::string command) {
    if (command.starts_with("sudo systemctl ")) return;
    const std::string sudo = "sudo ";
    const bool is_root = command.find(sudo) != std::string::npos;
    const auto replace = [&](const std::string& from, const std::string& to) {
      if (const size_t at = command.find(from); at != std::string::npos) {
        command.replace(at, from.size(), to);
      }
    };
    replace(sudo, "");
    replace("./build/packages/", "/debs/");
    replace("apt-get ", "DEBIAN_FRONTEND=noninteractive apt-get -y --no-install-recommends ");
    const bool wants_network = command.find("apt-get") != std::string::npos;
    const Exit done = wants_network ? root_->in_root({"/bin/sh", "-c", command})
                                    : root_->as(is_root ? "root" : "alice", command);
    EXPECT_EQ(done.code, 0) << command << "\n" << done.out << done.err;
    EXPECT_THAT(done.out + done.err, Not(HasSubstr("warning"))) << command;
  }

  // The path of a package inside the root.
  static std::string package(const std::string& name) {
    for (const auto& entry : fs::directory_iterator(root_->at("/debs"))) {
      const std::string file = entry.path().filename();
      if (file.starts_with(name + "_")) return "/debs/" + file;
    }
    return "/debs/" + name;
  }

  static std::unique_ptr<DebianRoot> root_;
};
std::unique_ptr<DebianRoot> Debian::root_;

std::string list(const std::set<std::string>& paths, const std::set<std::string>& without) {
  std::string all;
  for (const std::string& path : paths) {
    if (!without.contains(path)) all += path + "\n";
  }
  return all;
}

TEST_F(Debian, IsInstalledUsedUpgradedAndPurgedWithoutATrace) {
  DebianRoot& debian = *root_;
  for (const char* user : {"alice", "bob"}) {
    ASSERT_EQ(debian.in_root({"useradd", "--create-home", "--user-group", user}).code, 0);
  }
  const std::set<std::string> before = debian.paths();
  const std::string users_before = read_file(debian.at("/etc/passwd"));

  // As docs/guides/install.md says, whose first command installs.
  const std::string guide = read_file(std::string(PROFFER_SOURCE_DIR) + "/docs/guides/install.md");
  std::vector<std::string> commands = commands_between(guide, "## Install\n", "## Settings\n");
  ASSERT_GE(commands.size(), 5u);
  run_as_written(commands.front());
  EXPECT_THAT(read_file(debian.at("/etc/passwd")), HasSubstr("proffer:"));

  debian.boot();
  auto master = debian.start(debian.unit("proffer-master"));
  const auto master_answers = [&] { return debian.as("bob", "proffer status").code == 0; };
  ASSERT_TRUE(eventually(master_answers)) << master->err();
  const auto agent = debian.start(debian.unit("proffer-agent"));
  const auto service = debian.start(debian.unit("proffer-service"));
  const auto is_there = [&](const std::string& answer, const std::string& what) {
    return eventually([&] { return debian.as("bob", answer).out.find(what) != std::string::npos; });
  };
  EXPECT_TRUE(is_there("proffer agents", "active")) << agent->err();
  EXPECT_TRUE(is_there("proffer frameworks", "service")) << service->err();
  commands.erase(commands.begin());
  for (const std::string& command : commands) run_as_written(command);

  for (const std::string user : {"alice", "bob"}) {
    const Exit ran = debian.as(user, "proffer run -- 'id -un; id -Gn; stat -c %U:%a .'");
    EXPECT_EQ(ran.code, 0) << ran.err << agent->err();
    EXPECT_EQ(ran.out, user + "\n" + user + "\n" + user + ":700\n");
    EXPECT_EQ(debian.as(user, "proffer role set research --weight 3").code, 1);
  }
  EXPECT_EQ(debian.as("root", "proffer run -- id -un").out, "root\n");

  for (const std::string& command :
       commands_between(guide, "## Settings\n", "## Upgrade and remove\n")) {
    if (command.starts_with("sudo systemctl restart proffer-master")) {
      EXPECT_EQ(DebianRoot::stop(*master).code, 0);
      master = debian.start(debian.unit("proffer-master"));
      ASSERT_TRUE(eventually(master_answers)) << master->err();
    }
    run_as_written(command);
  }
  const Exit refused = debian.as("bob", "proffer role set research --weight 3");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("user 'bob' may not change a role"));
  EXPECT_TRUE(eventually([&] { return debian.as("root", "proffer service list").code == 0; }))
      << service->err();

  for (Process* daemon : {service.get(), agent.get(), master.get()}) {
    const Exit ended = DebianRoot::stop(*daemon);
    EXPECT_TRUE(ended.code == 0 || ended.code == 143) << ended.code << ended.err;
  }
  debian.halt();

  // Settings of the operator outlive an upgrade and a removal.
  const std::string settings = read_file(debian.at("/etc/proffer/master.flags"));
  EXPECT_THAT(settings, HasSubstr("\n--operators_group=operators\n"));
  const Exit again = debian.apt_get({"install", "--reinstall", package("proffer")});
  EXPECT_EQ(again.code, 0) << again.out << again.err;
  commands = commands_between(guide, "## Upgrade and remove\n", "## Without packages\n");
  ASSERT_EQ(commands.size(), 2u);
  run_as_written(commands[0]);
  EXPECT_EQ(read_file(debian.at("/etc/proffer/master.flags")), settings);
  EXPECT_TRUE(fs::exists(debian.at("/var/lib/proffer/master")));
  run_as_written(commands[1]);
  EXPECT_EQ(debian.apt_get({"autoremove", "--purge"}).code, 0);
  EXPECT_EQ(list(debian.paths(), before), "");
  EXPECT_EQ(read_file(debian.at("/etc/passwd")), users_before);
}

TEST_F(Debian, AnAuthorNeedsOnlyTheDevPackageAndACompiler) {
  DebianRoot& debian = *root_;
  const Exit installed =
      debian.apt_get({"install", package("proffer-dev"), package("proffer-doc"), "g++", "cmake",
                      "make", "pkg-config", "libgmock-dev", "libre2-dev", "libyaml-cpp-dev"});
  ASSERT_EQ(installed.code, 0) << installed.out << installed.err;
  fs::copy(std::string(PROFFER_SOURCE_DIR) + "/tests/packages/author", debian.at("/tmp/author"));
  const Exit built = debian.in_root(
      {"/bin/sh", "-c",
       "cd /tmp/author && cmake -S . -B build && cmake --build build && build/hello_test && "
       "g++ -std=c++20 main.cc $(pkg-config --cflags --libs proffer)"});
  EXPECT_EQ(built.code, 0) << built.out << built.err;
}

}  // namespace
}  // namespace proffer::debian_test
