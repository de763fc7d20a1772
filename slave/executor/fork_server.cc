// One request is one fork. All steps that can fail come before it, so that the agent gets the
// error.
//
// The fork server runs as the agent's user, and forked processes as the user of the task.
//
// The new process is made by clone with CLONE_PARENT: its parent is the agent, which waits for it
// and gets its exit status. The fork server has one thread, so the whole process is copied; only
// the thread id that libc caches is that of the fork server, which has no effect here.
//
// If an agent is killed before it records the pid, its next life finds the executor by its
// environment in /proc. That is the memory which the kernel laid out at exec. So the fork server is
// started with a variable as large as any environment, and each executor writes its own environment
// over it.

#include "slave/executor/fork_server.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/text.h"
#include "net/fd.h"
#include "net/passed_fds.h"
#include "net/private_tmp.h"
#include "net/shared_memory.h"
#include "slave/executor/command.h"
#include "slave/executor/launch_request.h"

extern char** environ;  // NOLINT: POSIX

namespace proffer::executor {
namespace {

constexpr int kAgent = STDIN_FILENO;
constexpr std::string_view kSandboxVariable = "PROFFER_SANDBOX=";
constexpr std::string_view kExecutorVariable = "PROFFER_EXECUTOR_ID=";
constexpr std::string_view kSecretsAssigned = "PROFFER_SECRETS=";
constexpr int kCannotBegin = 126;  // as a shell reports a program that it cannot run
constexpr int kExecutorPriority = -20;

[[noreturn]] void refuse(const char* why) {
  std::fprintf(stderr, "error: proffer-executor: %s\n  hint: the agent starts it\n", why);
  std::exit(2);
}

// The whole memory of the environment. Not const, since it is overwritten.
struct Room {
  char* begin = nullptr;
  size_t bytes = 0;
};

Room room;  // NOLINT: of this process, as its environment is

Room room_of_environment() {
  char** last = environ;
  if (*last == nullptr) return {};
  while (last[1] != nullptr) ++last;
  return {environ[0], static_cast<size_t>(*last + std::strlen(*last) + 1 - environ[0])};
}

// Gives this thread a user's rights over files until its destruction. Files are opened as by that
// user, so a link in the sandbox gives access to nothing else.
class FilesAs {
 public:
  explicit FilesAs(const std::optional<RunAs>& user) : changed_(user && geteuid() == 0) {
    if (!changed_) return;
    setfsgid(user->gid);
    setfsuid(user->uid);
  }
  ~FilesAs() {
    if (!changed_) return;
    setfsuid(geteuid());
    setfsgid(getegid());
  }
  FilesAs(const FilesAs&) = delete;
  FilesAs& operator=(const FilesAs&) = delete;

 private:
  bool changed_;
};

// Open descriptors for the new process.
struct Ground {
  Fd sandbox;
  Fd in;
  Fd out;
  Fd err;

  // Returns 0 or an errno.
  int open_at(const char* path, const LaunchView& request, std::vector<Fd>& passed) {
    const FilesAs as(request.run_as);
    sandbox = Fd(open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (sandbox.get() < 0) return errno;
    if (request.private_tmp_keeps != nullptr) {
      if (const int failed = make_private_tmp(sandbox.get()); failed != 0) return failed;
    }
    if (passed.size() != passed_with(request.streams)) return EINVAL;
    if (request.streams == LaunchRequest::Streams::kPassed) {
      in = std::move(passed[0]);
      out = std::move(passed[1]);
      err = std::move(passed[2]);
      return 0;
    }
    if (request.streams == LaunchRequest::Streams::kTerminal) {
      in = std::move(passed[0]);
      return 0;
    }
    in = Fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    return in.get() < 0 ? errno : open_outputs();
  }
  int open_outputs() {
    constexpr int kAppend = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
    out = Fd(openat(sandbox.get(), "stdout", kAppend, 0600));
    if (out.get() < 0) return errno;
    err = Fd(openat(sandbox.get(), "stderr", kAppend, 0600));
    return err.get() < 0 ? errno : 0;
  }
  // A terminal is used for all three.
  int out_or_in() const { return out.get() < 0 ? in.get() : out.get(); }
  int err_or_in() const { return err.get() < 0 ? in.get() : err.get(); }
};

// Sets the environment that the kernel and libc show for this process.
void take_environment(std::string_view bytes) {
  std::memset(room.begin, 0, room.bytes);
  std::memcpy(room.begin, bytes.data(), bytes.size());
  static std::array<char*, kEnvironmentRoom / 2 + 1> pointers;  // a variable has at least two bytes
  size_t count = 0;
  for (size_t at = 0; at < bytes.size(); at += std::strlen(room.begin + at) + 1) {
    pointers[count++] = room.begin + at;
  }
  pointers[count] = nullptr;
  environ = pointers.data();
}

// Errors in the new process are written to its output.
[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "error: proffer-executor: cannot %s: %s\n", what, std::strerror(errno));
  std::fflush(stderr);
  _exit(kCannotBegin);
}

void join(const char* procs) {
  const int file = open(procs, O_WRONLY | O_CLOEXEC);
  if (file < 0 || write(file, "0", 1) != 1) give_up(procs);
  close(file);
}

// The value of a variable, "NAME=" included in `name`; nullptr if there is none.
const char* value_of(const LaunchView& request, std::string_view name) {
  for (const char* variable : request.variables) {
    if (std::strncmp(variable, name.data(), name.size()) == 0) return variable + name.size();
  }
  return nullptr;
}

// Shared memory counts in the groups that this process has joined.
void take_memory(const LaunchView& request) {
  if (request.has_own_memory) {
    const char* secrets = value_of(request, kSecretsAssigned);
    const bool is_there = secrets != nullptr && std::strncmp(secrets, "/dev/shm/", 9) == 0;
    errno = make_own_shared_memory(is_there ? secrets : nullptr);
    if (errno != 0) give_up("have shared memory of its own");
  }
  if (request.memory_of == 0) return;
  errno = enter_shared_memory_of(request.memory_of);
  if (errno != 0) give_up("enter the shared memory of the task");
  // The former working directory is not within the root directory of these mounts.
  const char* sandbox = value_of(request, kSandboxVariable);
  struct stat found = {};
  if (sandbox == nullptr || lstat(sandbox, &found) != 0 || !S_ISDIR(found.st_mode) ||
      chdir(sandbox) != 0) {
    give_up("enter the sandbox");
  }
}

void take_private_tmp(const LaunchView& request) {
  if (request.private_tmp_keeps == nullptr) return;
  errno = mount_private_tmp(value_of(request, kSandboxVariable), request.private_tmp_keeps);
  if (errno != 0) give_up("have a /tmp of its own");
}

// In this order: joins the process groups, then changes supplementary groups and user, while each
// step is still permitted.
void become(const LaunchView& request, const Ground& ground) {
  setsid();
  dup2(ground.in.get(), STDIN_FILENO);
  dup2(ground.out_or_in(), STDOUT_FILENO);
  dup2(ground.err_or_in(), STDERR_FILENO);
  if (request.streams == LaunchRequest::Streams::kTerminal &&
      ioctl(STDIN_FILENO, TIOCSCTTY, 0) != 0) {
    give_up("take the terminal");
  }
  if (fchdir(ground.sandbox.get()) != 0) give_up("enter the sandbox");
  close_range(STDERR_FILENO + 1, ~0U, 0);
  for (const char* procs : request.joins) join(procs);
  take_memory(request);
  take_private_tmp(request);
  // Among a thousand processes of its task, an executor still gets the CPU at once. Its commands
  // have no such priority (command.cc).
  if (request.arguments.empty()) {
    set_priority_of_commands(getpriority(PRIO_PROCESS, 0));
    setpriority(PRIO_PROCESS, 0, kExecutorPriority);
  }
  umask(022);
  if (!request.run_as) return;
  const RunAs& user = *request.run_as;
  // An agent that is not root runs only tasks of its own user.
  if (geteuid() != 0 && user.uid == geteuid()) return;
  if (setgroups(user.groups.size(), user.groups.data()) != 0 ||
      setresgid(user.gid, user.gid, user.gid) != 0 ||
      setresuid(user.uid, user.uid, user.uid) != 0) {
    give_up("become the user of the task");
  }
  // Nor can a program of the task change its user again.
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) give_up("give up new privileges");
}

[[noreturn]] void execute(LaunchView& request) {
  request.variables.push_back(nullptr);
  request.arguments.push_back(nullptr);
  execve(request.arguments.front(), const_cast<char**>(request.arguments.data()),
         const_cast<char**>(request.variables.data()));
  give_up(request.arguments.front());
}

void answer(int32_t what) {
  if (send(kAgent, &what, sizeof what, MSG_NOSIGNAL) < 0) _exit(0);
}

}  // namespace

bool fork_executors() {
  room = room_of_environment();
  int kind = 0;
  socklen_t size = sizeof kind;
  if (getsockopt(kAgent, SOL_SOCKET, SO_TYPE, &kind, &size) != 0 || kind != SOCK_SEQPACKET ||
      room.bytes < kEnvironmentRoom) {
    refuse("no agent at standard input");
  }
  // A crash of a task leaves no core dump in its sandbox, unless the task raises this limit.
  rlimit cores = {};
  if (getrlimit(RLIMIT_CORE, &cores) == 0) {
    cores.rlim_cur = 0;
    setrlimit(RLIMIT_CORE, &cores);
  }
  static std::array<char, kLaunchBytesMax> request;
  while (true) {
    std::vector<Fd> passed;
    const ssize_t got = receive_with_fds(kAgent, request, passed, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    const std::string_view bytes(request.data(), static_cast<size_t>(got));
    Result<LaunchView> launch = decode_launch(bytes);
    const char* sandbox = launch ? value_of(*launch, kSandboxVariable) : nullptr;
    Ground ground;
    const int failed = sandbox == nullptr ? EINVAL : ground.open_at(sandbox, *launch, passed);
    if (failed != 0) {
      answer(-failed);
      continue;
    }
    const long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
    if (pid == 0) {
      become(*launch, ground);
      if (!launch->arguments.empty()) execute(*launch);
      take_environment(launch->environment);
      return true;
    }
    const int refused = errno;
    answer(pid > 0 ? static_cast<int32_t>(pid) : -refused);
  }
}

Result<void> become_executor(const proto::ExecutorPlace& place) {
  const auto cannot = [&](int error) {
    return Error(error == ENOSPC || error == EDQUOT ? ErrorCode::kResourceExhausted
                                                    : ErrorCode::kUnavailable,
                 text("cannot work in ", quoted(place.sandbox), ": ", std::strerror(error)));
  };
  std::string environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view one = *variable;
    if (one.starts_with(kSandboxVariable)) {
      environment += text(kSandboxVariable, place.sandbox);
    } else if (one.starts_with(kExecutorVariable)) {
      environment += text(kExecutorVariable, place.executor.str());
    } else {
      environment += one;
    }
    environment += '\0';
  }
  if (environment.size() > kEnvironmentRoom) return cannot(E2BIG);
  Ground ground;
  ground.sandbox = Fd(open(place.sandbox.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (ground.sandbox.get() < 0) return cannot(errno);
  if (const int failed = ground.open_outputs(); failed != 0) return cannot(failed);
  if (fchdir(ground.sandbox.get()) != 0) return cannot(errno);
  if (std::getenv(kSharedMemoryVariable) != nullptr) empty_shared_memory();
  dup2(ground.out.get(), STDOUT_FILENO);
  dup2(ground.err.get(), STDERR_FILENO);
  take_environment(environment);
  return {};
}

}  // namespace proffer::executor
