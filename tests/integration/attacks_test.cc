// Attacks by tasks and by other users on a real cluster, to get access that they must not have.

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "common/text.h"
#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

class Attacks : public testing::Test {
 protected:
  static void SetUpTestSuite() { cluster_ = new Cluster({.more = {"--http-port=0"}}); }
  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }

  // The complete HTTP answer of agent-1.
  static std::string get(const std::string& target) {
    return get_http(cluster_->told_by("agent-1", "http"), target);
  }
  static int status_of(const std::string& answer) {
    return answer.size() < 12 ? 0 : std::atoi(answer.c_str() + 9);
  }

  static Cluster* cluster_;
};
Cluster* Attacks::cluster_ = nullptr;

// The task runs as the agent's user, so it may write beside its sandbox. The agent must not serve
// such files, since it did not make them.
TEST_F(Attacks, ATaskMakesItsAgentServeNothingBesideItsSandbox) {
  const std::unique_ptr<Process> run = cluster_->start(
      {"run", "--name", "thief", "--",
       "ln -s stdout inner; ln -s \"$PWD/stdout\" whole; ln -s /etc/passwd out; mkfifo pipe; "
       "ln -s / ../99; mkdir ../98; ln -s /etc/passwd ../98/passwd; "
       "echo \"mine $PROFFER_FRAMEWORK_ID/$PROFFER_TASK_ID\"; exec sleep 1000"});
  const std::optional<std::string> line = run->line_with("mine ");
  ASSERT_TRUE(line) << run->err();
  const std::string files = "/v1/files/" + line->substr(line->find(' ') + 1) + "/";

  for (const char* mine : {"stdout", "inner", "whole"}) {
    const std::string answer = get(files + mine);
    EXPECT_EQ(status_of(answer), 200) << mine << ": " << answer;
    EXPECT_NE(answer.find("mine "), std::string::npos) << mine << ": " << answer;
  }
  for (const char* others : {"etc/passwd", "passwd", "out", "pipe", "99/etc/passwd"}) {
    const std::string answer = get(files + others);
    EXPECT_GE(status_of(answer), 400) << others << ": " << answer;
    EXPECT_LT(status_of(answer), 500) << others << ": " << answer;
  }

  // The agent also refuses if the executor's directory is replaced while the executor runs.
  const std::string sandboxes = cluster_->dir() + "/agent-1/sandboxes/";
  const std::string executor = sandboxes + line->substr(line->find(' ') + 1);
  ASSERT_EQ(std::rename(executor.c_str(), (executor + ".old").c_str()), 0);
  const std::string fake = cluster_->dir() + "/fake";
  const Exit made =
      proffer::test::run({"/bin/sh", "-c",
                          "mkdir '" + fake + "' && for run in 1 2 3 4 5 6 7 8 9; do ln -s / '" +
                              fake + "'/$run; done && ln -s '" + fake + "' '" + executor + "'"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(status_of(get(files + "etc/passwd")), 404);
}

// The task kills its executor, and so itself. The end must not be attributed to its scheduler.
TEST_F(Attacks, ATaskThatEndsItsExecutorIsNotToldAsKilledByItsScheduler) {
  for (const char* signal : {"TERM", "INT", "KILL"}) {
    SCOPED_TRACE(signal);
    const Exit ended = cluster_->proffer(
        {"run", "--json", "--", "kill -" + std::string(signal) + " $PPID; exec sleep 1000"});
    EXPECT_NE(ended.code, 0);
    EXPECT_NE(ended.out.find("\"state\":\"failed\""), std::string::npos) << ended.out;
    EXPECT_NE(ended.out.find("\"reason\":\"executor_ended\""), std::string::npos) << ended.out;
  }
  const Exit told = cluster_->proffer({"run", "--", "kill -TERM $PPID; exec sleep 1000"});
  EXPECT_NE(told.err.find("its executor was sent signal 15 (SIGTERM)"), std::string::npos)
      << told.err;
}

// A page in a browser, under a host name that resolves to 127.0.0.1. It can reach served ports, but
// has no token.
TEST_F(Attacks, AStrangersPageTalksToNoDaemon) {
  const std::string ask = "GET /v1/agents HTTP/1.1\r\nConnection: close\r\n";
  const std::string port = cluster_->told_by("master", "http_port");
  EXPECT_EQ(cluster_->told_by("agent-1", "http_port"), "");
  const std::string evil = "Host: evil.example\r\n\r\n";
  EXPECT_EQ(status_of(ask_http(port, ask + evil)), 421);
  EXPECT_EQ(status_of(ask_http(cluster_->http(), ask + evil)), 421);
  EXPECT_EQ(status_of(get_http(cluster_->http(), "/v1/agents")), 200);
}

// Other users of this machine can reach the port too, but cannot read the token.
TEST_F(Attacks, APortIsForThoseThatHaveTheToken) {
  const std::string port = cluster_->told_by("master", "http_port");
  const std::string path = cluster_->dir() + "/master/http_token";
  struct stat found {};
  ASSERT_EQ(stat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  EXPECT_EQ(status_of(get_http(port, "/healthz")), 200);
  for (const char* target : {"/v1/agents", "/metrics", "/v1/tasks"}) {
    const std::string answer = get_http(port, target);
    EXPECT_EQ(status_of(answer), 401) << target;
    EXPECT_NE(answer.find(path), std::string::npos) << answer;
  }
  const std::string token(trimmed(read_file(path)));
  EXPECT_EQ(status_of(get_http(port, "/v1/agents", "Authorization: Bearer " + token + "\r\n")),
            200);
}

}  // namespace
}  // namespace proffer::test
