// The files that a task fetches: their names in its sandbox, and which of them are shared in the
// cache.

#include "proto/fetched_files.h"

#include <gtest/gtest.h>

#include "common/text.h"

namespace proffer::proto {
namespace fetched_files_test {
namespace {

const std::string kSum(64, 'a');

TEST(FetchedFiles, AreWrittenWithTheirOptions) {
  const std::string whole =
      text("http://host/a,b?c,d,sha256=", kSum, ",name=mine,executable,uncached");
  const Result<FetchedFile> file = parse_fetched_file(whole);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(*file, (FetchedFile{.uri = "http://host/a,b?c,d",
                                .sha256 = kSum,
                                .name = "mine",
                                .is_executable = true,
                                .is_cached = false}));
  EXPECT_EQ(to_text(*file), whole);
  EXPECT_EQ(*parse_fetched_file("file:///a.zip,extract"),
            (FetchedFile{.uri = "file:///a.zip", .is_extracted = true}));
  for (const char* wrong : {"", ",extract", "x,extract", "http://host/", "http://host/a,sha256=1",
                            "http://host/a,executable,extract", "http://host/a,name=b/c"}) {
    EXPECT_FALSE(parse_fetched_file(wrong)) << wrong;
  }
}

TEST(FetchedFiles, HaveTheLastPartOfTheUriAsName) {
  EXPECT_EQ(stored_name({.uri = "http://host/a/b%20c?x=1"}), "b c");
  EXPECT_EQ(stored_name({.uri = "http://host/a", .name = "mine"}), "mine");
  EXPECT_EQ(stored_name({.uri = "http://host/a.zip", .is_extracted = true}), "");
  EXPECT_EQ(stored_name({.uri = "http://host/a.zip", .name = "sub", .is_extracted = true}), "sub");
}

// A file that only one user may read must not reach another user through the cache.
TEST(FetchedFiles, AreSharedIfTheirSumIsKnownAndNoUserIsInvolved) {
  EXPECT_TRUE(is_shareable({.uri = "https://host/a", .sha256 = kSum}));
  EXPECT_FALSE(is_shareable({.uri = "https://host/a"}));
  EXPECT_FALSE(is_shareable({.uri = "https://user:secret@host/a", .sha256 = kSum}));
  EXPECT_FALSE(is_shareable({.uri = "file:///home/user/a", .sha256 = kSum}));
  EXPECT_FALSE(is_shareable({.uri = "https://host/a", .sha256 = kSum, .is_cached = false}));
}

TEST(FetchedFiles, AreCheckedTogether) {
  EXPECT_TRUE(check_fetched_files({}));
  EXPECT_TRUE(check_fetched_files({{.uri = "http://host/a"}, {.uri = "http://host/b"}}));
  EXPECT_TRUE(check_fetched_files({{.uri = "http://host/a.zip", .is_extracted = true},
                                   {.uri = "http://host/a.zip", .is_extracted = true}}));
  EXPECT_FALSE(check_fetched_files({{.uri = "http://host/a"}, {.uri = "http://host/x/a"}}));
  EXPECT_FALSE(check_fetched_files({{.uri = "http://host/..%2fx"}}));
  EXPECT_FALSE(check_fetched_files({{.uri = "http://host/a", .sha256 = "A"}}));
  std::vector<FetchedFile> long_ones;
  for (int i = 0; i < 9; ++i) {
    long_ones.push_back(
        {.uri = "http://host/" + std::string(4'000, 'x'), .name = std::to_string(i)});
  }
  EXPECT_FALSE(check_fetched_files(long_ones));
  EXPECT_FALSE(check_fetched_files(std::vector<FetchedFile>(65, {.uri = "file:///a"})));
}

}  // namespace
}  // namespace fetched_files_test
}  // namespace proffer::proto
