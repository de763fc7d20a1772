// A service behind a real haproxy, whose configuration `proffer service proxy` updates: no request
// fails during changes of the service.

#include <atomic>
#include <csignal>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/text.h"
#include "net/fd.h"
#include "proto/json/service_json.h"
#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

using ::testing::HasSubstr;

// One connection with one request after another, until the server closes it.
class KeptConnection {
 public:
  explicit KeptConnection(const std::string& path) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const timeval limit = {30, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      fd_ = Fd();
  }
  // The complete answer; empty if there was none. Afterwards `ends` says whether the connection
  // ends.
  std::string ask(bool& ends) {
    constexpr std::string_view kRequest = "GET / HTTP/1.1\r\nHost: web\r\n\r\n";
    ends = true;
    if (::send(fd_.get(), kRequest.data(), kRequest.size(), MSG_NOSIGNAL) < 0) return "";
    std::string answer;
    while (true) {
      const size_t body = answer.find("\r\n\r\n");
      if (body != std::string::npos) {
        const std::string head = lower(answer.substr(0, body));
        const size_t length = head.find("content-length: ");
        const size_t want = length == std::string::npos ? 0 : std::stoul(head.substr(length + 16));
        ends = head.find("connection: close") != std::string::npos;
        if (answer.size() >= body + 4 + want) return answer;
      }
      char buffer[1024];
      const ssize_t got = ::recv(fd_.get(), buffer, sizeof buffer, 0);
      if (got <= 0) return answer.empty() ? "" : "cut off: " + answer;
      answer.append(buffer, static_cast<size_t>(got));
    }
  }

 private:
  static std::string lower(std::string text) {
    for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    return text;
  }
  Fd fd_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

// They send some hundred requests per second until they are stopped: two clients with a new
// connection per request, one on a connection that it keeps.
class Clients {
 public:
  explicit Clients(std::string place) : place_(std::move(place)) {
    for (int i = 0; i < 2; ++i) threads_.emplace_back([this] { ask(); });
    threads_.emplace_back([this] { ask_on_kept_connections(); });
  }
  ~Clients() { end(); }
  void end() {
    ends_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  int64_t good() const { return good_; }
  // Good answers on a connection that was open before and after.
  int64_t kept() const { return kept_; }
  int64_t failed() const { return failed_; }
  // Bad answers, each kind once.
  std::set<std::string> bad() const {
    const std::lock_guard lock(mutex_);
    return bad_;
  }
  // The greetings since the last call.
  std::set<std::string> greetings() {
    const std::lock_guard lock(mutex_);
    return std::exchange(greetings_, {});
  }

 private:
  void ask() {
    while (pause()) take(get_http(place_, "/"), "no answer");
  }
  void ask_on_kept_connections() {
    std::optional<KeptConnection> kept;
    while (pause()) {
      if (!kept) kept.emplace(place_);
      bool ends = false;
      take(kept->ask(ends), "no answer on a kept connection");
      if (!ends) ++kept_;
      if (ends) kept.reset();
    }
  }
  // Limits the load, because other tests run on this machine.
  bool pause() const {
    ::poll(nullptr, 0, 2);
    return !ends_;
  }
  void take(const std::string& answer, const std::string& none) {
    const std::lock_guard lock(mutex_);
    if (answer.starts_with("HTTP/1.1 200 ")) {
      ++good_;
      greetings_.insert(answer.substr(std::min(answer.size(), answer.rfind(' ') + 1)));
    } else {
      ++failed_;
      bad_.insert(answer.empty() ? none : answer);
    }
  }

  const std::string place_;
  std::atomic<bool> ends_ = false;
  std::atomic<int64_t> good_ = 0;
  std::atomic<int64_t> kept_ = 0;
  std::atomic<int64_t> failed_ = 0;
  mutable std::mutex mutex_;
  std::set<std::string> bad_;
  std::set<std::string> greetings_;
  std::vector<std::thread> threads_;
};

struct Proxy : testing::Test {
  std::string app(const std::string& greeting, const std::string& more = "") const {
    const std::string path = home_ / "web.yaml";
    write_file(path,
               text("name: web\ninstances: 3\ncommand: 'exec ", program_of_tests("http_server"),
                    " 127.0.0.1 $PORT_http'\nenv: {GREETING: ", greeting,
                    "}\nresources: 'cpus:0.1;mem:32'\nports: [http]\ndrain_delay: 2s\n",
                    "update: {max_surge: 1, max_unavailable: 0", more, "}\n"));
    return path;
  }
  // A version whose instances end at once.
  std::string bad_app() const {
    const std::string path = app("bad");
    std::string file = read_file(path);
    const std::string good = "exec ";
    file.replace(file.find(good), good.size(), "exit 7; ");
    write_file(path, file);
    return path;
  }
  std::string front() const { return home_ / "front.sock"; }

  TemporaryDirectory home_;
};

TEST_F(Proxy, NoRequestFailsWhileTheServiceChanges) {
  Cluster cluster({.agents = 2, .resources = "cpus:6;mem:2048", .service = true});
  const auto proffer = [&](Words words) {
    words.insert(words.begin(), "service");
    const Exit done = cluster.proffer(words, Seconds(180));
    EXPECT_EQ(done.code, 0) << done.err;
  };
  proffer({"apply", app("one"), "--wait"});

  write_file(home_ / "haproxy.template",
             text("defaults\n  mode http\n  option redispatch 1\n  option idle-close-on-response\n "
                  " timeout connect 5s\n  timeout "
                  "client 30s\n"
                  "  timeout server 30s\nfrontend front\n  bind unix@",
                  front(),
                  "\n  default_backend web\nbackend web\n"
                  "  #! each web http: server ~{instance} ~{host}:~{port}\n"));
  const std::string config = home_ / "haproxy.cfg";
  const Words proxy = {"service",
                       "proxy",
                       home_ / "haproxy.template",
                       "--output",
                       config,
                       "--check",
                       "haproxy -c -q -f $PROFFER_PROXY_FILE"};
  Words once = proxy;
  once.push_back("--once");
  ASSERT_EQ(cluster.proffer(once).code, 0);
  const Process haproxy({"haproxy", "-W", "-db", "-f", config});
  ASSERT_TRUE(eventually([&] { return get_http(front(), "/").starts_with("HTTP/1.1 200 "); }));
  Words follows = proxy;
  follows.insert(follows.end(),
                 {"--exec", text("kill -USR2 ", static_cast<int64_t>(haproxy.pid()))});
  const auto follower = cluster.start(follows);
  ASSERT_TRUE(follower->line_with("3 servers"));

  Clients clients(front());
  proffer({"apply", app("two"), "--wait"});
  proffer({"apply", app("three", ", canary: 1"), "--wait"});
  proffer({"promote", "web", "--wait"});
  proffer({"apply", app("four", ", canary: 1"), "--wait"});
  proffer({"rollback", "web", "--wait"});
  const Exit bad = cluster.proffer({"service", "apply", bad_app(), "--wait"}, Seconds(180));
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.err, HasSubstr("exit code 7"));
  proffer({"scale", "web", "20", "--wait"});
  proffer({"scale", "web", "1", "--wait"});
  proffer({"rollback", "web", "1", "--wait"});
  // The scheduler dies, and dev restarts it.
  for (const pid_t pid : processes_of(cluster.dir())) {
    const std::string command = read_file(text("/proc/", static_cast<int64_t>(pid), "/cmdline"));
    if (command.find("proffer-service") != std::string::npos &&
        command.find("scheduler") != std::string::npos) {
      ::kill(pid, SIGKILL);
    }
  }
  ASSERT_TRUE(cluster.dev().line_with("\"again_in_s\"").has_value());
  const auto has_scheduler = [&] { return cluster.proffer({"service", "list"}).code == 0; };
  ASSERT_TRUE(eventually(has_scheduler));
  proffer({"scale", "web", "3", "--wait"});
  const auto master = cluster.restart_master();
  ASSERT_TRUE(eventually(has_scheduler));
  proffer({"scale", "web", "4", "--wait"});
  EXPECT_EQ(cluster.proffer({"drain", "agent-1", "--grace", "1m"}).code, 0);
  ASSERT_TRUE(eventually([&] {
    const Exit shown = cluster.proffer({"service", "status", "web", "--json"});
    const auto page = proto::parse_service_status(shown.out);
    int elsewhere = 0;
    for (const auto& row : page ? page->instances : std::vector<proto::ServiceInstanceRow>()) {
      if (row.agent == AgentId("agent-1")) return false;
      elsewhere += row.ready;
    }
    return elsewhere == 4;
  }));
  ASSERT_TRUE(eventually([&] {
    const std::set<std::string> seen = clients.greetings();
    return seen == std::set<std::string>{"one\n"};
  }));
  EXPECT_THAT(clients.bad(), testing::IsEmpty());

  // When an instance is killed, each client has at most one request in flight to it.
  const int64_t before = clients.failed();
  const auto shown =
      proto::parse_service_status(cluster.proffer({"service", "status", "web", "--json"}).out);
  ASSERT_TRUE(shown);
  const std::string victim = text("PROFFER_TASK_ID=", shown->instances.at(0).task.str());
  for (const pid_t pid : processes_of(cluster.dir())) {
    const std::string environment =
        read_file(text("/proc/", static_cast<int64_t>(pid), "/environ"));
    if (environment.find(victim) != std::string::npos) ::kill(pid, SIGKILL);
  }
  ASSERT_TRUE(eventually([&] {
    const auto now =
        proto::parse_service_status(cluster.proffer({"service", "status", "web", "--json"}).out);
    return now && now->app.ready == 4 && now->instances.at(0).task != shown->instances.at(0).task;
  }));
  clients.end();
  EXPECT_LE(clients.failed() - before, 3);
  EXPECT_GT(clients.good(), 1'000);
  EXPECT_GT(clients.kept(), 100);
  follower->kill(SIGINT);
  std::cout << clients.good() << " requests answered\n";
}

// Debian's nginx, with a configuration from the app file.
TEST_F(Proxy, NoRequestFailsWhileAnNginxIsUpdatedAndItsAgentIsDrained) {
  Cluster cluster({.agents = 2, .resources = "cpus:6;mem:2048", .service = true});
  const auto app_of = [&](const std::string& greeting) {
    const std::string path = home_ / "nginx.yaml";
    write_file(path, text(R"(name: web
instances: 3
command: exec nginx -p . -c nginx.conf -e stderr
resources: "cpus:0.1;mem:64"
ports: [http]
kill_signal: SIGQUIT
drain_delay: 2s
update: {max_surge: 1, max_unavailable: 0}
env: {GREETING: "it's )",
                          greeting, R"("}
files:
  nginx.conf: |
    daemon off;
    pid nginx.pid;
    worker_processes 1;
    events {}
    http {
      access_log off;
      client_body_temp_path body;
      proxy_temp_path proxy;
      fastcgi_temp_path fastcgi;
      uwsgi_temp_path uwsgi;
      scgi_temp_path scgi;
      server {
        listen 127.0.0.1:~{PORT_http};
        location / { return 200 "~{GREETING}\n"; }
      }
    }
)"));
    return path;
  };
  const Exit applied = cluster.proffer({"service", "apply", app_of("one"), "--wait"});
  ASSERT_EQ(applied.code, 0) << applied.err << cluster.proffer({"service", "logs", "web"}).err;
  write_file(home_ / "haproxy.template",
             text("defaults\n  mode http\n  option redispatch 1\n  option idle-close-on-response\n"
                  "  timeout connect 5s\n  timeout client 30s\n  timeout server 30s\n"
                  "frontend front\n  bind unix@",
                  front(),
                  "\n  default_backend web\nbackend web\n"
                  "  #! each web http: server ~{instance} ~{host}:~{port}\n"));
  const std::string config = home_ / "haproxy.cfg";
  const Words proxy = {"service", "proxy", home_ / "haproxy.template", "--output", config};
  Words once = proxy;
  once.push_back("--once");
  ASSERT_EQ(cluster.proffer(once).code, 0);
  const Process haproxy({"haproxy", "-W", "-db", "-f", config});
  ASSERT_TRUE(eventually([&] { return get_http(front(), "/").starts_with("HTTP/1.1 200 "); }));
  Words follows = proxy;
  follows.insert(follows.end(),
                 {"--exec", text("kill -USR2 ", static_cast<int64_t>(haproxy.pid()))});
  const auto follower = cluster.start(follows);
  ASSERT_TRUE(follower->line_with("3 servers"));

  Clients clients(front());
  ASSERT_TRUE(eventually([&] { return clients.greetings().count("one\n") == 1; }));
  const Exit updated = cluster.proffer({"service", "apply", app_of("two"), "--wait"}, Seconds(120));
  EXPECT_EQ(updated.code, 0) << updated.err;
  EXPECT_EQ(cluster.proffer({"drain", "agent-1", "--grace", "1m"}).code, 0);
  ASSERT_TRUE(eventually([&] {
    const Exit shown = cluster.proffer({"service", "servers", "web", "--json"});
    const auto page = proto::parse_servers(shown.out);
    if (!page || page->servers.size() != 3) return false;
    return std::none_of(page->servers.begin(), page->servers.end(),
                        [](const auto& row) { return row.agent == AgentId("agent-1"); });
  }));
  ASSERT_TRUE(eventually([&] { return clients.greetings() == std::set<std::string>{"two\n"}; }));
  clients.end();
  EXPECT_THAT(clients.bad(), testing::IsEmpty());
  EXPECT_GT(clients.good(), 100);
  follower->kill(SIGINT);
}

// The master relays the call, and answers when the servers change.
TEST_F(Proxy, ServersAreToldByHttpAndByTheCommandLine) {
  Cluster cluster({.agents = 1, .service = true});
  ASSERT_EQ(cluster.proffer({"service", "apply", app("one"), "--wait"}).code, 0);
  const auto get = [&](const std::string& query) {
    const std::string answer = get_http(cluster.http(), "/v1/services" + query);
    return answer.substr(std::min(answer.size(), answer.find('{')));
  };
  const auto first = proto::parse_servers(get("?app=web,wep"));
  ASSERT_TRUE(first) << first.error().message();
  ASSERT_EQ(first->servers.size(), 3u);
  EXPECT_EQ(first->servers[0].host, "127.0.0.1");
  EXPECT_THAT(first->unknown, testing::ElementsAre("wep"));
  const std::string seen = proto::parse_servers(get("?app=web"))->version;
  std::string answer;
  std::thread waits([&] { answer = get("?app=web&wait=30s&version=" + seen); });
  EXPECT_EQ(cluster.proffer({"service", "scale", "web", "2"}).code, 0);
  waits.join();
  const auto second = proto::parse_servers(answer);
  ASSERT_TRUE(second) << answer;
  EXPECT_EQ(second->servers.size(), 2u);
  EXPECT_NE(second->version, seen);

  const Exit shown = cluster.proffer({"service", "servers", "web", "--json"});
  EXPECT_EQ(proto::parse_servers(shown.out)->servers, second->servers);
  EXPECT_THAT(cluster.proffer({"service", "servers", "wep"}).err, HasSubstr("no app 'wep'"));
  EXPECT_THAT(get("?app=web&wait=2h"), HasSubstr("wait: must be from 0s to 1m, not 2h"));
  EXPECT_THAT(get("?apps=web"), HasSubstr("unknown argument 'apps'"));
  EXPECT_THAT(get("?framework=nobody"), HasSubstr("\"not_found\""));
}

// A text that the check refuses does not reach the proxy.
TEST_F(Proxy, AConfigurationThatTheCheckRefusesIsNotPutInPlace) {
  Cluster cluster({.agents = 1, .service = true});
  ASSERT_EQ(cluster.proffer({"service", "apply", app("one"), "--wait"}).code, 0);
  write_file(home_ / "t", "#! each web http: ~{host}:~{port}\n");
  write_file(home_ / "out", "as it was\n");
  const Exit refused = cluster.proffer({"service", "proxy", home_ / "t", "--output", home_ / "out",
                                        "--check", "grep -q server $PROFFER_PROXY_FILE", "--once"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr(" refused "));
  EXPECT_EQ(read_file(home_ / "out"), "as it was\n");
  write_file(home_ / "wrong", "backend web\n  #! web http\n");
  const Exit wrong =
      cluster.proffer({"service", "proxy", home_ / "wrong", "--output", home_ / "out", "--once"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("line 2: '#! web http' is not a valid #! each line"));
}

}  // namespace
}  // namespace proffer::test
