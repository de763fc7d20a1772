// A cluster of several machines: joining by token, the users of tasks, and attempts by strangers,
// thieves and revoked members. Machines are network namespaces.

#include <chrono>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/text.h"
#include "net/curve_keys.h"
#include "tests/integration/processes.h"
#include "tests/machines/joined.h"

namespace proffer::join_test {
namespace {

namespace fs = std::filesystem;
using namespace test;
using testing::HasSubstr;
using testing::Not;

class Join : public JoinedMachines {};

TEST_F(Join, AnotherMachineServesAndAUserOnAThirdRunsTasksThereAsItself) {
  const auto begun = std::chrono::steady_clock::now();
  join_agent("a2");
  start_agent();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, Seconds(10) * slowdown());
  EXPECT_EQ(fs::status(keys_file(*agent_machine_, "agent")).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);

  join_user("nobody");
  EXPECT_THAT(user_runs({"status"}).out, HasSubstr("1 connected"));
  const std::string proof = home_ / "proof";
  fs::create_directory(proof);
  ASSERT_EQ(chown(proof.c_str(), kNobody, kNobody), 0);
  const Exit ran = user_runs({"run", "--", text("id -un > ", proof, "/who")});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(read_file(proof + "/who"), "nobody\n");

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
  EXPECT_THAT(replayed.err, HasSubstr("the join token has been used or has expired"));
  EXPECT_FALSE(fs::exists(keys_file(*user_machine_, "agent")));

  const std::string brief = token({"--user", "nobody", "--ttl", "1s"});
  ASSERT_TRUE(eventually([&] {
    return operates({"keys", "list"}).out.find("token, expired") != std::string::npos;
  }));
  const Exit expired = user_machine_->runs(join_with(brief));
  EXPECT_EQ(expired.code, 1);
  EXPECT_THAT(expired.err, HasSubstr("has expired"));
  EXPECT_TRUE(master_->complains("audit: refused"));
  EXPECT_TRUE(master_->complains("unknown-key"));
}

// The serving agent is not affected by any of it.
TEST_F(Join, AttackersAreRefusedAndNothingIsDisturbed) {
  join_agent("a2");
  start_agent();
  const auto attacks = [&](const std::string& what, const std::string& says) {
    const Exit refused = user_runs({"status"});
    EXPECT_EQ(refused.code, 3) << what << ": " << refused.out;
    EXPECT_THAT(refused.err, HasSubstr(says)) << what;
  };
  const std::string mine = keys_file(*user_machine_, "user");

  // Without a key.
  const Exit none = user_machine_->runs({home_ / "proffer", "status", "--master=10.231.2.1:5050"});
  EXPECT_EQ(none.code, 1) << none.out;
  EXPECT_THAT(none.err, HasSubstr("requires a key"));
  // In plain text, from the master's own machine, where clients could use it.
  const Exit plain =
      master_machine_->runs({home_ / "proffer", "status", "--master=127.0.0.1:5050"});
  EXPECT_EQ(plain.code, 3);
  EXPECT_THAT(plain.err, HasSubstr("may require a key"));

  // A key that is not registered; then a master that is not the joined one.
  join_user("nobody");
  const std::string good = read_file(mine);
  forge(mine, "secret_key", make_key_pair().secret_key);
  attacks("wrong key", "refuses this key");
  write_file(mine, good);
  forge(mine, "master_key", make_key_pair().public_key.str());
  attacks("another master", "does not have the key");

  // A user's key does not work for an agent, and one agent's key not for another.
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

  // A revocation works at once and permanently.
  ASSERT_EQ(user_runs({"status"}).code, 0);
  ASSERT_EQ(operates({"keys", "revoke", "--user", "nobody"}).code, 0);
  attacks("revoked", "refuses this key");

  // The master's key is protected only by its file.
  EXPECT_TRUE(serves("a2"));
  EXPECT_THAT(operates({"agents"}).out, Not(HasSubstr("a3")));
  ASSERT_EQ(operates({"keys", "revoke", "--agent", "a2"}).code, 0);
  EXPECT_TRUE(agent_->complains("was revoked"));
  EXPECT_TRUE(eventually([&] { return !serves("a2"); }));
}

// The key works for any number of connections, and the master knows it after a restart.
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

// A path from the master would be on the master's machine; so the agent's own file gives its path
// on this machine.
TEST_F(Join, ACommandInATaskIsAskedOfTheAgentOfThisMachine) {
  join_agent("a2");
  start_agent();
  EXPECT_THAT(operates({"agents", "--json"}).out, Not(HasSubstr("-http.sock")));
  const std::string proof = home_ / "proof";
  Process task(master_machine_->command({home_ / "proffer", "run", "--master=" + socket_path(),
                                         "--", text("echo begun >> ", proof, "; sleep 1000")}),
               master_machine_->environment());
  ASSERT_TRUE(eventually([&] { return fs::exists(proof); }));
  ASSERT_EQ(agent_machine_->runs(join_with(token({"--user", "root"}))).code, 0);
  const auto runs = [&](const std::string& directory) {
    return agent_machine_->runs(
        {home_ / "proffer", "exec", "--agent-dir", home_ / directory, "run-", "--", "echo there"});
  };
  const Exit there = runs("agent");
  EXPECT_EQ(there.code, 0) << there.err;
  EXPECT_EQ(there.out, "there\n");
  const Exit no_agent = runs("nowhere");
  EXPECT_EQ(no_agent.code, 1);
  EXPECT_THAT(no_agent.err, HasSubstr("is on agent 'a2', whose socket is not on this machine"));
  EXPECT_THAT(no_agent.err, HasSubstr("--agent-dir"));
  const Exit beside_master = master_machine_->runs(
      {home_ / "proffer", "exec", "--master=" + socket_path(), "run-", "--", "true"});
  EXPECT_EQ(beside_master.code, 1);
  EXPECT_THAT(beside_master.err, HasSubstr("whose socket is not on this machine"));
  task.kill(SIGINT);
  task.wait();
}

// The agent keeps its task and starts to use the new key by itself; from then on, a copy of the old
// key is refused.
TEST_F(Join, AnAgentRotatesItsKeyWhileItsTaskRuns) {
  join_agent("a2");
  start_agent();
  const std::string proof = home_ / "proof";
  Process task(master_machine_->command({home_ / "proffer", "run", "--master=" + socket_path(),
                                         "--", text("echo begun >> ", proof, "; sleep 1000")}),
               master_machine_->environment());
  ASSERT_TRUE(eventually([&] { return fs::exists(proof); }));
  const std::string path = keys_file(*agent_machine_, "agent");
  const std::string former = read_file(path);
  const auto rotates = [&] {
    return agent_machine_->runs({home_ / "proffer", "keys", "rotate", "--agent"});
  };

  const Exit rotated = rotates();
  ASSERT_EQ(rotated.code, 0) << rotated.err;
  EXPECT_THAT(rotated.out, HasSubstr("has ended"));
  EXPECT_NE(value_in(path, "secret_key"), "");
  EXPECT_THAT(former, Not(HasSubstr(value_in(path, "secret_key"))));
  EXPECT_EQ(value_in(path, "next_secret_key"), "");
  ASSERT_TRUE(eventually([&] { return serves("a2"); })) << agent_->err();
  EXPECT_TRUE(
      eventually([&] { return operates({"tasks"}).out.find("running") != std::string::npos; }));
  EXPECT_EQ(read_file(proof), "begun\n");

  // A copy of the old key.
  const std::string stolen = keys_file(*user_machine_, "agent");
  fs::create_directories(fs::path(stolen).parent_path());
  write_file(stolen, former);
  fs::permissions(stolen, fs::perms::owner_read | fs::perms::owner_write);
  forge(stolen, "masters", "10.231.2.1:5050");
  const Exit refused = user_machine_->runs({home_ / "proffer", "keys", "rotate", "--agent"});
  EXPECT_EQ(refused.code, 3) << refused.out;
  EXPECT_THAT(refused.err, HasSubstr("refuses this key"));
  EXPECT_TRUE(master_->complains("audit: refused"));
  EXPECT_TRUE(master_->complains("unknown-key"));
  EXPECT_TRUE(serves("a2"));

  // A rotation that was killed before the registration continues with the same new key.
  const std::string next = make_key_pair().secret_key;
  write_file(path, without_sum(path) + text("next_secret_key ", next, "\n"));
  ASSERT_EQ(rotates().code, 0);
  EXPECT_EQ(value_in(path, "secret_key"), next);
  ASSERT_TRUE(eventually([&] { return serves("a2"); })) << agent_->err();
  EXPECT_EQ(read_file(proof), "begun\n");
  EXPECT_EQ(operates({"keys", "list"}).out.find("replacing"), std::string::npos);
  task.kill(SIGINT);
  task.wait();
}

TEST_F(Join, AUserRotatesItsKeyAndTheFormerIsRefused) {
  join_user("nobody");
  const std::string path = keys_file(*user_machine_, "user");
  const std::string former = read_file(path);
  const Exit rotated = user_runs({"keys", "rotate"});
  ASSERT_EQ(rotated.code, 0) << rotated.err;
  EXPECT_EQ(user_runs({"status"}).code, 0);
  const std::string now = read_file(path);
  write_file(path, former);
  const Exit refused = user_runs({"status"});
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.err, HasSubstr("refuses this key"));
  write_file(path, now);
  EXPECT_EQ(user_runs({"status"}).code, 0);

  const Exit masters = operates({"keys", "rotate", "--masters-key"});
  EXPECT_EQ(masters.code, 1);
  EXPECT_THAT(masters.err, HasSubstr("proffer join --replace"));
  const Exit none = operates({"keys", "rotate"});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("has not joined"));
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
