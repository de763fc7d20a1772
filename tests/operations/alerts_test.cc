// Faults in real processes, with a real Prometheus and the shipped rules: each fault raises its
// alert and no other. ./test runs a few of them, ./test --long all of them (PROFFER_ALL_FAULTS=1).

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/operations/prometheus.h"
#include "tests/support/zookeeper_server.h"

namespace proffer::operations_test {
namespace {

namespace fs = std::filesystem;
using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(AlertRules, AreThoseThatPrometheusTakesAndTheirOwnTestsPass) {
  const std::string folder = std::string(PROFFER_SOURCE_DIR) + "/packaging/prometheus/";
  const Exit checked = run({"promtool", "check", "rules", folder + "proffer.rules.yml"});
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("13 rules found"));
  const Exit tested = run({"promtool", "test", "rules", folder + "proffer.rules_test.yml"});
  EXPECT_EQ(tested.code, 0) << tested.out << tested.err;
  const Exit config =
      run({"promtool", "check", "config", "--syntax-only", folder + "prometheus.yml"});
  EXPECT_EQ(config.code, 0) << config.out << config.err;
}

// The number of rule evaluations before a fault, and after its alert has fired.
constexpr int kLookFor = 18;

// A master, agents and a Prometheus for one test.
class Watched : public testing::Test {
 protected:
  void start_master(const Words& more = {}) {
    fs::remove(data_dir_ + "/address.json");
    Words words = {program("proffer-master"), "--data_dir=" + data_dir_, "--socket=" + socket_,
                   "--http_port=0",           "--heartbeat=500ms",       "--agent_timeout=2s",
                   "--offer_timeout=2s"};
    words.insert(words.end(), more.begin(), more.end());
    master_ = std::make_unique<Process>(words);
    ASSERT_TRUE(eventually([&] { return fs::exists(data_dir_ + "/address.json"); }))
        << master_->err();
  }
  void start_agent(const std::string& name, const std::string& resources = "cpus:2;mem:512",
                   const std::map<std::string, std::string>& environment = {}) {
    agents_[name] = std::make_unique<Process>(
        Words{program("proffer-agent"), "--master=" + socket_, "--name=" + name,
              "--work_dir=" + (home_ / name), "--resources=" + resources, "--tasks_on_exit=kill"},
        environment);
    ASSERT_TRUE(eventually([&] {
      return proffer({"agents"}).out.find(name + "  ") != std::string::npos;
    })) << agents_[name]->err();
  }
  void watch() {
    const auto told = nlohmann::json::parse(read_file(data_dir_ + "/address.json"));
    prometheus_ = std::make_unique<Prometheus>(std::vector<ScrapedMaster>{
        {told.at("http_port").get<std::string>(), data_dir_ + "/metrics_token"}});
    ASSERT_TRUE(prometheus_->is_ready()) << prometheus_->log();
    ASSERT_THAT(prometheus_->firing_for(kLookFor), IsEmpty()) << "before the fault";
  }
  // The alert fires, and in some more evaluations no other alert does.
  void raises(const std::string& condition) {
    const std::string alert = "Proffer" + condition;
    Prometheus::Names fired;
    EXPECT_TRUE(eventually([&] {
      fired.merge(prometheus_->firing());
      return fired.contains(alert);
    })) << alert
        << "\n"
        << proffer({"status"}).out << prometheus_->log();
    // Under load a scrape may fail, and alerts start again; so an alert counts once it has fired.
    fired.merge(prometheus_->firing_for(kLookFor));
    EXPECT_THAT(fired, ElementsAre(alert)) << proffer({"status"}).out;
  }
  // The master reports the same condition.
  void is_told(const std::string& condition) {
    EXPECT_THAT(proffer({"status"}).out, HasSubstr(" " + condition));
  }
  Exit proffer(Words words) const {
    words.insert(words.begin(), {program("proffer"), "--master=" + socket_});
    return run(words);
  }
  std::unique_ptr<Process> start(Words words) const {
    words.insert(words.begin(), {program("proffer"), "--master=" + socket_});
    return std::make_unique<Process>(words);
  }
  std::unique_ptr<Process> careless(const std::string& fault) const {
    auto process = std::make_unique<Process>(
        Words{program_of_tests("careless_framework"), "--master=" + socket_, "--fault=" + fault});
    EXPECT_TRUE(eventually([&] {
      return proffer({"tasks", "careless"}).out.find("running") != std::string::npos;
    })) << process->err();
    return process;
  }

  TemporaryDirectory home_;
  const std::string socket_ = home_ / "master.sock";
  std::string data_dir_ = home_ / "master";
  std::string port_ = "0";
  std::unique_ptr<Process> master_;
  std::map<std::string, std::unique_ptr<Process>> agents_;
  std::unique_ptr<Prometheus> prometheus_;
};

// A counter's exemplar leads to the event that it counted last.
TEST_F(Watched, CountersHaveExemplarsOfTheEventLog) {
  start_master();
  start_agent("a1");
  watch();
  ASSERT_EQ(proffer({"run", "--name", "once", "--", "exit 3"}).code, 3);
  std::string place;
  EXPECT_TRUE(eventually([&] {
    place = prometheus_->exemplar("proffer_tasks_ended_total{state=\"failed\"}", "seq");
    return !place.empty();
  })) << prometheus_->log();
  std::istringstream told(proffer({"events", "--from", place}).out);
  std::string first;
  std::getline(told, first);
  EXPECT_THAT(first, HasSubstr("task ended"));
  EXPECT_THAT(first, HasSubstr("task=once-1"));
  EXPECT_THAT(first, HasSubstr("state=failed"));
}

// --- the faults ----------------------------------------------------------------------------------

class Faults : public Watched, public testing::WithParamInterface<std::string> {
 protected:
  void master_down() {
    watch();
    master_->kill(SIGKILL);
    raises("MasterDown");
  }
  void no_leader() {
    ZooKeeperServer zookeeper;
    write_file(home_ / "secret", "the secret of these tests\n");
    ::chmod((home_ / "secret").c_str(), 0600);
    master_->kill(SIGKILL);
    master_->wait();
    data_dir_ = home_ / "leaders";
    const auto start_one = [&] {
      start_master({"--zk=" + zookeeper.address() + "/proffer",
                    "--zk_secret_file=" + (home_ / "secret"), "--zk_session_timeout=2s",
                    "--http_port=" + port_});
    };
    start_one();
    const auto told = nlohmann::json::parse(read_file(data_dir_ + "/address.json"));
    const std::string address = told.at("http_port");
    port_ = address.substr(address.rfind(':') + 1);
    ASSERT_TRUE(eventually([&] { return proffer({"status"}).code == 0; }));
    watch();
    zookeeper.kill();
    EXPECT_EQ(master_->wait().code, 4);
    start_one();  // as systemd would
    raises("NoLeader");
  }
  void registry_stuck() {
    if (geteuid() != 0) GTEST_SKIP() << "not run: only root can mount a file system";
    master_->kill(SIGTERM);
    master_->wait();
    const std::string disk = home_ / "disk";
    ASSERT_EQ(::mkdir(disk.c_str(), 0700), 0);
    ASSERT_EQ(run({"truncate", "--size=64M", home_ / "image"}).code, 0);
    ASSERT_EQ(run({"/sbin/mkfs.ext4", "-q", home_ / "image"}).code, 0);
    if (run({"mount", "-o", "loop", home_ / "image", disk}).code != 0) {
      GTEST_SKIP() << "not run: this machine mounts no image";
    }
    data_dir_ = disk + "/master";
    start_master();
    watch();
    EXPECT_EQ(run({"/sbin/fsfreeze", "--freeze", disk}).code, 0);
    const auto writer = start({"role", "set", "eng", "--weight=3"});
    raises("RegistryStuck");
    EXPECT_EQ(run({"/sbin/fsfreeze", "--unfreeze", disk}).code, 0);
    writer->wait();
    prometheus_.reset();
    master_->kill(SIGTERM);
    EXPECT_EQ(master_->wait().code, 0) << master_->err();
    EXPECT_EQ(run({"umount", disk}).code, 0);
  }
  void agents_held_back() {
    for (int i = 1; i <= 7; ++i) start_agent(text("a", i), "cpus:1;mem:64");
    watch();
    for (const auto& [name, agent] : agents_) agent->kill(SIGKILL);
    raises("AgentsHeldBack");
    is_told("AgentsHeldBack");
  }
  void descriptors_short() {
    watch();
    const std::string pid = std::to_string(master_->pid());
    size_t open = 0;
    for ([[maybe_unused]] const auto& one : fs::directory_iterator("/proc/" + pid + "/fd")) ++open;
    const std::string limit = std::to_string(open + open / 8);
    ASSERT_EQ(run({"prlimit", "--pid", pid, "--nofile=" + limit + ":"}).code, 0);
    raises("DescriptorsShort");
  }
  void agent_lost() {
    start_agent("a1");
    watch();
    agents_["a1"]->kill(SIGKILL);
    raises("AgentLost");
    is_told("AgentLost");
    agents_["a1"]->wait();
    start_agent("a1");
    EXPECT_TRUE(eventually([&] { return prometheus_->firing().empty(); }));
    EXPECT_THAT(proffer({"status"}).out, HasSubstr("nothing is wrong"));
  }
  void agent_takes_no_tasks() {
    const TemporaryDirectory programs;
    const fs::path folder = fs::path(program("proffer")).parent_path();
    fs::create_symlink(folder / "proffer-fetch", fs::path(programs / "proffer-fetch"));
    start_agent("broken", "cpus:2;mem:512", {{"PROFFER_BIN_DIR", programs / ""}});
    watch();
    // The agent retries after 10 s, then after 20 s: failing tasks keep it in quarantine.
    for (int i = 0; i < 3; ++i) EXPECT_NE(proffer({"run", "--", "true"}).code, 0);
    raises("AgentTakesNoTasks");
    is_told("AgentTakesNoTasks");
  }
  void scheduler_silent() {
    start_agent("a1");
    watch();
    const auto silent = careless("silent");
    raises("SchedulerSilent");
    is_told("SchedulerSilent");
  }
  void framework_disconnected() {
    start_agent("a1");
    const auto scheduler = careless("declines");
    watch();
    scheduler->kill(SIGKILL);
    raises("FrameworkDisconnected");
    is_told("FrameworkDisconnected");
  }
  void role_below_guarantee() {
    start_agent("a1");
    ASSERT_EQ(proffer({"role", "set", "eng", "--guarantee", "cpus:4"}).code, 0);
    watch();
    const auto job = start({"run", "--role", "eng", "--cpus", "1", "--mem", "32", "--count", "4",
                            "--", "exec sleep 1000"});
    raises("RoleBelowGuarantee");
    is_told("RoleBelowGuarantee");
  }
  void ask_fits_nowhere() {
    start_agent("a1");
    watch();
    const auto giant = start({"run", "--cpus", "64", "--", "true"});
    raises("AskFitsNowhere");
    is_told("AskFitsNowhere");
  }
  void history_not_kept() {
    master_->kill(SIGTERM);
    master_->wait();
    fs::remove_all(data_dir_ + "/history");
    start_master();
    watch();
    master_->kill(SIGKILL);
    master_->wait();
    fs::remove_all(data_dir_ + "/history");
    write_file(data_dir_ + "/history", "a file is in its place");
    const auto told = nlohmann::json::parse(read_file(data_dir_ + "/address.json"));
    const std::string address = told.at("http_port");
    start_master({"--http_port=" + address.substr(address.rfind(':') + 1)});
    raises("HistoryNotKept");
    is_told("HistoryNotKept");
  }
  void master_time_taken() {
    watch();
    Process flooder({program_of_tests("flood"), text("--uid=", geteuid()), "--at=" + socket_,
                     "--kind=calls", "--connections=20", "--seconds=300"});
    ASSERT_TRUE(flooder.line_with("flooding")) << flooder.err();
    raises("MasterTimeTaken");
    is_told("MasterTimeTaken");
    flooder.kill(SIGKILL);
    flooder.wait();
  }

 public:
  using Inject = void (Faults::*)();
  static const std::map<std::string, Inject>& all() {
    static const std::map<std::string, Inject> faults = {
        {"MasterDown", &Faults::master_down},
        {"NoLeader", &Faults::no_leader},
        {"RegistryStuck", &Faults::registry_stuck},
        {"AgentsHeldBack", &Faults::agents_held_back},
        {"DescriptorsShort", &Faults::descriptors_short},
        {"AgentLost", &Faults::agent_lost},
        {"AgentTakesNoTasks", &Faults::agent_takes_no_tasks},
        {"SchedulerSilent", &Faults::scheduler_silent},
        {"FrameworkDisconnected", &Faults::framework_disconnected},
        {"RoleBelowGuarantee", &Faults::role_below_guarantee},
        {"AskFitsNowhere", &Faults::ask_fits_nowhere},
        {"HistoryNotKept", &Faults::history_not_kept},
        {"MasterTimeTaken", &Faults::master_time_taken}};
    return faults;
  }
};

TEST_P(Faults, RaiseTheirAlertAndNoOther) {
  start_master();
  (this->*all().at(GetParam()))();
}

std::vector<std::string> faults_of_this_run() {
  if (std::getenv("PROFFER_ALL_FAULTS") == nullptr) return {"AgentLost", "SchedulerSilent"};
  std::vector<std::string> names;
  for (const auto& [name, inject] : Faults::all()) names.push_back(name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Of, Faults, testing::ValuesIn(faults_of_this_run()),
                         [](const auto& fault) { return fault.param; });

// --- the runbooks --------------------------------------------------------------------------------

TEST(Runbooks, AreThereForEachAlertAndNameCommandsThatExist) {
  const std::string source = PROFFER_SOURCE_DIR;
  const std::string rules = read_file(source + "/packaging/prometheus/proffer.rules.yml");
  std::set<std::string> pages;
  for (const auto& entry : fs::directory_iterator(source + "/docs/runbooks")) {
    pages.insert(entry.path().stem());
  }
  std::set<std::string> alerts;
  const std::regex alert("- alert: Proffer([A-Za-z]+)");
  for (std::sregex_iterator at(rules.begin(), rules.end(), alert), end; at != end; ++at) {
    alerts.insert((*at)[1]);
    EXPECT_THAT(rules, HasSubstr("runbook: docs/runbooks/" + (*at)[1].str() + ".md\n"));
    EXPECT_TRUE(Faults::all().contains((*at)[1])) << "no fault raises " << (*at)[1];
  }
  EXPECT_EQ(alerts, pages);

  const std::regex command("(^|[`\n])proffer ([a-z-]+)( [a-z][a-z-]*)?([^`\n]*)");
  std::set<std::string> checked;
  for (const std::string& page : pages) {
    const std::string words = read_file(source + "/docs/runbooks/" + page + ".md");
    for (const char* part :
         {"**Meaning.**", "**Effect.**", "**How to look.**", "**What to do.**"}) {
      EXPECT_THAT(words, HasSubstr(part)) << page;
    }
    for (std::sregex_iterator at(words.begin(), words.end(), command), end; at != end; ++at) {
      Words asked = {program("proffer"), (*at)[2]};
      if (const std::string verb = (*at)[3]; !verb.empty()) asked.push_back(verb.substr(1));
      asked.push_back("--help");
      const Exit help = run(asked);
      EXPECT_EQ(help.code, 0) << page << ": " << (*at)[0];
      const std::string rest = (*at)[4];
      const std::regex option("--[a-z-]+");
      for (std::sregex_iterator o(rest.begin(), rest.end(), option), none; o != none; ++o) {
        EXPECT_THAT(help.out, HasSubstr((*o)[0].str())) << page << ": " << (*at)[0];
      }
      checked.insert((*at)[2]);
    }
  }
  EXPECT_GE(checked.size(), 8u);
}

}  // namespace
}  // namespace proffer::operations_test
