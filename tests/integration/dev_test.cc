// proffer dev leaves nothing behind, even if its processes were killed; and restarted agents.

#include <csignal>
#include <filesystem>
#include <sstream>
#include <tuple>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>

#include "common/text.h"
#include "net/fd.h"
#include "net/membership.h"
#include "proto/codec/records.h"
#include "proto/json/json.h"
#include "store/checkpoint_log.h"
#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;

std::string socket_of(const Cluster& cluster, const std::string& agent) {
  const auto members =
      proto::parse_json_line(trimmed(read_file(cluster.dir() + "/" + agent + "/address.json")));
  return members ? std::get<std::string>(members->at("socket")) : "";
}

TEST(Dev, InterruptLeavesNoProcessAndNoFileWhateverWasKilledBefore) {
  Cluster cluster({.agents = 2});
  const std::string sockets[] = {socket_of(cluster, "agent-1"), socket_of(cluster, "agent-2")};
  const auto sleepers = cluster.start(
      {"run", "--count", "4", "--name", "s", "--", "sleep 1000 & setsid sleep 1000 & wait"});
  ASSERT_TRUE(eventually([&] { return cluster.running_tasks("s") == 4; }));
  ASSERT_GE(processes_of(cluster.dir()).size(), 7u);  // dev, master, two agents, executors …

  ::kill(cluster.pid_of("agent-1"), SIGKILL);
  // dev reports the process that ended
  ASSERT_TRUE(cluster.dev().line_with("agent-1").has_value());
  ::kill(cluster.pid_of("master"), SIGKILL);
  ASSERT_TRUE(cluster.dev().line_with("master").has_value());
  cluster.dev().kill(SIGINT);

  EXPECT_EQ(cluster.dev().wait().code, 0);
  // `proffer run` does not belong to the cluster, but its environment names the directory.
  EXPECT_EQ(processes_of(cluster.dir()), std::vector<pid_t>{sleepers->pid()});
  EXPECT_FALSE(fs::exists(cluster.dir()));
  for (const std::string& socket : sockets) {
    EXPECT_NE(socket, "");
    EXPECT_FALSE(fs::exists(socket)) << socket;
  }
}

TEST(Dev, SaysWhichPortIsInUse) {
  Cluster cluster({.more = {"--http-port=0"}});
  const std::string served = cluster.told_by("master", "http_port");
  const std::string port = served.substr(served.find(':') + 1);
  TemporaryDirectory home;
  const Exit second = run({program("proffer"), "dev", "--dir", home / "c", "--port", port});
  EXPECT_EQ(second.code, 1);
  EXPECT_NE(second.err.find(port), std::string::npos) << second.err;
  EXPECT_NE(second.err.find("in use"), std::string::npos) << second.err;
  EXPECT_EQ(processes_of(home.path()), std::vector<pid_t>());
}

// A cluster that is still starting has no address file.
TEST(Dev, LeavesTheDirectoryOfAClusterThatStarts) {
  TemporaryDirectory home;
  for (const std::string& dir : {home / text("proffer-dev-", ::getuid()), home / "other"}) {
    fs::create_directories(dir + "/master");
    write_file(dir + "/master/file", "kept");
    const Fd starting(::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_EQ(::flock(starting.get(), LOCK_EX | LOCK_NB), 0);
    Words words = {program("proffer"), "dev"};
    if (dir.ends_with("other")) words.insert(words.end(), {"--dir", dir});
    const Exit second = run(words, {{"TMPDIR", home.path()}});
    EXPECT_EQ(second.code, 1);
    EXPECT_NE(second.err.find("a cluster already runs in"), std::string::npos) << second.err;
    EXPECT_EQ(read_file(dir + "/master/file"), "kept");
  }
}

// Another user may have made a link with the name of the default directory.
TEST(Dev, EmptiesNoDirectoryBehindALink) {
  TemporaryDirectory home;
  fs::create_directories(home / "mine/master");
  fs::create_directory_symlink(home / "mine", home / text("proffer-dev-", ::getuid()));
  const Exit refused = run({program("proffer"), "dev"}, {{"TMPDIR", home.path()}});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("cannot use directory"), std::string::npos) << refused.err;
  EXPECT_TRUE(fs::exists(home / "mine/master"));
}

TEST(Dev, SaysThatThereIsNoTemporaryDirectory) {
  TemporaryDirectory home;
  for (const Words& command : {Words{"dev"}, Words{"conformance", "--", "/bin/true"}}) {
    Words words = {program("proffer")};
    words.insert(words.end(), command.begin(), command.end());
    const Exit none = run(words, {{"TMPDIR", home / "none"}});
    EXPECT_EQ(none.code, 1) << none.signal;
    EXPECT_NE(none.err.find("the directory '" + home / "none"), std::string::npos) << none.err;
  }
}

TEST(Dev, DividesPortsBetweenItsAgents) {
  const Cluster cluster(
      {.agents = 3, .resources = "cpus:1;ports:[32100-32105,32200-32203];mem:256"});
  const auto agents = proto::parse_agents(cluster.proffer({"agents", "--json"}).out);
  ASSERT_TRUE(agents.has_value());
  PortSet all;
  for (const proto::AgentRow& row : *agents) {
    EXPECT_GE(row.total.ports.size(), 3) << row.agent.str();
    EXPECT_FALSE(all.intersects(row.total.ports)) << row.agent.str();
    all += row.total.ports;
    EXPECT_EQ(row.total.amounts, ResourceVector::of(1'000, 256'000));
  }
  EXPECT_EQ(to_text(all), "[32100-32105,32200-32203]");
}

TEST(Dev, RefusesWrongValuesBeforeItStartsAnything) {
  TemporaryDirectory home;
  const std::pair<Words, std::string> rows[] = {
      {{"--agents", "0"}, "from 1 to"},
      {{"--agents", "3", "--resources", "cpus:1;ports:[31000-31001]"}, "a port for each of 3"},
      {{"--resources", "cpus:-1"}, "'-1'"},
      {{"--resources", "cpus:0"}, "more than zero"},
      {{"--resources", "cpu:1"}, "did you mean 'cpus'"},
      {{"--weights", "a=0"}, "between 0.001 and 1000"},
      {{"--port", "70000"}, "65535"},
      {{"--attributes", "rack"}, "NAME:VALUE"},
  };
  for (const auto& [words, says] : rows) {
    Words command = {program("proffer"), "dev", "--dir", home / "c"};
    command.insert(command.end(), words.begin(), words.end());
    const Exit refused = run(command);
    EXPECT_EQ(refused.code, 2) << words.back();
    EXPECT_NE(refused.err.find(says), std::string::npos) << refused.err;
  }
  EXPECT_FALSE(fs::exists(home / "c"));
}

// --- commands that find the cluster ------------------------------------------------------------

// A cluster of `proffer dev` in its default directory, and a user who may have joined another
// cluster, which has no running master.
class DefaultDev {
 public:
  DefaultDev() : dev_({program("proffer"), "dev", "--json", "--resources=cpus:2;mem:512"}, env()) {
    const std::optional<std::string> ready = dev_.line_with("\"ready\"");
    CHECK(ready.has_value()) << dev_.err();
    master = std::get<std::string>(proto::parse_json_line(*ready)->at("master"));
  }
  ~DefaultDev() {
    dev_.kill(SIGINT);
    dev_.wait(Seconds(20));
    for (const pid_t pid : processes_of(home_.path())) ::kill(pid, SIGKILL);
  }
  DefaultDev(const DefaultDev&) = delete;
  DefaultDev& operator=(const DefaultDev&) = delete;

  void join(KeyKind kind) const {
    fs::create_directories(home_ / "config");
    ::setenv("PROFFER_CONFIG_DIR", (home_ / "config").c_str(), 1);
    const Result<void> written =
        write_membership({.kind = kind,
                          .name = "a7",
                          .masters = {{.host = "127.0.0.1", .port = 1}},
                          .keys = {.own = make_key_pair(), .server = make_key_pair().public_key}});
    ::unsetenv("PROFFER_CONFIG_DIR");
    CHECK(written) << written.error().message();
  }
  std::map<std::string, std::string> env() const {
    return {
        {"TMPDIR", home_.path()}, {"PROFFER_CONFIG_DIR", home_ / "config"}, {"PROFFER_MASTER", ""}};
  }
  Exit run(const Words& words) const { return test::run(words, env(), home_.path()); }
  std::unique_ptr<Process> start(const Words& words) const {
    return std::make_unique<Process>(words, env(), home_.path());
  }
  std::string home() const { return home_.path(); }

  std::string master = {};

 private:
  TemporaryDirectory home_;
  Process dev_;
};

TEST(Dev, CommandsFindItUnlessTheUserHasJoinedAClusterWhichIsThenSaid) {
  const DefaultDev dev;
  const Words ask = {program("proffer"), "run", "--", "echo here"};
  const Words ask_batch = {program("proffer-batch"), "list"};
  EXPECT_EQ(dev.run(ask).out, "here\n");
  EXPECT_EQ(dev.run(ask_batch).code, 0);

  dev.join(KeyKind::kUser);
  for (const Words& words : {Words{program("proffer"), "status"}, ask_batch}) {
    const Exit joined = dev.run(words);
    EXPECT_EQ(joined.code, 3) << joined.out << joined.err;
    EXPECT_NE(joined.err.find("master at 127.0.0.1:1: "), std::string::npos) << joined.err;
    EXPECT_TRUE(joined.err.starts_with("note: this is the cluster that you joined, at 127.0.0.1:1"))
        << joined.err;
    EXPECT_NE(joined.err.find("--master=" + dev.master), std::string::npos) << joined.err;
  }
  Words named = ask;
  named.insert(named.begin() + 2, "--master=" + dev.master);
  const Exit run = dev.run(named);
  EXPECT_EQ(run.out + run.err, "here\n");
}

TEST(Dev, SchedulersAndAgentsNeverFindItByThemselves) {
  const DefaultDev dev;
  dev.join(KeyKind::kUser);
  dev.join(KeyKind::kAgent);
  const Words daemons[] = {
      {program("examples/hello_framework")},
      {program("proffer-batch"), "scheduler", "--name=b", "--session-file=b.session"},
      {program("proffer-service"), "scheduler", "--name=s", "--session-file=s.session"},
      {program("proffer-agent"), "--work_dir=agent", "--resources=cpus:1;mem:64", "--v=1"}};
  for (const Words& daemon : daemons) {
    const auto process = dev.start(daemon);
    EXPECT_TRUE(process->complains("127.0.0.1:1")) << daemon[0] << process->err();
  }
  const Exit agents = dev.run({program("proffer"), "agents", "--json", "--master=" + dev.master});
  EXPECT_EQ(proto::parse_agents(agents.out)->size(), 1u) << agents.out;
  const auto frameworks = proto::parse_frameworks(
      dev.run({program("proffer"), "frameworks", "--json", "--master=" + dev.master}).out);
  ASSERT_TRUE(frameworks);
  EXPECT_EQ(frameworks->size(), 2u) << "its own batch and service";
}

TEST(Dev, TheDoctorLooksWhereAnAgentLooks) {
  const DefaultDev dev;
  dev.join(KeyKind::kAgent);
  const Exit doctor = dev.run({program("proffer"), "doctor", "--json"});
  EXPECT_NE(doctor.out.find("127.0.0.1:1"), std::string::npos) << doctor.out << doctor.err;
  EXPECT_EQ(doctor.out.find(dev.master), std::string::npos) << doctor.out;
}

// Its output is enough for an author's own scheduler to connect.
TEST(Dev, SaysHowSchedulersFindIt) {
  const TemporaryDirectory home;
  Process dev({program("proffer"), "dev", "--dir", home / "it's", "--no-batch", "--no-service"});
  const std::optional<std::string> line = dev.line_with("export PROFFER_MASTER=");
  ASSERT_TRUE(line) << dev.err();
  ASSERT_TRUE(dev.line_with("ready"));
  const std::string shell = line->substr(line->find("export"));
  const Exit hello = run({"bash", "-c", shell + "; exec " + program("examples/hello_framework")});
  EXPECT_EQ(hello.code, 0) << hello.out << hello.err;
  EXPECT_NE(hello.out.find(" is finished"), std::string::npos) << hello.out;
  dev.kill(SIGINT);
  EXPECT_EQ(dev.wait().code, 0);
}

// --- restarts of an agent ----------------------------------------------------------------------

// Kills the agent of `proffer dev`, which reports that and does not restart it.
void kill_agent(Cluster& cluster) {
  ::kill(cluster.pid_of("agent-1"), SIGKILL);
  ASSERT_TRUE(cluster.dev().line_with("agent-1").has_value());
}

// Whether this agent process is registered, with this many tasks.
bool is_back(const Cluster& cluster, const Process& agent, int64_t tasks) {
  if (cluster.pid_of("agent-1") != agent.pid()) return false;
  const auto agents = proto::parse_agents(cluster.proffer({"agents", "--json"}).out);
  return agents && agents->size() == 1 && agents->front().state == proto::AgentState::kConnected &&
         agents->front().tasks == tasks;
}

// A task that waits for the file `go` and exits with 7, and its process.
struct WaitingTask {
  explicit WaitingTask(Cluster& cluster)
      : run(cluster.start({"run", "--name", "s", "--",
                           "echo first; echo $$ >> " + (files / "pid") + "; until [ -e " +
                               (files / "go") + " ]; do sleep 0.05; done; echo last; exit 7"})) {
    started = eventually([&] { return !read_file(files / "pid").empty(); }) &&
              eventually([&] { return cluster.running_tasks("s") == 1; });
    pid = started ? std::stoi(read_file(files / "pid")) : 0;
  }
  TemporaryDirectory files;
  std::unique_ptr<Process> run;
  bool started = false;
  pid_t pid = 0;
};

TEST(Agent, KilledAndRestartedItGoesOnWithItsTaskUnderTheSameProcess) {
  Cluster cluster({.agents = 1});
  WaitingTask task(cluster);
  ASSERT_TRUE(task.started);

  kill_agent(cluster);
  const auto agent = cluster.start_agent("agent-1", "cpus:4;mem:4096");
  ASSERT_TRUE(eventually([&] { return is_back(cluster, *agent, 1); }));
  EXPECT_TRUE(is_alive(task.pid));
  write_file(task.files / "go", "");

  const Exit ended = task.run->wait();
  EXPECT_EQ(ended.code, 7) << ended.err;
  EXPECT_EQ(ended.out, "first\nlast\n") << ended.err;  // the stream continued where it had stopped
  EXPECT_EQ(read_file(task.files / "pid"), std::to_string(task.pid) + "\n");  // it ran once
  EXPECT_EQ(cluster.proffer({"run", "--", "echo again"}).out, "again\n");
}

TEST(Agent, ReportsAnExitCodeOfATaskThatEndedDuringItsRestart) {
  Cluster cluster({.agents = 1});
  WaitingTask task(cluster);
  ASSERT_TRUE(task.started);

  kill_agent(cluster);
  write_file(task.files / "go", "");
  ASSERT_TRUE(eventually([&] { return !is_alive(task.pid); }));
  const auto agent = cluster.start_agent("agent-1", "cpus:4;mem:4096");

  const Exit ended = task.run->wait();
  EXPECT_EQ(ended.code, 7) << ended.err;
}

TEST(Agent, AnExecutorThatEndedWhileItWasAwayLosesItsTask) {
  Cluster cluster({.agents = 1});
  TemporaryDirectory files;
  const auto task = cluster.start(
      {"run", "--name", "s", "--", "echo $PPID $$ > " + (files / "pid") + "; sleep 1000"});
  ASSERT_TRUE(eventually([&] { return !read_file(files / "pid").empty(); }));
  ASSERT_TRUE(eventually([&] { return cluster.running_tasks("s") == 1; }));
  std::istringstream pids(read_file(files / "pid"));
  pid_t executor = 0;
  pid_t command = 0;
  ASSERT_TRUE(pids >> executor >> command);

  kill_agent(cluster);
  ::kill(executor, SIGKILL);
  ASSERT_TRUE(eventually([&] { return !is_alive(executor); }));
  EXPECT_TRUE(is_alive(command));
  const auto agent = cluster.start_agent("agent-1", "cpus:4;mem:4096");

  const Exit ended = task->wait();
  EXPECT_NE(ended.code, 0);
  EXPECT_NE(ended.err.find("executor_ended"), std::string::npos) << ended.err;
  EXPECT_FALSE(is_alive(command));  // it was killed before
}

TEST(Agent, AnExecutorThatDoesNotComeBackInTimeIsEndedAndItsTaskIsLost) {
  Cluster cluster({.agents = 1});
  TemporaryDirectory files;
  const auto task = cluster.start(
      {"run", "--name", "s", "--", "echo $PPID $$ > " + (files / "pid") + "; sleep 1000"});
  ASSERT_TRUE(eventually([&] { return !read_file(files / "pid").empty(); }));
  ASSERT_TRUE(eventually([&] { return cluster.running_tasks("s") == 1; }));
  std::istringstream pids(read_file(files / "pid"));
  pid_t executor = 0;
  pid_t command = 0;
  ASSERT_TRUE(pids >> executor >> command);

  ::kill(executor, SIGSTOP);
  kill_agent(cluster);
  const auto agent =
      cluster.start_agent("agent-1", "cpus:4;mem:4096", {"--executor_reregister_timeout=1s"});

  const Exit ended = task->wait();
  EXPECT_NE(ended.code, 0);
  EXPECT_NE(ended.err.find("executor_timeout"), std::string::npos) << ended.err;
  EXPECT_FALSE(is_alive(executor));
  EXPECT_FALSE(is_alive(command));
}

TEST(Agent, RestartedItKillsATaskAndHearsOfAnExecutorsEndAsBefore) {
  Cluster cluster({.agents = 1});
  TemporaryDirectory files;
  const auto start = [&](const std::string& name) {
    return cluster.start(
        {"run", "--name", name, "--", "echo $PPID $$ > " + (files / name) + "; sleep 1000"});
  };
  const auto one = start("one");
  const auto two = start("two");
  ASSERT_TRUE(eventually([&] { return cluster.running_tasks() == 2; }));
  ASSERT_TRUE(eventually(
      [&] { return !read_file(files / "one").empty() && !read_file(files / "two").empty(); }));
  kill_agent(cluster);
  const auto agent = cluster.start_agent("agent-1", "cpus:4;mem:4096");
  ASSERT_TRUE(eventually([&] { return is_back(cluster, *agent, 2); }));

  EXPECT_EQ(cluster.proffer({"kill", "one"}).code, 0);
  const Exit killed = one->wait();
  EXPECT_NE(killed.err.find("killed"), std::string::npos) << killed.err;

  std::istringstream pids(read_file(files / "two"));
  pid_t executor = 0;
  pid_t command = 0;
  ASSERT_TRUE(pids >> executor >> command);
  ::kill(executor, SIGKILL);
  const Exit ended = two->wait();
  EXPECT_NE(ended.err.find("executor_ended"), std::string::npos) << ended.err;
  EXPECT_FALSE(is_alive(command));
}

TEST(Agent, AStopThatKeepsTasksAndARestartThatEndsThem) {
  Cluster cluster({.agents = 1});
  kill_agent(cluster);
  TemporaryDirectory files;
  const auto keeping = cluster.start_agent("agent-1", "cpus:4;mem:4096", {"--tasks_on_exit=keep"});
  const auto task = cluster.start(
      {"run", "--name", "s", "--", "echo $$ > " + (files / "pid") + "; exec sleep 1000"});
  ASSERT_TRUE(eventually([&] { return cluster.running_tasks("s") == 1; }));
  ASSERT_TRUE(eventually([&] { return !read_file(files / "pid").empty(); }));
  const pid_t pid = std::stoi(read_file(files / "pid"));
  keeping->kill(SIGTERM);
  EXPECT_EQ(keeping->wait().code, 0);
  EXPECT_TRUE(is_alive(pid));

  const auto killing = cluster.start_agent("agent-1", "cpus:4;mem:4096");
  ASSERT_TRUE(eventually([&] { return is_back(cluster, *killing, 1); }));
  killing->kill(SIGTERM);
  EXPECT_EQ(killing->wait().code, 0);
  EXPECT_FALSE(is_alive(pid));
  const Exit ended = task->wait();
  EXPECT_NE(ended.err.find("killed"), std::string::npos) << ended.err;
}

// A restarted agent needs two descriptors for each task: a socket and a pidfd.
TEST(Agent, MoreTasksThanItsSoftLimitOfDescriptorsOutliveItsRestart) {
  Cluster cluster({.agents = 1});
  kill_agent(cluster);
  const auto start_limited = [&] {
    Words command = {"/bin/sh", "-c", "ulimit -Sn 70; exec \"$0\" \"$@\""};
    const Words agent = cluster.agent_command("agent-1", "cpus:40;mem:4096");
    command.insert(command.end(), agent.begin(), agent.end());
    return std::make_unique<Process>(command);
  };
  auto agent = start_limited();
  TemporaryDirectory files;
  const auto tasks = cluster.start({"run", "--count", "40", "--cpus", "1", "--mem", "16", "--name",
                                    "s", "--export", "NONE", "--",
                                    "ulimit -Sn >> " + (files / "limits") + "; exec sleep 1000"});
  ASSERT_TRUE(eventually([&] { return cluster.running_tasks("s") == 40; }));
  agent->kill(SIGKILL);
  agent->wait();
  agent = start_limited();
  ASSERT_TRUE(eventually([&] { return is_back(cluster, *agent, 40); }));
  EXPECT_EQ(cluster.running_tasks("s"), 40);
  // The agent raises its own limit, not that of its tasks.
  std::string expected;
  for (int i = 0; i < 40; ++i) expected += "70\n";
  EXPECT_TRUE(eventually([&] { return read_file(files / "limits") == expected; }));
}

TEST(Agent, RestartedWithLessThanRunsItOffersLessOnceTasksEnd) {
  Cluster cluster({.agents = 1});
  WaitingTask small(cluster);
  ASSERT_TRUE(small.started);
  TemporaryDirectory files;
  const auto large = cluster.start({"run", "--name", "l", "--cpus", "3", "--",
                                    "until [ -e " + (files / "go") + " ]; do sleep 0.05; done"});
  ASSERT_TRUE(eventually([&] { return cluster.running_tasks() == 2; }));
  kill_agent(cluster);
  const auto agent = cluster.start_agent("agent-1", "cpus:2;mem:4096");
  ASSERT_TRUE(eventually([&] { return is_back(cluster, *agent, 2); }));
  const auto cpus = [&] {
    const auto agents = proto::parse_agents(cluster.proffer({"agents", "--json"}).out);
    return agents && agents->size() == 1 ? agents->front().total.amounts[ResourceKind::kCpus] : -1;
  };
  EXPECT_EQ(cpus(), 4'000);
  write_file(files / "go", "");
  EXPECT_EQ(large->wait().code, 0);
  EXPECT_TRUE(eventually([&] { return is_back(cluster, *agent, 1) && cpus() == 2'000; }));
  write_file(small.files / "go", "");
  EXPECT_EQ(small.run->wait().code, 7);
}

TEST(Agent, DoesNotOfferAPortOnWhichSomebodyListens) {
  Cluster cluster({.agents = 1});
  kill_agent(cluster);
  const Fd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(listener.get(), any, size), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  ASSERT_EQ(getsockname(listener.get(), any, &size), 0);
  const int port = ntohs(address.sin_port);
  const auto agent =
      cluster.start_agent("agent-1", "cpus:4;mem:4096;ports:[" + std::to_string(port - 1) + "-" +
                                         std::to_string(port + 1) + "]");
  ASSERT_TRUE(eventually([&] { return is_back(cluster, *agent, 0); }));
  const auto agents = proto::parse_agents(cluster.proffer({"agents", "--json"}).out);
  ASSERT_TRUE(agents && agents->size() == 1);
  EXPECT_FALSE(agents->front().total.ports.contains(static_cast<uint16_t>(port)));
}

std::string checkpoint_of(const Cluster& cluster) {
  return cluster.dir() + "/agent-1/checkpoint.log";
}

// As after a kill -9 between the start of an executor and the record of its pid.
TEST(Agent, AnExecutorWhoseProcessWasNotWrittenDownIsFoundByItsSandbox) {
  Cluster cluster({.agents = 1});
  WaitingTask task(cluster);
  ASSERT_TRUE(task.started);
  kill_agent(cluster);
  {
    Result<CheckpointLog::Opened> opened = CheckpointLog::open(checkpoint_of(cluster));
    ASSERT_TRUE(opened) << opened.error().message();
    std::vector<std::string> records;
    int changed = 0;
    for (const std::string& bytes : opened->records) {
      Result<proto::CheckpointRecord> record = proto::decode_record(bytes);
      ASSERT_TRUE(record) << record.error().message();
      if (auto* executor = std::get_if<proto::ExecutorRecord>(&*record)) {
        changed += executor->pid != 0;
        executor->pid = 0;
        executor->start_ticks = 0;
      }
      records.push_back(proto::encode_record(*record));
    }
    ASSERT_EQ(changed, 1);
    ASSERT_TRUE(opened->log->rewrite(records));
  }
  const auto agent = cluster.start_agent("agent-1", "cpus:4;mem:4096");
  ASSERT_TRUE(eventually([&] { return is_back(cluster, *agent, 1); }));
  EXPECT_TRUE(is_alive(task.pid));
  write_file(task.files / "go", "");
  EXPECT_EQ(task.run->wait().code, 7);
}

TEST(Agent, WithADamagedCheckpointItEndsWhatThatStillNamesAndBeginsAnew) {
  Cluster cluster({.agents = 1});
  WaitingTask task(cluster);
  ASSERT_TRUE(task.started);
  kill_agent(cluster);
  std::string bytes = read_file(checkpoint_of(cluster));
  const size_t in_the_task = bytes.find("exit 7");
  ASSERT_NE(in_the_task, std::string::npos);
  bytes[in_the_task] = 'X';
  write_file(checkpoint_of(cluster), bytes);

  const auto agent = cluster.start_agent("agent-1", "cpus:4;mem:4096");
  const Exit ended = task.run->wait();
  EXPECT_NE(ended.code, 0);
  EXPECT_NE(ended.err.find("agent_forgot"), std::string::npos) << ended.err;
  EXPECT_FALSE(is_alive(task.pid));
  EXPECT_TRUE(fs::exists(checkpoint_of(cluster) + ".damaged-1"));
  EXPECT_EQ(cluster.proffer({"run", "--", "echo again"}).out, "again\n");
}

// Otherwise its master would refuse the name with another secret for ten minutes, until it gives up
// the old agent.
TEST(Agent, WithTheBeginningOfItsCheckpointZeroedItIsStillTheSameAgent) {
  Cluster cluster({.agents = 1});
  kill_agent(cluster);
  std::string bytes = read_file(checkpoint_of(cluster));
  bytes.replace(0, std::min<size_t>(512, bytes.size()), std::min<size_t>(512, bytes.size()), '\0');
  write_file(checkpoint_of(cluster), bytes);
  const auto agent = cluster.start_agent("agent-1", "cpus:4;mem:4096");
  ASSERT_TRUE(eventually([&] { return is_back(cluster, *agent, 0); }));
  EXPECT_EQ(cluster.proffer({"run", "--", "echo again"}).out, "again\n");

  // The second file is written again, and also works at the next start.
  agent->kill(SIGKILL);
  agent->wait();
  fs::remove(checkpoint_of(cluster));
  const auto again = cluster.start_agent("agent-1", "cpus:4;mem:4096");
  EXPECT_TRUE(eventually([&] { return is_back(cluster, *again, 0); }));
  again->kill(SIGKILL);
  again->wait();
  fs::remove(cluster.dir() + "/agent-1/identity");
  const auto without = cluster.start_agent("agent-1", "cpus:4;mem:4096");
  EXPECT_TRUE(eventually([&] { return is_back(cluster, *without, 0); }));
  EXPECT_TRUE(fs::exists(cluster.dir() + "/agent-1/identity"));
}

TEST(Agent, TwoOfOneDirectoryOrOneNameAreRefusedWithAHint) {
  Cluster cluster({.agents = 1});
  const auto same_directory = cluster.start_agent("agent-1", "cpus:4;mem:4096");
  const Exit refused = same_directory->wait();
  EXPECT_EQ(refused.code, 1) << refused.err;
  EXPECT_NE(refused.err.find("agent-1"), std::string::npos) << refused.err;

  TemporaryDirectory home;
  const Exit same_name =
      run({program("proffer-agent"), "--master=" + cluster.master(), "--name=agent-1",
           "--work_dir=" + (home / "w"), "--resources=cpus:1"});
  EXPECT_EQ(same_name.code, 1) << same_name.err;
  EXPECT_NE(same_name.err.find("--name"), std::string::npos) << same_name.err;
  const auto members = proto::parse_json_line(trimmed(read_file(home / "w/address.json")));
  ASSERT_TRUE(members.has_value());
  EXPECT_FALSE(fs::exists(std::get<std::string>(members->at("socket"))));
  EXPECT_EQ(cluster.proffer({"run", "--", "echo fine"}).out, "fine\n");
}

TEST(Master, RefusesWrongFlagsWithTheValueAndWhatIsAllowed) {
  TemporaryDirectory home;
  const std::tuple<std::string, std::string, std::string> rows[] = {
      {"--min_offer=wrong", "wrong", "min_offer"},
      {"--min_offer=cpus:-1", "'-1'", "min_offer"},
      {"--placement=wrong", "'wrong'", "best_fit"},
      {"--prot=5050", "'--prot' of proffer-master", "--port"},
  };
  for (const auto& [flag, says, allows] : rows) {
    const Exit refused = run({program("proffer-master"), "--data_dir=" + (home / "m"), flag});
    EXPECT_EQ(refused.code, 2) << flag << ": " << refused.err;
    EXPECT_NE(refused.err.find(says), std::string::npos) << refused.err;
    EXPECT_NE(refused.err.find(allows), std::string::npos) << refused.err;
    EXPECT_FALSE(fs::exists(home / "m")) << flag;
  }
}

// A restored copy is intact, but lacks later writes.
TEST(Master, RefusesARegistryThatIsOlderThanItHasBeenUnlessTold) {
  const TemporaryDirectory home;
  const Words master = {program("proffer-master"), "--data_dir=" + (home / "m"),
                        "--socket=" + (home / "m.sock")};
  const auto life = [&](const std::function<void()>& of) {
    Process process(master);
    ASSERT_TRUE(eventually([&] { return fs::exists(home / "m/address.json"); })) << process.err();
    of();
    process.kill(SIGKILL);
    process.wait();
    fs::remove(home / "m/address.json");
  };
  const auto set_role = [&](const std::string& role) {
    const Exit set = run(
        {program("proffer"), "role", "set", role, "--weight=2", "--master=" + (home / "m.sock")});
    EXPECT_EQ(set.code, 0) << set.err;
  };
  life([&] { set_role("early"); });
  fs::create_directories(home / "copy");
  for (const char* name : {"registry.db", "registry.db-wal"}) {
    fs::copy_file(home / "m/" + name, home / "copy/" + name);
  }
  life([&] { set_role("late"); });
  for (const char* name : {"registry.db", "registry.db-wal"}) {
    fs::copy_file(home / "copy/" + name, home / "m/" + name, fs::copy_options::overwrite_existing);
  }

  const Exit refused = run(master);
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("lacks its latest commits"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("--accept_older_registry"), std::string::npos) << refused.err;

  Words accepting = master;
  accepting.push_back("--accept_older_registry");
  const Process process(accepting);
  ASSERT_TRUE(eventually([&] { return fs::exists(home / "m/address.json"); })) << process.err();
  const Exit roles = run({program("proffer"), "role", "list", "--master=" + (home / "m.sock")});
  EXPECT_NE(roles.out.find("early"), std::string::npos) << roles.out << roles.err;
  EXPECT_EQ(roles.out.find("late"), std::string::npos) << roles.out;
  const Exit status = run({program("proffer"), "status", "--master=" + (home / "m.sock")});
  EXPECT_NE(status.out.find("leader epoch 3"), std::string::npos) << status.out << status.err;
}

TEST(Agent, RefusesWrongFlagsWithTheValueAndWhatIsAllowed) {
  TemporaryDirectory home;
  const std::pair<std::string, std::string> rows[] = {
      {"--resources=cpus:-2", "'-2'"},
      {"--resources=cpus:1;cpus:2", "twice"},
      {"--resources=mem:0", "more than zero"},
      {"--name=a/b", "'a/b'"},
      {"--attributes=host:x", "'host'"},
      {"--master=nowhere", "nowhere:5050"},
      {"--nonsense=1", "nonsense"},
      {"--http_port=99999", "65535"},
      {"--http_address=0.0.0.0", "'0.0.0.0'"},
  };
  for (const auto& [flag, says] : rows) {
    const Exit refused = run({program("proffer-agent"), "--master=127.0.0.1:1", "--name=x",
                              "--work_dir=" + (home / "w"), "--http_port=0", flag});
    EXPECT_EQ(refused.code, 2) << flag << ": " << refused.err;
    EXPECT_NE(refused.err.find(says), std::string::npos) << refused.err;
  }
}

}  // namespace
}  // namespace proffer::test
