// Read find_listeners first: the kernel's socket tables contain inodes, and the descriptors of a
// process contain them too.

#include "slave/executor/listeners.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>

#include <dirent.h>
#include <unistd.h>

#include "common/text.h"

namespace proffer::executor {
namespace {

// The search stops here, because of fork bombs.
constexpr size_t kProcessesMax = 10'000;

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;
struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

// Inodes of the listening sockets on one of `ports`, with their ports.
using Wanted = std::map<uint64_t, std::vector<PortSeen*>>;

// The kernel lists listening sockets before all others (Documentation/networking/proc_net_tcp.rst).
// The others are not read, since there may be very many.
void read_sockets(const std::string& path, std::vector<PortSeen>& ports, Wanted& wanted) {
  const File file(std::fopen(path.c_str(), "re"));
  if (file == nullptr) return;
  char line[512];
  while (std::fgets(line, sizeof line, file.get()) != nullptr) {
    const std::optional<TcpSocket> socket = parse_tcp_socket(line);
    if (!socket) continue;  // the first line
    if (!socket->is_listening) return;
    for (PortSeen& port : ports) {
      if (port.port != socket->port) continue;
      port.listener = Listener::kAnother;  // until a descriptor of the task is found
      wanted[socket->inode].push_back(&port);
    }
  }
}

// Each thread has its own list of children.
void add_children(const std::string& proc, pid_t pid, std::vector<pid_t>& processes) {
  const std::string threads = text(proc, '/', pid, "/task");
  const Folder folder(opendir(threads.c_str()));
  if (folder == nullptr) return;
  while (const dirent* thread = readdir(folder.get())) {
    if (thread->d_name[0] == '.') continue;
    const File file(std::fopen(text(threads, '/', thread->d_name, "/children").c_str(), "re"));
    if (file == nullptr) continue;
    int child = 0;
    while (processes.size() < kProcessesMax && std::fscanf(file.get(), "%d", &child) == 1) {
      processes.push_back(child);
    }
  }
}

// False: some descriptors are not readable.
bool find_descriptors(const std::string& proc, pid_t pid, Wanted& wanted) {
  const Folder folder(opendir(text(proc, '/', pid, "/fd").c_str()));
  if (folder == nullptr) return errno != EACCES && errno != EPERM;
  while (const dirent* one = readdir(folder.get())) {
    char link[64];
    const ssize_t size = readlinkat(dirfd(folder.get()), one->d_name, link, sizeof link);
    if (size < 0 && (errno == EACCES || errno == EPERM)) return false;
    const auto inode = parse_socket_link({link, static_cast<size_t>(std::max<ssize_t>(size, 0))});
    if (!inode) continue;
    const auto found = wanted.find(*inode);
    if (found == wanted.end()) continue;
    for (PortSeen* port : found->second) port->listener = Listener::kTask;
  }
  return true;
}

}  // namespace

void find_listeners(const TaskProcesses& task, std::vector<PortSeen>& ports,
                    const std::string& proc) {
  for (PortSeen& port : ports) port.listener = Listener::kNobody;
  Wanted wanted;
  for (const std::string_view table : {"/self/net/tcp", "/self/net/tcp6"}) {
    read_sockets(text(proc, table), ports, wanted);
  }
  const auto is_missing = [&](Listener listener) {
    return std::any_of(ports.begin(), ports.end(),
                       [&](const PortSeen& port) { return port.listener == listener; });
  };
  if (!is_missing(Listener::kAnother)) return;
  bool all_shown = true;
  std::vector<pid_t> processes = {task.root};
  for (size_t i = 0; i < processes.size() && is_missing(Listener::kAnother); ++i) {
    if (i > 0 || task.has_root) all_shown &= find_descriptors(proc, processes[i], wanted);
    add_children(proc, processes[i], processes);
  }
  if (all_shown) return;
  for (PortSeen& port : ports) {
    if (port.listener == Listener::kAnother) port.listener = Listener::kHidden;
  }
}

}  // namespace proffer::executor
