// proffer-fetch: gets the files of one task, as its user and in its sandbox, before its executor is
// started there. The agent starts it, with the plan in its environment. An error is written to a
// file, since `stderr` of the sandbox is the task's.

#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/fd.h"
#include "slave/fetcher/fetch.h"

extern char** environ;  // NOLINT: POSIX

int main() {
  using namespace proffer;
  std::vector<std::string_view> environment;
  for (char** one = environ; *one != nullptr; ++one) environment.emplace_back(*one);
  const Result<fetcher::Plan> plan = fetcher::decode_plan(environment);
  if (!plan || plan->items.empty()) {
    std::fprintf(stderr, "error: proffer-fetch: no plan\n  hint: the agent starts it\n");
    return 2;
  }
  // If the agent is killed, its next life starts the fetch again, and no other may run.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (plan->agent != 0 && getppid() != plan->agent) return 1;
  std::signal(SIGPIPE, SIG_IGN);
  std::setlocale(LC_CTYPE, "C.UTF-8");  // for names in archives
  umask(022);
  const Fd sandbox(open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Result<void> done = fetcher::fetch_all(*plan, sandbox.get());
  if (done) return 0;
  const Fd work(
      openat(sandbox.get(), fetcher::kWorkFolder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const Fd told(openat(work.get(), fetcher::kErrorFile,
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  const std::string& why = done.error().message();
  if (told.get() < 0 || write(told.get(), why.data(), why.size()) < 0) {
    std::fprintf(stderr, "error: %s\n", why.c_str());
  }
  return 1;
}
