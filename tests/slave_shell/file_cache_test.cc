// A fetched file is kept for other tasks only if it matches its checksum; the least recently used
// file is removed first.

#include "slave/shell/file_cache.h"

#include <future>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "slave/fetcher/plan.h"
#include "slave/fetcher/sha256.h"
#include "tests/slave_fetcher/archives.h"

namespace proffer::agent {
namespace file_cache_test {
namespace {

namespace fs = std::filesystem;
using fetcher::content_of;
using fetcher::Folder;

class Cache : public testing::Test {
 protected:
  // A sandbox in which a fetch left `content` under the key of `claimed`.
  std::string sandbox_with(const std::string& name, const std::string& content,
                           const std::string& claimed) {
    const fs::path sandbox = root_.path() / "sandboxes" / name;
    fs::create_directories(sandbox / fetcher::kWorkFolder);
    std::ofstream(sandbox / fetcher::kWorkFolder / key_of(claimed)) << content;
    return sandbox;
  }
  static std::string key_of(const std::string& content) {
    return fetcher::cache_key(fetcher::sha256_of(content), "http://host/x");
  }
  void take_in(FileCache& cache, const std::string& sandbox, const std::string& key) {
    std::promise<void> done;
    cache.take_in({{.sandbox = sandbox, .key = key, .uid = geteuid()}}, [&] { done.set_value(); });
    done.get_future().wait();
  }
  fs::path entry(const std::string& content) const {
    return root_.path() / "cache" / key_of(content);
  }

  Folder root_;
};

TEST_F(Cache, TakesInWhatHasItsSum) {
  FileCache cache(root_.path(), {});
  const std::string sandbox = sandbox_with("s", "hello", "hello");
  EXPECT_FALSE(cache.use(key_of("hello")));
  take_in(cache, sandbox, key_of("hello"));
  EXPECT_TRUE(cache.use(key_of("hello")));
  EXPECT_EQ(content_of(entry("hello")), "hello");
  EXPECT_FALSE(fs::exists(fs::path(sandbox) / fetcher::kWorkFolder));
  // Other users cannot write to the directory, or list it.
  struct stat status {};
  ASSERT_EQ(stat(entry("hello").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0444u);
  ASSERT_EQ(stat(cache.path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0711u);
}

TEST_F(Cache, RefusesWhatIsNotWhatItsNameSays) {
  FileCache cache(root_.path(), {});
  take_in(cache, sandbox_with("wrong", "evil", "hello"), key_of("hello"));
  EXPECT_FALSE(cache.use(key_of("hello")));
  EXPECT_EQ(std::distance(fs::directory_iterator(cache.path()), fs::directory_iterator()), 0);
}

TEST_F(Cache, FollowsNoLinkOfASandbox) {
  FileCache cache(root_.path(), {});
  root_.write("secret", "secret");
  const fs::path by_file = root_.path() / "sandboxes/by_file";
  fs::create_directories(by_file / fetcher::kWorkFolder);
  fs::create_symlink(root_.path() / "secret", by_file / fetcher::kWorkFolder / key_of("secret"));
  take_in(cache, by_file, key_of("secret"));
  EXPECT_FALSE(cache.use(key_of("secret")));

  const fs::path by_folder = root_.path() / "sandboxes/by_folder";
  fs::create_directories(by_folder);
  fs::create_directory(root_.path() / "elsewhere");
  std::ofstream(root_.path() / "elsewhere" / key_of("other")) << "other";
  fs::create_directory_symlink(root_.path() / "elsewhere", by_folder / fetcher::kWorkFolder);
  take_in(cache, by_folder, key_of("other"));
  EXPECT_FALSE(cache.use(key_of("other")));
  EXPECT_EQ(content_of(root_.path() / "elsewhere" / key_of("other")), "other");
}

TEST_F(Cache, RefusesAFileOfAnotherUser) {
  FileCache cache(root_.path(), {});
  const std::string sandbox = sandbox_with("s", "hello", "hello");
  std::promise<void> done;
  cache.take_in({{.sandbox = sandbox, .key = key_of("hello"), .uid = geteuid() + 1}},
                [&] { done.set_value(); });
  done.get_future().wait();
  EXPECT_FALSE(cache.use(key_of("hello")));
}

TEST_F(Cache, WhatIsUsedLeastRecentlyGoesFirst) {
  const std::string a(100'000, 'a');
  const std::string b(100'000, 'b');
  const std::string c(100'000, 'c');
  FileCache cache(root_.path(), {.bytes_max = 250'000});
  for (const std::string& content : {a, b}) {
    take_in(cache, sandbox_with(content.substr(0, 1), content, content), key_of(content));
  }
  const timespec long_ago[] = {{.tv_sec = 100, .tv_nsec = 0}, {.tv_sec = 100, .tv_nsec = 0}};
  for (const std::string& content : {a, b}) {
    ASSERT_EQ(utimensat(AT_FDCWD, entry(content).c_str(), long_ago, 0), 0);
  }
  EXPECT_TRUE(cache.use(key_of(a)));
  take_in(cache, sandbox_with("c", c, c), key_of(c));
  EXPECT_TRUE(fs::exists(entry(a)));
  EXPECT_FALSE(fs::exists(entry(b)));
  EXPECT_TRUE(fs::exists(entry(c)));
  EXPECT_LE(cache.bytes(), 250'000);
}

TEST_F(Cache, AFullDiskEmptiesIt) {
  {
    FileCache cache(root_.path(), {});
    take_in(cache, sandbox_with("s", "hello", "hello"), key_of("hello"));
    EXPECT_TRUE(cache.use(key_of("hello")));
  }
  FileCache cache(root_.path(), {.disk_reserve = INT64_MAX / 2});
  EXPECT_FALSE(cache.use(key_of("hello")));
  take_in(cache, sandbox_with("t", "hello", "hello"), key_of("hello"));
  EXPECT_FALSE(cache.use(key_of("hello")));
}

TEST_F(Cache, ANewLifeRemovesHalfOfAFile) {
  fs::create_directory(root_.path() / "cache");
  root_.write("cache/~7", "half");
  const FileCache cache(root_.path(), {});
  EXPECT_FALSE(fs::exists(root_.path() / "cache/~7"));
}

TEST_F(Cache, MayBeNone) {
  FileCache cache(root_.path(), {.bytes_max = 0});
  EXPECT_EQ(cache.path(), "");
  EXPECT_FALSE(cache.use("x"));
  EXPECT_FALSE(fs::exists(root_.path() / "cache"));
}

}  // namespace
}  // namespace file_cache_test
}  // namespace proffer::agent
