// Bad versions of apps on a real cluster. Each is rolled back automatically and its cause is
// reported; meanwhile, no more instances are missing than the app's budget allows.
// $PROFFER_BAD_VERSIONS is their number; the nightly run has 200 (tests/CMakeLists.txt).

#include <csignal>
#include <cstdlib>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/prng.h"
#include "common/text.h"
#include "proto/json/service_json.h"
#include "tests/integration/processes.h"

namespace proffer::test::bad_versions_test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

constexpr uint64_t kSeed = 200;
// The number of apps that get bad versions at the same time.
constexpr size_t kLanes = 6;

struct Fault {
  std::string bad;    // $BAD of http_server
  bool wants_health;  // only a health check detects it
  std::string cause;  // the expected cause if there is a health check
  std::string plain_cause = cause;
};
const Fault kFaults[] = {
    {"exit", false, "exit code 7"},
    {"hang", false, "connection refused",
     "no further instance became ready within 8s.*not listen on port"},
    {"404", true, "status 404"},
    {"slow", true, "no answer within 300ms"},
    {"crash", false, "exit code 9"},
    {"hog", false, "out of memory|memory of"},
};

bool has_limits() {
  return geteuid() == 0 && access("/sys/fs/cgroup/memory/cgroup.procs", W_OK) == 0;
}

// One app that gets one bad version after another.
class Lane {
 public:
  Lane(const Cluster& cluster, const std::string& directory, size_t number)
      : cluster_(cluster),
        directory_(directory),
        name_(text("app", number)),
        prng_(kSeed + number),
        first_fault_(number),
        instances_(prng_.between(2, 4)) {
    if (prng_.chance(1, 3)) {
      surge_ = 1;
    } else {
      unavailable_ = prng_.between(1, instances_ - 1);
    }
  }

  void run(int64_t versions) {
    const Exit first = apply({});
    ASSERT_EQ(first.code, 0) << name_ << ": " << first.err;
    const std::string told = text(directory_, "/", name_, ".servers");
    Process follower({"/bin/sh", "-c",
                      text("exec ", program("proffer"), " service servers ", name_,
                           " -f --master=", cluster_.master(), " >", told)});
    ASSERT_TRUE(eventually([&] { return !read_file(told).empty(); }));
    for (int64_t i = 0; i < versions; ++i) {
      const Fault& fault = next_fault(i);
      const bool has_health = fault.wants_health || prng_.chance(1, 2);
      SCOPED_TRACE(text(name_, ", bad version ", i + 1, ": ", fault.bad,
                        has_health ? " with" : " without", " a health check"));
      if (!gives_way(fault, has_health)) break;
    }
    follower.kill(SIGTERM);
    follower.wait();
    const std::string lines = read_file(told);
    size_t seen = 0;
    for (size_t at = 0; at < lines.size();) {
      const size_t end = std::min(lines.find('\n', at), lines.size());
      const auto page = proto::parse_servers(lines.substr(at, end - at));
      ASSERT_TRUE(page) << lines.substr(at, end - at);
      EXPECT_GE(static_cast<int64_t>(page->servers.size()), instances_ - unavailable_)
          << name_ << " of " << instances_ << " instances: " << lines.substr(at, end - at);
      at = end + 1;
      ++seen;
    }
    EXPECT_GE(seen, 1u);
  }

 private:
  // Each lane begins with another fault.
  const Fault& next_fault(int64_t round) {
    const size_t count = std::size(kFaults) - (has_limits() ? 0 : 1);
    const size_t random = prng_.below(count);
    return kFaults[round == 0 ? first_fault_ % count : random];
  }

  bool gives_way(const Fault& fault, bool has_health) {
    const proto::ServiceAppRow before = status().app;
    const std::string env = text(", BAD: '", fault.bad, "', AFTER: '", prng_.between(0, 800),
                                 "', TRY: '", ++tries_, "'");
    const Exit applied = apply({.env = env, .has_health = has_health});
    EXPECT_EQ(applied.code, 1) << applied.out;
    EXPECT_THAT(applied.err, ContainsRegex(has_health ? fault.cause : fault.plain_cause));
    EXPECT_THAT(applied.err, HasSubstr(text("rolls back to version ", before.version)));
    proto::ServiceAppRow row;
    const bool is_back = eventually([&] {
      row = status().app;
      return row.version == before.version && row.state == "running" && row.ready == instances_ &&
             row.live == instances_ && row.outdated == 0;
    });
    EXPECT_TRUE(is_back) << row.state << ", " << row.ready << " ready: " << row.why;
    return is_back && applied.code == 1;
  }

  struct File {
    std::string env = {};
    bool has_health = true;
  };
  Exit apply(const File& file) const {
    const std::string path = text(directory_, "/", name_, ".yaml");
    write_file(path,
               text("name: ", name_, "\ninstances: ", instances_, "\ncommand: 'exec ",
                    program_of_tests("http_server"), " 127.0.0.1 $PORT_http'\nenv: {GREETING: hi",
                    file.env, "}\nresources: 'cpus:0.1;mem:32'\nports: [http]\n",
                    file.has_health ? "health: {http: {port: http, path: /}, interval: 200ms, "
                                      "timeout: 300ms, grace: 1s, failures: 2}\n"
                                    : "",
                    "update: {max_unavailable: ", unavailable_, ", max_surge: ", surge_,
                    ", healthy_for: 2s, progress_deadline: 8s}\n"));
    return cluster_.proffer({"service", "apply", path, "--wait", "--timeout", "3m"}, Seconds(200));
  }
  proto::ServiceStatusPage status() const {
    const Exit shown = cluster_.proffer({"service", "status", name_, "--json"});
    auto page = proto::parse_service_status(shown.out);
    return page ? *std::move(page) : proto::ServiceStatusPage();
  }

  const Cluster& cluster_;
  const std::string directory_;
  const std::string name_;
  Prng prng_;
  const size_t first_fault_;
  const int64_t instances_;
  int64_t unavailable_ = 0;
  int64_t surge_ = 0;
  int64_t tries_ = 0;
};

TEST(BadVersions, GiveWayByThemselvesAndNeverTakeMoreThanTheBudget) {
  const char* wanted = std::getenv("PROFFER_BAD_VERSIONS");
  const int64_t versions = wanted != nullptr ? std::atoll(wanted) : int64_t{kLanes};
  const Cluster cluster({.resources = "cpus:0.1;mem:16", .service = true});
  const std::string parent = text("proffer-test-bad-", getpid());
  std::vector<std::unique_ptr<Process>> agents;
  // Other tests on this machine use the default ports.
  const int64_t first_port = 20'000 + getpid() % 50 * 200;
  for (const int64_t number : {0, 1}) {
    const int64_t port = first_port + 100 * number;
    Words more;
    if (has_limits()) more = {"--limits=required", text("--cgroup_parent=", parent, "-", number)};
    agents.push_back(cluster.start_agent(
        text("big-", number), text("cpus:4;mem:2048;ports:[", port, "-", port + 99, "]"), more));
  }
  const TemporaryDirectory home;
  std::vector<std::thread> lanes;
  for (size_t i = 0; i < kLanes; ++i) {
    const int64_t share = (versions + static_cast<int64_t>(kLanes - 1 - i)) / int64_t{kLanes};
    lanes.emplace_back([&, i, share] { Lane(cluster, home.path(), i).run(share); });
  }
  for (std::thread& lane : lanes) lane.join();
  for (const auto& agent : agents) {
    agent->kill(SIGTERM);
    EXPECT_EQ(agent->wait().code, 0) << agent->err();
  }
}

}  // namespace
}  // namespace proffer::test::bad_versions_test
