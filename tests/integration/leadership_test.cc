// Several masters with a real ZooKeeper server: one leads, standbys name the leader, and the next
// leader has all acknowledged writes.

#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/json/json.h"
#include "tests/integration/leaders.h"
#include "tests/support/relay.h"
#include "tests/support/zookeeper_proxy.h"

namespace proffer::test {
namespace {

using testing::HasSubstr;

TEST_F(Leaders, AStandbySaysWhoLeadsAndLeadsNext) {
  start(1);
  EXPECT_EQ(leader(), 1);
  start(2);
  ASSERT_TRUE(
      eventually([&] { return ask(2, {"status"}).err.find(socket(1)) != std::string::npos; }));
  const Exit refused = ask(2, {"status"});
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.err, HasSubstr("this master is a standby; the leader is at " + socket(1)));
  const std::string http = get_http(dir(2) + "-http.sock", "/v1/tasks?prefix=a%20b");
  EXPECT_THAT(http, HasSubstr("307"));
  EXPECT_THAT(http, HasSubstr("/v1/tasks?prefix=a%20b"));
  EXPECT_EQ(ask(1, {"role", "set", "eng", "--weight", "3"}).code, 0);

  masters_[1]->kill(SIGKILL);
  masters_[1]->wait();
  EXPECT_EQ(leader(), 2);
  const auto rows = proto::parse_roles(ask(2, {"role", "list", "eng", "--json"}).out);
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->at(0).weight, 3'000);

  start(1);
  masters_[2]->kill(SIGTERM);
  EXPECT_EQ(masters_[2]->wait().code, 0);
  EXPECT_EQ(leader(), 1);
}

// Each peer has the list of masters; none is configured with the leader.
TEST_F(Leaders, AgentsSchedulersAndCommandsFollowTheLeader) {
  for (int i = 1; i <= 3; ++i) start(i);
  const std::string all = socket(1) + "," + socket(2) + "," + socket(3);
  const Process agent({program("proffer-agent"), "--master=" + all, "--name=a1",
                       "--work_dir=" + (home_ / "a1"), "--resources=cpus:4;mem:512",
                       "--tasks_on_exit=kill"});
  const auto proffer = [&](Words words) {
    words.insert(words.begin(), program("proffer"));
    return run(words, {{"PROFFER_MASTER", all}});
  };
  const auto has_agent = [&] {
    return proffer({"agents"}).out.find(" connected") != std::string::npos;
  };
  ASSERT_TRUE(eventually(has_agent)) << agent.err();
  const std::string goes_on = home_ / "goes-on";
  Process job({program("proffer"), "run", "--master=" + all, "--",
               "until [ -e " + goes_on + " ]; do sleep 0.05; done; echo done"});
  ASSERT_TRUE(
      eventually([&] { return proffer({"tasks"}).out.find("running") != std::string::npos; }));

  const int first = leader();
  masters_[first]->kill(SIGKILL);
  masters_[first]->wait();
  ASSERT_TRUE(eventually(has_agent)) << agent.err();
  EXPECT_NE(leader(), first);
  write_file(goes_on, "");
  const Exit ended = job.wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("done"));
  EXPECT_EQ(proffer({"run", "--", "true"}).code, 0);
}

// It is elected, and its lead may end before it has read the registry.
TEST_F(Leaders, ALeadThatIsOverBeforeItBeganEndsWithCode4) {
  start(1);
  EXPECT_EQ(leader(), 1);
  masters_[1]->kill(SIGTERM);
  EXPECT_EQ(masters_[1]->wait().code, 0);
  Relay slow(zookeeper_.address(), listening_on_loopback());
  // Its first write is answered after 1 s, and its read of the registry after 2 s: later than 1.8
  // s, nine tenths of its session timeout.
  slow.delay(500);
  Words words = command(1);
  for (std::string& word : words) {
    if (word.starts_with("--zk=")) word = "--zk=" + slow.address() + "/proffer";
    if (word.starts_with("--zk_session_timeout=")) word = "--zk_session_timeout=2s";
  }
  const Exit ended = Process(words).wait();
  EXPECT_EQ(ended.code, 4) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("the session may have expired"));
}

TEST_F(Leaders, WithoutZooKeeperNobodyLeadsAndNothingAcknowledgedIsLost) {
  start(1);
  EXPECT_EQ(leader(), 1);
  EXPECT_EQ(ask(1, {"role", "set", "eng", "--weight", "3"}).code, 0);
  zookeeper_.kill();
  const Exit ended = masters_[1]->wait();
  EXPECT_EQ(ended.code, 4) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("the session may have expired"));
  start(1);
  const Exit refused = ask(1, {"status"});
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.err, HasSubstr("no master leads at the moment"));
  EXPECT_THAT(get_http(dir(1) + "-http.sock", "/v1/status"), HasSubstr("503"));
  zookeeper_.start();
  EXPECT_EQ(leader(), 1);
  EXPECT_THAT(ask(1, {"role", "list", "eng"}).out, HasSubstr("3"));
}

TEST_F(Leaders, AMasterRefusesWhatItCannotKeepSecretOrWouldForget) {
  const auto refusal = [&](const Words& more) { return run(command(1, more)); };
  ::chmod(secret().c_str(), 0640);
  const Exit wide = refusal({});
  EXPECT_EQ(wide.code, 2);
  EXPECT_THAT(wide.err, HasSubstr("chmod 600"));
  ::chmod(secret().c_str(), 0600);
  const Exit far = refusal({"--zk=192.0.2.1:2181/proffer"});
  EXPECT_EQ(far.code, 2);
  EXPECT_THAT(far.err, HasSubstr("has no TLS"));
  EXPECT_EQ(refusal({"--zk_secret_file="}).code, 2);
  EXPECT_EQ(refusal({"--zk_session_timeout=100ms"}).code, 2);
  EXPECT_EQ(refusal({"--accept_older_registry"}).code, 2);
  std::filesystem::create_directories(dir(1));
  write_file(dir(1) + "/registry.db", "");
  const Exit forgetful = refusal({});
  EXPECT_EQ(forgetful.code, 1);
  EXPECT_THAT(forgetful.err, HasSubstr("the registry of a single master"));
}

}  // namespace
}  // namespace proffer::test
