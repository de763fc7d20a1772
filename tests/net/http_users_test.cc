// The HTTP server knows the user of a request, and applies its rights.

#include <optional>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/check.h"
#include "net/http_server.h"
#include "tests/net/support.h"

namespace proffer::http_users_test {
namespace {

namespace fs = std::filesystem;
using net_test::connect_path;
using net_test::connect_tcp;
using net_test::kNobody;
using net_test::receive_all;
using net_test::receive_until;
using net_test::run_until;
using net_test::send_all;
using net_test::TempDir;

// Runs `what` as this user, in a thread of its own; other threads keep their user. Needs root.
void as_user(uint32_t uid, const std::function<void()>& what) {
  std::thread([&] {
    CHECK_EQ(syscall(SYS_setgroups, 0, nullptr), 0);
    CHECK_EQ(syscall(SYS_setresgid, uid, uid, uid), 0);
    CHECK_EQ(syscall(SYS_setresuid, uid, uid, uid), 0);
    what();
  }).join();
}

class HttpUsers : public testing::Test {
 protected:
  HttpUsers() {
    fs::permissions(dir_.path(), fs::perms::owner_all | fs::perms::others_exec);
    fs::create_directories(dir_.path() / "box");
  }

  void listen(HttpServer::Options options) {
    options.handler = [](const HttpRequest& request, HttpResponder responder) {
      responder.respond_text(200, request.principal == nullptr
                                      ? "nobody is known"
                                      : text("uid ", request.principal->uid));
    };
    options.files = {
        .prefix = "/files/",
        .resolve = [this](std::string_view rest, const PrincipalPtr& by) -> Result<ServedPath> {
          if (rest == "denied") {
            return Error::permission_denied("you may not").with_hint("root may");
          }
          ServedPath served{.root = *open_root(dir_.path() / "box"), .relative = std::string(rest)};
          if (by != nullptr) served.user = FileUser{by->uid, by->uid, by->groups};
          return served;
        }};
    auto listening = HttpServer::listen(loop_, std::move(options));
    CHECK(listening) << listening.error().message();
    server_ = *std::move(listening);
  }
  void listen_at_socket(size_t connections_max = kHttpConnectionsMax) {
    listen({.address = {.socket = socket_path()}, .connections_max = connections_max});
  }
  std::string socket_path() const { return dir_.path() / "http.sock"; }

  // The complete answer, while the loop runs.
  std::string get(const std::string& target, const std::string& headers = "",
                  std::optional<uint32_t> uid = {}) {
    std::string answer;
    const auto ask = [&] {
      const Fd fd = server_->address().socket.empty() ? connect_tcp(server_->port())
                                                      : connect_path(socket_path());
      send_all(fd, text("GET ", target, " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n",
                        headers, "\r\n"));
      answer = receive_all(fd);
    };
    bool done = false;
    loop_.work([&] { uid ? as_user(*uid, ask) : ask(); }, [&] { done = true; });
    CHECK(run_until(loop_, [&] { return done; }));
    return answer;
  }
  static std::string body_of(const std::string& answer) {
    const size_t end = answer.find("\r\n\r\n");
    return end == std::string::npos ? "" : answer.substr(end + 4);
  }
  static int status_of(const std::string& answer) {
    return answer.size() < 12 ? 0 : std::stoi(answer.substr(9, 3));
  }

  TempDir dir_;
  Loop loop_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpUsers, TheKernelSaysWhoAsksAtAUnixSocket) {
  listen_at_socket();
  EXPECT_EQ(server_->address(), (Address{.socket = socket_path()}));
  EXPECT_EQ(body_of(get("/who")), text("uid ", geteuid()));
  if (geteuid() != 0) GTEST_SKIP() << "the rest is not run: only root can become another user";
  EXPECT_EQ(body_of(get("/who", "", kNobody)), text("uid ", kNobody));
}

TEST_F(HttpUsers, ASocketIsForAllUsersAndGoesWithTheServer) {
  listen_at_socket();
  struct stat found {};
  ASSERT_EQ(lstat(socket_path().c_str(), &found), 0);
  EXPECT_TRUE(S_ISSOCK(found.st_mode));
  EXPECT_EQ(found.st_mode & 0777, 0666u);
  server_.reset();
  EXPECT_NE(lstat(socket_path().c_str(), &found), 0);
}

TEST_F(HttpUsers, NothingButASocketIsReplaced) {
  dir_.write("http.sock", "a letter");
  const auto refused = HttpServer::listen(loop_, {.address = {.socket = socket_path()}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kFailedPrecondition);
  fs::remove(socket_path());
  listen_at_socket();
  // A killed process leaves the socket file.
  const auto again = HttpServer::listen(loop_, {.address = {.socket = socket_path()}});
  EXPECT_TRUE(again);
}

TEST_F(HttpUsers, APortWantsTheToken) {
  listen({.token = "0123456789abcdef", .token_hint = " (see the file)"});
  EXPECT_EQ(status_of(get("/healthz")), 200);
  EXPECT_EQ(body_of(get("/healthz")), "nobody is known");
  for (const char* wrong :
       {"", "Authorization: Bearer\r\n", "Authorization: Bearer 0123456789abcdeX\r\n",
        "Authorization: Bearer 0123456789abcdef0\r\n", "Authorization: Basic 0123456789abcdef\r\n",
        "Authorization: 0123456789abcdef\r\n"}) {
    for (const char* target : {"/who", "/files/stdout", "/healthz/", "/metrics"}) {
      const std::string answer = get(target, wrong);
      EXPECT_EQ(status_of(answer), 401) << wrong << target;
      EXPECT_NE(answer.find("WWW-Authenticate: Bearer"), std::string::npos) << answer;
      EXPECT_NE(answer.find("see the file"), std::string::npos) << answer;
    }
  }
  const std::string with_token = "Authorization: Bearer 0123456789abcdef\r\n";
  EXPECT_EQ(body_of(get("/who", with_token)), text("uid ", geteuid()));
}

TEST_F(HttpUsers, ARefusalSaysWhoMay) {
  listen_at_socket();
  const std::string answer = get("/files/denied");
  EXPECT_EQ(status_of(answer), 403);
  EXPECT_EQ(body_of(answer), "you may not\n  hint: root may\n");
}

// One user may have only a part of all connections; others can still connect.
TEST_F(HttpUsers, AUserHasAQuarterOfTheConnections) {
  if (geteuid() != 0) GTEST_SKIP() << "not run: only root can become another user";
  listen_at_socket(40);
  std::vector<Fd> connections;
  as_user(kNobody, [&] {
    for (int i = 0; i < 30; ++i) connections.push_back(connect_path(socket_path()));
  });
  const auto open = [&] {
    size_t count = 0;
    for (const Fd& fd : connections) {
      char byte = 0;
      if (recv(fd.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0) ++count;
    }
    return count;
  };
  EXPECT_TRUE(run_until(loop_, [&] { return open() == 10; })) << open();
  // Wait until refused connections are closed, or they count in the next step.
  const auto settled = [&] {
    return run_until(loop_, [&] { return server_->connections() == 10; });
  };
  EXPECT_TRUE(settled());
  EXPECT_EQ(get("/who", "", kNobody), "");
  EXPECT_TRUE(settled());
  EXPECT_EQ(status_of(get("/who")), 200);
  EXPECT_TRUE(settled());
  EXPECT_EQ(status_of(get("/who", "", net_test::kOtherUser)), 200);
  connections.clear();
  EXPECT_TRUE(run_until(loop_, [&] { return server_->connections() == 0; }));
  EXPECT_EQ(status_of(get("/who", "", kNobody)), 200);
}

// A link in a sandbox gives no more access than the sandbox's user has.
TEST_F(HttpUsers, FilesAreOpenedWithTheRightsOfAUser) {
  if (geteuid() != 0) GTEST_SKIP() << "not run: only root can be another user for a moment";
  listen_at_socket();
  for (const char* name : {"box/own", "box/root", "box/group"}) {
    dir_.write(name, "bytes");
    fs::permissions(dir_.path() / name, fs::perms::owner_read | fs::perms::group_read);
  }
  ASSERT_EQ(chown((dir_.path() / "box/own").c_str(), kNobody, 0), 0);
  ASSERT_EQ(chown((dir_.path() / "box/group").c_str(), 0, kNobody), 0);
  for (int i = 0; i < 3; ++i) {  // the server's threads become root again each time
    EXPECT_EQ(status_of(get("/files/own", "", kNobody)), 200);
    EXPECT_EQ(status_of(get("/files/group", "", kNobody)), 200);
    EXPECT_EQ(status_of(get("/files/root", "", kNobody)), 403);
    EXPECT_EQ(status_of(get("/files/root")), 200);
  }
  const Result<FilesRoot> root = open_root(dir_.path() / "box");
  ASSERT_TRUE(root);
  ASSERT_EQ(chmod((dir_.path() / "box").c_str(), 0700), 0);
  EXPECT_FALSE(open_confined(*root, "own", FileUser{kNobody, kNobody, {}}));
  EXPECT_TRUE(open_confined(*root, "own"));
}

}  // namespace
}  // namespace proffer::http_users_test
