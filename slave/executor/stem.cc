// One request is one fork. What can fail is done before it, so that the agent hears the reason.
//
// The new process is made by clone with CLONE_PARENT: its parent is the agent, which waits for it
// and hears how it ended. The stem has one thread, so all of it is copied; only the thread id that
// libc keeps is the stem's, which matters to nothing here.
//
// An agent that was killed before it wrote the pid down finds its executor by what /proc says of
// its environment. That is the memory which the kernel laid out at exec, so the stem is started
// with a variable as large as any environment, and each executor writes its own over it.

#include "slave/executor/stem.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "slave/executor/launch_request.h"

extern char** environ;  // NOLINT: POSIX

namespace proffer::executor {
namespace {

constexpr int kAgent = STDIN_FILENO;
constexpr std::string_view kSandboxVariable = "PROFFER_SANDBOX=";

[[noreturn]] void refuse(const char* why) {
  std::fprintf(stderr, "error: proffer-executor: %s\n  hint: the agent starts it\n", why);
  std::exit(2);
}

// The memory of the environment, all of it. Not const: it is to be written over.
struct Room {
  char* begin = nullptr;
  size_t bytes = 0;
};

Room room_of_environment() {
  char** last = environ;
  if (*last == nullptr) return {};
  while (last[1] != nullptr) ++last;
  return {environ[0], static_cast<size_t>(*last + std::strlen(*last) + 1 - environ[0])};
}

// Open descriptors of what the executor will stand on.
struct Ground {
  int sandbox = -1;
  int out = -1;
  int err = -1;

  // 0, or an errno.
  int open_at(const char* path) {
    constexpr int kAppend = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
    sandbox = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (sandbox < 0) return errno;
    out = openat(sandbox, "stdout", kAppend, 0600);
    if (out < 0) return errno;
    err = openat(sandbox, "stderr", kAppend, 0600);
    return err < 0 ? errno : 0;
  }
  void close_all() const {
    for (const int fd : {sandbox, out, err}) {
      if (fd >= 0) close(fd);
    }
  }
};

// What the kernel and libc take for this process's environment.
void take_environment(const Room& room, std::string_view bytes) {
  std::memset(room.begin, 0, room.bytes);
  std::memcpy(room.begin, bytes.data(), bytes.size());
  static std::array<char*, kLaunchBytesMax / 2 + 1> pointers;  // a variable has two bytes at least
  size_t count = 0;
  for (size_t at = 0; at < bytes.size(); at += std::strlen(room.begin + at) + 1) {
    pointers[count++] = room.begin + at;
  }
  pointers[count] = nullptr;
  environ = pointers.data();
}

void become_an_executor(const Ground& ground, int nothing) {
  setsid();
  if (fchdir(ground.sandbox) != 0) _exit(1);
  dup2(nothing, STDIN_FILENO);
  dup2(ground.out, STDOUT_FILENO);
  dup2(ground.err, STDERR_FILENO);
  close_range(STDERR_FILENO + 1, ~0U, 0);
}

// The path of the sandbox, ended by a NUL; nullptr if it is none.
const char* sandbox_of(const std::vector<std::string_view>& environment) {
  for (const std::string_view variable : environment) {
    if (variable.substr(0, kSandboxVariable.size()) == kSandboxVariable) {
      return variable.data() + kSandboxVariable.size();
    }
  }
  return nullptr;
}

void answer(int32_t what) {
  if (send(kAgent, &what, sizeof what, MSG_NOSIGNAL) < 0) _exit(0);
}

}  // namespace

bool fork_executors() {
  const Room room = room_of_environment();
  int kind = 0;
  socklen_t size = sizeof kind;
  if (getsockopt(kAgent, SOL_SOCKET, SO_TYPE, &kind, &size) != 0 || kind != SOCK_SEQPACKET ||
      room.bytes < kLaunchBytesMax) {
    refuse("no agent at standard input");
  }
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing < 0) refuse("cannot open /dev/null");
  static std::array<char, kLaunchBytesMax> request;
  while (true) {
    const ssize_t got = recv(kAgent, request.data(), request.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    const std::string_view bytes(request.data(), static_cast<size_t>(got));
    const auto environment = decode_launch(bytes);
    const char* sandbox = environment ? sandbox_of(*environment) : nullptr;
    Ground ground;
    const int failed = sandbox == nullptr ? EINVAL : ground.open_at(sandbox);
    if (failed != 0) {
      ground.close_all();
      answer(-failed);
      continue;
    }
    const long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
    if (pid == 0) {
      become_an_executor(ground, nothing);
      take_environment(room, bytes);
      return true;
    }
    const int refused = errno;
    ground.close_all();
    answer(pid > 0 ? static_cast<int32_t>(pid) : -refused);
  }
}

}  // namespace proffer::executor
