// Files of tasks, end to end: from a server of the test, and from this machine.

#include <atomic>
#include <filesystem>
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "proto/json/json.h"
#include "slave/fetcher/sha256.h"
#include "tests/integration/processes.h"
#include "tests/slave_fetcher/archives.h"
#include "tests/support/file_server.h"

namespace proffer::test {
namespace fetch_test {
namespace {

namespace fs = std::filesystem;
using fetcher::sha256_of;
using test_support::FileAnswer;
using test_support::FileRequest;
using test_support::FileServer;
using testing::HasSubstr;

// Holds answers back until the test opens it.
class Gate {
 public:
  void open() {
    if (!is_open_.exchange(true)) opened_.set_value();
  }
  void pass() const { future_.wait(); }

 private:
  std::atomic<bool> is_open_ = false;
  std::promise<void> opened_;
  std::shared_future<void> future_ = opened_.get_future().share();
};

// Opens the gate before the server waits for its answers, also if the test fails.
class OpensAtTheEnd {
 public:
  explicit OpensAtTheEnd(Gate& gate) : gate_(gate) {}
  ~OpensAtTheEnd() { gate_.open(); }
  OpensAtTheEnd(const OpensAtTheEnd&) = delete;
  OpensAtTheEnd& operator=(const OpensAtTheEnd&) = delete;

 private:
  Gate& gate_;
};

TEST(Fetch, FilesAreThereBeforeTheTaskStarts) {
  const TemporaryDirectory own;
  write_file(own / "plain file", "of this machine\n");
  fetcher::write_archive(own / "a.tar.gz", "tar.gz",
                         {{.path = "in/run", .content = "#!/bin/sh\ncat in/data\n", .mode = 0755},
                          {.path = "in/data", .content = "unpacked\n"}});
  fetcher::write_archive(own / "a.zip", "zip", {{.path = "data", .content = "of a zip\n"}});
  const std::string tool = "#!/bin/sh\necho from the tool\n";
  const FileServer server([&](const FileRequest& request) -> FileAnswer {
    if (request.path == "/tool.sh") return {.body = tool};
    return {.body = read_file(own / request.path.substr(1))};
  });
  const Cluster cluster;
  const Exit done = cluster.proffer(
      {"run", "--fetch", text(server.url("/tool.sh"), ",executable,sha256=", sha256_of(tool)),
       "--fetch", server.url("/a.tar.gz,extract"), "--fetch", server.url("/a.zip,extract,name=sub"),
       "--fetch", text("file://", own.path(), "/plain%20file,name=mine"), "--",
       "./tool.sh && in/run && cat sub/data mine && ls -A"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out,
            "from the tool\nunpacked\nof a zip\nof this machine\n"
            "in\nmine\nstderr\nstdout\nsub\ntool.sh\n");
}

TEST(Fetch, AFailureEndsTheTaskAndSaysWhichFileAndWhy) {
  const TemporaryDirectory own;
  fetcher::write_archive(own / "escape.tar", "tar", {{.path = "../../escaped", .content = "x"}});
  fetcher::write_archive(own / "link.tar", "tar", {{.path = "l", .link = "/etc"}});
  const FileServer server([&](const FileRequest& request) -> FileAnswer {
    if (request.path == "/there") return {.body = "hello"};
    return {.status = 404};
  });
  const Cluster cluster;
  const std::pair<std::string, std::string> rows[] = {
      {server.url("/missing"), "the server answered 404"},
      {text(server.url("/there"), ",sha256=", sha256_of("other")), "its sha256 is"},
      {text("file://", own.path(), "/nothing"), "No such file or directory"},
      {text("file://", own.path(), "/escape.tar,extract"), "has '..' in its path"},
      {text("file://", own.path(), "/link.tar,extract"), "link to an absolute path"},
  };
  for (const auto& [file, why] : rows) {
    const Exit failed = cluster.proffer({"run", "--fetch", file, "--", "echo ran"});
    EXPECT_NE(failed.code, 0) << file;
    EXPECT_EQ(failed.out, "") << file;
    EXPECT_THAT(failed.err, HasSubstr("fetch_failed")) << file;
    EXPECT_THAT(failed.err, HasSubstr(file.substr(0, file.find(',')))) << file;
    EXPECT_THAT(failed.err, HasSubstr(why)) << file;
  }
  const Exit wrong = cluster.proffer({"run", "--fetch", "ftp://host/x", "--", "true"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--fetch"));
}

TEST(Fetch, ManyTasksFetchAFileOnce) {
  Gate gate;
  const FileServer server([&](const FileRequest&) -> FileAnswer {
    gate.pass();
    return {.body = "hello\n"};
  });
  const OpensAtTheEnd opens(gate);
  const Cluster cluster;
  const Words command = {
      "run", "--count", "3", "--fetch", text(server.url("/x"), ",sha256=", sha256_of("hello\n")),
      "--",  "cat x"};
  const auto many = cluster.start(command);
  ASSERT_TRUE(eventually([&] { return !server.requests().empty(); }));
  // All three tasks have arrived, so each has asked for the file before the first answer.
  ASSERT_TRUE(eventually(
      [&] { return cluster.proffer({"tasks"}).out.find("run-3") != std::string::npos; }));
  gate.open();
  const Exit done = many->wait();
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(std::count(done.out.begin(), done.out.end(), '\n'), 3) << done.out;
  EXPECT_EQ(cluster.proffer(command).code, 0);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST(Fetch, AKillEndsIt) {
  Gate gate;
  const FileServer server([&](const FileRequest&) -> FileAnswer {
    gate.pass();
    return {.body = "late"};
  });
  const OpensAtTheEnd opens(gate);
  const Cluster cluster;
  const auto task = cluster.start({"run", "--fetch", server.url("/x"), "--", "true"});
  ASSERT_TRUE(eventually([&] { return !server.requests().empty(); }));
  EXPECT_THAT(get_http(cluster.told_by("agent-1", "http"), "/v1/status"),
              HasSubstr("\"fetching\":true"));
  task->kill(SIGINT);
  task->wait();
  EXPECT_TRUE(eventually([&] {
    return get_http(cluster.told_by("agent-1", "http"), "/v1/status").find("fetching") ==
           std::string::npos;
  }));
}

// The restarted agent fetches again.
TEST(Fetch, OutlivesItsAgent) {
  Gate gate;
  std::atomic<int> count = 0;
  const FileServer server([&](const FileRequest&) -> FileAnswer {
    if (++count == 1) gate.pass();
    return {.body = "hello\n"};
  });
  const OpensAtTheEnd opens(gate);
  const Cluster cluster({.resources = "cpus:1;mem:256"});
  std::unique_ptr<Process> agent = cluster.start_agent("big", "cpus:4;mem:1024");
  const auto task =
      cluster.start({"run", "--cpus", "2", "--fetch", server.url("/x"), "--", "cat x"});
  ASSERT_TRUE(eventually([&] { return !server.requests().empty(); }));
  agent->kill(SIGKILL);
  agent->wait();
  agent = cluster.start_agent("big", "cpus:4;mem:1024");
  const Exit done = task->wait();
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, "hello\n");
  EXPECT_EQ(server.requests().size(), 2u);
  agent->kill(SIGTERM);
  agent->wait();
}

TEST(Fetch, IsBounded) {
  const FileServer server(
      [&](const FileRequest&) -> FileAnswer { return {.body = std::string(2 << 20, 'x')}; });
  const Cluster cluster({.resources = "cpus:1;mem:256"});
  const auto agent = cluster.start_agent("big", "cpus:4;mem:1024", {"--fetch_max=1"});
  const Exit failed =
      cluster.proffer({"run", "--cpus", "2", "--fetch", server.url("/x"), "--", "cat x"});
  EXPECT_NE(failed.code, 0);
  EXPECT_THAT(failed.err, HasSubstr("larger than the 1 MiB"));
  agent->kill(SIGTERM);
  agent->wait();
}

TEST(Fetch, OfABatchJob) {
  const TemporaryDirectory own;
  write_file(own / "input", "a\nb\n");
  write_file(own / "words", "from a file\n");
  const Cluster cluster({.batch = true});
  const Exit done = cluster.proffer({"batch", "run", "--map", "cat words", "--reducers", "0",
                                     "--input", own / "input", "--output", own / "out", "--fetch",
                                     text("file://", own.path(), "/words")});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(run({"sh", "-c", "cat " + (own / "out/part*")}).out, "from a file\n");
}

TEST(Fetch, OfAnApp) {
  const TemporaryDirectory own;
  fetcher::write_archive(own / "a.tar.gz", "tar.gz",
                         {{.path = "in/data", .content = "unpacked\n"}});
  const std::string tool = text("#!/bin/sh\ncat in/data > ", own / "out", "\nexec sleep 1000\n");
  const FileServer server([&](const FileRequest& request) -> FileAnswer {
    if (request.path == "/tool.sh") return {.body = tool};
    return {.body = read_file(own / request.path.substr(1))};
  });
  const Cluster cluster({.service = true});
  const auto file = [&](const std::string& sum) {
    const std::string path = own / "app.yaml";
    write_file(path,
               text("name: app\ncommand: exec ./tool.sh\nfetch:\n- ", server.url("/tool.sh"),
                    ",executable,sha256=", sum, "\n- ", server.url("/a.tar.gz,extract"), "\n"));
    return path;
  };
  const Exit applied = cluster.proffer({"service", "apply", file(sha256_of(tool)), "--wait"});
  EXPECT_EQ(applied.code, 0) << applied.err;
  EXPECT_EQ(read_file(own / "out"), "unpacked\n");
  // Content that does not match its checksum is not started; the old version stays.
  const Exit bad =
      cluster.proffer({"service", "apply", file(sha256_of("other")), "--wait"}, Seconds(120));
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.err, HasSubstr(server.url("/tool.sh")));
  EXPECT_THAT(bad.err, HasSubstr("its sha256 is"));
  EXPECT_THAT(bad.err, HasSubstr("rolls back to version 1"));
  const Exit wrong = cluster.proffer({"service", "apply", file("5f2c")});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("line 4: fetch: "));
}

}  // namespace
}  // namespace fetch_test
}  // namespace proffer::test
