// One fetch for several runs, and the effect of kills, with the real proffer-fetch.

#include "slave/shell/fetches.h"

#include <atomic>
#include <filesystem>
#include <future>

#include <gtest/gtest.h>

#include "slave/fetcher/sha256.h"
#include "tests/slave_fetcher/archives.h"
#include "tests/support/file_server.h"

namespace proffer::agent {
namespace fetches_test {
namespace {

namespace fs = std::filesystem;
using fetcher::content_of;
using test_support::FileAnswer;
using test_support::FileRequest;
using test_support::FileServer;

std::string programs() {
  return (fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "bin").string();
}

class Files : public testing::Test {
 protected:
  Files()
      : sandboxes_(root_.path()),
        isolator_("a test"),
        supervisor_(
            loop_, sandboxes_, isolator_,
            {.agent = AgentId("a1"), .user = "somebody", .bin_dir = programs()},
            {.on_fetch_ended = [this](const ExecutorExited& exited) { fetches_.ended(exited); }}),
        cache_(root_.path(), {}),
        fetches_(loop_, supervisor_, cache_, {},
                 {.on_fetched =
                      [this](const FilesFetched& fetched) {
                        problems_[fetched.run] = fetched.problem;
                        loop_.stop();
                      },
                  .on_exited =
                      [this](const ExecutorExited& exited) {
                        exited_.insert(exited.run);
                        loop_.stop();
                      }}),
        server_([this](const FileRequest&) -> FileAnswer {
          gate_.wait();
          return {.body = "hello"};
        }) {}
  ~Files() override { open(); }

  void open() {
    if (!std::exchange(is_open_, true)) opened_.set_value();
  }
  // The file has a checksum, so it is cached.
  FetchFiles wants(uint64_t run, const std::string& path = "/x") {
    return {.framework = FrameworkId("f"),
            .executor = ExecutorId(text("e", static_cast<int64_t>(run))),
            .run = run,
            .files = {{.uri = server_.url(path), .sha256 = fetcher::sha256_of("hello")}}};
  }
  void kill(uint64_t run) {
    const KillExecutor kill{FrameworkId("f"), ExecutorId(text("e", static_cast<int64_t>(run))),
                            run};
    supervisor_.kill(kill);
    fetches_.stop(kill);
  }
  // Runs the loop until the condition holds.
  void until(const std::function<bool()>& condition) {
    Timer again(loop_, [this] { loop_.stop(); });
    for (int i = 0; i < 6'000 && !condition(); ++i) {
      again.arm(loop_.now() + milliseconds(10));
      loop_.run();
    }
    EXPECT_TRUE(condition());
  }
  std::string fetched(uint64_t run) const {
    const ExecutorId executor(text("e", static_cast<int64_t>(run)));
    return content_of(sandboxes_.path_of(FrameworkId("f"), executor, run) + "/x");
  }

  fetcher::Folder root_;
  std::promise<void> opened_;
  std::shared_future<void> gate_ = opened_.get_future().share();
  bool is_open_ = false;
  std::map<uint64_t, std::string> problems_;
  std::set<uint64_t> exited_;
  Loop loop_;
  const Sandboxes sandboxes_;
  Isolator isolator_;
  Supervisor supervisor_;
  FileCache cache_;
  Fetches fetches_;
  FileServer server_;
};

TEST_F(Files, ThatSeveralWantAreFetchedOnce) {
  for (const uint64_t run : {1, 2, 3}) fetches_.start(wants(run));
  until([&] { return !server_.requests().empty(); });
  // A run that waits for another run's fetch has no process.
  kill(3);
  EXPECT_TRUE(exited_.contains(3));
  open();
  until([&] { return problems_.size() == 2; });
  EXPECT_EQ(problems_, (std::map<uint64_t, std::string>{{1, ""}, {2, ""}}));
  EXPECT_EQ(fetched(1), "hello");
  EXPECT_EQ(fetched(2), "hello");
  EXPECT_EQ(server_.requests().size(), 1u);
  EXPECT_EQ(fetches_.running(), 0u);
  // The work directories are removed.
  for (const uint64_t run : {1, 2}) {
    const ExecutorId executor(text("e", static_cast<int64_t>(run)));
    EXPECT_FALSE(fs::exists(sandboxes_.path_of(FrameworkId("f"), executor, run) + "/.fetch"));
  }
}

TEST_F(Files, AreFetchedByTheNextWhenTheFirstIsKilled) {
  fetches_.start(wants(1));
  fetches_.start(wants(2));
  until([&] { return !server_.requests().empty(); });
  kill(1);
  until([&] { return exited_.contains(1) && server_.requests().size() == 2; });
  open();
  until([&] { return problems_.contains(2); });
  EXPECT_EQ(problems_.at(2), "");
  EXPECT_EQ(fetched(2), "hello");
}

TEST_F(Files, ThatCannotBeHadAreNamed) {
  open();
  FetchFiles wrong = wants(1);
  wrong.files[0].sha256 = fetcher::sha256_of("other");
  fetches_.start(wrong);
  until([&] { return problems_.contains(1); });
  EXPECT_NE(problems_.at(1).find(wrong.files[0].uri), std::string::npos) << problems_.at(1);
  EXPECT_NE(problems_.at(1).find("sha256"), std::string::npos) << problems_.at(1);
  EXPECT_EQ(fetches_.failed(), 1u);
}

}  // namespace
}  // namespace fetches_test
}  // namespace proffer::agent
