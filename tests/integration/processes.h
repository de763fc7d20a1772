#pragma once

// Real processes for tests: started with pipes, read with deadlines, and always killed at the end
// of the test. No sleeps: every wait is for a descriptor, or polls until a deadline.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tests/support/temporary_directory.h"

namespace proffer::test {

using Words = std::vector<std::string>;
using Seconds = std::chrono::seconds;

// Long, because test machines are shared. A test that waits this long has failed.
inline constexpr Seconds kDeadline{60};
// Factor for all deadlines: $PROFFER_TEST_SLOWDOWN, or 1. All deadlines below are multiplied by it;
// programs under ThreadSanitizer need it.
int slowdown();

struct Exit {
  int code = -1;   // if the process exited
  int signal = 0;  // else the signal that killed it
  std::string out = {};
  std::string err = {};
};

// One process in a process group of its own; killed with this object.
class Process {
 public:
  // The first word is a path, or a name to look up in PATH.
  explicit Process(const Words& command, const std::map<std::string, std::string>& environment = {},
                   const std::string& directory = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void kill(int signal) const;
  // The next line of standard output with `text`; empty if it ended or the deadline passed.
  std::optional<std::string> line_with(const std::string& text, Seconds deadline = kDeadline);
  // Waits until standard error has `text`; false if it ended or the deadline passed.
  bool complains(const std::string& text, Seconds deadline = kDeadline);
  // Waits for the end; kills it with SIGKILL at the deadline. Reads all output.
  Exit wait(Seconds deadline = kDeadline);
  const std::string& out() const { return out_; }
  const std::string& err() const { return err_; }

 private:
  bool read_some(int milliseconds);  // false: both pipes are closed

  pid_t pid_ = -1;
  int out_fd_ = -1;
  int err_fd_ = -1;
  std::string out_;
  std::string err_;
  size_t line_start_ = 0;
  std::optional<Exit> exit_;
};

// The path of build/bin/<name>.
std::string program(const std::string& name);
// The same, or a copy if the build is in a directory that only its owner may enter: every user of
// the machine may run it. The copies are in one directory and are removed when the test program
// ends.
std::string program_for_all(const std::string& name);
// The path of build/tests/<name>.
std::string program_of_tests(const std::string& name);
Exit run(const Words& command, const std::map<std::string, std::string>& environment = {},
         const std::string& directory = {}, Seconds deadline = kDeadline);

// Polls `condition` until it holds; false at the deadline. Meant for conditions that take some time
// themselves (a process, a round trip).
bool eventually(const std::function<bool()>& condition, Seconds deadline = kDeadline);

bool is_alive(pid_t pid);
// All processes whose environment or command line names this directory.
std::vector<pid_t> processes_of(const std::string& directory);
void write_file(const std::string& path, const std::string& content);
std::string read_file(const std::string& path);

// The complete answer of an HTTP server at a path or host:port; empty if there is none.
std::string ask_http(const std::string& place, const std::string& request);
std::string get_http(const std::string& place, const std::string& target,
                     const std::string& headers = "");

// A local cluster of `proffer dev`, with free ports and its own directory.
class Cluster {
 public:
  struct Options {
    int agents = 1;
    std::string resources = "cpus:4;mem:4096";
    Words more = {};       // further flags of `proffer dev`
    bool service = false;  // with the scheduler of `proffer service`
    bool batch = false;    // with the scheduler of `proffer batch`
  };
  Cluster() : Cluster(Options()) {}
  explicit Cluster(const Options& options);
  // Ends it like Ctrl-C, and waits until agents that dev did not start have ended.
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  const std::string& master() const { return master_; }
  // The Unix socket on which the master serves HTTP.
  const std::string& http() const { return http_; }
  std::string dir() const { return home_ / "cluster"; }
  Process& dev() { return *dev_; }
  // Runs `proffer COMMAND --master=… …` to its end.
  Exit proffer(Words words, Seconds deadline = kDeadline) const;
  // The same, without waiting.
  std::unique_ptr<Process> start(Words words) const;
  // A member of the address.json of "master" or "agent-1", such as "http".
  std::string told_by(const std::string& name, const std::string& member) const;
  // The process of "master" or "agent-1", from its address.json.
  pid_t pid_of(const std::string& name) const;
  // An agent that dev does not know, with dev's flags: a new one, or a restarted one.
  std::unique_ptr<Process> start_agent(const std::string& name, const std::string& resources,
                                       const Words& more = {}) const;
  // The command of start_agent.
  Words agent_command(const std::string& name, const std::string& resources,
                      const Words& more = {}) const;
  // Kills the master and starts another one with `more` flags on the same registry.
  std::unique_ptr<Process> restart_master(const Words& more = {});
  // The number of running tasks in `proffer tasks` of frameworks whose id begins with this.
  int running_tasks(const std::string& framework = "") const;

 private:
  TemporaryDirectory home_;
  std::string master_;
  std::string http_;
  std::unique_ptr<Process> dev_;
};

}  // namespace proffer::test
