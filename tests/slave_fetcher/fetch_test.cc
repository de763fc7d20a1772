// Files of tasks: from this machine, from a server that may break off, and from the cache.

#include "slave/fetcher/fetch.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "slave/fetcher/sha256.h"
#include "tests/slave_fetcher/archives.h"
#include "tests/support/file_server.h"

namespace proffer::fetcher {
namespace fetch_test {
namespace {

namespace fs = std::filesystem;
using test_support::FileAnswer;
using test_support::FileRequest;
using test_support::FileServer;

constexpr int64_t kPlenty = int64_t{1} << 30;

class Fetch : public testing::Test {
 protected:
  Result<void> fetch(std::vector<Item> items, int64_t bytes_max = kPlenty) {
    const Plan plan{.items = std::move(items), .cache = cache_.path(), .bytes_max = bytes_max};
    TransferOptions options;
    options.wait_millis = {1, 1, 1};
    return fetch_all(plan, sandbox_.fd(), options);
  }
  std::string why(std::vector<Item> items, int64_t bytes_max = kPlenty) {
    const Result<void> done = fetch(std::move(items), bytes_max);
    return done ? "" : done.error().message();
  }
  std::string file(const std::string& name) const { return content_of(sandbox_.path() / name); }

  Folder source_;
  Folder cache_;
  Folder sandbox_;
};

std::string some_bytes(size_t size) {
  std::string bytes;
  for (size_t i = 0; bytes.size() < size; ++i) bytes += std::to_string(i * i) + ",";
  return bytes.substr(0, size);
}

TEST_F(Fetch, FilesOfThisMachine) {
  source_.write("a b", "hello");
  const std::string uri = text("file://", source_.path().string(), "/a%20b");
  ASSERT_EQ(why({{.uri = uri, .sha256 = sha256_of("hello"), .name = "copy"},
                 {.uri = uri, .name = "run", .executable = true}}),
            "");
  EXPECT_EQ(file("copy"), "hello");
  EXPECT_EQ(sandbox_.names(), (std::vector<std::string>{"copy", "run"}));
  struct stat status {};
  ASSERT_EQ(stat((sandbox_.path() / "run").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0755u);
}

TEST_F(Fetch, WhatCannotBeReadIsToldWithItsUri) {
  const std::string uri = text("file://", source_.path().string(), "/missing");
  const std::string told = why({{.uri = uri, .name = "x"}});
  EXPECT_NE(told.find(uri), std::string::npos) << told;
  EXPECT_NE(told.find("No such file"), std::string::npos) << told;
  EXPECT_NE(why({{.uri = text("file://", source_.path().string()), .name = "x"}}), "");
  ASSERT_EQ(mkfifo((source_.path() / "pipe").c_str(), 0600), 0);
  EXPECT_NE(why({{.uri = text("file://", source_.path().string(), "/pipe"), .name = "x"}}), "");
  EXPECT_NE(why({{.uri = "file:///dev/zero", .name = "x"}}), "");
}

TEST_F(Fetch, AWrongSumIsTold) {
  source_.write("a", "hello");
  const std::string told = why({{.uri = text("file://", source_.path().string(), "/a"),
                                 .sha256 = sha256_of("other"),
                                 .name = "x"}});
  EXPECT_NE(told.find(sha256_of("hello")), std::string::npos) << told;
  EXPECT_FALSE(fs::exists(sandbox_.path() / "x"));
}

TEST_F(Fetch, OverHttpWithRedirects) {
  const std::string bytes = some_bytes(300'000);
  const FileServer server([&](const FileRequest& request) -> FileAnswer {
    if (request.path == "/moved") return {.status = 302, .headers = "Location: /here\r\n"};
    if (request.path == "/round") return {.status = 302, .headers = "Location: /round\r\n"};
    if (request.path == "/file")
      return {.status = 302, .headers = "Location: file:///etc/hosts\r\n"};
    if (request.path == "/here") return {.body = bytes};
    return {.status = 404, .body = "nothing"};
  });
  EXPECT_EQ(why({{.uri = server.url("/moved"), .sha256 = sha256_of(bytes), .name = "x"}}), "");
  EXPECT_EQ(file("x"), bytes);
  EXPECT_NE(why({{.uri = server.url("/round"), .name = "y"}}), "");
  EXPECT_NE(why({{.uri = server.url("/file"), .name = "y"}}), "");
  const size_t before = server.requests().size();
  const std::string told = why({{.uri = server.url("/missing"), .name = "y"}});
  EXPECT_NE(told.find("404"), std::string::npos) << told;
  EXPECT_EQ(server.requests().size(), before + 1);  // it is not retried
  EXPECT_FALSE(fs::exists(sandbox_.path() / "y"));
}

// The answer for a file; it breaks off after a third if `is_broken`.
FileAnswer broken_answer(const std::string& bytes, const FileRequest& request, bool is_broken,
                         const std::string& etag) {
  const bool is_same = request.from > 0 && request.if_range == etag;
  const std::string rest = is_same ? bytes.substr(static_cast<size_t>(request.from)) : bytes;
  FileAnswer answer{.status = is_same ? 206 : 200,
                    .headers = text("ETag: ", etag, "\r\n"),
                    .body = is_broken ? rest.substr(0, rest.size() / 3) : rest,
                    .length = rest.size()};
  if (is_same) {
    answer.headers +=
        text("Content-Range: bytes ", request.from, "-", static_cast<int64_t>(bytes.size()) - 1,
             "/", static_cast<int64_t>(bytes.size()), "\r\n");
  }
  return answer;
}

TEST_F(Fetch, GoesOnWhereATransferBroke) {
  const std::string bytes = some_bytes(300'000);
  std::atomic<int> count = 0;
  const FileServer server([&](const FileRequest& request) {
    return broken_answer(bytes, request, ++count < 3, "\"v1\"");
  });
  ASSERT_EQ(why({{.uri = server.url("/x"), .sha256 = sha256_of(bytes), .name = "x"}}), "");
  EXPECT_EQ(file("x"), bytes);
  const std::vector<FileRequest> requests = server.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[1].from, 100'000);
  EXPECT_GT(requests[2].from, 100'000);
}

TEST_F(Fetch, BeginsAnewIfTheFileHasChanged) {
  const std::string before = some_bytes(300'000);
  const std::string after = some_bytes(200'001);
  std::atomic<int> count = 0;
  const FileServer server([&](const FileRequest& request) {
    const bool is_first = ++count == 1;
    return broken_answer(is_first ? before : after, request, is_first,
                         is_first ? "\"v1\"" : "\"v2\"");
  });
  ASSERT_EQ(why({{.uri = server.url("/x"), .name = "x"}}), "");
  EXPECT_EQ(file("x"), after);
}

TEST_F(Fetch, BeginsAnewIfTheServerDoesNotSayThatItIsTheSame) {
  const std::string bytes = some_bytes(300'000);
  std::atomic<int> count = 0;
  const FileServer server([&](const FileRequest&) -> FileAnswer {
    if (++count == 1) return {.body = bytes.substr(0, 1000), .length = bytes.size()};
    return {.body = bytes};
  });
  ASSERT_EQ(why({{.uri = server.url("/x"), .sha256 = sha256_of(bytes), .name = "x"}}), "");
  EXPECT_EQ(file("x"), bytes);
  EXPECT_EQ(server.requests()[1].from, 0);
}

TEST_F(Fetch, GivesUpAtAServerThatDoesNotRecover) {
  const FileServer server([&](const FileRequest&) -> FileAnswer { return {.status = 503}; });
  const std::string told = why({{.uri = server.url("/x"), .name = "x"}});
  EXPECT_NE(told.find("503"), std::string::npos) << told;
  EXPECT_EQ(server.requests().size(), 4u);
}

TEST_F(Fetch, IsBounded) {
  const std::string bytes = some_bytes(300'000);
  const FileServer server([&](const FileRequest&) -> FileAnswer { return {.body = bytes}; });
  EXPECT_EQ(why({{.uri = server.url("/x"), .name = "x"}}, 300'000), "");
  EXPECT_NE(why({{.uri = server.url("/x"), .name = "x"}}, 299'999), "");
  // The limit is for all files together.
  EXPECT_NE(why({{.uri = server.url("/x"), .name = "x"}, {.uri = server.url("/y"), .name = "y"}},
                400'000),
            "");
}

TEST_F(Fetch, ArchivesAreUnpacked) {
  write_archive(source_.path() / "a.zip", "zip", {{.path = "in/file", .content = "1"}});
  const std::string uri = text("file://", source_.path().string(), "/a.zip");
  ASSERT_EQ(why({{.uri = uri, .extract = true}, {.uri = uri, .name = "sub", .extract = true}}), "");
  EXPECT_EQ(file("in/file"), "1");
  EXPECT_EQ(file("sub/in/file"), "1");
  EXPECT_EQ(sandbox_.names(), (std::vector<std::string>{"in", "sub"}));
}

TEST_F(Fetch, WhatIsCachedIsNotAskedFor) {
  const std::string key = cache_key(sha256_of("cached"), "http://127.0.0.1:1/x");
  cache_.write(key, "cached");
  const Item item{
      .uri = "http://127.0.0.1:1/x", .sha256 = sha256_of("cached"), .name = "x", .key = key};
  ASSERT_EQ(why({item}), "");
  EXPECT_EQ(file("x"), "cached");
}

TEST_F(Fetch, WhatWasAlteredInTheCacheIsFetched) {
  const FileServer server([&](const FileRequest&) -> FileAnswer { return {.body = "right"}; });
  const std::string key = cache_key(sha256_of("right"), server.url("/x"));
  cache_.write(key, "wrong");
  ASSERT_EQ(why({{.uri = server.url("/x"), .sha256 = sha256_of("right"), .name = "x", .key = key}}),
            "");
  EXPECT_EQ(file("x"), "right");
  // For the agent, which moves it into the cache.
  EXPECT_EQ(content_of(sandbox_.path() / kWorkFolder / key), "right");
}

TEST_F(Fetch, WhatAnEarlierTrialLeftIsReplaced) {
  source_.write("a", "new");
  sandbox_.write("x", "old and longer");
  fs::create_directory(sandbox_.path() / kWorkFolder);
  sandbox_.write(std::string(kWorkFolder) + "/0", "half");
  ASSERT_EQ(why({{.uri = text("file://", source_.path().string(), "/a"), .name = "x"}}), "");
  EXPECT_EQ(file("x"), "new");
  EXPECT_EQ(sandbox_.names(), (std::vector<std::string>{"x"}));
}

}  // namespace
}  // namespace fetch_test
}  // namespace proffer::fetcher
