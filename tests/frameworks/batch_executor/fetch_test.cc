// How a reducer fetches map outputs, and its errors.

#include "frameworks/batch/executor/fetch.h"

#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "common/prng.h"
#include "tests/frameworks/batch_executor/batch_task.h"

namespace proffer::batch::task_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Fetch : public BatchTask {};

TEST_F(Fetch, TellsWhichMapOutputsItCannotGet) {
  ASSERT_TRUE(map(map_of("cat", "x\n")).result);
  // Map 1 is not on that agent; the agent of maps 2 and 3 does not answer, since its port was
  // closed again.
  Result<std::unique_ptr<HttpServer>> gone =
      HttpServer::listen(loop_, {.address = {"127.0.0.1", 0}, .handler = {}, .files = {}});
  ASSERT_TRUE(gone);
  const std::string nobody = text("127.0.0.1:", (*gone)->port());
  gone->reset();
  ReduceWork work = reduce_of("cat", 0, 2);
  work.addresses.push_back(nobody);
  work.maps.push_back({.agent = 1, .attempt = 4});
  work.maps.push_back({.agent = 1, .attempt = 5});
  const TaskOutcome outcome = reduce(work);
  EXPECT_FALSE(outcome.result);
  EXPECT_THAT(outcome.failure.fetch_failed,
              ElementsAre(MapAttempt{1, 1}, MapAttempt{2, 4}, MapAttempt{3, 5}));
  EXPECT_THAT(outcome.message, HasSubstr("cannot fetch 3 map outputs"));
}

TEST_F(Fetch, NoticesADamagedMapOutput) {
  ASSERT_TRUE(map(map_of("cat", "some text\n")).result);
  std::string damaged = contents(root_ / "job-1.map-00000-1/map.out");
  damaged[3] = 'X';
  put(root_ / "job-1.map-00000-1/map.out", damaged);
  EXPECT_THAT(reduce(reduce_of("cat", 0, 1)).failure.fetch_failed, ElementsAre(MapAttempt{0, 1}));
  fs::resize_file(root_ / "job-1.map-00000-1/map.out", 4);
  EXPECT_THAT(reduce(reduce_of("cat", 0, 1)).failure.fetch_failed, ElementsAre(MapAttempt{0, 1}));
}

// A proxy for a server that closes each connection after this many bytes of its answers.
class BreakingProxy {
 public:
  BreakingProxy(uint16_t server, size_t bytes_each) : server_(server), bytes_each_(bytes_each) {
    listener_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in place = loopback(0);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&place), sizeof place), 0);
    EXPECT_EQ(::listen(listener_.get(), 16), 0);
    socklen_t size = sizeof place;
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&place), &size);
    port_ = ntohs(place.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~BreakingProxy() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  uint16_t port() const { return port_; }
  size_t passed() const { return passed_; }

 private:
  static sockaddr_in loopback(uint16_t port) {
    sockaddr_in place = {};
    place.sin_family = AF_INET;
    place.sin_port = htons(port);
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return place;
  }
  void serve() {
    for (;;) {
      const Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (client.get() < 0) return;
      const Fd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      sockaddr_in place = loopback(server_);
      if (::connect(server.get(), reinterpret_cast<sockaddr*>(&place), sizeof place) != 0) return;
      std::string buffer(16 * 1024, '\0');
      const ssize_t asked = ::read(client.get(), buffer.data(), buffer.size());
      if (asked <= 0) continue;
      if (!write_all(server.get(), std::string_view(buffer.data(), static_cast<size_t>(asked)))
               .ok()) {
        continue;
      }
      for (size_t room = bytes_each_; room > 0;) {
        const ssize_t got = ::read(server.get(), buffer.data(), std::min(room, buffer.size()));
        if (got <= 0) break;
        room -= static_cast<size_t>(got);
        passed_ += static_cast<size_t>(got);
        if (!write_all(client.get(), std::string_view(buffer.data(), static_cast<size_t>(got)))
                 .ok()) {
          break;
        }
      }
    }
  }

  const uint16_t server_;
  const size_t bytes_each_;
  uint16_t port_ = 0;
  Fd listener_;
  std::atomic<size_t> passed_ = 0;
  std::thread thread_;
};

// Each connection transfers a part; verified blocks are not fetched again.
TEST_F(Fetch, GoesOnFetchingWhereAConnectionBroke) {
  std::string input;
  Prng random(12);
  while (input.size() < 500'000) input += text(random.next(), "\n");
  ASSERT_TRUE(map(map_of("cat", input)).result);
  const size_t size = fs::file_size(root_ / "job-1.map-00000-1/map.out");
  // More breaks than a fetch without progress may have.
  BreakingProxy proxy(server_->port(), 35'000);
  ASSERT_GT(size, 5u * 35'000u);
  ReduceWork work = reduce_of("cat", 0, 1);
  work.addresses = {text("127.0.0.1:", proxy.port())};
  const TaskOutcome outcome = reduce(work);
  ASSERT_TRUE(outcome.result) << outcome.message;
  std::vector<std::string> expected = lines_of(input);
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(lines_of(part(0)), expected);
  EXPECT_LT(proxy.passed(), 2 * size);
}

// The kernel accepts connections for a stopped agent, which never answers.
TEST_F(Fetch, GivesUpAnAgentThatStandsStillForAllOfItsMaps) {
  ASSERT_TRUE(map(map_of("cat", "x\n")).result);
  const Fd stopped_agent(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in place = {};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(stopped_agent.get(), reinterpret_cast<sockaddr*>(&place), sizeof place), 0);
  ASSERT_EQ(::listen(stopped_agent.get(), 512), 0);
  socklen_t size = sizeof place;
  ::getsockname(stopped_agent.get(), reinterpret_cast<sockaddr*>(&place), &size);
  fs::create_directories(root_ / "share");
  constexpr uint32_t kSilent = 40;
  FetchPlan plan{.framework = "f",
                 .job = JobId("job-1"),
                 .addresses = {text("127.0.0.1:", ntohs(place.sin_port)), address()},
                 .own = {.http_address = address()},
                 .directory = (root_ / "share").string(),
                 .silence_max = std::chrono::milliseconds(20)};
  plan.maps.push_back({.agent = 1, .attempt = 1});
  for (uint32_t i = 0; i < kSilent; ++i) plan.maps.push_back({.agent = 0, .attempt = 1});

  const Fetched fetched = fetch_share(plan, stopped_);

  EXPECT_EQ(fetched.missing.size(), kSilent);
  EXPECT_THAT(fetched.why, HasSubstr("its agent is silent"));
  int tries = 0;
  while (Fd(::accept4(stopped_agent.get(), nullptr, nullptr, SOCK_CLOEXEC)).get() >= 0) ++tries;
  EXPECT_LE(tries, 4 * 2);  // two tries per thread, not two per map
}

}  // namespace
}  // namespace proffer::batch::task_test
