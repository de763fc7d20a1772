#include "tests/integration/processes.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "net/address.h"
#include "proto/json/json.h"
#include "tests/net/support.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

int millis_until(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  return static_cast<int>(std::max<int64_t>(0, left.count()));
}

}  // namespace

int slowdown() {
  static const int times = [] {
    const char* given = std::getenv("PROFFER_TEST_SLOWDOWN");
    return std::clamp(given == nullptr ? 1 : std::atoi(given), 1, 100);
  }();
  return times;
}

Process::Process(const Words& command, const std::map<std::string, std::string>& environment,
                 const std::string& directory) {
  int out[2];
  int err[2];
  PCHECK(::pipe2(out, O_CLOEXEC) == 0);
  PCHECK(::pipe2(err, O_CLOEXEC) == 0);
  std::vector<std::string> words = command;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_ = ::fork();
  PCHECK(pid_ >= 0);
  if (pid_ == 0) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    const int null = ::open("/dev/null", O_RDONLY);
    ::dup2(null, 0);
    ::dup2(out[1], 1);
    ::dup2(err[1], 2);
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    if (!directory.empty() && ::chdir(directory.c_str()) != 0) ::_exit(126);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  ::setpgid(pid_, pid_);
  ::close(out[1]);
  ::close(err[1]);
  out_fd_ = out[0];
  err_fd_ = err[0];
}

Process::~Process() {
  if (!exit_) {
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (out_fd_ >= 0) ::close(out_fd_);
  if (err_fd_ >= 0) ::close(err_fd_);
}

void Process::kill(int signal) const {
  if (!exit_) ::kill(pid_, signal);
}

bool Process::read_some(int milliseconds) {
  pollfd fds[2] = {{out_fd_, POLLIN, 0}, {err_fd_, POLLIN, 0}};  // negative descriptors are ignored
  if (out_fd_ < 0 && err_fd_ < 0) return false;
  if (::poll(fds, 2, milliseconds) <= 0) return true;
  const auto drain = [](int* fd, std::string* into) {
    char buffer[16384];
    const ssize_t count = ::read(*fd, buffer, sizeof buffer);
    if (count > 0) {
      into->append(buffer, static_cast<size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      ::close(*fd);
      *fd = -1;
    }
  };
  if (fds[0].revents != 0) drain(&out_fd_, &out_);
  if (fds[1].revents != 0) drain(&err_fd_, &err_);
  return true;
}

std::optional<std::string> Process::line_with(const std::string& text, Seconds deadline) {
  const Clock::time_point end = Clock::now() + deadline * slowdown();
  while (true) {
    for (size_t newline = out_.find('\n', line_start_); newline != std::string::npos;
         newline = out_.find('\n', line_start_)) {
      std::string line = out_.substr(line_start_, newline - line_start_);
      line_start_ = newline + 1;
      if (line.find(text) != std::string::npos) return line;
    }
    if (!read_some(millis_until(end)) || Clock::now() >= end) return std::nullopt;
  }
}

bool Process::complains(const std::string& text, Seconds deadline) {
  const Clock::time_point end = Clock::now() + deadline * slowdown();
  while (err_.find(text) == std::string::npos) {
    if (!read_some(millis_until(end)) || Clock::now() >= end) return false;
  }
  return true;
}

Exit Process::wait(Seconds deadline) {
  if (exit_) return *exit_;
  const Clock::time_point end = Clock::now() + deadline * slowdown();
  int status = 0;
  bool timed_out = false;
  while (true) {
    const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
    if (ended == pid_) break;
    if (Clock::now() >= end && !timed_out) {
      ::kill(-pid_, SIGKILL);
      ::kill(pid_, SIGKILL);
      timed_out = true;
    }
    // While the process runs, its pipes wake us; once they are closed, it is about to end.
    if (!read_some(50)) {
      CHECK_EQ(::waitpid(pid_, &status, 0), pid_);
      break;
    }
  }
  // Reads the rest of the pipes; does not wait for descendants that hold them open.
  while ((out_fd_ >= 0 || err_fd_ >= 0)) {
    const size_t before = out_.size() + err_.size();
    const int open_before = (out_fd_ >= 0) + (err_fd_ >= 0);
    read_some(0);
    if (out_.size() + err_.size() == before && (out_fd_ >= 0) + (err_fd_ >= 0) == open_before)
      break;
  }
  Exit result{.out = out_, .err = err_};
  if (WIFEXITED(status))
    result.code = WEXITSTATUS(status);
  else
    result.signal = WTERMSIG(status);
  exit_ = result;
  return result;
}

std::string program(const std::string& name) {
  const char* variable = std::getenv("PROFFER_BIN_DIR");
  if (variable != nullptr) return std::string(variable) + "/" + name;
  const fs::path self = fs::read_symlink("/proc/self/exe");  // build/tests/integration_tests
  return (self.parent_path().parent_path() / "bin" / name).string();
}

namespace {

bool may_all_enter(const fs::path& folder) {
  for (fs::path at = folder; at != at.parent_path(); at = at.parent_path()) {
    if ((fs::status(at).permissions() & fs::perms::others_exec) == fs::perms::none) return false;
  }
  return true;
}

void link_or_copy(const fs::path& from, const fs::path& to) {
  std::error_code failed;
  fs::create_hard_link(from, to, failed);
  if (failed) fs::copy_file(from, to);
}

}  // namespace

std::string program_for_all(const std::string& name) {
  const fs::path folder = fs::path(program(name)).parent_path();
  if (may_all_enter(folder)) return program(name);
  static const TemporaryDirectory copies;
  fs::permissions(copies.path(), fs::perms::owner_all | fs::perms::others_exec);
  if (!fs::exists(copies / name)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      const std::string file = entry.path().filename();
      if (entry.is_regular_file() && file.starts_with("proffer")) {
        link_or_copy(fs::canonical(entry.path()), copies / file);
      }
    }
  }
  return copies / name;
}

std::string program_of_tests(const std::string& name) { return program("../tests/" + name); }

Exit run(const Words& command, const std::map<std::string, std::string>& environment,
         const std::string& directory, Seconds deadline) {
  return Process(command, environment, directory).wait(deadline);
}

bool eventually(const std::function<bool()>& condition, Seconds deadline) {
  const Clock::time_point end = Clock::now() + deadline * slowdown();
  while (!condition()) {
    if (Clock::now() >= end) return false;
    ::poll(nullptr, 0, 10);
  }
  return true;
}

bool is_alive(pid_t pid) {
  if (::kill(pid, 0) != 0) return false;
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.substr(name_end + 2, 1) != "Z";
}

std::vector<pid_t> processes_of(const std::string& directory) {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    // Skips a fork bomb that runs beside this test: reading its processes takes minutes
    // (limits_test.cc).
    if (read_file(entry.path() / "comm").starts_with("bomb-")) continue;
    const std::string words =
        read_file(entry.path() / "cmdline") + read_file(entry.path() / "environ");
    const pid_t pid = std::stoi(name);
    if (words.find(directory) != std::string::npos && is_alive(pid)) found.push_back(pid);
  }
  return found;
}

void write_file(const std::string& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary);
  file << content;
  CHECK(file.good()) << path;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

Cluster::Cluster(const Options& options) {
  Words command = {program("proffer"),
                   "dev",
                   "--json",
                   "--dir",
                   dir(),
                   "--resources",
                   options.resources,
                   "--agents",
                   std::to_string(options.agents)};
  command.insert(command.end(), options.more.begin(), options.more.end());
  if (!options.service) command.push_back("--no-service");
  if (!options.batch) command.push_back("--no-batch");
  dev_ = std::make_unique<Process>(command);
  const std::optional<std::string> ready = dev_->line_with("\"ready\"");
  CHECK(ready.has_value()) << "proffer dev did not start: " << dev_->err();
  const auto members = proto::parse_json_line(*ready);
  CHECK(members.has_value()) << *ready;
  master_ = std::get<std::string>(members->at("master"));
  http_ = std::get<std::string>(members->at("http"));
}

Cluster::~Cluster() {
  dev_->kill(SIGINT);
  dev_->wait(Seconds(20));
  for (const pid_t pid : processes_of(dir())) ::kill(pid, SIGKILL);
}

Exit Cluster::proffer(Words words, Seconds deadline) const {
  Process process({[&] {
                    Words command = {program("proffer")};
                    command.insert(command.end(), words.begin(), words.end());
                    return command;
                  }()},
                  {{"PROFFER_MASTER", master_}});
  return process.wait(deadline);
}

std::unique_ptr<Process> Cluster::start(Words words) const {
  words.insert(words.begin(), program("proffer"));
  return std::make_unique<Process>(words,
                                   std::map<std::string, std::string>{{"PROFFER_MASTER", master_}});
}

std::string Cluster::told_by(const std::string& name, const std::string& member) const {
  const auto members =
      proto::parse_json_line(trimmed(read_file(dir() + "/" + name + "/address.json")));
  CHECK(members.has_value()) << name;
  return std::get<std::string>(members->at(member));
}

pid_t Cluster::pid_of(const std::string& name) const {
  const auto members =
      proto::parse_json_line(trimmed(read_file(dir() + "/" + name + "/address.json")));
  CHECK(members.has_value()) << name;
  return static_cast<pid_t>(std::get<int64_t>(members->at("pid")));
}

Words Cluster::agent_command(const std::string& name, const std::string& resources,
                             const Words& more) const {
  Words command = {program("proffer-agent"),
                   "--master=" + master_,
                   "--name=" + name,
                   "--work_dir=" + dir() + "/" + name,
                   "--resources=" + resources,
                   "--tasks_on_exit=kill",
                   "--heartbeat=1s"};
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

std::unique_ptr<Process> Cluster::start_agent(const std::string& name, const std::string& resources,
                                              const Words& more) const {
  return std::make_unique<Process>(agent_command(name, resources, more));
}

std::string ask_http(const std::string& place, const std::string& request) {
  const Fd fd = place.starts_with('/') ? net_test::connect_path(place)
                                       : net_test::connect_tcp(parse_address("http", place)->port);
  net_test::send_all(fd, request);
  return net_test::receive_all(fd);
}

std::string get_http(const std::string& place, const std::string& target,
                     const std::string& headers) {
  return ask_http(place, "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + headers +
                             "Connection: close\r\n\r\n");
}

std::unique_ptr<Process> Cluster::restart_master(const Words& more) {
  ::kill(pid_of("master"), SIGKILL);
  dev().line_with("master");  // dev reports the process that ended
  Words command = {program("proffer-master"), "--data_dir=" + dir() + "/master",
                   "--socket=" + this->master(), "--heartbeat=1s"};
  command.insert(command.end(), more.begin(), more.end());
  auto master = std::make_unique<Process>(command);
  eventually([&] { return proffer({"status"}).code == 0; });
  return master;
}

int Cluster::running_tasks(const std::string& framework) const {
  const Exit listed = proffer({"tasks", "--json"});
  const auto rows = proto::parse_tasks(listed.out);
  if (!rows) return -1;
  return static_cast<int>(std::count_if(rows->begin(), rows->end(), [&](const auto& row) {
    return row.state == proto::TaskState::kRunning && row.framework.str().starts_with(framework);
  }));
}

}  // namespace proffer::test
