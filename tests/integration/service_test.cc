// Apps on real clusters whose instances, agents and schedulers are killed. The criterion is which
// servers answer over HTTP.

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <numeric>
#include <random>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "net/fd.h"
#include "proto/json/json.h"
#include "proto/json/service_json.h"
#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// A loopback address for this process alone: clusters on one machine have the same port ranges, and
// servers of other tests must not take our ports.
const std::string& own_address() {
  static const std::string address = [] {
    const int64_t pid = ::getpid();
    return text("127.", 1 + pid / 64'516 % 254, ".", 1 + pid / 254 % 254, ".", 1 + pid % 254);
  }();
  return address;
}

// The answer on a port: "<pid> <greeting>"; empty if there is none.
std::string get(uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit = {5, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = inet_addr(own_address().c_str());
  std::string text;
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    constexpr std::string_view kRequest = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    (void)!::send(fd, kRequest.data(), kRequest.size(), MSG_NOSIGNAL);
    char buffer[1024];
    for (ssize_t got = 0; (got = ::recv(fd, buffer, sizeof buffer, 0)) > 0;) {
      text.append(buffer, static_cast<size_t>(got));
    }
  }
  ::close(fd);
  const size_t body = text.find("\r\n\r\n");
  return body == std::string::npos ? "" : std::string(trimmed(text.substr(body + 4)));
}

class Apps : public testing::Test {
 protected:
  // An app file with three servers, each half an agent in size.
  std::string file(const std::string& more = "", const std::string& name = "web") const {
    const std::string path = home_ / (name + ".yaml");
    write_file(path, text("name: ", name, "\ninstances: 3\ncommand: 'exec ", program_,
                          " " + own_address() + " $PORT_http'\n",
                          "resources: 'cpus:1;mem:64'\nports: [http]\n", more));
    return path;
  }

  // A command that listens when the file exists.
  std::string serve_when(const std::string& exists) const {
    return text("until test -e ", exists, "; do sleep 0.05; done; exec ", program_, " ",
                own_address(), " $PORT_http");
  }

  static proto::ServiceStatusPage status(const Cluster& cluster, const std::string& app = "web") {
    const Exit shown = cluster.proffer({"service", "status", app, "--json"});
    auto page = proto::parse_service_status(shown.out);
    return page ? *std::move(page) : proto::ServiceStatusPage();
  }
  // The answers of the ready instances, by task.
  static std::map<std::string, std::string> answers(const Cluster& cluster,
                                                    const std::string& app = "web") {
    std::map<std::string, std::string> answers;
    for (const proto::ServiceInstanceRow& row : status(cluster, app).instances) {
      const auto port = row.ports.find("http");
      if (!row.ready || port == row.ports.end()) continue;
      std::string answer = get(port->second);
      if (!answer.empty()) answers[row.task.str()] = std::move(answer);
    }
    return answers;
  }
  static void allow_descriptors(rlim_t count) {
    rlimit limit = {};
    PCHECK(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
    if (limit.rlim_cur >= count) return;
    limit.rlim_cur = std::min(count, limit.rlim_max);
    PCHECK(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
  }
  // A listener of this process that never answers; empty if another process has the port.
  static Fd listen_on(uint16_t port) {
    Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;  // connections of an earlier test do not count
    ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = inet_addr(own_address().c_str());
    if (::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      PCHECK(errno == EADDRINUSE) << port;
      return Fd();
    }
    PCHECK(::listen(listener.get(), 1) == 0);
    return listener;
  }
  static pid_t pid_of_answer(const std::string& answer) { return std::stoi(answer); }

  // The service scheduler that dev started.
  static pid_t scheduler_of(const Cluster& cluster) {
    for (const pid_t pid : processes_of(cluster.dir())) {
      const std::string command = read_file(text("/proc/", static_cast<int64_t>(pid), "/cmdline"));
      if (command.find("proffer-service") != std::string::npos) return pid;
    }
    return 0;
  }

  TemporaryDirectory home_;
  const std::string program_ =
      (fs::path(program("proffer")).parent_path().parent_path() / "tests/http_server").string();
};

TEST_F(Apps, WhateverIsKilledThreeInstancesAnswerAgain) {
  Cluster cluster({.agents = 3, .resources = "cpus:2;mem:2048", .service = true});
  const Exit applied =
      cluster.proffer({"service", "apply", file("env: {GREETING: hi}\n"), "--wait"});
  ASSERT_EQ(applied.code, 0) << applied.err;
  EXPECT_EQ(applied.out, "web: created\n");
  ASSERT_TRUE(eventually([&] { return answers(cluster).size() == 3; }));
  EXPECT_THAT(answers(cluster).begin()->second, HasSubstr("hi"));
  EXPECT_THAT(cluster.proffer({"service", "list"}).out, HasSubstr("3/3"));

  // Kill an instance.
  const auto before = answers(cluster);
  const std::string victim = before.begin()->first;
  ASSERT_EQ(::kill(pid_of_answer(before.begin()->second), SIGKILL), 0);
  EXPECT_TRUE(eventually([&] {
    const auto now = answers(cluster);
    return now.size() == 3 && now.count(victim) == 0;
  }));

  // Kill an agent with instances.
  const std::string agent = status(cluster).instances.at(0).agent.str();
  ::kill(cluster.pid_of(agent), SIGKILL);
  ASSERT_TRUE(cluster.dev().line_with(agent).has_value());
  EXPECT_TRUE(eventually([&] {
    const proto::ServiceStatusPage page = status(cluster);
    int elsewhere = 0;
    for (const auto& row : page.instances) elsewhere += row.ready && row.agent.str() != agent;
    return elsewhere == 3 && answers(cluster).size() == 3;
  }));

  // Kill the scheduler: dev restarts it, and it finds the running instances.
  const auto running = answers(cluster);
  cluster.dev().kill(SIGSTOP);
  ::kill(scheduler_of(cluster), SIGKILL);
  // Meanwhile the master reports their state.
  Exit listed;
  EXPECT_TRUE(eventually([&] {
    listed = cluster.proffer({"service", "list"});
    return listed.code == 3 && listed.err.find("is not connected") != std::string::npos &&
           !listed.out.empty();
  })) << listed.out
      << listed.err;
  EXPECT_THAT(listed.out, testing::ContainsRegex("web .*unattended +3/\\?"));
  EXPECT_THAT(cluster.proffer({"service", "status", "web"}).out,
              HasSubstr("web: unattended, version 1, 3 of ? ready\n"));
  EXPECT_EQ(answers(cluster), running);
  EXPECT_THAT(cluster.proffer({"service", "status", "wet"}).err, HasSubstr("is not connected"));
  cluster.dev().kill(SIGCONT);
  ASSERT_TRUE(cluster.dev().line_with("\"again_in_s\"").has_value());
  ASSERT_TRUE(eventually([&] { return status(cluster).app.state == "running"; }));
  EXPECT_TRUE(eventually([&] { return answers(cluster).size() == 3; }));
  EXPECT_EQ(answers(cluster), running);

  // The restarted scheduler works.
  const Exit scaled = cluster.proffer({"service", "scale", "web", "2", "--wait"});
  EXPECT_EQ(scaled.code, 0) << scaled.err;
  EXPECT_EQ(answers(cluster).size(), 2u);
  const Exit stopped = cluster.proffer({"service", "stop", "web"});
  EXPECT_EQ(stopped.code, 0) << stopped.err;
  EXPECT_TRUE(eventually([&] { return cluster.running_tasks("service") == 0; }));
  for (const auto& [task, answer] : running) {
    EXPECT_TRUE(eventually([&, pid = pid_of_answer(answer)] { return !is_alive(pid); })) << task;
  }
}

TEST_F(Apps, UpdateKeepsTwoInstancesReadyAndABadUpdateIsRolledBack) {
  Cluster cluster({.agents = 1, .service = true});
  ASSERT_EQ(cluster.proffer({"service", "apply", file("env: {GREETING: one}\n"), "--wait"}).code,
            0);

  const auto roll =
      cluster.start({"service", "apply", file("env: {GREETING: two}\n"), "--wait", "--json"});
  int64_t least = 3;
  ASSERT_TRUE(eventually([&] {
    const proto::ServiceAppRow row = status(cluster).app;
    if (!row.app.empty()) least = std::min(least, row.ready);
    return row.version == 2 && row.state == "running" && row.outdated == 0;
  }));
  const Exit rolled = roll->wait();
  EXPECT_EQ(rolled.code, 0) << rolled.err;
  EXPECT_EQ(rolled.out, "{\"app\":\"web\",\"result\":\"updated to version 2\"}\n");
  EXPECT_GE(least, 2);
  for (const auto& [task, answer] : answers(cluster)) EXPECT_THAT(answer, HasSubstr("two"));

  // A bad version is rolled back automatically, with the reason.
  const Exit bad =
      cluster.proffer({"service", "apply", file("env: {BAD: yes}\n"), "--wait"}, Seconds(120));
  EXPECT_EQ(bad.code, 1) << bad.out;
  EXPECT_THAT(bad.err, HasSubstr("version 3 failed: instance 0: "));
  EXPECT_THAT(bad.err, HasSubstr("; its last output: cannot greet\n"));
  EXPECT_THAT(bad.err, HasSubstr("3 times in a row; app 'web' rolls back to version 2"));
  ASSERT_TRUE(eventually([&] {
    const proto::ServiceAppRow row = status(cluster).app;
    return row.version == 2 && row.state == "running" && row.ready == 3;
  }));
  EXPECT_THAT(cluster.proffer({"service", "status", "web"}).out,
              HasSubstr("rolled back: version 3"));
  const Exit logs = cluster.proffer({"service", "logs", "web"});
  EXPECT_EQ(logs.code, 0);
  EXPECT_THAT(
      logs.err,
      ContainsRegex("== web.3.0-.* on agent-1: failed, the command ended with exit code 7"));
  for (const auto& [task, answer] : answers(cluster)) EXPECT_THAT(answer, HasSubstr("two"));
}

TEST_F(Apps, GoBackToVersionsOfBeforeAndTryCanaries) {
  Cluster cluster({.agents = 1, .resources = "cpus:4;mem:2048", .service = true});
  const auto proffer = [&](Words words) {
    words.insert(words.begin(), "service");
    const Exit done = cluster.proffer(words, Seconds(120));
    EXPECT_EQ(done.code, 0) << done.err;
    return done.out;
  };
  const auto greetings = [&] {
    std::map<std::string, int> counts;
    for (const auto& [task, answer] : answers(cluster)) {
      ++counts[answer.substr(answer.find(' ') + 1)];
    }
    return counts;
  };
  using Counts = std::map<std::string, int>;
  proffer({"apply", file("env: {GREETING: one}\n"), "--wait"});
  proffer({"apply", file("env: {GREETING: two}\n"), "--wait"});

  const std::string plan = proffer({"plan", "web", "1"});
  EXPECT_THAT(plan, HasSubstr("web: would be rolled back to version 1\n"));
  EXPECT_THAT(plan, HasSubstr("replace 3 instances, at most 1 missing"));
  EXPECT_THAT(plan, ContainsRegex("env.GREETING +two +one"));
  EXPECT_EQ(proffer({"rollback", "web", "--wait"}), "web: rolled back to version 1\n");
  EXPECT_EQ(greetings(), (Counts{{"one", 3}}));
  EXPECT_THAT(proffer({"history", "web"}), ContainsRegex("1 .*present, was ready"));

  const std::string canary = file("env: {GREETING: three}\nupdate: {canary: 1}\n");
  EXPECT_THAT(proffer({"plan", canary}), HasSubstr("launch 1 canary instance beside the others"));
  EXPECT_EQ(proffer({"apply", canary, "--wait"}), "web: updated to version 3\n");
  EXPECT_EQ(status(cluster).app.state, "canary");
  EXPECT_EQ(greetings(), (Counts{{"one", 3}, {"three", 1}}));
  EXPECT_EQ(proffer({"scale", "web", "3", "--wait"}), "web: unchanged\n");
  EXPECT_EQ(proffer({"promote", "web", "--wait"}), "web: promoted version 3\n");
  EXPECT_EQ(greetings(), (Counts{{"three", 3}}));
  EXPECT_EQ(cluster.proffer({"service", "rollback", "web", "9"}).code, 1);
  EXPECT_EQ(cluster.proffer({"service", "rollback", "web", "none"}).code, 2);
}

// The plan uses a simulation of the live cluster, and changes nothing.
TEST_F(Apps, APlanSaysWhetherItFitsAndWhoseTasksItWouldCost) {
  Cluster cluster({.agents = 1, .resources = "cpus:4;mem:4096", .service = true});
  const auto borrower = cluster.start(
      {"run", "--name", "borrower", "--role", "research", "--count", "4", "--", "sleep 1000"});
  ASSERT_TRUE(eventually([&] { return cluster.running_tasks("borrower") == 4; }));
  ASSERT_EQ(cluster.proffer({"role", "set", "default", "--guarantee", "cpus:2;mem:256"}).code, 0);
  const auto plan = [&](int instances) {
    const std::string path = home_ / "two.yaml";
    write_file(path, text("name: two\ninstances: ", instances,
                          "\nresources: 'cpus:1;mem:64'\ncommand: sleep 1000\n"));
    return cluster.proffer({"service", "plan", path}).out;
  };
  EXPECT_THAT(plan(2), HasSubstr("it would fit\nwould be preempted: 2 tasks of borrower "
                                 "(role research) for role default: reclaimed\n"));
  const std::string too_many = plan(5);
  EXPECT_THAT(too_many, ContainsRegex("would wait: [0-9] service/two.1: "));
  EXPECT_THAT(too_many, testing::Not(HasSubstr("it would fit")));
  // No agent has this fixed port.
  const std::string path = home_ / "dns.yaml";
  write_file(path, "name: dns\nports: [{dns: 53}]\nresources: 'cpus:0.1;mem:1'\ncommand: x\n");
  EXPECT_THAT(cluster.proffer({"service", "plan", path}).out,
              ContainsRegex("would wait: 1 service/dns.1: .*no-agent-has-port-53"));
  EXPECT_EQ(cluster.running_tasks("borrower"), 4);
  EXPECT_EQ(cluster.proffer({"service", "status", "two"}).code, 1);
}

TEST_F(Apps, AreReadyWhenTheirOwnProcessesListen) {
  Cluster cluster({.agents = 1, .service = true});
  const std::string path = home_ / "late.yaml";
  write_file(path, text("name: late\ncommand: '", serve_when(home_ / "up"),
                        "'\nresources: 'cpus:0.1;mem:64'\nports: [http]\n"));
  const auto applied = cluster.start({"service", "apply", path, "--wait"});
  ASSERT_TRUE(eventually([&] { return !status(cluster, "late").app.why.empty(); }));
  std::string port;
  ASSERT_TRUE(eventually([&] {
    const proto::ServiceStatusPage page = status(cluster, "late");
    if (page.instances.size() != 1 || page.instances[0].ports.empty()) return false;
    port = std::to_string(page.instances[0].ports.at("http"));
    return page.instances[0].why == text("does not listen on port http (", port, ")");
  }));
  EXPECT_EQ(status(cluster, "late").app.ready, 0);
  EXPECT_EQ(status(cluster, "late").app.why,
            text("instance 0 is running but not ready yet: it does not listen on port http (", port,
                 ")"));
  EXPECT_THAT(cluster.proffer({"tasks"}).out, HasSubstr("running (not ready)"));
  EXPECT_THAT(cluster.proffer({"service", "status", "late"}).out,
              HasSubstr(text("running: does not listen on port http (", port, ")")));

  // Another task that listens on the port does not make the instance ready.
  const std::string other = home_ / "other.yaml";
  write_file(other, text("name: other\nresources: 'cpus:0.1;mem:64'\ncommand: 'exec ", program_,
                         " ", own_address(), " ", port, "'\n"));
  ASSERT_EQ(cluster.proffer({"service", "apply", other, "--wait"}).code, 0);
  EXPECT_NE(get(static_cast<uint16_t>(std::stoi(port))), "");
  ASSERT_TRUE(eventually([&] {
    return status(cluster, "late").instances.at(0).why ==
           text("another process listens on port http (", port, ")");
  }));
  EXPECT_EQ(status(cluster, "late").app.ready, 0);
  ASSERT_EQ(cluster.proffer({"service", "stop", "other", "--wait"}).code, 0);

  write_file(home_ / "up", "");
  const Exit done = applied->wait();
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(status(cluster, "late").app.ready, 1);
  EXPECT_NE(get(static_cast<uint16_t>(std::stoi(port))), "");
}

// A thousand of the agent's ports are taken by other listeners, and a hundred are free.
TEST_F(Apps, GetNoPortThatAnotherProcessListensOn) {
  constexpr int kFirst = 31'000;
  constexpr size_t kListeners = 1'000;
  constexpr size_t kFree = 100;
  allow_descriptors(kListeners + 200);
  std::vector<uint16_t> ports(kListeners + kFree);
  std::iota(ports.begin(), ports.end(), kFirst);
  std::shuffle(ports.begin(), ports.end(), std::mt19937(17));
  std::map<uint16_t, Fd> taken;
  for (size_t i = 0; i < kListeners; ++i) taken[ports[i]] = listen_on(ports[i]);

  Cluster cluster({.agents = 1,
                   .resources = text("cpus:4;mem:4096;ports:[", kFirst, "-",
                                     kFirst + kListeners + kFree - 1, "]"),
                   .service = true});
  const auto app = [&](const std::string& name, size_t instances, const std::string& command) {
    const std::string path = home_ / (name + ".yaml");
    write_file(path, text("name: ", name, "\ninstances: ", instances, "\ncommand: '", command,
                          "'\nresources: 'cpus:0.01;mem:8'\nports: [http]\n"));
    return path;
  };
  const Exit all = cluster.proffer(
      {"service", "apply",
       app("all", kFree, text("exec ", program_, " ", own_address(), " $PORT_http")), "--wait"});
  EXPECT_EQ(all.code, 0) << all.err;
  std::set<uint16_t> given;
  for (const auto& row : status(cluster, "all").instances) given.insert(row.ports.at("http"));
  EXPECT_EQ(given, std::set<uint16_t>(ports.begin() + kListeners, ports.end()));
  ASSERT_EQ(cluster.proffer({"service", "stop", "all", "--wait"}).code, 0);

  // Ports that another process takes after their assignment, before the instance listens.
  constexpr size_t kLate = 10;
  ASSERT_EQ(
      cluster.proffer({"service", "apply", app("late", kLate, serve_when(home_ / "up"))}).code, 0);
  std::set<uint16_t> lost;
  ASSERT_TRUE(eventually([&] {
    lost.clear();
    for (const auto& row : status(cluster, "late").instances) {
      for (const auto& [name, port] : row.ports) lost.insert(port);
    }
    return lost.size() == kLate;
  }));
  for (const uint16_t port : lost) taken[port] = listen_on(port);
  write_file(home_ / "up", "");
  size_t ready = 0;
  EXPECT_TRUE(eventually([&] {
    ready = 0;
    for (const auto& row : status(cluster, "late").instances) {
      if (!row.ready) continue;
      ++ready;
      const auto other = taken.find(row.ports.at("http"));
      EXPECT_TRUE(other == taken.end())
          << row.task.str() << ": " << other->first << " is listened on by " << other->second.get();
    }
    return ready == kLate;
  })) << ready
      << cluster.proffer({"service", "status", "late"}).out;
}

// During the wait for an instance, its agent is killed twice and its executor once. The second time
// it begins to listen while the agent is away.
TEST_F(Apps, BecomeReadyThoughAgentAndExecutorAreKilledMeanwhile) {
  const std::string resources = "cpus:4;mem:4096;ports:[31000-31999]";
  Cluster cluster({.agents = 1, .resources = resources, .service = true});
  const std::string path = home_ / "late.yaml";
  const std::string log = home_ / "starts";
  write_file(path, text("name: late\ncommand: 'echo $$ >> ", log, "; ", serve_when(home_ / "up"),
                        "'\nresources: 'cpus:0.1;mem:64'\nports: [http]\n"));
  ASSERT_EQ(cluster.proffer({"service", "apply", path}).code, 0);
  const auto starts = [&] {
    const std::string lines = read_file(log);
    std::vector<pid_t> pids;
    for (const std::string_view line : split(trimmed(lines), '\n')) {
      if (!line.empty()) pids.push_back(std::stoi(std::string(line)));
    }
    return pids;
  };
  const auto is_waited_for = [&](size_t times) {
    const proto::ServiceStatusPage page = status(cluster, "late");
    return starts().size() == times && page.app.ready == 0 && page.instances.size() == 1 &&
           page.instances[0].why.starts_with("does not listen on port http");
  };
  std::unique_ptr<Process> agent;
  const auto kill_agent = [&] {
    ::kill(cluster.pid_of("agent-1"), SIGKILL);
    if (agent == nullptr) {
      ASSERT_TRUE(cluster.dev().line_with("agent-1").has_value());
    } else {
      agent->wait();
    }
  };
  const auto is_back = [&] {
    const auto agents = proto::parse_agents(cluster.proffer({"agents", "--json"}).out);
    return agents && agents->size() == 1 && agents->front().state == proto::AgentState::kConnected;
  };
  ASSERT_TRUE(eventually([&] { return is_waited_for(1); }));

  kill_agent();
  agent = cluster.start_agent("agent-1", resources);
  ASSERT_TRUE(eventually(is_back));
  ASSERT_TRUE(eventually([&] { return is_waited_for(1); }));

  const std::string answer = get_http(cluster.told_by("agent-1", "http"), "/v1/status");
  const auto host = proto::parse_agent_status(answer.substr(answer.find("\r\n\r\n") + 4));
  ASSERT_TRUE(host) << answer;
  ASSERT_EQ(host->executors.size(), 1u);
  ::kill(host->executors[0].pid, SIGKILL);
  ASSERT_TRUE(eventually([&] { return is_waited_for(2); }))
      << read_file(log) << cluster.proffer({"service", "status", "late"}).out
      << cluster.proffer({"tasks", "--all"}).out << agent->err();
  EXPECT_FALSE(is_alive(starts()[0])) << "left behind by its executor";

  kill_agent();
  write_file(home_ / "up", "");
  agent = cluster.start_agent("agent-1", resources);
  ASSERT_TRUE(eventually([&] { return status(cluster, "late").app.ready == 1; }));
  EXPECT_EQ(starts().size(), 2u);
  const std::map<std::string, std::string> answering = answers(cluster, "late");
  ASSERT_EQ(answering.size(), 1u);
  EXPECT_EQ(pid_of_answer(answering.begin()->second), starts()[1]);
  agent->kill(SIGTERM);
  EXPECT_EQ(agent->wait().code, 0) << agent->err();
}

// A server that the shell has left in the background also belongs to the app.
TEST_F(Apps, AreReadyWhenWhatTheyStartedListens) {
  Cluster cluster({.agents = 1, .service = true});
  const std::string path = home_ / "apart.yaml";
  write_file(path, text("name: apart\nports: [http]\ncommand: '(setsid ", program_, " ",
                        own_address(), " $PORT_http &) ; exec sleep 1000'\n"));
  const Exit applied = cluster.proffer({"service", "apply", path, "--wait"});
  EXPECT_EQ(applied.code, 0) << applied.err;
  EXPECT_EQ(answers(cluster, "apart").size(), 1u);
}

TEST_F(Apps, ThatNeverListenSayWhenTheyAreReady) {
  Cluster cluster({.agents = 1, .service = true});
  for (const std::string more : {"ports: [udp]\nready: {after: 1s}\n", ""}) {
    const std::string path = home_ / "mute.yaml";
    write_file(path, text("name: mute\ncommand: exec sleep 1000\n", more));
    const Exit applied = cluster.proffer({"service", "apply", path, "--wait"});
    EXPECT_EQ(applied.code, 0) << applied.err;
    EXPECT_EQ(status(cluster, "mute").app.ready, 1);
  }
}

TEST_F(Apps, TheEndOfTheClusterIsTheEndOfItsApps) {
  std::map<std::string, std::string> running;
  {
    Cluster cluster({.agents = 2, .service = true});
    ASSERT_EQ(cluster.proffer({"service", "apply", file(), "--wait"}).code, 0);
    ASSERT_TRUE(eventually([&] { return answers(cluster).size() == 3; }));
    running = answers(cluster);
    cluster.dev().kill(SIGINT);
    EXPECT_EQ(cluster.dev().wait().code, 0);
    EXPECT_EQ(processes_of(cluster.dir()), std::vector<pid_t>());
  }
  for (const auto& [task, answer] : running) EXPECT_FALSE(is_alive(pid_of_answer(answer))) << task;
}

TEST_F(Apps, AttachedEndWithTheirTerminal) {
  Cluster cluster({.agents = 1});
  const auto run = cluster.start({"service", "run", file("", "web")});
  ASSERT_TRUE(run->line_with("3 of 3 ready").has_value()) << run->err();
  EXPECT_EQ(cluster.running_tasks("app-web"), 3);
  const std::string frameworks = cluster.proffer({"frameworks"}).out;
  EXPECT_THAT(frameworks, HasSubstr("app-web"));

  run->kill(SIGINT);
  const Exit ended = run->wait();
  EXPECT_EQ(ended.code, 130) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("app stopped"));
  EXPECT_EQ(cluster.running_tasks(), 0);
  EXPECT_TRUE(eventually(
      [&] { return cluster.proffer({"frameworks"}).out.find("app-web") == std::string::npos; }));
}

TEST_F(Apps, OfOneFileAreAppliedTogetherAndWaitForEachOther) {
  Cluster cluster({.agents = 1, .resources = "cpus:4;mem:2048", .service = true});
  const std::string path = home_ / "shop.yaml";
  const std::string log = home_ / "starts";
  const auto shop = [&](const std::string& more) {
    write_file(path, text("name: web\nafter: [db]\ninstances: 2\nresources: 'cpus:0.1;mem:64'\n"
                          "ports: [http]\ncommand: 'echo web >> ",
                          log, "; exec ", program_, " ", own_address(),
                          " $PORT_http'\n---\nname: db\nports: [http]\n"
                          "resources: 'cpus:0.1;mem:64'\ncommand: '",
                          serve_when(home_ / "up"), "'\n", more));
    return path;
  };
  // If one app of the file is refused, none is created.
  const Exit refused = cluster.proffer({"service", "apply", shop("instances: -1\n")});
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_THAT(refused.err, HasSubstr("app 'db' (line 8): line 12: instances"));
  const Exit unknown = cluster.proffer({"service", "apply", shop("after: [disk]\n")});
  EXPECT_EQ(unknown.code, 1) << unknown.out;
  EXPECT_THAT(unknown.err, HasSubstr("app 'db' (line 8): after: there is no app 'disk'"));
  EXPECT_THAT(cluster.proffer({"service", "list"}).out, Not(HasSubstr("web")));

  const Exit plan = cluster.proffer({"service", "plan", shop("")});
  EXPECT_EQ(plan.out,
            "web: would be created\n  wait until all instances of db are ready\n"
            "  launch 2 instances\ndb: would be created\n  launch 1 instance\nit would fit\n");

  const auto applied = cluster.start({"service", "apply", path, "--wait", "--json"});
  ASSERT_TRUE(eventually([&] { return status(cluster).app.why == "waits for db (0 of 1 ready)"; }));
  EXPECT_EQ(status(cluster).app.state, "waiting");
  EXPECT_EQ(status(cluster).app.live, 0);
  ASSERT_TRUE(eventually([&] { return status(cluster, "db").app.live == 1; }));
  EXPECT_FALSE(fs::exists(log));
  write_file(home_ / "up", "");
  const Exit done = applied->wait();
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out,
            "{\"apps\":[{\"app\":\"web\",\"result\":\"created\"},"
            "{\"app\":\"db\",\"result\":\"created\"}]}\n");
  EXPECT_EQ(status(cluster).app.ready, 2);

  // The app in the `after` of another one ends; the other one continues.
  EXPECT_EQ(cluster.proffer({"service", "stop", "db", "--wait"}).code, 0);
  EXPECT_EQ(cluster.proffer({"service", "scale", "web", "3", "--wait"}).code, 0);
  EXPECT_EQ(answers(cluster).size(), 3u);
}

TEST_F(Apps, OfEachAgentFollowAgentsThatComeAndGo) {
  Cluster cluster({.agents = 2, .resources = "cpus:4;mem:2048", .service = true});
  const std::string path = home_ / "each.yaml";
  write_file(path, text("name: each\ndaemon: true\nports: [http]\nresources: 'cpus:0.1;mem:64'\n"
                        "command: 'exec ",
                        program_, " ", own_address(), " $PORT_http'\n"));
  const Exit applied = cluster.proffer({"service", "apply", path, "--wait"});
  EXPECT_EQ(applied.code, 0) << applied.err;
  const auto agents = [&] {
    std::multiset<std::string> found;
    for (const proto::ServiceInstanceRow& row : status(cluster, "each").instances) {
      if (row.ready) found.insert(row.agent.str());
    }
    return found;
  };
  using Agents = std::multiset<std::string>;
  EXPECT_EQ(agents(), (Agents{"agent-1", "agent-2"}));
  const auto third = cluster.start_agent("agent-3", "cpus:1;mem:512;ports:[33000-33100]");
  ASSERT_TRUE(eventually([&] { return agents() == Agents{"agent-1", "agent-2", "agent-3"}; }));
  EXPECT_EQ(cluster.proffer({"drain", "agent-2", "--grace", "1s"}).code, 0);
  ASSERT_TRUE(eventually([&] { return agents() == Agents{"agent-1", "agent-3"}; }));
  ASSERT_TRUE(eventually([&] { return status(cluster, "each").app.instances == 2; }));
  EXPECT_EQ(cluster.proffer({"undrain", "agent-2"}).code, 0);
  ASSERT_TRUE(eventually([&] { return agents() == Agents{"agent-1", "agent-2", "agent-3"}; }));
  EXPECT_EQ(cluster.proffer({"service", "stop", "each", "--wait"}).code, 0);
  EXPECT_EQ(cluster.running_tasks("service"), 0);
  third->kill(SIGTERM);
  EXPECT_EQ(third->wait().code, 0);
}

TEST_F(Apps, GoOnWhenTheDrainOfTheirAgentIsTakenBack) {
  Cluster cluster({.agents = 1, .resources = "cpus:2;mem:2048", .service = true});
  const auto greets = [&](const std::string& word) {
    const std::string path = home_ / "web.yaml";
    write_file(path, text("name: web\ncommand: 'exec ", program_, " ", own_address(),
                          " $PORT_http'\nports: [http]\nenv: {GREETING: ", word, "}\n"));
    return path;
  };
  ASSERT_EQ(cluster.proffer({"service", "apply", greets("one"), "--wait"}).code, 0);
  ASSERT_EQ(cluster.proffer({"drain", "agent-1", "--grace", "1h"}).code, 0);
  ASSERT_EQ(cluster.proffer({"service", "apply", greets("two")}).code, 0);
  ASSERT_TRUE(eventually([&] {
    return status(cluster).app.why.find("must leave its agent") != std::string::npos;
  })) << status(cluster).app.why;
  ASSERT_EQ(cluster.proffer({"undrain", "agent-1"}).code, 0);
  EXPECT_TRUE(eventually([&] {
    const auto now = answers(cluster);
    return now.size() == 1 && now.begin()->second.find("two") != std::string::npos;
  }));
}

TEST_F(Apps, WhatCannotBeDoneIsRefusedWithItsReason) {
  Cluster cluster({.agents = 1, .service = true});
  struct Row {
    Words words;
    int code;
    std::string says;
  };
  const std::string wrong = home_ / "wrong.yaml";
  write_file(wrong, "name: web\ncommand: x\ninstances: many\n");
  const std::string several = home_ / "several.yaml";
  write_file(several, "name: a\ncommand: x\n---\nname: b\ncommand: y\n");
  const std::string late = home_ / "late.yaml";
  write_file(late, "name: a\ncommand: x\nafter: b\n");
  const std::string scaled = home_ / "scaled.yaml";
  write_file(scaled, "name: a\ncommand: x\nscale: {max: 2, cpu: 50%}\n");
  const Row rows[] = {
      {{"apply", wrong}, 2, "line 3: instances"},
      {{"run", wrong}, 2, "line 3: instances"},
      {{"run", several}, 2, "line 4: app 'b' begins, but an attached run takes one app only"},
      {{"run", late}, 2, "after: an attached app cannot refer to other apps"},
      {{"run", scaled}, 2, "scale: an attached app is not measured"},
      {{"apply", home_ / "nothing"}, 2, "there is no file"},
      {{"scale", "web", "3"}, 1, "there is no app 'web'"},
      {{"scale", "web", "-3"}, 2, "N"},
      {{"status", "web"}, 1, "there is no app 'web'"},
      {{"stop", "web"}, 1, "there is no app 'web'"},
      {{"aply"}, 2, "did you mean"},
      {{}, 2, "usage"},
      {{"list", "--framework", "serwice"}, 3, "serwice"},
      {{"list", "--master", "127.0.0.1:1"}, 3, "cannot reach a master"},
  };
  for (const Row& row : rows) {
    Words words = {"service"};
    words.insert(words.end(), row.words.begin(), row.words.end());
    const Exit exit = cluster.proffer(words);
    const std::string shown = row.words.empty() ? "" : row.words.front();
    EXPECT_EQ(exit.code, row.code) << shown << exit.out << exit.err;
    EXPECT_THAT(exit.err, HasSubstr(row.says)) << shown;
  }
}

// Two frameworks of one role with the same shape: the apps want twelve instances together, and a
// job has more tasks than fit.
TEST_F(Apps, ShareAClusterEquallyWithABatchJob) {
  Cluster cluster({.agents = 2, .resources = "cpus:4;mem:4096", .service = true, .batch = true});
  std::string lines;
  for (int i = 0; i < 30'000; ++i) lines += text("line ", i, "\n");
  write_file(home_ / "input", lines);
  const auto job =
      cluster.start({"batch", "run", "--name", "job", "--map", "sleep 1; cat", "--reducers", "0",
                     "--input", home_ / "input", "--output", home_ / "out", "--split", "1KiB",
                     "--resources", "cpus:1;mem:64"});
  ASSERT_TRUE(eventually([&] { return cluster.running_tasks("batch") == 8; }));
  for (const char* name : {"one", "two"}) {
    const std::string app = file("", name);
    ASSERT_EQ(cluster.proffer({"service", "apply", app}).code, 0);
    ASSERT_EQ(cluster.proffer({"service", "scale", name, "6"}).code, 0);
  }
  // As tasks of the job end, the apps get half of the cluster and keep it.
  ASSERT_TRUE(eventually([&] { return cluster.running_tasks("service") == 4; }));
  int equal = 0;
  for (int look = 0; look < 20; ++look) {
    EXPECT_EQ(cluster.running_tasks("service"), 4);
    equal += cluster.running_tasks("batch") == 4 ? 1 : 0;  // between two tasks, the job has three
  }
  EXPECT_GE(equal, 1);
  // The apps get what the job leaves. (The removal of its output may wait for a slot.)
  job->kill(SIGINT);
  EXPECT_TRUE(eventually([&] { return cluster.running_tasks("service") == 8; }));
}

TEST_F(Apps, AKilledSchedulerLosesNothingOfWhatItAnswered) {
  Cluster cluster({.agents = 1, .service = true});
  ASSERT_EQ(cluster.proffer({"service", "apply", file()}).code, 0);
  ::kill(scheduler_of(cluster), SIGKILL);  // possibly before any launch
  ASSERT_TRUE(cluster.dev().line_with("\"again_in_s\"").has_value());
  EXPECT_TRUE(eventually([&] { return answers(cluster).size() == 3; }));
  EXPECT_TRUE(eventually([&] { return cluster.running_tasks("service") == 3; }));
}

}  // namespace
}  // namespace proffer::test
