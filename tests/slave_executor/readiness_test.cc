// Times of readiness checks, their reports, and the kernel's tables. Below: real sockets of real
// processes.

#include "slave/executor/readiness.h"

#include <filesystem>
#include <fstream>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/text.h"
#include "slave/executor/listeners.h"
#include "tests/support/temporary_directory.h"

namespace proffer::executor::readiness_test {
namespace {

namespace fs = std::filesystem;

const Time kStart = Time::from_nanos(5'000'000'000);

TEST(Readiness, WithoutPortsATaskIsReadyWhenItHasRunForSoLong) {
  ReadinessWatch watch({.after = seconds(2)}, {}, kStart);
  EXPECT_FALSE(watch.is_ready());
  EXPECT_EQ(watch.next_deadline(), kStart + seconds(2));
  EXPECT_FALSE(watch.on_tick(kStart + milliseconds(1'999)));
  ASSERT_TRUE(watch.on_tick(kStart + seconds(2)));
  EXPECT_EQ(watch.on_looked(watch.ports(), kStart + seconds(2)), (ReadyNews{.ready = true}));
  EXPECT_TRUE(watch.is_ready());
  EXPECT_EQ(watch.next_deadline(), std::nullopt);
  EXPECT_FALSE(watch.on_tick(kStart + hours(1)));
}

TEST(Readiness, OneThatWaitsForNothingIsReadyAtOnce) {
  EXPECT_TRUE(ReadinessWatch({}, {{"http", 31000}}, kStart).is_ready());
}

// Checks until `listens_after` has passed: the time of the report, and the reports before.
struct Story {
  Duration ready_after = {};
  std::vector<std::string> told = {};
  int looks = 0;
};
Story story(Duration listens_after) {
  ReadinessWatch watch({.ports = {"http"}}, {{"http", 31000}}, kStart);
  Story story;
  for (Time now = kStart; watch.next_deadline(); now = *watch.next_deadline()) {
    EXPECT_TRUE(watch.on_tick(now));
    std::vector<PortSeen> seen = watch.ports();
    if (now >= kStart + listens_after) seen[0].listener = Listener::kTask;
    ++story.looks;
    const auto news = watch.on_looked(seen, now);
    if (!news) continue;
    if (!news->ready) story.told.push_back(news->message);
    story.ready_after = now - kStart;
  }
  return story;
}

TEST(Readiness, IsToldSoonAfterTheTaskListensAndCostsFewLooks) {
  EXPECT_EQ(story(Duration()).looks, 1);
  const Story slow = story(milliseconds(400));
  EXPECT_LE(slow.ready_after, milliseconds(500));
  EXPECT_LE(slow.looks, 20);
  EXPECT_TRUE(slow.told.empty());
  const Story very_slow = story(seconds(60));
  EXPECT_LE(very_slow.ready_after, seconds(60) + kReadyLookMax);
  EXPECT_EQ(very_slow.told, std::vector<std::string>{"does not listen on port http (31000)"});
}

TEST(Readiness, AnotherReasonIsToldButNotEachTime) {
  ReadinessWatch watch({.ports = {"http"}}, {{"http", 31000}}, kStart);
  int told = 0;
  bool flips = false;
  for (Time now = kStart; now < kStart + seconds(30); now = *watch.next_deadline()) {
    std::vector<PortSeen> seen = watch.ports();
    seen[0].listener = (flips = !flips) ? Listener::kAnother : Listener::kNobody;
    if (watch.on_looked(seen, now)) ++told;
  }
  EXPECT_GE(told, 2);
  EXPECT_LE(told, 10);
}

TEST(Readiness, TheReasonNamesEachPort) {
  const auto seen = [](Listener a, Listener b) {
    return std::vector<PortSeen>{{"http", 31000, a}, {"admin", 31001, b}};
  };
  EXPECT_EQ(why_not_ready(seen(Listener::kTask, Listener::kTask)), "");
  EXPECT_EQ(why_not_ready(seen(Listener::kTask, Listener::kNobody)),
            "does not listen on port admin (31001)");
  EXPECT_EQ(why_not_ready(seen(Listener::kNobody, Listener::kNobody)),
            "does not listen on port http (31000), admin (31001)");
  EXPECT_EQ(why_not_ready(seen(Listener::kAnother, Listener::kNobody)),
            "does not listen on port admin (31001); another process listens on port http (31000)");
}

// --- the kernel's tables -----------------------------------------------------------------------

TEST(TcpTable, SaysPortStateAndInode) {
  struct Row {
    std::string line;
    std::optional<TcpSocket> socket;
  };
  const std::string rest =
      " 00000000:00000000 00:00000000 00000000     0        0 1668 1 00000000eea03cb9 100 0 0 10 0";
  const Row rows[] = {
      {"   0: 00000000:07E8 00000000:0000 0A" + rest,
       TcpSocket{.port = 2024, .is_listening = true, .inode = 1668}},
      {"  12: 3339017F:7BB2 0100007F:DEAA 01" + rest,
       TcpSocket{.port = 31666, .is_listening = false, .inode = 1668}},
      {"   0: 00000000000000000000000001000000:7918 00000000000000000000000000000000:0000 0A" +
           rest,
       TcpSocket{.port = 31000, .is_listening = true, .inode = 1668}},
      {"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
       "inode",
       std::nullopt},
      {"", std::nullopt},
      {"   0: 00000000:07E8 00000000:0000 0A", std::nullopt},
      {"   0: 00000000:17E8F 00000000:0000 0A" + rest, std::nullopt},
  };
  for (const Row& row : rows) EXPECT_EQ(parse_tcp_socket(row.line), row.socket) << row.line;
}

TEST(SocketLink, IsASocketOrNothing) {
  EXPECT_EQ(parse_socket_link("socket:[4711]"), 4711u);
  for (const std::string_view other :
       {"pipe:[4711]", "/dev/null", "socket:[]", "socket:[x]", "socket:[4711", "socket:4711", ""}) {
    EXPECT_EQ(parse_socket_link(other), std::nullopt) << other;
  }
}

// A /proc with three processes, 10 → 11 → 12, and an unrelated one, 20.
class FakeProc {
 public:
  FakeProc() {
    write("self/net/tcp", "  sl  local_address\n" + row(31000, "0A", 100) + row(31001, "0A", 101) +
                              row(31002, "01", 102));
    write("self/net/tcp6", "  sl  local_address\n" + row(31003, "0A", 103));
    write("10/task/10/children", "11 ");
    write("11/task/11/children", "");
    write("11/task/13/children", "12 ");  // forked by its second thread
    write("12/task/12/children", "");
    write("20/task/20/children", "");
    for (const char* pid : {"10", "11", "12", "20"}) fs::create_directories(path_ / pid / "fd");
  }
  void descriptor(const std::string& pid, const std::string& to) {
    fs::create_symlink(to, path_ / pid / "fd" / text(++descriptors_));
  }
  Listener listener(uint16_t port, const TaskProcesses& task) const {
    std::vector<PortSeen> ports = {{"http", port}};
    find_listeners(task, ports, path_.string());
    return ports[0].listener;
  }

 private:
  static std::string row(uint16_t port, const std::string& state, int inode) {
    char hex[8];
    std::snprintf(hex, sizeof hex, "%04X", static_cast<unsigned>(port));
    return text("   0: 0100007F:", hex, " 00000000:0000 ", state,
                " 00000000:00000000 00:00000000 00000000     0        0 ", inode, " 1 x 100\n");
  }
  void write(const std::string& name, const std::string& content) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << content;
  }
  const test::TemporaryDirectory directory_;
  const fs::path path_ = directory_.path();
  int descriptors_ = 2;
};

TEST(Listeners, AreTheTasksIfOneOfItsProcessesHasTheSocket) {
  FakeProc proc;
  proc.descriptor("12", "/dev/null");
  proc.descriptor("12", "socket:[100]");
  proc.descriptor("20", "socket:[101]");
  proc.descriptor("12", "socket:[102]");
  proc.descriptor("10", "socket:[103]");
  const TaskProcesses task{.root = 10};
  EXPECT_EQ(proc.listener(31000, task), Listener::kTask);
  EXPECT_EQ(proc.listener(31001, task), Listener::kAnother);
  EXPECT_EQ(proc.listener(31002, task), Listener::kNobody);  // it is connected, and does not listen
  EXPECT_EQ(proc.listener(31003, task), Listener::kTask);    // IPv6
  EXPECT_EQ(proc.listener(31004, task), Listener::kNobody);
  EXPECT_EQ(proc.listener(0, task), Listener::kNobody);
  // The process that started the task does not belong to the task.
  EXPECT_EQ(proc.listener(31003, {.root = 10, .has_root = false}), Listener::kAnother);
  EXPECT_EQ(proc.listener(31000, {.root = 10, .has_root = false}), Listener::kTask);
  EXPECT_EQ(proc.listener(31001, {.root = 20}), Listener::kTask);
  EXPECT_EQ(proc.listener(31001, {.root = 4'000'000}), Listener::kAnother);
}

// A listening socket on a port that the kernel chooses, on any address.
int listen_on(int family, uint16_t& port) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_storage address = {};
  address.ss_family = static_cast<sa_family_t>(family);
  const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::listen(fd, 1), 0);
  socklen_t got = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &got);
  port = ntohs(family == AF_INET ? reinterpret_cast<sockaddr_in*>(&address)->sin_port
                                 : reinterpret_cast<sockaddr_in6*>(&address)->sin6_port);
  return fd;
}

// Forks a child, which closes descriptors that it does not need.
pid_t fork_with(int kept, int closed) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::close(closed);
  static_cast<void>(kept);
  while (true) ::pause();
}

TEST(Listeners, OfTheRealKernelAreToldApart) {
  for (const int family : {AF_INET, AF_INET6}) {
    uint16_t port = 0;
    uint16_t other = 0;
    const int mine = listen_on(family, port);
    const int theirs = listen_on(family, other);
    const pid_t task = fork_with(mine, theirs);
    ::close(mine);
    std::vector<PortSeen> seen = {{"http", port}, {"admin", other}};
    // The child closes the other descriptor first; until then it has both.
    for (int i = 0; i < 10'000; ++i) {
      find_listeners({.root = task}, seen);
      if (seen[1].listener == Listener::kAnother) break;
    }
    EXPECT_EQ(seen[0].listener, Listener::kTask);
    EXPECT_EQ(seen[1].listener, Listener::kAnother);
    // As seen from the process that started it.
    find_listeners({.root = ::getpid(), .has_root = false}, seen);
    EXPECT_EQ(seen[0].listener, Listener::kTask);
    EXPECT_EQ(seen[1].listener, Listener::kAnother);
    // A zombie holds no sockets, and hides none.
    ::kill(task, SIGKILL);
    siginfo_t ended = {};
    ::waitid(P_PID, static_cast<id_t>(task), &ended, WEXITED | WNOWAIT);
    find_listeners({.root = task}, seen);
    EXPECT_EQ(seen[0].listener, Listener::kNobody);
    EXPECT_EQ(seen[1].listener, Listener::kAnother);
    ::waitpid(task, nullptr, 0);
    ::close(theirs);
  }
}

}  // namespace
}  // namespace proffer::executor::readiness_test
