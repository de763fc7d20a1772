// A cluster of several machines: how they join it by a token, who runs tasks there as whom, and
// what strangers, thieves and the revoked get. Machines are network namespaces.

#include <chrono>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/text.h"
#include "net/curve_keys.h"
#include "tests/integration/processes.h"
#include "tests/machines/machines.h"

namespace proffer::join_test {
namespace {

namespace fs = std::filesystem;
using namespace test;
using testing::HasSubstr;
using testing::Not;

constexpr unsigned kNobody = 65'534;

// Three machines: the master's, one for agents, and one of users.
class Join : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "not run: only root can make network namespaces";
    if (run({"unshare", "--net", "ip", "link"}).code != 0) {
      GTEST_SKIP() << "not run: no network namespaces can be made here";
    }
    fs::permissions(home_.path(), fs::perms::owner_all | fs::perms::others_exec);
    for (const char* name :
         {"proffer", "proffer-master", "proffer-agent", "proffer-executor", "proffer-fetch"}) {
      fs::copy_file(program(name), home_ / name);
    }
    master_machine_ = std::make_unique<Machine>("m", home_.path());
    agent_machine_ = std::make_unique<Machine>("a", home_.path());
    user_machine_ = std::make_unique<Machine>("u", home_.path());
    master_machine_->link(*agent_machine_, "10.231.1");
    master_machine_->link(*user_machine_, "10.231.2");
    const Exit made = master_machine_->runs(
        {home_ / "proffer", "keys", "init", "--data-dir=" + (home_ / "master")});
    ASSERT_EQ(made.code, 0) << made.err;
    start_master();
  }

  void start_master() {
    master_ = master_machine_->starts({home_ / "proffer-master", "--data_dir=" + (home_ / "master"),
                                       "--socket=" + socket_path(), "--port=5050", "--heartbeat=1s",
                                       "--agent_timeout=5s"});
    ASSERT_TRUE(eventually([&] { return operates({"status"}).code == 0; })) << master_->err();
  }

  void TearDown() override {
    for (const auto& daemon : {agent_.get(), master_.get()}) {
      if (daemon == nullptr) continue;
      daemon->kill(SIGTERM);
      EXPECT_EQ(daemon->wait().code, 0) << daemon->err();
    }
    EXPECT_EQ(processes_of(home_.path() + "/"), std::vector<pid_t>());
  }

  std::string socket_path() const { return home_ / "run/master.sock"; }
  // `proffer …` by an operator beside the master.
  Exit operates(Words words) const {
    words.insert(words.begin(), home_ / "proffer");
    words.push_back("--master=" + socket_path());
    return master_machine_->runs(words);
  }
  std::string token(const Words& whom) const {
    Words words = {"join-token"};
    words.insert(words.end(), whom.begin(), whom.end());
    const Exit made = operates(words);
    EXPECT_EQ(made.code, 0) << made.err;
    return made.out;
  }
  // With the token in a file, as `proffer join --join-file` wants it.
  Words join_with(const std::string& token) const {
    write_file(home_ / "token", token);
    fs::permissions(home_ / "token",
                    fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_read);
    return {home_ / "proffer", "join", "--join-file", home_ / "token"};
  }
  void join_agent(const std::string& name) const {
    const Exit joined = agent_machine_->runs(join_with(token({"--agent", name})));
    ASSERT_EQ(joined.code, 0) << joined.err;
  }
  void start_agent() {
    agent_ = agent_machine_->starts({home_ / "proffer-agent", "--work_dir=" + (home_ / "agent"),
                                     "--resources=cpus:2;mem:512", "--tasks_on_exit=kill",
                                     "--heartbeat=1s", "--master_timeout=5s"});
    ASSERT_TRUE(eventually([&] { return serves("a2"); })) << agent_->err();
  }
  bool serves(const std::string& agent) const {
    const Exit agents = operates({"agents"});
    return agents.out.find(agent + " ") != std::string::npos &&
           agents.out.find("active") != std::string::npos;
  }
  // On the users' machine, as that user.
  void join_user(const std::string& name) const {
    fs::create_directories(*user_machine_ / "config");
    ASSERT_EQ(chown((*user_machine_ / "config").c_str(), kNobody, kNobody), 0);
    const Exit joined = user_machine_->runs_as(kNobody, join_with(token({"--user", name})));
    ASSERT_EQ(joined.code, 0) << joined.err;
  }
  Exit user_runs(Words words) const {
    words.insert(words.begin(), home_ / "proffer");
    return user_machine_->runs_as(kNobody, words);
  }
  std::string keys_file(const Machine& machine, const std::string& kind) const {
    return machine / ("config/" + kind + ".keys");
  }
  // A membership with another line in place of one.
  static void forge(const std::string& path, const std::string& name, const std::string& value) {
    const std::string content = read_file(path);
    std::string forged;
    for (const std::string_view line : split(content, '\n')) {
      if (line.empty()) continue;
      forged += line.starts_with(name + " ") ? text(name, " ", value) : std::string(line);
      forged += '\n';
    }
    write_file(path, forged);
  }
  static std::string value_in(const std::string& path, const std::string& name) {
    const std::string content = read_file(path);
    for (const std::string_view line : split(content, '\n')) {
      if (line.starts_with(name + " ")) return std::string(line.substr(name.size() + 1));
    }
    return "";
  }

  TemporaryDirectory home_;
  std::unique_ptr<Machine> master_machine_;
  std::unique_ptr<Machine> agent_machine_;
  std::unique_ptr<Machine> user_machine_;
  std::unique_ptr<Process> master_;
  std::unique_ptr<Process> agent_;
};

TEST_F(Join, AnotherMachineServesAndAUserOnAThirdRunsTasksThereAsItself) {
  const auto begun = std::chrono::steady_clock::now();
  join_agent("a2");
  start_agent();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, Seconds(10) * slowdown());
  EXPECT_EQ(fs::status(keys_file(*agent_machine_, "agent")).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);

  join_user("nobody");
  EXPECT_THAT(user_runs({"status"}).out, HasSubstr("1 active"));
  const std::string proof = home_ / "proof";
  fs::create_directory(proof);
  ASSERT_EQ(chown(proof.c_str(), kNobody, kNobody), 0);
  const Exit ran = user_runs({"run", "--", text("id -un > ", proof, "/who")});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(read_file(proof + "/who"), "nobody\n");
  // What does not reach beyond the agent's machine says so.
  EXPECT_THAT(ran.err, HasSubstr("agent 'a2' is on another machine"));

  // A user has the rights of its name, and no more.
  const Exit refused = user_runs({"drain", "a2"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("user 'nobody' may not drain an agent"));
  EXPECT_THAT(operates({"keys", "list"}).out, HasSubstr("joined"));
}

TEST_F(Join, AUserThatTheAgentsMachineDoesNotKnowIsRefusedThere) {
  join_agent("a2");
  start_agent();
  join_user("zelda-of-nowhere");
  const Exit ran = user_runs({"run", "--", "touch " + (home_ / "tmp-proof")});
  EXPECT_NE(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("zelda-of-nowhere"));
  EXPECT_FALSE(fs::exists(home_ / "tmp-proof"));
}

TEST_F(Join, ATokenIsGoodOnceAndWithinItsTime) {
  const std::string line = token({"--agent", "a2"});
  ASSERT_EQ(agent_machine_->runs(join_with(line)).code, 0);
  const Exit replayed = user_machine_->runs(join_with(line));
  EXPECT_EQ(replayed.code, 1);
  EXPECT_THAT(replayed.err, HasSubstr("the join token was used, or its time is over"));
  EXPECT_FALSE(fs::exists(keys_file(*user_machine_, "agent")));

  const std::string brief = token({"--user", "nobody", "--ttl", "1s"});
  ASSERT_TRUE(eventually([&] {
    return operates({"keys", "list"}).out.find("token, over") != std::string::npos;
  }));
  const Exit expired = user_machine_->runs(join_with(brief));
  EXPECT_EQ(expired.code, 1);
  EXPECT_THAT(expired.err, HasSubstr("its time is over"));
  EXPECT_TRUE(master_->complains("audit: refused"));
  EXPECT_TRUE(master_->complains("unknown-key"));
}

// The agent that serves is not disturbed by any of it.
TEST_F(Join, AttackersAreRefusedAndNothingIsDisturbed) {
  join_agent("a2");
  start_agent();
  const auto attacks = [&](const std::string& what, const std::string& says) {
    const Exit refused = user_runs({"status"});
    EXPECT_EQ(refused.code, 3) << what << ": " << refused.out;
    EXPECT_THAT(refused.err, HasSubstr(says)) << what;
  };
  const std::string mine = keys_file(*user_machine_, "user");

  // No key.
  const Exit none = user_machine_->runs({home_ / "proffer", "status", "--master=10.231.2.1:5050"});
  EXPECT_EQ(none.code, 1) << none.out;
  EXPECT_THAT(none.err, HasSubstr("wants a key"));
  // Plain, where a client would speak it: on the master's own machine.
  const Exit plain =
      master_machine_->runs({home_ / "proffer", "status", "--master=127.0.0.1:5050"});
  EXPECT_EQ(plain.code, 3);
  EXPECT_THAT(plain.err, HasSubstr("may want a key"));

  // A key that nobody registered; then a master that is not the one that was joined.
  join_user("nobody");
  const std::string good = read_file(mine);
  forge(mine, "secret_key", make_key_pair().secret_key);
  attacks("wrong key", "refuses this key");
  write_file(mine, good);
  forge(mine, "master_key", make_key_pair().public_key.str());
  attacks("another master", "does not have the key");

  // A user's key is no agent's, and one agent's is not another's.
  const std::string theirs = keys_file(*user_machine_, "agent");
  const auto registers_as = [&](const std::string& name) {
    Process agent(user_machine_->command({home_ / "proffer-agent",
                                          "--work_dir=" + (home_ / ("thief-" + name)),
                                          "--resources=cpus:1;mem:64"}),
                  user_machine_->environment());
    return agent.wait();
  };
  fs::copy_file(keys_file(*agent_machine_, "agent"), theirs);
  fs::permissions(theirs, fs::perms::owner_read | fs::perms::owner_write);
  forge(theirs, "masters", "10.231.2.1:5050");
  forge(theirs, "agent", "a3");
  const Exit stolen = registers_as("a3");
  EXPECT_EQ(stolen.code, 1);
  EXPECT_THAT(stolen.err, HasSubstr("the key of agent 'a2' may not register agent 'a3'"));
  write_file(mine, good);
  forge(theirs, "secret_key", value_in(mine, "secret_key"));
  const Exit user_as_agent = registers_as("a4");
  EXPECT_EQ(user_as_agent.code, 1);
  EXPECT_THAT(user_as_agent.err, HasSubstr("user 'nobody' may not register an agent"));
  EXPECT_TRUE(master_->complains("agent:a2"));

  // Revoked: at once, and for good.
  ASSERT_EQ(user_runs({"status"}).code, 0);
  ASSERT_EQ(operates({"keys", "revoke", "--user", "nobody"}).code, 0);
  attacks("revoked", "refuses this key");

  // The master's key is as secret as its file.
  EXPECT_TRUE(serves("a2"));
  EXPECT_THAT(operates({"agents"}).out, Not(HasSubstr("a3")));
  ASSERT_EQ(operates({"keys", "revoke", "--agent", "a2"}).code, 0);
  EXPECT_TRUE(agent_->complains("was revoked"));
  EXPECT_TRUE(eventually([&] { return !serves("a2"); }));
}

// Its key is good for as many connections as it needs, and the master knows it after a restart.
TEST_F(Join, AnAgentComesBackByItsKey) {
  join_agent("a2");
  start_agent();
  const std::string proof = home_ / "proof";
  Process task(master_machine_->command({home_ / "proffer", "run", "--master=" + socket_path(),
                                         "--", text("echo begun >> ", proof, "; sleep 1000")}),
               master_machine_->environment());
  ASSERT_TRUE(eventually([&] { return fs::exists(proof); }));

  master_machine_->cut("10.231.1");
  ASSERT_TRUE(eventually([&] { return !serves("a2"); }));
  master_machine_->mend("10.231.1");
  ASSERT_TRUE(eventually([&] { return serves("a2"); })) << agent_->err();

  master_->kill(SIGKILL);
  master_->wait();
  start_master();
  ASSERT_TRUE(eventually([&] { return serves("a2"); })) << agent_->err();
  EXPECT_TRUE(
      eventually([&] { return operates({"tasks"}).out.find("running") != std::string::npos; }));
  EXPECT_EQ(read_file(proof), "begun\n");
  task.kill(SIGINT);
  task.wait();
}

TEST_F(Join, NothingIsServedPlainlyBeyondLoopbackWhateverTheFlags) {
  const auto starts = [&](Words flags) {
    flags.insert(flags.begin(),
                 {home_ / "proffer-master", "--data_dir=" + (home_ / "other"), "--socket="});
    return master_machine_->runs(flags);
  };
  for (const char* address : {"0.0.0.0", "10.231.1.1", "::"}) {
    const Exit open = starts({"--insecure_tcp", text("--bind=", address), "--port=0"});
    EXPECT_EQ(open.code, 2) << address;
    EXPECT_THAT(open.err, HasSubstr("serves only on this machine"));
  }
  for (const char* flag : {"--port=0", "--bind=10.231.1.1", "--advertise=m.example"}) {
    const Exit keyless = starts({flag});
    EXPECT_EQ(keyless.code, 2) << flag;
    EXPECT_THAT(keyless.err, HasSubstr("proffer keys init"));
  }
  const Exit again = master_machine_->runs(
      {home_ / "proffer", "keys", "init", "--data-dir=" + (home_ / "master")});
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.err, HasSubstr("there is a key"));

  fs::create_directory(home_ / "other");
  fs::copy_file(home_ / "master/master.key", home_ / "other/master.key");
  fs::permissions(home_ / "other/master.key", fs::perms::owner_read | fs::perms::group_read);
  const Exit wide = starts({"--port=0"});
  EXPECT_EQ(wide.code, 1);
  EXPECT_THAT(wide.err, HasSubstr("chmod 600"));
}

}  // namespace
}  // namespace proffer::join_test
