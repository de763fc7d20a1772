// The files of `proffer zookeeper init` make ZooKeeper servers that form an ensemble over TLS.
// tests/packages/cluster_test.cc runs the guide with packages.

#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/text.h"
#include "tests/machines/machines.h"

namespace proffer::zookeeper_test {
namespace {

namespace fs = std::filesystem;
using namespace test;
using testing::HasSubstr;

constexpr int kServers = 3;

std::string host(int i) { return text("10.235.0.", i); }

std::string replaced(std::string content, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = content.find(from, at)) != std::string::npos; at += to.size()) {
    content.replace(at, from.size(), to);
  }
  return content;
}

// One network with three addresses. The servers share its loopback address, so each gets another
// client port.
class ZooKeeperFiles : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "not run: only root can make network namespaces";
    if (run({"unshare", "--net", "ip", "link"}).code != 0) {
      GTEST_SKIP() << "not run: no network namespaces can be made here";
    }
    machine_ = std::make_unique<Machine>("m", home_.path());
    for (int i = 1; i <= kServers; ++i) {
      const Exit added = machine_->runs({"ip", "addr", "add", text(host(i), "/32"), "dev", "lo"});
      ASSERT_EQ(added.code, 0) << added.err;
    }
  }
  // Starts server `i` with the files of `directory` instead of /etc/zookeeper.
  std::unique_ptr<Process> start(int i, const std::string& directory) const {
    const std::string data = home_ / text("data", i);
    fs::create_directories(data);
    fs::copy_file(directory + "/myid", data + "/myid", fs::copy_options::overwrite_existing);
    std::string cfg = read_file(directory + "/zoo.cfg");
    cfg = replaced(cfg, "/etc/zookeeper/", directory + "/");
    cfg = replaced(cfg, "/var/lib/zookeeper", data);
    cfg = replaced(cfg, "clientPort=2181", text("clientPort=", 2180 + i));
    write_file(data + "/zoo.cfg", cfg);
    return machine_->starts({"/bin/sh", "-c", "exec \"$@\" >>\"$0\" 2>&1", data + "/log", "java",
                             "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp",
                             "/usr/share/java/zookeeper.jar:/usr/share/java/*",
                             "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                             data + "/zoo.cfg"});
  }
  // Whether the server is a follower or the leader.
  bool is_member(int i) const {
    const std::string ask =
        text("exec 3<>/dev/tcp/127.0.0.1/", 2180 + i, " && echo srvr >&3 && timeout 5 cat <&3");
    return machine_->runs({"bash", "-c", ask}).out.find("Mode: ") != std::string::npos;
  }
  std::string log(int i) const { return read_file(home_ / text("data", i, "/log")); }
  std::string init(const std::string& name) const {
    const Exit made = run({program("proffer"), "zookeeper", "init", "--dir", home_ / name, host(1),
                           host(2), host(3)});
    EXPECT_EQ(made.code, 0) << made.err;
    return home_ / name;
  }

  const TemporaryDirectory home_;
  std::unique_ptr<Machine> machine_;
};

TEST_F(ZooKeeperFiles, ServersAgreeOverTlsWithTheSameKeyOnly) {
  const std::string ours = init("ours");
  const std::string others = init("others");
  const auto first = start(1, text(ours, "/", host(1)));
  const auto stranger = start(2, text(others, "/", host(2)));
  const auto third = start(3, text(ours, "/", host(3)));
  EXPECT_TRUE(eventually([&] { return is_member(1) && is_member(3); })) << log(1) << log(3);
  EXPECT_FALSE(is_member(2)) << log(2);

  stranger->kill(SIGKILL);
  stranger->wait();
  const auto second = start(2, text(ours, "/", host(2)));
  EXPECT_TRUE(eventually([&] { return is_member(2); })) << log(2);
}

TEST_F(ZooKeeperFiles, AnAddedServerBecomesAMember) {
  std::string ours = init("ours");
  std::vector<std::unique_ptr<Process>> servers;
  servers.push_back(start(1, text(ours, "/", host(1))));
  servers.push_back(start(2, text(ours, "/", host(2))));
  ASSERT_TRUE(eventually([&] { return is_member(1) && is_member(2); })) << log(1) << log(2);

  ASSERT_EQ(machine_->runs({"ip", "addr", "add", text(host(4), "/32"), "dev", "lo"}).code, 0);
  const Exit added = run(
      {program("proffer"), "zookeeper", "init", "--dir", ours, host(1), host(2), host(3), host(4)});
  ASSERT_EQ(added.code, 0) << added.err;
  EXPECT_THAT(added.out, HasSubstr("on the new machine first"));
  servers.push_back(start(4, text(ours, "/", host(4))));
  for (int i = 1; i <= 2; ++i) {
    servers[i - 1]->kill(SIGKILL);
    servers[i - 1]->wait();
    servers[i - 1] = start(i, text(ours, "/", host(i)));
  }
  EXPECT_TRUE(eventually([&] { return is_member(1) && is_member(2) && is_member(4); }))
      << log(1) << log(2) << log(4);
}

}  // namespace
}  // namespace proffer::zookeeper_test
