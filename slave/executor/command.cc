// Uses posix_spawn instead of fork: it does not copy this process's page tables, which keeps the
// time from launch to running short.

#include "slave/executor/command.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/text.h"
#include "net/process_settings.h"
#include "proto/stdin_stream.h"
#include "proto/task_group.h"

namespace proffer::executor {
namespace {

std::optional<int> priority_of_commands;  // NOLINT: of this process

constexpr int kFirstPrivateFd = 3;  // everything above standard error is this process's own

// Makes the kernel kill processes that are started while one of these lives, and not this process,
// when memory is short: this process must report it. Returning to 0 needs no permission.
class Sacrifice {
 public:
  Sacrifice() { set("1000"); }
  ~Sacrifice() { set("0"); }
  Sacrifice(const Sacrifice&) = delete;
  Sacrifice& operator=(const Sacrifice&) = delete;

 private:
  // If it fails, the kernel kills the largest process, and the agent reports that. Opened once for
  // all commands of this process.
  static void set(std::string_view score) {
    static const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file >= 0 && pwrite(file, score.data(), score.size(), 0) < 0) return;
  }
};

}  // namespace

Result<pid_t> start_command(const proto::RunTask& run, const Surroundings& around, int in) {
  return start_shell({.command = run.spec.command,
                      .environment = task_environment(run.framework, run.spec, run.assignment,
                                                      around, run.secrets),
                      .directory = around.sandbox,
                      .in = in});
}

Result<pid_t> start_at_terminal(const proto::RunTask& run, const Surroundings& around,
                                int terminal) {
  ShellCommand shell{
      .command = run.spec.command,
      .environment = task_environment(run.framework, run.spec, run.assignment, around, run.secrets),
      .directory = around.sandbox,
      .terminal = terminal};
  shell.environment.push_back(text(proto::kTerminalVariable, "=1"));
  return start_shell(std::move(shell));
}

Result<pid_t> start_command(const proto::RunTask& run, const Surroundings& around,
                            const std::string& command) {
  ShellCommand shell{
      .command = command,
      .environment = task_environment(run.framework, run.spec, run.assignment, around, run.secrets),
      .directory = around.sandbox};
  shell.environment.push_back(text(proto::kGroupVariable, "=1"));
  return start_shell(std::move(shell));
}

void set_priority_of_commands(int nice) { priority_of_commands = nice; }

Result<pid_t> start_shell(ShellCommand shell) {
  std::vector<char*> envp;
  for (std::string& variable : shell.environment) {
    if (variable.find('\0') != std::string::npos) {
      // Without its value, which may be a secret.
      return Error::invalid_argument(text("the environment variable ",
                                          quoted(variable.substr(0, variable.find('='))),
                                          " must not have a NUL byte in its value"));
    }
    envp.push_back(variable.data());
  }
  envp.push_back(nullptr);
  if (shell.command.find('\0') != std::string::npos) {
    return Error::invalid_argument("the command holds a NUL");
  }
  shell.command.insert(0, settings_as_shell(shell.environment));
  std::string program = "/bin/sh";
  std::string flag = "-c";
  char* argv[] = {program.data(), flag.data(), shell.command.data(), nullptr};

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // The leader of a session leads its process group, too.
  const int leads = shell.terminal < 0 ? POSIX_SPAWN_SETPGROUP : POSIX_SPAWN_SETSID;
  posix_spawnattr_setflags(
      &attributes, static_cast<short>(leads | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigfillset(&signals);
  sigdelset(&signals, SIGKILL);
  sigdelset(&signals, SIGSTOP);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  const std::string terminal = text("/proc/self/fd/", shell.terminal);
  if (shell.terminal >= 0) {
    // The first terminal that the leader of a session opens controls the session.
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, terminal.c_str(), O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&files, STDIN_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, STDIN_FILENO, STDERR_FILENO);
  } else if (shell.in < 0) {
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  } else {
    posix_spawn_file_actions_adddup2(&files, shell.in, STDIN_FILENO);
  }
  if (shell.is_silent) {
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
      posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_WRONLY, 0);
    }
  }
  posix_spawn_file_actions_addchdir_np(&files, shell.directory.c_str());
  posix_spawn_file_actions_addclosefrom_np(&files, kFirstPrivateFd);

  pid_t pid = 0;
  int failed = 0;
  {
    const Sacrifice first_to_end;
    failed = posix_spawn(&pid, program.c_str(), &files, &attributes, argv, envp.data());
  }
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (failed != 0) {
    return Error::unavailable(text("cannot start /bin/sh: ", std::strerror(failed)));
  }
  // Its first processes may have been forked meanwhile.
  if (priority_of_commands) setpriority(PRIO_PGRP, static_cast<id_t>(pid), *priority_of_commands);
  return pid;
}

std::vector<pid_t> children_of_this_process() {
  // The kernel lists children by the thread that forked them. Here only the main thread forks, and
  // orphans are given to it.
  std::vector<pid_t> children;
  siginfo_t any = {};
  if (waitid(P_ALL, 0, &any, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD) return children;
  std::FILE* file = std::fopen(text("/proc/self/task/", getpid(), "/children").c_str(), "re");
  if (file == nullptr) return children;
  int pid = 0;
  while (std::fscanf(file, "%d", &pid) == 1) children.push_back(pid);
  std::fclose(file);
  return children;
}

}  // namespace proffer::executor
