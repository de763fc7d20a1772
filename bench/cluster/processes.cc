#include "bench/cluster/processes.h"

#include <ctime>
#include <fstream>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/cluster/shared.h"
#include "bench/cpu_time.h"
#include "common/check.h"
#include "common/text.h"

namespace proffer::bench {

void nap() {
  const timespec two_millis{0, 2'000'000};
  nanosleep(&two_millis, nullptr);
}

void wait_until(const char* what, int64_t seconds_max, const std::function<bool()>& condition) {
  const int64_t until = monotonic_nanos() + seconds_max * kSecond;
  while (!condition()) {
    CHECK_LT(monotonic_nanos(), until) << "waited too long for " << what;
    nap();
  }
}

pid_t fork_body(const std::function<void()>& body) {
  const pid_t pid = fork();
  CHECK_GE(pid, 0);
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  body();
  _exit(0);
}

void wait_for_end(const std::vector<pid_t>& pids) {
  for (const pid_t pid : pids) {
    int status = 0;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "a process failed: " << status;
  }
}

void check_running(const std::vector<pid_t>& pids) {
  for (const pid_t pid : pids) {
    siginfo_t ended{};
    CHECK_EQ(waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT), 0);
    CHECK_EQ(ended.si_pid, 0) << "a process ended early";
  }
}

int64_t cpu_micros(pid_t pid) { return cpu_time_of(pid).own; }
int64_t cpu_micros(const std::vector<pid_t>& pids) {
  int64_t sum = 0;
  for (const pid_t pid : pids) sum += cpu_micros(pid);
  return sum;
}

int64_t memory_kib(pid_t pid, const std::string& what) {
  std::ifstream in(text("/proc/", pid, "/status"));
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(what + ":")) return std::stoll(line.substr(what.size() + 1));
  }
  return 0;
}

namespace {

uint16_t port_in(const std::string& json, const std::string& name) {
  const std::string before = text("\"", name, "\":\"127.0.0.1:");
  const size_t at = json.find(before);
  CHECK(at != std::string::npos) << json;
  return static_cast<uint16_t>(std::stoi(json.substr(at + before.size())));
}

}  // namespace

MasterProcess::MasterProcess(const test::Words& flags, const std::optional<ClusterKeys>& keys)
    : flags_(flags), has_keys_(keys.has_value()) {
  if (keys) write_cluster_keys(*keys, home_ / "master");
  start();
  const std::string path = home_ / "master/address.json";
  wait_until("the master", 30, [&] { return access(path.c_str(), R_OK) == 0; });
  const std::string json = test::read_file(path);
  port_ = port_in(json, "address");
  http_port_ = port_in(json, "http_port");
  token_ = trimmed(test::read_file(home_ / "master/http_token"));
}

void MasterProcess::start() {
  test::Words words{test::program("proffer-master"),
                    "--socket=",
                    has_keys_ ? "--bind=127.0.0.1" : "--insecure_tcp",
                    text("--port=", port_),
                    text("--http_port=", http_port_),
                    "--data_dir=" + (home_ / "master"),
                    "--minloglevel=1"};
  words.insert(words.end(), flags_.begin(), flags_.end());
  process_ = std::make_unique<test::Process>(words);
}

std::string MasterProcess::metrics() const {
  const test::Exit got =
      test::run({"bash", "-c",
                 text("exec 3<>/dev/tcp/127.0.0.1/", http_port_,
                      "; printf 'GET /metrics HTTP/1.0\\r\\nAuthorization: Bearer ", token_,
                      "\\r\\n\\r\\n' >&3; cat <&3")});
  CHECK_EQ(got.code, 0) << got.err;
  return got.out;
}

int64_t MasterProcess::decision_nanos(const std::string& quantile) const {
  const std::string page = metrics();
  const std::string before = text("proffer_decision_seconds{quantile=\"", quantile, "\"} ");
  const size_t at = page.find(before);
  CHECK(at != std::string::npos) << page;
  return static_cast<int64_t>(std::stod(page.substr(at + before.size())) * 1e9);
}

void MasterProcess::kill() {
  process_->kill(SIGKILL);
  process_->wait();
}

void MasterProcess::start_again() { start(); }

}  // namespace proffer::bench
