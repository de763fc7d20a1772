#include "cli/proxy_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proffer::cli::proxy_template_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Servers kServers = {
    {"web",
     {{.instance = "web.1.0-a", .slot = 0, .host = "10.0.0.1", .ports = {{"http", 31'000}}},
      {.instance = "web.1.1-b", .slot = 1, .host = "h2", .ports = {{"http", 31'001}}},
      {.instance = "web.1.2-c", .slot = 2, .host = "h3", .ports = {{"admin", 1}}}}}};

TEST(ProxyTemplate, IsFilledWithTheServersOfEachApp) {
  const auto made = ProxyTemplate::parse(
      "backend web\n"
      "  #! each web http: server s~{slot} ~{host}:~{port} check # ~{instance} ~{other}\n"
      "backend api\n"
      "  #! each api http: server ~{instance} ~{host}:~{port}");
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_THAT(made->apps(), ElementsAre("api", "web"));
  EXPECT_EQ(made->fill(kServers),
            "backend web\n"
            "  #! each web http: server s~{slot} ~{host}:~{port} check # ~{instance} ~{other}\n"
            "  server s0 10.0.0.1:31000 check # web.1.0-a ~{other}\n"
            "  server s1 h2:31001 check # web.1.1-b ~{other}\n"
            "backend api\n"
            "  #! each api http: server ~{instance} ~{host}:~{port}\n");
}

TEST(ProxyTemplate, SaysWhichLineIsWrong) {
  for (const char* wrong : {"a\n#! each web: server\n", "a\n  #! each web http server\n",
                            "a\n#! every web http: x\n", "a\n#!\n"}) {
    const auto made = ProxyTemplate::parse(wrong);
    ASSERT_FALSE(made) << wrong;
    EXPECT_THAT(made.error().message(), HasSubstr("line 2: '#!")) << wrong;
    EXPECT_THAT(made.error().hint(), HasSubstr("as in: #! each web http: server"));
  }
  EXPECT_EQ(ProxyTemplate::parse("backend web\n").error().message(),
            "the template has no line for servers");
}

}  // namespace
}  // namespace proffer::cli::proxy_template_test
