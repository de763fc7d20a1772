// Runs docs/guides/cluster.md word by word: three machines with the packages become three ZooKeeper
// servers, three masters, three agents and their users. Then the leader is killed. zookeeper.md and
// join.md are run in the same way.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/text.h"
#include "proto/json/json.h"
#include "tests/packages/debian_cluster.h"
#include "tests/packages/packed_debian.h"

namespace proffer::cluster_test {
namespace {

namespace fs = std::filesystem;
using namespace test;
using testing::HasSubstr;

std::string guide(const std::string& name) {
  return read_file(std::string(PROFFER_SOURCE_DIR) + "/docs/guides/" + name);
}

// The wall clock, for the report only: no test depends on it.
class Stopwatch {
 public:
  ~Stopwatch() { std::cout << "[   TIME   ] " << seconds() << " s for " << what_ << std::endl; }
  explicit Stopwatch(std::string what) : what_(std::move(what)) {}

 private:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  std::string what_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

class ClusterGuide : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!PackedDebian::obstacle().empty()) return;
    base_ = PackedDebian::pristine().copy();
    ASSERT_EQ(base_->made().code, 0) << base_->made().err;
    const Exit prepared = prepare_for_cluster(*base_);
    ASSERT_EQ(prepared.code, 0) << prepared.out << prepared.err;
    const Exit installed = base_->apt_get(
        {"install", PackedDebian::package("proffer"), "zookeeperd", "stunnel4", "openssl"});
    ASSERT_EQ(installed.code, 0) << installed.out << installed.err;
  }
  static void TearDownTestSuite() { base_ = nullptr; }
  void SetUp() override {
    if (const std::string why = PackedDebian::obstacle(); !why.empty()) {
      GTEST_SKIP() << "not run: " << why;
    }
  }

  Exit ada(const std::string& machine, const std::string& command,
           Seconds deadline = kDeadline) const {
    return cluster_->at(machine).as("ada", command, deadline);
  }
  std::string logs() const {
    std::string all;
    for (const std::string& machine : machines_) {
      for (const std::string unit :
           {"proffer-master", "proffer-agent", "proffer-service", "proffer-batch"}) {
        const std::string log = cluster_->log(machine, unit);
        all += text("== ", unit, " of ", machine, "\n",
                    log.substr(log.size() > 3'000 ? log.size() - 3'000 : 0));
      }
    }
    return all;
  }
  // The machine of the leader.
  std::string leader() const {
    std::string found;
    EXPECT_TRUE(eventually([&] {
      for (const std::string& machine : machines_) {
        const Exit status =
            cluster_->at(machine).as("root", "proffer --master=/run/proffer/master.sock status");
        if (status.code == 0) found = machine;
      }
      return !found.empty();
    })) << logs();
    return found;
  }
  // The leader's epoch. A restarted unit may lead again, in a later epoch.
  int64_t epoch() const {
    const auto status = proto::parse_status(ada("m1.example", "proffer status --json").out);
    EXPECT_TRUE(status) << logs();
    return status ? static_cast<int64_t>(status->leader.value()) : 0;
  }
  size_t connected_agents(const std::string& machine) const {
    const auto rows = proto::parse_agents(ada(machine, "proffer agents --json").out);
    if (!rows) return 0;
    return std::count_if(rows->begin(), rows->end(), [](const proto::AgentRow& row) {
      return row.state == proto::AgentState::kConnected;
    });
  }

  static std::unique_ptr<DebianRoot> base_;
  std::vector<std::string> machines_ = {"m1.example", "m2.example", "m3.example"};
  std::unique_ptr<DebianCluster> cluster_;
};
std::unique_ptr<DebianRoot> ClusterGuide::base_;

TEST_F(ClusterGuide, ThreeMachinesBecomeAClusterByItsWordsAndOutliveTheirLeader) {
  cluster_ = std::make_unique<DebianCluster>(*base_, machines_);
  {
    const Stopwatch stopwatch("the words of cluster.md, without installing");
    for (const ShellBlock& block : shell_blocks(guide("cluster.md"))) {
      cluster_->run(block);
      ASSERT_FALSE(HasFailure()) << logs();
    }
    ASSERT_TRUE(eventually([&] { return connected_agents("m3.example") == 3; })) << logs();
  }
  // The ZooKeeper servers refuse other machines: without a key, and with another key.
  const std::string own_key =
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "
      "/CN=zookeeper -keyout other.pem -out other.pem 2>/dev/null; ";
  for (const std::string key : {"", "-cert other.pem -key other.pem"}) {
    const Exit stranger =
        ada("m2.example", text(own_key, "echo srvr | timeout 20 openssl s_client -quiet ", key,
                               " -connect m1.example:3888"));
    EXPECT_THAT(stranger.err, HasSubstr("alert")) << key;
  }

  // A job whose reducers fetch map outputs from the other machines over TLS.
  const Exit job = ada("m2.example",
                       "proffer batch run /usr/share/doc/proffer/examples/wordcount/job.yaml "
                       "--split 32KiB --reducers 3 --output /srv/shared/words "
                       "--resources 'cpus:1;mem:64'",
                       Seconds{180});
  EXPECT_EQ(job.code, 0) << job.out << job.err << logs();
  const std::string count =
      "LC_ALL=C; export LC_ALL; cd /usr/share/doc/proffer/examples/wordcount; "
      "find /usr/share/common-licenses -type f -exec cat {} + | awk -f map.awk | sort | awk -f "
      "reduce.awk | sort";
  EXPECT_EQ(ada("m1.example", "cat /srv/shared/words/part-* | LC_ALL=C sort").out,
            ada("m1.example", count).out);
  const auto tasks = proto::parse_tasks(ada("m1.example", "proffer tasks --all --json").out);
  ASSERT_TRUE(tasks);
  std::set<std::string> used;
  for (const proto::TaskRow& row : *tasks) {
    if (row.task.str().find(".map-") != std::string::npos) used.insert(row.agent.str());
  }
  EXPECT_EQ(used, (std::set<std::string>{"m1", "m2", "m3"}));

  // An app on the service scheduler that joined.
  const Exit applied = ada("m3.example",
                           "printf 'name: web\ncommand: \"echo served; exec sleep 1000\"\n' > "
                           "web.yaml && proffer service apply web.yaml --wait && "
                           "proffer logs web.1.0-");
  EXPECT_EQ(applied.code, 0) << applied.err << logs();
  EXPECT_EQ(applied.out.substr(applied.out.size() - std::min<size_t>(applied.out.size(), 7)),
            "served\n");

  const std::string first = leader();
  const int64_t before = epoch();
  const auto running = cluster_->at("m2.example")
                           .starts_as("ada",
                                      "proffer run -- 'echo begun; until [ -e /srv/shared/goes-on "
                                      "]; do sleep 0.1; done; exit 7'");
  ASSERT_TRUE(running->line_with("begun")) << running->err() << logs();
  {
    const Stopwatch stopwatch("a leader that is killed: until a task has run with the next");
    const Exit killed =
        cluster_->at(first).as("root", "kill -KILL $(cat /run/units/proffer-master.main)");
    ASSERT_EQ(killed.code, 0) << killed.err;
    ASSERT_TRUE(eventually([&] {
      const std::string log = cluster_->log(first, "proffer-master");
      return log.find("the unit ended with code 137") != std::string::npos;
    }));
    const Exit again = ada("m3.example", "proffer run -- echo by the next leader");
    EXPECT_EQ(again.code, 0) << again.err << logs();
    EXPECT_EQ(again.out, "by the next leader\n");
  }
  EXPECT_GT(epoch(), before);
  write_file(cluster_->shared() + "/goes-on", "");
  const Exit ended = running->wait();
  EXPECT_EQ(ended.code, 7) << ended.err << logs();
  EXPECT_TRUE(eventually([&] { return connected_agents("m1.example") == 3; })) << logs();

  // A leader without a connection to the other machines ends, and another master leads.
  const std::string second = leader();
  const std::string other = second == "m1.example" ? "m2.example" : "m1.example";
  {
    const Stopwatch stopwatch("a leader that is cut off: until a task has run with the next");
    cluster_->cut(second);
    EXPECT_TRUE(eventually([&] { return ada(other, "proffer status").code == 0; })) << logs();
    const Exit without = ada(other, "proffer run -- echo without it");
    EXPECT_EQ(without.code, 0) << without.err << logs();
    EXPECT_EQ(without.out, "without it\n");
  }
  EXPECT_TRUE(eventually([&] {
    const std::string log = cluster_->log(second, "proffer-master");
    return log.find("the unit ended with code 4\n") != std::string::npos;
  })) << logs();
}

TEST_F(ClusterGuide, AMasterReachesZooKeeperOnAnotherMachineByTheTunnelOfItsWords) {
  machines_ = {"m1.example", "m2.example"};
  cluster_ = std::make_unique<DebianCluster>(*base_, machines_);
  for (const ShellBlock& block : shell_blocks(guide("zookeeper.md"))) {
    cluster_->run(block);
    ASSERT_FALSE(HasFailure());
  }
  cluster_->run({"On m2.example",
                 "sudo systemctl stop proffer-master\n"
                 "sudo find /var/lib/proffer/master -name 'registry*' -delete\n"
                 "echo some secret of this cluster | sudo tee /etc/proffer/zookeeper.secret\n"
                 "sudo chmod 0600 /etc/proffer/zookeeper.secret\n"
                 "sudo chown proffer /etc/proffer/zookeeper.secret\n"
                 "printf '%s\\n' --zk=127.0.0.1:2181/proffer "
                 "--zk_secret_file=/etc/proffer/zookeeper.secret | "
                 "sudo tee --append /etc/proffer/master.flags\n"
                 "sudo systemctl start proffer-master\n"});
  EXPECT_TRUE(eventually([&] { return ada("m2.example", "proffer status").code == 0; }))
      << logs() << read_file(cluster_->at("m1.example").at("/var/log/zookeeper/zookeeper.log"));
  EXPECT_THAT(cluster_->log("m2.example", "proffer-master"), HasSubstr("master leads"));
  // Connections outside the tunnel are refused: in plain text, and without the masters' key.
  const Exit plain = ada("m2.example", "bash -c 'exec 3<>/dev/tcp/m1.example/2181'");
  EXPECT_THAT(plain.err, HasSubstr("refused"));
  const Exit keyless =
      ada("m2.example", "echo srvr | timeout 20 openssl s_client -quiet -connect m1.example:2281");
  EXPECT_THAT(keyless.out, testing::Not(HasSubstr("Mode")));
  EXPECT_THAT(keyless.err, HasSubstr("alert"));
}

TEST_F(ClusterGuide, AnotherMachineJoinsOneMasterByTheWordsOfJoin) {
  machines_ = {"master.example", "worker-7.example"};
  cluster_ = std::make_unique<DebianCluster>(*base_, machines_);
  const std::vector<ShellBlock> blocks = shell_blocks(guide("join.md"));
  const Stopwatch stopwatch("the words of join.md, without installing");
  for (const ShellBlock& block : blocks) {
    const bool revokes = block.script.find("keys revoke") != std::string::npos;
    if (revokes) {
      // Agents with rotated keys are reconnecting.
      EXPECT_TRUE(eventually([&] { return connected_agents("worker-7.example") == 2; })) << logs();
      const Exit logs_of = ada("master.example", "proffer logs run");
      EXPECT_EQ(logs_of.code, 0) << logs_of.err;
    }
    cluster_->run(block);
    ASSERT_FALSE(HasFailure()) << logs();
    if (revokes) {
      EXPECT_THAT(ada("worker-7.example", "proffer status").err, HasSubstr("refuses this key"));
      EXPECT_TRUE(eventually([&] { return connected_agents("master.example") == 1; })) << logs();
    }
  }
}

// The short form, in every ./test: the pages are complete shell scripts, with commands and flags
// that exist.
class GuideWords : public testing::TestWithParam<const char*> {
 protected:
  std::vector<std::string> lines_with(const std::string& part) const {
    std::vector<std::string> lines;
    for (const ShellBlock& block : shell_blocks(guide(GetParam()))) {
      for (const std::string_view line : split(block.script, '\n')) {
        if (line.find(part) != std::string_view::npos) lines.emplace_back(line);
      }
    }
    return lines;
  }
  // Runs these words with --help.
  static std::string help_of(Words command) {
    command.push_back("--help");
    const Exit help = run(command);
    EXPECT_EQ(help.code, 0) << command[0] << help.err;
    return help.out;
  }
  static std::string option_of(const std::string& word) { return word.substr(0, word.find('=')); }
};

TEST(GuideBlocks, EachIsAShellScriptThatSaysWhereItIsRun) {
  int blocks = 0;
  const std::string pages = guide("cluster.md") + guide("join.md") + guide("zookeeper.md");
  for (const ShellBlock& block : shell_blocks(pages)) {
    EXPECT_THAT(block.where,
                testing::ContainsRegex("^((ada, o|O)n [a-z0-9-]+\\.example|On each machine)$"));
    const Exit parsed = run({"sh", "-n", "-c", block.script});
    EXPECT_EQ(parsed.code, 0) << block.script << parsed.err;
    EXPECT_EQ(parsed.err, "") << block.script;
    ++blocks;
  }
  EXPECT_GE(blocks, 15);
}

TEST_P(GuideWords, EachProfferCommandAndItsOptionsExist) {
  int commands = 0;
  for (const std::string& line : lines_with("proffer ")) {
    std::istringstream stream(line);
    Words call;
    for (std::string word; stream >> word;) {
      std::erase(word, ';');
      const bool ends = word == "|" || word == "--" || word == "do" || word == "<";
      if (call.empty() ? word != "proffer" : ends) {
        call.clear();
        continue;
      }
      call.push_back(word);
      if (!word.starts_with("--")) continue;
      const bool has_verb = call[1] == "keys" || call[1] == "zookeeper";
      EXPECT_THAT(help_of({program("proffer"), call[1], has_verb ? call[2] : "--help"}),
                  HasSubstr(option_of(word)))
          << line;
      ++commands;
    }
  }
  EXPECT_GE(commands, 2);
}

// The flags of cluster.md are in the files that `proffer zookeeper init` writes.
std::string flags_for(const std::string& page, const std::string& daemon) {
  if (page == "cluster.md") {
    const TemporaryDirectory home;
    const Exit made =
        run({program("proffer"), "zookeeper", "init", "--dir", home / "cluster", "m1", "m2", "m3"});
    EXPECT_EQ(made.code, 0) << made.err;
    return daemon == "master" ? read_file(home / "cluster/m1/master.flags") : "";
  }
  std::string scripts;
  for (const ShellBlock& block : shell_blocks(guide(page))) {
    // Lines of the file, or `echo --flag=value | sudo tee …`.
    if (block.script.find("/etc/proffer/" + daemon + ".flags") != std::string::npos) {
      scripts += block.script + "\n";
    }
  }
  return scripts;
}

TEST_P(GuideWords, EachFlagOfADaemonIsOneOfItsFlags) {
  int flags = 0;
  for (const std::string daemon : {"master", "agent"}) {
    const std::string help = help_of({program("proffer-" + daemon)});
    std::istringstream stream(flags_for(GetParam(), daemon));
    for (std::string word; stream >> word;) {
      if (!word.starts_with("--") || word.find('=') == std::string::npos) continue;
      EXPECT_THAT(help, HasSubstr("\n  " + option_of(word) + "=")) << daemon;
      ++flags;
    }
  }
  EXPECT_GE(flags, 2);
}

INSTANTIATE_TEST_SUITE_P(Of, GuideWords, testing::Values("cluster.md", "join.md"),
                         [](const auto& one) {
                           return std::string(one.param).substr(0,
                                                                std::string(one.param).find('.'));
                         });

}  // namespace
}  // namespace proffer::cluster_test
