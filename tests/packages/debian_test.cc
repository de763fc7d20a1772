// The Debian packages in a fresh Debian 12, as an operator and two users see them, from the first
// installation to a complete removal. Only at night (./test --long), and only as root.

#include <filesystem>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/text.h"
#include "tests/packages/debian_root.h"
#include "tests/packages/packed_debian.h"
#include "tests/support/shell_blocks.h"

namespace proffer::debian_test {
namespace {

namespace fs = std::filesystem;
using namespace test;
using testing::HasSubstr;
using testing::Not;

class Debian : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    // One root for all test suites, until this process ends.
    if (!PackedDebian::obstacle().empty() || root_ != nullptr) return;
    root_ = PackedDebian::pristine().copy();
    ASSERT_EQ(root_->made().code, 0) << root_->made().out << root_->made().err;
  }
  void SetUp() override {
    if (const std::string why = PackedDebian::obstacle(); !why.empty()) {
      GTEST_SKIP() << "not run: " << why;
    }
    ASSERT_EQ(root_->made().code, 0);
  }

  // Runs a command of the guide: as root if it has sudo, else as alice; apt-get asks no questions.
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

  static std::string package(const std::string& name) { return PackedDebian::package(name); }

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

  // Follows docs/guides/install.md, whose first command installs.
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
  EXPECT_TRUE(is_there("proffer agents", " connected")) << agent->err();
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
  // Apps run as their creators.
  EXPECT_TRUE(eventually([&] { return debian.as("bob", "proffer service list").code == 0; }))
      << service->err();
  for (const std::string user : {"alice", "bob"}) {
    const Exit applied = debian.as(
        user, "printf 'name: of-" + user +
                  "\\ncommand: \"id -un; exec sleep 1000\"\\n' > app.yaml"
                  " && proffer service apply app.yaml --wait && rm app.yaml && proffer logs of-" +
                  user +
                  ".1.0-"
                  " && proffer service stop of-" +
                  user + " --wait");
    EXPECT_EQ(applied.code, 0) << applied.err << service->err();
    EXPECT_THAT(applied.out, HasSubstr(user + "\n"));
  }

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

  // The operator's settings survive an upgrade and a removal.
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

// Without systemd, a killed agent leaves a task and its cgroups behind.
TEST_F(Debian, APurgeLeavesNothingOfAKilledAgent) {
  if (!fs::exists("/sys/fs/cgroup/pids")) GTEST_SKIP() << "not run: needs cgroups v1";
  DebianRoot& debian = *root_;
  ASSERT_EQ(debian.apt_get({"install", package("proffer")}).code, 0);
  debian.boot();
  const auto master = debian.start(debian.unit("proffer-master"));
  ASSERT_TRUE(eventually([&] { return debian.as("root", "proffer status").code == 0; }))
      << master->err();
  const auto agent = debian.start(debian.unit("proffer-agent"));
  const auto task = debian.start(
      {.command = {"proffer", "run", "--cpus", "0.5", "--", "echo begun; exec sleep 1000"}});
  ASSERT_TRUE(task->line_with("begun")) << task->err() << agent->err();
  const std::string groups = "find /sys/fs/cgroup -type d -name 6b70168a";
  EXPECT_NE(debian.as("root", groups).out, "") << agent->err();
  const std::string of_agent =
      "for p in /proc/[0-9]*; do case $(cat $p/comm) in "
      "proffer-agent) echo ${p#/proc/};; esac; done";
  EXPECT_EQ(debian.as("root", "kill -9 $(" + of_agent + ")").code, 0);

  const Exit purged = debian.as("root", "dpkg --purge proffer");
  EXPECT_EQ(purged.code, 0) << purged.out << purged.err;
  EXPECT_EQ(debian.as("root", groups).out, "");
  // The pattern does not match `proffer run`, which has the words in its arguments.
  const std::string sleeping =
      "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline; echo; done | grep -c '^sleep 1000'";
  EXPECT_EQ(debian.as("root", sleeping).out, "0\n");
  debian.halt();
}

// An attack of one user on another, on the daemons or on the machine.
struct Attack {
  std::string command;  // a shell command, which must fail
  std::string says;     // expected error message: a regular expression
};

// Installed daemons, a task of alice's, and the attacks of bob and nobody.
class AttackedDebian : public Debian {
 protected:
  void SetUp() override {
    Debian::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    ASSERT_EQ(root_->apt_get({"install", package("proffer")}).code, 0);
    for (const char* user : {"alice", "bob"}) {
      root_->in_root({"useradd", "--create-home", "--user-group", user});  // or the user exists
    }
    root_->boot();
    master_ = root_->start(root_->unit("proffer-master"));
    ASSERT_TRUE(eventually([&] { return root_->as("root", "proffer status").code == 0; }))
        << master_->err();
    agent_ = root_->start(root_->unit("proffer-agent"));
    service_ = root_->start(root_->unit("proffer-service"));
    victim_ = root_->start({.user = "alice",
                            .command = {"proffer", "run", "--cpus", "0.5", "--name", "victim", "--",
                                        "echo secret > note; chmod 600 note; "
                                        "echo at $PWD pid $$ task "
                                        "$PROFFER_FRAMEWORK_ID/$PROFFER_TASK_ID; "
                                        "exec sleep 1000"}});
    const std::optional<std::string> line = victim_->line_with("at ");
    ASSERT_TRUE(line) << victim_->err();
    std::istringstream(*line) >> ignored_ >> sandbox_ >> ignored_ >> pid_ >> ignored_ >> task_;
    ASSERT_TRUE(eventually([&] { return service_is_there(); })) << service_->err();
    const Exit applied =
        root_->as("alice",
                  "printf 'name: app\\ncommand: \"echo secret; exec sleep 1000\"\\n' > app.yaml && "
                  "proffer service apply app.yaml --wait");
    ASSERT_EQ(applied.code, 0) << applied.err << service_->err();
    agent_name_ = root_->as("root", "proffer agents | awk 'NR == 2 { print $1 }'").out;
    agent_name_.pop_back();
  }
  void TearDown() override {
    if (root_ == nullptr) return;
    root_->halt();
  }

  static bool service_is_there() { return root_->as("root", "proffer service list").code == 0; }

  // Commands that only operators may use.
  std::vector<Attack> on_cluster() const {
    return {
        {"proffer kill victim", "may not kill a task of another user"},
        {"proffer exec victim -- cat note", "may not run a command in a task of another user"},
        {"proffer kill " + task_ + " --grace 0s", "may not kill a task of another user"},
        {"proffer teardown service", "may not tear down a framework of another user"},
        {"proffer role set research --weight 1000", "may not change a role"},
        {"proffer role set research --guarantee cpus:1", "may not change a role"},
        {"proffer role unset default", "may not change a role"},
        {"proffer drain " + agent_name_ + " --grace 0s", "may not drain an agent"},
        {"proffer undrain " + agent_name_, "may not drain an agent"},
        {"proffer reserve " + agent_name_ + " research cpus:1", "may not reserve"},
        {"proffer unreserve " + agent_name_ + " research cpus:1", "may not reserve"},
        {"printf 'name: app\\ncommand: id\\n' > /tmp/$USER.yaml; "
         "proffer service apply /tmp/$USER.yaml",
         "may not change app 'app' of user 'alice'"},
        {"proffer service scale app 3", "may not change app 'app' of user 'alice'"},
        {"proffer service stop app", "may not change app 'app' of user 'alice'"},
        {"proffer logs app.1.0-", "may not read files of a task of another user"},
        {"proffer kill app.1.0-", "may not kill a task of another user"},
        {"proffer service scheduler --serve-users --session-file /tmp/$USER.session",
         "may not begin a framework that runs tasks of other users"},
        {"proffer agent --master_user=proffer --name=evil --work_dir=/tmp/evil-$USER",
         "may not register an agent"},
        {"proffer agent --master_user=proffer --name=" + agent_name_ +
             " --work_dir=/tmp/twin-$USER",
         "may not register an agent"},
    };
  }

  // Files over HTTP: files of other users, and escapes from one's own sandbox.
  std::vector<Attack> on_files() const {
    const auto by_link = [](const std::string& link) {
      return "task=$(proffer run -- '" + link +
             "; echo $PROFFER_FRAMEWORK_ID/$PROFFER_TASK_ID'); "
             "proffer logs $task --file stolen";
    };
    return {
        {"proffer logs victim", "may not read files of a task of another user"},
        {"proffer logs victim --stderr", "may not read files of a task of another user"},
        {"proffer logs victim --file note", "may not read files of a task of another user"},
        {"proffer logs victim --file ../../../identity", "may not|files are at|has no file"},
        {"proffer tasks --json | grep 1000 || { echo 'may not see commands' >&2; false; }",
         "may not see commands"},
        {by_link("ln -s " + sandbox_ + "/note stolen"), "leads out of"},
        {by_link("ln -s /etc/shadow stolen"), "leads out of"},
        {by_link("ln -s /var/lib/proffer/agent/checkpoint.log stolen"), "leads out of"},
        {by_link("mkfifo stolen"), "neither a file nor"},
    };
  }

  // Attempts that the kernel refuses, with the tool's message; `as_task`: from within a task.
  std::vector<Attack> on_machine() const {
    const std::string denied = "[Pp]ermission denied|not permitted";
    return {
        {"cat " + sandbox_ + "/note", denied},
        {"ls " + sandbox_, denied},
        {"echo x >> " + sandbox_ + "/stdout", denied},
        {"rm -r " + sandbox_, denied},
        {"ln " + sandbox_ + "/note stolen", denied},
        {"cat /proc/" + pid_ + "/cwd/note", denied},
        {"cat /proc/" + pid_ + "/environ", denied},
        {"kill -9 " + pid_, denied},
        {"kill -9 $(ps_of proffer-agent)", denied},
        {"kill -9 $(ps_of proffer-master)", denied},
        {"kill -9 $(ps_of proffer-executor)", denied},
        {"cat /proc/$(ps_of proffer-agent)/environ", denied},
        {"ls /var/lib/proffer/master", denied},
        {"ls /var/lib/proffer/service", denied},
        {"cat /var/lib/proffer/service/session", denied},
        {"ls /var/lib/proffer/agent", denied},
        {"ls /var/lib/proffer/agent/sandboxes", denied},
        {"cat /var/lib/proffer/agent/checkpoint.log", denied},
        {"cat /var/lib/proffer/agent/identity", denied},
        {"rm -f /run/proffer/master.sock", denied},
        {"mv /run/proffer/master.sock /tmp/taken.sock", denied},
        {"ln -sf /tmp/other.sock /run/proffer/master.sock", denied},
        {"rm -f /var/lib/proffer/agent/executors.sock", denied},
        {"echo --operators_group=$USER >> /etc/proffer/master.flags", denied},
        {"ln /etc/shadow stolen", denied},
    };
  }

  // Each attack fails, gives its reason, and shows no data.
  void expect_failures(const std::string& user, const std::vector<Attack>& attacks, bool as_task) {
    // minbase has no ps. The user's own processes are excluded: executors of a user wait for its
    // next task.
    const std::string tools =
        "ps_of() { for p in /proc/[0-9]*; do "
        "case $(tr '\\0' ' ' < $p/cmdline 2>/dev/null) in *proffer/$1\\ *) [ -O $p ] || { echo "
        "${p#/proc/}; return; };; esac; done; }; ";
    for (const Attack& attack : attacks) {
      write_file(root_->at("/tmp/attack"),
                 "cd \"${HOME:-/tmp}\" 2>/dev/null || cd /tmp; " + tools + attack.command + "\n");
      const std::string run =
          as_task ? "proffer run -- sh /tmp/attack" : "timeout 20 sh /tmp/attack";
      const Exit refused = root_->as(user, run);
      EXPECT_NE(refused.code, 0) << user << ": " << attack.command << "\n" << refused.out;
      EXPECT_THAT(refused.err, testing::ContainsRegex(attack.says))
          << user << ": " << attack.command << "\n"
          << refused.out;
      EXPECT_THAT(refused.out + refused.err, Not(HasSubstr("secret"))) << attack.command;
      ++attacks_;
    }
  }

  void expect_victim_unharmed() const {
    EXPECT_EQ(root_->as("alice", "proffer logs victim").code, 0);
    EXPECT_EQ(read_file(root_->at(sandbox_ + "/note")), "secret\n");
    EXPECT_THAT(root_->as("alice", "proffer tasks").out, HasSubstr("victim"));
    const std::string agents = root_->as("alice", "proffer agents").out;
    EXPECT_THAT(agents, HasSubstr(" connected"));
    EXPECT_THAT(agents, Not(HasSubstr("evil")));
    EXPECT_THAT(agents, Not(HasSubstr("drain")));
    EXPECT_TRUE(service_is_there());
  }

  std::unique_ptr<Process> master_;
  std::unique_ptr<Process> agent_;
  std::unique_ptr<Process> service_;
  std::unique_ptr<Process> victim_;
  std::string sandbox_, pid_, task_, agent_name_, ignored_;
  int attacks_ = 0;
};

TEST_F(AttackedDebian, OneUserDoesNothingToAnotherOrToTheCluster) {
  for (const char* user : {"bob", "nobody"}) {
    expect_failures(user, on_cluster(), false);
    expect_failures(user, on_files(), false);
    expect_failures(user, on_machine(), false);
  }
  expect_failures("bob", on_machine(), true);
  EXPECT_GE(attacks_, 30);
  expect_victim_unharmed();

  // The master logs its refusals with the user, at most ten lines per second.
  root_->halt();
  const std::string log = master_->wait().err;
  for (const std::string user : {"bob", "nobody"}) {
    size_t refusals = 0;
    std::istringstream stream(log);
    for (std::string line; std::getline(stream, line);) {
      if (line.find("audit: refused user=" + user + " ") == std::string::npos) continue;
      ++refusals;
      const std::string left_out = "left_out=";
      const size_t more = line.find(left_out);
      if (more != std::string::npos) refusals += std::stoul(line.substr(more + left_out.size()));
    }
    EXPECT_GE(refusals, 10u) << user << "\n" << log;
    EXPECT_THAT(agent_->wait().err, HasSubstr("audit: refused user=" + user));
  }
}

TEST_F(Debian, AnAuthorNeedsOnlyTheDevPackageAndACompiler) {
  DebianRoot& debian = *root_;
  const Exit installed =
      debian.apt_get({"install", package("proffer-dev"), package("proffer-doc"), "g++", "cmake",
                      "make", "pkg-config", "libgmock-dev", "libre2-dev", "libyaml-cpp-dev"});
  ASSERT_EQ(installed.code, 0) << installed.out << installed.err;
  EXPECT_TRUE(fs::exists(debian.at("/usr/share/doc/proffer-doc/reference/index.html")));
  fs::copy(std::string(PROFFER_SOURCE_DIR) + "/tests/packages/author", debian.at("/tmp/author"));
  const Exit built = debian.in_root(
      {"/bin/sh", "-c",
       "cd /tmp/author && cmake -S . -B build && cmake --build build && build/hello_test && "
       "g++ -std=c++20 main.cc $(pkg-config --cflags --libs proffer)"});
  EXPECT_EQ(built.code, 0) << built.out << built.err;
}

}  // namespace
}  // namespace proffer::debian_test
