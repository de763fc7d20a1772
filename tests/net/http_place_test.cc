// An agent's address for clients may come from another machine, so it is not trusted.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/http_get.h"
#include "tests/net/support.h"

namespace proffer {
namespace {

// A server on this machine gets no token and not even a connection.
TEST(HttpPlace, APinOrATokenGoesToNoUnixSocket) {
  const net_test::TempDir folder;
  const std::string path = folder.path() / "docker.sock";
  const Fd server(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  ASSERT_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(bind(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(server.get(), 5), 0);
  for (const HttpPlace& place : {HttpPlace{.address = path, .pin = std::string(44, 'A')},
                                 HttpPlace{.address = path, .token = "t"}}) {
    const Result<HttpGet> begun = HttpGet::start(place, "/v1/files/f/t/stdout", nullptr);
    ASSERT_FALSE(begun);
    EXPECT_EQ(begun.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_LT(accept(server.get(), nullptr, nullptr), 0);
  }
  EXPECT_TRUE(HttpGet::start({.address = path}, "/", nullptr));
  EXPECT_GE(Fd(accept(server.get(), nullptr, nullptr)).get(), 0);
}

}  // namespace
}  // namespace proffer
