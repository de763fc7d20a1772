#pragma once

// The processes of a benchmark with a real master: forks of the program itself, which simulate
// agents and frameworks, and masters.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "bench/cluster/keys.h"
#include "tests/integration/processes.h"

namespace proffer::bench {

inline constexpr int64_t kSecond = 1'000'000'000;  // in nanoseconds

void nap();  // 2 ms
// Waits for `condition`; ends the program if it does not hold in time.
void wait_until(const char* what, int64_t seconds_max, const std::function<bool()>& condition);

// A forked process that ends with this one.
pid_t fork_body(const std::function<void()>& body);
// Ends the program if one of them fails.
void wait_for_end(const std::vector<pid_t>& pids);
// Ends the program if one of these has ended; does not reap it.
void check_running(const std::vector<pid_t>& pids);

// In microseconds, by all threads.
int64_t cpu_micros(pid_t pid);
int64_t cpu_micros(const std::vector<pid_t>& pids);
// "VmRSS" or "VmHWM", in KiB.
int64_t memory_kib(pid_t pid, const std::string& what);

// A master on free ports, with its own directory.
class MasterProcess {
 public:
  // Returns when the master serves: with these keys, or without encryption on loopback.
  explicit MasterProcess(const test::Words& flags, const std::optional<ClusterKeys>& keys = {});

  pid_t pid() const { return process_->pid(); }
  uint16_t port() const { return port_; }
  // The page of /metrics, with the header of the answer.
  std::string metrics() const;
  // A quantile ("0.99") of the master's own measurement of free → offered, in nanoseconds.
  int64_t decision_nanos(const std::string& quantile) const;
  // kill -9, and waits for its end.
  void kill();
  // Starts another process with the same directory and ports, after kill(). Returns at once.
  void start_again();

 private:
  void start();

  test::TemporaryDirectory home_;
  test::Words flags_;
  bool has_keys_ = false;
  std::unique_ptr<test::Process> process_;
  uint16_t port_ = 0;
  uint16_t http_port_ = 0;
  std::string token_;
};

}  // namespace proffer::bench
