#include "net/child.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/text.h"

namespace proffer {

Result<std::string> find_program_file(std::string_view file) {
  std::filesystem::path folder;
  const char* variable = std::getenv("PROFFER_BIN_DIR");
  if (variable != nullptr && *variable != '\0') {
    folder = variable;
  } else {
    std::error_code ignored;
    folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  }
  const std::string path = folder / file;
  if (::access(path.c_str(), X_OK) == 0) return path;
  return Error::not_found(text("there is no program ", quoted(path)))
      .with_hint("build all of Proffer, or set $PROFFER_BIN_DIR to the directory of its programs");
}

Result<pid_t> start_child(std::vector<std::string> command, int output) {
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  // Until exec() the child has this process's signal handlers, which write to this process's loop:
  // a signal to the new child would count as one to this process.
  sigset_t every;
  sigset_t before;
  ::sigfillset(&every);
  ::sigprocmask(SIG_SETMASK, &every, &before);
  const pid_t pid = ::fork();
  if (pid == 0) {  // Only calls that are safe between fork and exec.
    for (int number = 1; number < NSIG; ++number) {
      struct sigaction action = {};
      if (::sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
      action = {};
      action.sa_handler = SIG_DFL;
      ::sigaction(number, &action, nullptr);
    }
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent) ::_exit(127);
    const int null = ::open("/dev/null", O_RDONLY);
    ::dup2(null, 0);
    ::dup2(output, 1);
    ::dup2(output, 2);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  const int why = errno;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) {
    return Error::internal(
        text("cannot start ", quoted(command.front()), ": ", std::strerror(why)));
  }
  return pid;
}

std::string how_it_ended(int status) {
  if (WIFEXITED(status)) return text("exit code ", WEXITSTATUS(status));
  return text("signal ", WTERMSIG(status), " (", strsignal(WTERMSIG(status)), ")");
}

}  // namespace proffer
