#include "tests/support/zookeeper_server.h"

#include <csignal>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/check.h"

namespace proffer::test {
namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

// One that is free now. Somebody else may take it before the server does: then another is tried.
int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  CHECK_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  CHECK_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  ::close(fd);
  return ntohs(address.sin_port);
}

}  // namespace

ZooKeeperServer::ZooKeeperServer() {
  constexpr int kPortsMax = 5;
  for (int i = 0; i < kPortsMax; ++i) {
    port_ = free_port();
    if (try_to_start()) return;
  }
  CHECK(false) << "ZooKeeper does not start: " << read_file(log());
}

ZooKeeperServer::~ZooKeeperServer() = default;

std::string ZooKeeperServer::address() const { return "127.0.0.1:" + std::to_string(port_); }

void ZooKeeperServer::kill() {
  process_->kill(SIGKILL);
  process_->wait();
}

void ZooKeeperServer::start() {
  CHECK(try_to_start()) << "ZooKeeper does not start again: " << read_file(log());
}

bool ZooKeeperServer::try_to_start() {
  write_file(home_ / "zoo.cfg",
             "tickTime=500\nminSessionTimeout=500\nmaxSessionTimeout=60000\n"
             "dataDir=" +
                 (home_ / "data") +
                 "\nclientPortAddress=127.0.0.1\nclientPort=" + std::to_string(port_) +
                 "\nadmin.enableServer=false\n4lw.commands.whitelist=ruok\n"
                 "maxClientCnxns=0\n");
  process_ = std::make_unique<Process>(
      // Its output goes to a file: a pipe that nobody reads would fill up and stop it.
      Words{"/bin/sh", "-c", "exec \"$@\" >>\"$0\" 2>&1", log(), "java", "-Xmx512m",
            "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
            "-XX:+ExitOnOutOfMemoryError", "-cp", "/usr/share/java/zookeeper.jar:/usr/share/java/*",
            "org.apache.zookeeper.server.quorum.QuorumPeerMain", home_ / "zoo.cfg"},
      std::map<std::string, std::string>{}, home_.path());
  return eventually([this] { return answers() || !is_alive(process_->pid()); }) && answers();
}

bool ZooKeeperServer::answers() const {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port_);
  std::string answer(16, '\0');
  ssize_t size = -1;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::send(fd, "ruok", 4, MSG_NOSIGNAL) == 4) {
    size = ::recv(fd, answer.data(), answer.size(), 0);
  }
  ::close(fd);
  return size > 0 && answer.substr(0, static_cast<size_t>(size)) == "imok";
}

}  // namespace proffer::test
