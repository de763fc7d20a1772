#include "tests/support/zookeeper_server.h"

#include <csignal>
#include <cstdint>
#include <filesystem>

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

// A port that is free now. If another process takes it before the server does, another port is
// tried.
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
                 "\nadmin.enableServer=false\n4lw.commands.whitelist=ruok,srvr\n"
                 "maxClientCnxns=0\n" +
                 ensemble_);
  process_ = std::make_unique<Process>(
      // Output goes to a file: an unread pipe would fill up and block the server.
      Words{"/bin/sh", "-c", "exec \"$@\" >>\"$0\" 2>&1", log(), "java", "-Xmx512m",
            "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
            "-XX:+ExitOnOutOfMemoryError", "-cp", "/usr/share/java/zookeeper.jar:/usr/share/java/*",
            "org.apache.zookeeper.server.quorum.QuorumPeerMain", home_ / "zoo.cfg"},
      std::map<std::string, std::string>{}, home_.path());
  return eventually([this] { return answers() || !is_alive(process_->pid()); }) && answers();
}

bool ZooKeeperServer::answers() const { return answer_to("ruok") == "imok"; }

std::string ZooKeeperServer::answer_to(const std::string& word) const {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port_);
  std::string answer(4'096, '\0');
  ssize_t size = 0;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::send(fd, word.data(), word.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(word.size())) {
    size = ::recv(fd, answer.data(), answer.size(), 0);
  }
  ::close(fd);
  return answer.substr(0, size > 0 ? static_cast<size_t>(size) : 0);
}

ZooKeeperEnsemble::ZooKeeperEnsemble() {
  constexpr int kServers = 3;
  std::string ensemble = "initLimit=60\nsyncLimit=60\n";
  for (int i = 1; i <= kServers; ++i) {
    ensemble += "server." + std::to_string(i) + "=127.0.0.1:" + std::to_string(free_port()) + ":" +
                std::to_string(free_port()) + "\n";
  }
  for (int i = 1; i <= kServers; ++i) {
    servers_.emplace_back(new ZooKeeperServer(free_port()));
    ZooKeeperServer& server = *servers_.back();
    server.ensemble_ = ensemble;
    std::filesystem::create_directory(server.home_ / "data");
    write_file(server.home_ / "data/myid", std::to_string(i) + "\n");
    server.start();
  }
  for (const auto& server : servers_) {
    CHECK(eventually([&] { return server->answer_to("srvr").find("Mode: ") != std::string::npos; }))
        << read_file(server->log());
  }
}

ZooKeeperServer& ZooKeeperEnsemble::follower() {
  ZooKeeperServer* found = nullptr;
  CHECK(eventually([&] {
    for (const auto& server : servers_) {
      const bool follows = server->answer_to("srvr").find("Mode: follower") != std::string::npos;
      if (follows) found = server.get();
    }
    return found != nullptr;
  }));
  return *found;
}

std::vector<ZooKeeperServer*> ZooKeeperEnsemble::others_than(const ZooKeeperServer& one) {
  std::vector<ZooKeeperServer*> others;
  for (const auto& server : servers_) {
    if (server.get() != &one) others.push_back(server.get());
  }
  return others;
}

}  // namespace proffer::test
