// Archives of each kind are unpacked unchanged. Entries that lead out of the directory, or that are
// not files, directories or links, are refused.

#include "slave/fetcher/unpack.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/slave_fetcher/archives.h"

namespace proffer::fetcher {
namespace unpack_test {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kPlenty = int64_t{1} << 30;
const char* const kFormats[] = {"tar", "tar.gz", "tar.bz2", "tar.xz", "tar.zst", "zip"};

class Unpack : public testing::Test {
 protected:
  Result<void> unpack_items(const std::string& format, const std::vector<ArchiveItem>& items,
                            int64_t bytes_max = kPlenty) {
    const std::string path = outside_.path() / "archive";
    write_archive(path, format, items);
    return unpack_file(path, bytes_max);
  }
  Result<void> unpack_file(const std::string& path, int64_t bytes_max = kPlenty) {
    const Fd archive(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    Room room(into_.fd(), bytes_max, 0);
    return unpack(archive.get(), into_.fd(), room);
  }
  std::string refusal(const std::string& format, const std::vector<ArchiveItem>& items) {
    const Result<void> done = unpack_items(format, items);
    if (done) return "unpacked";
    EXPECT_EQ(done.error().code(), ErrorCode::kInvalidArgument) << done.error().message();
    return done.error().message();
  }
  mode_t mode_of(const std::string& name) const {
    struct stat status {};
    EXPECT_EQ(lstat((into_.path() / name).c_str(), &status), 0) << name;
    return status.st_mode & 07777;
  }

  Folder outside_;
  Folder into_;
};

TEST_F(Unpack, EachKindAsItWasPacked) {
  const std::string large(700'000, 'x');
  for (const char* format : kFormats) {
    SCOPED_TRACE(format);
    const Result<void> done =
        unpack_items(format, {{.path = "./", .mode = 0755, .type = AE_IFDIR},
                              {.path = "top.txt", .content = "top"},
                              {.path = "bin/", .mode = 0755, .type = AE_IFDIR},
                              {.path = "bin/run", .content = "#!/bin/sh\n", .mode = 0755},
                              {.path = "deep/er/file", .content = large},
                              {.path = "deep/link", .link = "../top.txt"},
                              {.path = "empty", .content = ""}});
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(content_of(into_.path() / "top.txt"), "top");
    EXPECT_EQ(content_of(into_.path() / "deep/er/file"), large);
    EXPECT_EQ(content_of(into_.path() / "deep/link"), "top");
    EXPECT_TRUE(fs::is_symlink(into_.path() / "deep/link"));
    EXPECT_EQ(mode_of("bin/run"), 0755u);
    EXPECT_EQ(mode_of("top.txt"), 0644u);
    EXPECT_EQ(fs::file_size(into_.path() / "empty"), 0u);
  }
}

TEST_F(Unpack, HardLinksWithinTheArchive) {
  const Result<void> done = unpack_items(
      "tar", {{.path = "a/one", .content = "1"}, {.path = "b/two", .hard_link = "a/one"}});
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(fs::hard_link_count(into_.path() / "b/two"), 2u);
}

TEST_F(Unpack, PathsOutOfTheFolderAreRefused) {
  for (const char* format : {"tar", "zip"}) {
    for (const char* path : {"../escaped", "a/../../escaped", "a/..", "/tmp/escaped", ".."}) {
      SCOPED_TRACE(std::string(format) + " " + path);
      EXPECT_NE(refusal(format, {{.path = path, .content = "x"}}), "unpacked");
    }
  }
  EXPECT_FALSE(fs::exists(into_.path().parent_path() / "escaped"));
}

TEST_F(Unpack, NamesThatTheAgentNeedsAreRefused) {
  for (const char* path : {"stdout", "./stderr", ".fetch/x"}) {
    EXPECT_NE(refusal("tar", {{.path = path, .content = "x"}}), "unpacked") << path;
  }
  EXPECT_TRUE(unpack_items("tar", {{.path = "sub/stdout", .content = "x"}}));
}

TEST_F(Unpack, LinksOutOfTheFolderAreRefused) {
  for (const char* format : {"tar", "zip"}) {
    for (const char* target : {"/etc/passwd", "..", "../x", "d/../../x", "../../x", "d/.."}) {
      SCOPED_TRACE(std::string(format) + " " + target);
      EXPECT_NE(refusal(format, {{.path = "l", .link = target}}), "unpacked");
    }
    EXPECT_NE(refusal(format, {{.path = "one/two/l", .link = "../../../x"}}), "unpacked");
  }
}

// `inner/up` leads to the directory itself, so "inner/up/.." would lead out of it.
TEST_F(Unpack, ChainsOfLinksDoNotLeadOut) {
  EXPECT_NE(
      refusal("tar", {{.path = "inner/up", .link = ".."}, {.path = "out", .link = "inner/up/.."}}),
      "unpacked");
}

TEST_F(Unpack, NothingIsWrittenThroughALink) {
  outside_.write("victim", "untouched");
  fs::create_directory_symlink(outside_.path(), into_.path() / "door");
  fs::create_symlink(outside_.path() / "victim", into_.path() / "file");
  EXPECT_NE(refusal("tar", {{.path = "door/victim", .content = "x"}}), "unpacked");
  EXPECT_NE(refusal("tar", {{.path = "door/", .type = AE_IFDIR}}), "unpacked");
  EXPECT_NE(refusal("tar", {{.path = "mine", .hard_link = "door/victim"}}), "unpacked");
  EXPECT_NE(refusal("tar", {{.path = "mine", .hard_link = "file"}}), "unpacked");
  EXPECT_NE(refusal("tar", {{.path = "l", .link = "d"}, {.path = "l/x", .content = "x"}}),
            "unpacked");
  // A link in the place of a file is replaced.
  EXPECT_TRUE(unpack_items("tar", {{.path = "file", .content = "x"}}));
  EXPECT_EQ(content_of(outside_.path() / "victim"), "untouched");
}

TEST_F(Unpack, HardLinksToWhatIsOutsideAreRefused) {
  outside_.write("victim", "untouched");
  for (const std::string& target :
       {(outside_.path() / "victim").string(), std::string("../x"), std::string("nothing")}) {
    EXPECT_NE(refusal("tar", {{.path = "mine", .hard_link = target}}), "unpacked") << target;
  }
}

TEST_F(Unpack, DevicesAndPipesAreRefused) {
  for (const int type : {AE_IFCHR, AE_IFBLK, AE_IFIFO}) {
    EXPECT_NE(refusal("tar", {{.path = "special", .type = type}}), "unpacked") << type;
  }
  EXPECT_FALSE(fs::exists(into_.path() / "special"));
}

TEST_F(Unpack, BitsForOthersAreNotTakenOver) {
  ASSERT_TRUE(unpack_items("tar", {{.path = "setuid", .content = "x", .mode = 06777},
                                   {.path = "closed", .content = "x", .mode = 0}}));
  EXPECT_EQ(mode_of("setuid"), 0755u);
  EXPECT_EQ(mode_of("closed"), 0600u);
}

TEST_F(Unpack, IsBounded) {
  for (const char* format : {"tar.gz", "zip"}) {
    const Result<void> done =
        unpack_items(format, {{.path = "bomb", .content = std::string(5'000'000, '\0')}}, 1 << 20);
    ASSERT_FALSE(done) << format;
    EXPECT_EQ(done.error().code(), ErrorCode::kResourceExhausted);
  }
}

TEST_F(Unpack, WhatIsNoArchiveIsRefused) {
  outside_.write("text", "This is a text that is no archive at all.\n");
  EXPECT_FALSE(unpack_file(outside_.path() / "text"));
  write_archive(outside_.path() / "whole", "tar.gz",
                {{.path = "a", .content = std::string(100'000, 'x')}});
  const std::string whole = content_of(outside_.path() / "whole");
  outside_.write("half", whole.substr(0, whole.size() / 2));
  EXPECT_FALSE(unpack_file(outside_.path() / "half"));
}

}  // namespace
}  // namespace unpack_test
}  // namespace proffer::fetcher
