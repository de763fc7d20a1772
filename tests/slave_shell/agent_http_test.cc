// The addresses of an agent's HTTP, and those that others get for reading its files.

#include "slave/shell/agent_http.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/with_directory.h"

namespace proffer::agent::agent_http_test {
namespace {

class AgentsHttp : public test::WithDirectory {
 protected:
  std::unique_ptr<AgentHttp> listen(std::optional<uint16_t> https_port) {
    Result<std::unique_ptr<AgentHttp>> made = AgentHttp::listen(
        loop_,
        {.agent = "a1",
         .socket = root_ / "executors.sock",
         .directory = root_,
         .https_port = https_port,
         .https_host = "here.example",
         .connections_max = 10},
        {.on_request = [](const HttpRequest& request,
                          HttpResponder responder) { responder.respond_text(200, request.path); },
         .resolve = [](std::string_view, const PrincipalPtr&) -> Result<ServedPath> {
           return Error::not_found("no file");
         },
         .on_refused = [](RefusedBearer) {}});
    EXPECT_TRUE(made) << made.error().message();
    return made ? *std::move(made) : nullptr;
  }

  Loop loop_;
};

TEST_F(AgentsHttp, WithoutTlsNothingIsToldOfFiles) {
  const auto http = listen(std::nullopt);
  EXPECT_EQ(http->files(), proto::FileService());
  EXPECT_EQ(http->https_address(), "");
  EXPECT_EQ(http->port(), "");
  EXPECT_TRUE(http->address().starts_with(root_.string())) << http->address();
}

TEST_F(AgentsHttp, OthersAreToldTheNameThatWasGivenAndTheRealPort) {
  const auto http = listen(uint16_t{0});
  EXPECT_TRUE(http->https_address().starts_with("here.example:")) << http->https_address();
  EXPECT_FALSE(http->https_address().ends_with(":0")) << http->https_address();
  EXPECT_EQ(http->files().address, http->https_address());
}

// Tokens from an earlier run give no access, and no other process can act as the agent.
TEST_F(AgentsHttp, TheKeysOfEachLifeAreItsOwn) {
  const proto::FileService before = listen(uint16_t{0})->files();
  const proto::FileService after = listen(uint16_t{0})->files();
  EXPECT_NE(before.pin, after.pin);
  EXPECT_NE(before.token_key, after.token_key);
}

}  // namespace
}  // namespace proffer::agent::agent_http_test
