#include "net/shared_memory.h"

#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sched.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/text.h"
#include "net/fd.h"

namespace proffer {
namespace {

constexpr const char* kFolder = "/dev/shm";

// Makes the directories above `path`, which begins with kFolder, and `path`.
int make_directories(const std::string& path) {
  for (size_t at = path.find('/', std::string_view(kFolder).size() + 1);;
       at = path.find('/', at + 1)) {
    if (mkdir(path.substr(0, at).c_str(), 0711) != 0 && errno != EEXIST) return errno;
    if (at == std::string::npos) return 0;
  }
}

union SemaphoreArgument {
  int value;
  semid_ds* set;
  seminfo* info;
};

}  // namespace

int make_own_shared_memory(const char* kept) {
  if (unshare(CLONE_NEWNS | CLONE_NEWIPC) != 0) return errno;
  // What the machine mounts later appears here, and nothing that is mounted here appears there.
  if (mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return errno;
  const Fd directory(kept == nullptr ? -1
                                     : open(kept, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (kept != nullptr && directory.get() < 0) return errno;
  if (mount("proffer", kFolder, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") != 0) return errno;
  if (kept == nullptr) return 0;
  if (const int failed = make_directories(kept); failed != 0) return failed;
  const std::string source = text("/proc/self/fd/", directory.get());
  return mount(source.c_str(), kept, nullptr, MS_BIND, nullptr) == 0 ? 0 : errno;
}

bool can_have_own_shared_memory() {
  if (geteuid() != 0) return false;
  const pid_t child = fork();
  if (child == 0) _exit(make_own_shared_memory(nullptr) == 0 ? 0 : 1);
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

int enter_shared_memory_of(pid_t pid) {
  const Fd ipc(open(text("/proc/", pid, "/ns/ipc").c_str(), O_RDONLY | O_CLOEXEC));
  const Fd mounts(open(text("/proc/", pid, "/ns/mnt").c_str(), O_RDONLY | O_CLOEXEC));
  if (ipc.get() < 0 || mounts.get() < 0) return errno;
  if (setns(ipc.get(), CLONE_NEWIPC) != 0 || setns(mounts.get(), CLONE_NEWNS) != 0) return errno;
  return 0;
}

void empty_shared_memory() {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder, failed)) {
    std::error_code stays;
    std::filesystem::remove_all(entry.path(), stays);
  }
  shm_info shared = {};
  shmid_ds segment = {};
  const int segments = shmctl(0, SHM_INFO, reinterpret_cast<shmid_ds*>(&shared));
  for (int i = 0; i <= segments && shared.used_ids > 0; ++i) {
    if (const int id = shmctl(i, SHM_STAT, &segment); id >= 0) shmctl(id, IPC_RMID, nullptr);
  }
  seminfo semaphores = {};
  semid_ds set = {};
  const int sets = semctl(0, 0, SEM_INFO, SemaphoreArgument{.info = &semaphores});
  for (int i = 0; i <= sets && semaphores.semusz > 0; ++i) {
    const int id = semctl(i, 0, SEM_STAT, SemaphoreArgument{.set = &set});
    if (id >= 0) semctl(id, 0, IPC_RMID);
  }
  msginfo messages = {};
  msqid_ds queue = {};
  const int queues = msgctl(0, MSG_INFO, reinterpret_cast<msqid_ds*>(&messages));
  for (int i = 0; i <= queues && messages.msgpool > 0; ++i) {
    if (const int id = msgctl(i, MSG_STAT, &queue); id >= 0) msgctl(id, IPC_RMID, nullptr);
  }
}

}  // namespace proffer
