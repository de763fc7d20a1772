#include "slave/shell/spawn.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/text.h"

namespace proffer::agent {

Error start_error(const std::string& program, int error, bool as_user) {
  const std::string message = text("cannot start ", quoted(program), ": ", std::strerror(error));
  if (as_user && (error == EACCES || error == EPERM || error == EDQUOT)) {
    return Error::permission_denied(message);
  }
  return error == ENOSPC || error == EAGAIN || error == ENOMEM ? Error::resource_exhausted(message)
                                                               : Error::unavailable(message);
}

Result<pid_t> spawn(SpawnOptions options) {
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> list;
    for (std::string& one : texts) list.push_back(one.data());
    list.push_back(nullptr);
    return list;
  };
  for (const std::string& variable : options.environment) {
    if (variable.find('\0') != std::string::npos) {
      return Error::invalid_argument(text("the environment holds a NUL: ", quoted(variable)));
    }
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigfillset(&signals);
  sigdelset(&signals, SIGKILL);
  sigdelset(&signals, SIGSTOP);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addchdir_np(&files, "/");
  if (options.input >= 0) {
    posix_spawn_file_actions_adddup2(&files, options.input, STDIN_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);

  pid_t pid = 0;
  const int failed =
      posix_spawn(&pid, options.arguments.front().c_str(), &files, &attributes,
                  pointers(options.arguments).data(), pointers(options.environment).data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (failed != 0) return start_error(options.arguments.front(), failed);
  // posix_spawn() has no attribute for it, and lowering this process's limit meanwhile would make
  // other threads fail. So the program may briefly begin with this process's limit.
  rlimit limit = {};
  if (options.descriptors > 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = std::min<rlim_t>(options.descriptors, limit.rlim_max);
    prlimit(pid, RLIMIT_NOFILE, &limit, nullptr);
  }
  if (options.processes > 0 && getrlimit(RLIMIT_NPROC, &limit) == 0) {
    const auto most = static_cast<rlim_t>(options.processes);
    limit = {std::min(limit.rlim_cur, most), std::min(limit.rlim_max, most)};
    prlimit(pid, RLIMIT_NPROC, &limit, nullptr);
  }
  return pid;
}

}  // namespace proffer::agent
