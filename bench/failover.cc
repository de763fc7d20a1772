// How long no master serves after the leader of three was killed: from its SIGKILL until a task
// that is asked for then has had an offer, has run and ended. With a real ZooKeeper server and the
// default session timeout.
//
//   build/bin/failover [KILLS] [RESULTS.md]

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "bench/results.h"
#include "bench/run_once.h"
#include "common/check.h"
#include "common/text.h"
#include "tests/integration/processes.h"
#include "tests/support/zookeeper_server.h"

namespace {

using namespace proffer;
using bench::micros_since;
using test::Process;
using test::Words;
using Clock = std::chrono::steady_clock;

constexpr int kMasters = 3;

class Masters {
 public:
  Masters() {
    test::write_file(home_ / "secret", "the secret of this bench\n");
    CHECK_EQ(::chmod((home_ / "secret").c_str(), 0600), 0);
    for (int i = 0; i < kMasters; ++i) start(i);
    agent_ = std::make_unique<Process>(Words{test::program("proffer-agent"), "--master=" + all(),
                                             "--name=a1", "--work_dir=" + (home_ / "agent"),
                                             "--resources=cpus:4;mem:512", "--tasks_on_exit=kill"});
  }

  bool runs_a_task() const { return asks(all(), {"run", "--", "true"}); }
  int leader() const {
    int found = -1;
    CHECK(test::eventually([&] {
      for (int i = 0; i < kMasters; ++i) {
        if (asks(socket(i), {"status"})) found = i;
      }
      return found != -1;
    }));
    return found;
  }
  void kill(int i) { masters_[i]->kill(SIGKILL); }
  // It is then a standby.
  void start_again(int i) {
    masters_[i]->wait();
    start(i);
  }

 private:
  std::string socket(int i) const { return home_ / text("master-", i, ".sock"); }
  std::string all() const { return text(socket(0), ",", socket(1), ",", socket(2)); }
  void start(int i) {
    masters_[i] = std::make_unique<Process>(Words{
        test::program("proffer-master"), "--socket=" + socket(i),
        text("--data_dir=", home_ / text("master-", i)),
        text("--zk=", zookeeper_.address(), "/bench"), "--zk_secret_file=" + (home_ / "secret")});
  }
  static bool asks(const std::string& masters, Words words) {
    words.insert(words.begin(), test::program("proffer"));
    return test::run(words, {{"PROFFER_MASTER", masters}}).code == 0;
  }

  test::TemporaryDirectory home_;
  test::ZooKeeperServer zookeeper_;
  std::map<int, std::unique_ptr<Process>> masters_;
  std::unique_ptr<Process> agent_;
};

}  // namespace

int main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_WARNING;
  google::InitGoogleLogging(argv[0]);
  const int kills = argc > 1 ? std::atoi(argv[1]) : 10;
  const std::string path = argc > 2 ? argv[2] : "bench/RESULTS.md";
  CHECK_GT(kills, 0);
  setenv("PROFFER_BIN_DIR", test::program("").c_str(), 0);

  Masters masters;
  std::vector<int64_t> gaps;
  for (int i = 0; i < kills; ++i) {
    CHECK(test::eventually([&] { return masters.runs_a_task(); }));
    const int leader = masters.leader();
    const Clock::time_point begin = Clock::now();
    masters.kill(leader);
    while (!masters.runs_a_task()) CHECK(micros_since(begin) < 60'000'000) << "nobody serves";
    gaps.push_back(micros_since(begin));
    masters.start_again(leader);
  }
  bench::write_section(
      path, "failover", text("build/bin/failover ", kills),
      text("The leader of three masters is killed (SIGKILL), ", kills,
           " times; an agent, a real ZooKeeper server, a session timeout of 4 s. From the kill to "
           "the end of `proffer run -- true`, which starts at once and is retried if it fails; "
           "milliseconds.\n\n| | p50 | most |\n|---|---|---|\n| kill -9 of the leader → the end of "
           "a task that was requested then | ",
           bench::millis(bench::percentile(gaps, 50)), " | ",
           bench::millis(bench::percentile(gaps, 100)), " |\n"));
  return 0;
}
