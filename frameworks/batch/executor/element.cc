#include "frameworks/batch/executor/element.h"

#include <algorithm>
#include <optional>
#include <thread>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"
#include "common/exec_problem.h"
#include "common/text.h"
#include "frameworks/batch/core/array.h"
#include "frameworks/batch/executor/posix.h"
#include "net/left_processes.h"
#include "net/shared_memory.h"
#include "net/warn_group.h"

namespace proffer::batch {
namespace {

constexpr std::chrono::milliseconds kPauseFirst{2};  // doubled from look to look
constexpr std::chrono::milliseconds kPauseMax{50};

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (const std::string& word : words) list.push_back(const_cast<char*>(word.c_str()));
  list.push_back(nullptr);
  return list;
}

bool is_directory(const std::string& path) {
  struct stat seen = {};
  return ::stat(path.c_str(), &seen) == 0 && S_ISDIR(seen.st_mode);
}

// A name without a slash is searched along the path, as in a shell: the first executable file. If
// there is none, returns the name itself, so that the system's error is reported.
std::string program_of(const std::string& name, const std::string& path) {
  if (name.find('/') != std::string::npos) return name;
  for (const std::string_view directory : split(path, ':')) {
    std::string candidate = text(directory.empty() ? "." : directory, "/", name);
    if (::access(candidate.c_str(), X_OK) == 0 && !is_directory(candidate)) return candidate;
  }
  return name;
}

// The actions and attributes of posix_spawn, released at the end.
class SpawnSetting {
 public:
  explicit SpawnSetting(const ElementStart& start) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, start.out, 1);
    ::posix_spawn_file_actions_adddup2(&actions_, start.err, 2);
    ::posix_spawn_file_actions_addchdir_np(&actions_, start.directory.c_str());
    ::posix_spawnattr_init(&attributes_);
    sigset_t all;
    ::sigfillset(&all);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    sigset_t none;
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSetting() {
    ::posix_spawnattr_destroy(&attributes_);
    ::posix_spawn_file_actions_destroy(&actions_);
  }
  SpawnSetting(const SpawnSetting&) = delete;
  SpawnSetting& operator=(const SpawnSetting&) = delete;
  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// The beginning of a program's file; none if it cannot be read.
std::optional<std::string> head_of(const std::string& program, const std::string& directory) {
  if (program.find('/') == std::string::npos) return std::nullopt;  // it was not found
  const std::string path = program.starts_with('/') ? program : text(directory, "/", program);
  struct stat seen = {};
  if (::stat(path.c_str(), &seen) != 0 || !S_ISREG(seen.st_mode)) return std::nullopt;
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return std::nullopt;
  std::string head(kExecHeadBytes, '\0');
  const ssize_t got = ::read(file.get(), head.data(), head.size());
  head.resize(got < 0 ? 0 : static_cast<size_t>(got));
  return head;
}

}  // namespace

void ElementGroup::signal(int signal) {
  const std::lock_guard lock(mutex_);
  if (group_ <= 0) return;
  siginfo_t info = {};
  const int waited = ::waitid(P_PID, static_cast<id_t>(group_), &info, WEXITED | WNOWAIT | WNOHANG);
  if (waited != 0 || info.si_pid != group_) is_interrupted_ = true;
  ::kill(-group_, signal);
}
void ElementGroup::send(int signal) {
  const std::lock_guard lock(mutex_);
  if (group_ > 0) ::kill(-group_, signal);
}
void ElementGroup::warn(int signal) {
  const std::lock_guard lock(mutex_);
  if (group_ > 0) warn_group(group_, signal);
}
bool ElementGroup::is_interrupted() const {
  const std::lock_guard lock(mutex_);
  return is_interrupted_;
}

// A command that cannot be executed has an exit code. If the machine cannot start processes, or
// lacks the directory, the command is not at fault.
Result<pid_t> Element::spawn(const ElementStart& start, int& refused_code) {
  const SpawnSetting setting(start);
  const std::vector<char*> environment = pointers(start.environment);
  const std::string program = program_of(start.command.front(), start.path);
  pid_t pid = -1;
  const auto try_to = [&](const std::string& path, const std::vector<std::string>& command) {
    return ::posix_spawn(&pid, path.c_str(), setting.actions(), setting.attributes(),
                         pointers(command).data(), environment.data());
  };
  int failed = try_to(program, start.command);
  if (failed == ENOEXEC) {  // a script without an interpreter line: the same as execvp
    std::vector<std::string> command = start.command;
    command.front() = program;
    command.insert(command.begin(), "/bin/sh");
    failed = try_to("/bin/sh", command);
  }
  if (failed == 0) return pid;
  if (!is_directory(start.directory)) {
    return Error::unavailable(text("the directory ", quoted(start.directory),
                                   " of the command does not exist on this agent"))
        .with_hint("name another with --directory");
  }
  switch (failed) {
    case ENOENT:
      refused_code = kNoSuchCommandCode;
      break;
    case EACCES:
    case EISDIR:
    case ENOTDIR:
    case ELOOP:
    case E2BIG:
    case ENAMETOOLONG:
      refused_code = kCannotRunCode;
      break;
    default:
      return system_error(text("starting ", quoted(start.command.front())), failed);
  }
  const std::string line =
      text(start.command.front(), ": ",
           exec_problem(start.command.front(), failed, head_of(program, start.directory)), "\n");
  (void)write_all(start.err, line);
  return pid_t{-1};
}

// Waits until it has ended; false if its time was over before.
bool Element::wait(pid_t pid, const ElementStart& start, Duration timeout) {
  const auto ended = [pid](int options) {
    siginfo_t info = {};
    int waited = -1;
    do {
      waited = ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT | options);
    } while (waited != 0 && errno == EINTR);
    CHECK_EQ(waited, 0) << "another part of the process reaped our child";
    return info.si_pid == pid;
  };
  if (timeout == Duration()) return ended(0);
  using Clock = std::chrono::steady_clock;
  const Fd descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const auto ends_within = [&](Duration time) {
    const Clock::time_point until = Clock::now() + std::chrono::nanoseconds(time.nanos());
    for (;;) {
      if (ended(WNOHANG)) return true;
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
      if (left < 0) return false;
      // A system without pidfds is polled.
      const bool has_descriptor = descriptor.get() >= 0;
      pollfd poll = {.fd = descriptor.get(), .events = POLLIN, .revents = 0};
      const int64_t nap = std::min<int64_t>(left + 1, has_descriptor ? 60'000 : 10);
      ::poll(&poll, has_descriptor ? 1 : 0, static_cast<int>(nap));
    }
  };
  Duration left = timeout;
  if (start.warning && start.warning->before < timeout) {
    left = start.warning->before;
    if (ends_within(timeout - left)) return true;
    group_.warn(start.warning->signal);
  }
  if (ends_within(left)) return true;
  group_.send(SIGTERM);
  if (!ends_within(grace_)) {
    group_.send(SIGKILL);
    ended(0);
  }
  return false;
}

// Other processes of the group may go on: all of them for the rest of the grace, if the end was
// requested, else those that still write, and what feeds them. The group keeps its number while it
// has a member.
void Element::wait_for_rest(pid_t group, const ElementStart& start, bool in_time,
                            std::chrono::steady_clock::time_point grace_ends) {
  using Clock = std::chrono::steady_clock;
  const CommandOutput output(start.out, start.err);
  const Clock::time_point until = Clock::now() + std::chrono::nanoseconds(kLeftOutputMax.nanos());
  const auto may_go_on = [&] {
    if (!in_time) return Clock::now() < grace_ends;
    // It was asked to end: the one that asked also kills it, when the grace is over.
    if (group_.is_interrupted()) return true;
    if (Clock::now() >= until) return false;
    const std::vector<pid_t> members = members_of(group);
    return std::any_of(members.begin(), members.end(),
                       [&](pid_t pid) { return output.has_writer(pid); });
  };
  std::chrono::milliseconds pause = kPauseFirst;
  while (has_members(group) && may_go_on()) {
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kPauseMax);
  }
  if (has_members(group)) group_.send(SIGKILL);
}

Result<int> Element::run(const ElementStart& start, Duration timeout) {
  int refused_code = 0;
  const Result<pid_t> pid = [&] {
    // When the command runs, a signal finds it at once.
    const std::lock_guard lock(group_.mutex_);
    group_.is_interrupted_ = false;
    Result<pid_t> spawned = spawn(start, refused_code);
    if (spawned) group_.group_ = *spawned;
    return spawned;
  }();
  if (!pid) return pid.error();
  if (*pid < 0) return refused_code;
  const auto began = std::chrono::steady_clock::now();
  const bool in_time = wait(*pid, start, timeout);
  int status = 0;
  {
    const std::lock_guard lock(group_.mutex_);
    pid_t waited = -1;
    do {
      waited = ::waitpid(*pid, &status, 0);
    } while (waited < 0 && errno == EINTR);
    CHECK_EQ(waited, *pid) << "another part of the process reaped our child";
    // Without a member its number may be given to another process.
    if (!has_members(*pid)) group_.group_ = -1;
  }
  wait_for_rest(*pid, start, in_time, began + std::chrono::nanoseconds((timeout + grace_).nanos()));
  {
    const std::lock_guard lock(group_.mutex_);
    group_.group_ = -1;
  }
  if (std::getenv(kSharedMemoryVariable) != nullptr) empty_shared_memory();
  if (!in_time) return kTimedOutCode;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool Element::was_interrupted() const { return group_.is_interrupted(); }

}  // namespace proffer::batch
