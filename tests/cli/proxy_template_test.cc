#include "cli/proxy_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proffer::cli::proxy_template_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

proto::ServerRow server(const std::string& task, int64_t slot, const std::string& host,
                        const std::map<std::string, uint16_t>& ports) {
  return {.app = "web",
          .task = TaskId(task),
          .agent = AgentId("a"),
          .slot = slot,
          .host = host,
          .ports = ports};
}

const std::vector<proto::ServerRow> kServers = {
    server("web.1.0-a", 0, "10.0.0.1", {{"http", 31'000}}),
    server("web.1.1-b", 1, "h2", {{"http", 31'001}}),
    server("web.1.2-c", 2, "h3", {{"admin", 1}}),   // another port
    server("web.1.3-d", 3, "", {{"http", 31'003}})  // its address is not known
};

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
                            "a\n#! every web http: x\n", "a\n#!\n", "a\n#!: x\n", "a\n#! : x\n",
                            "a\n#! each: x\n", "a\n#! a: b\n", "a\n#! each web http x: s\n"}) {
    const auto made = ProxyTemplate::parse(wrong);
    ASSERT_FALSE(made) << wrong;
    EXPECT_THAT(made.error().message(), HasSubstr("line 2: '#!")) << wrong;
    EXPECT_THAT(made.error().hint(), HasSubstr("for example: #! each web http: server"));
  }
  EXPECT_EQ(ProxyTemplate::parse("backend web\n").error().message(),
            "the template has no line for servers");
}

}  // namespace
}  // namespace proffer::cli::proxy_template_test
