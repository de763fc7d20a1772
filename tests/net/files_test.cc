// Paths that must stay below their root, and byte ranges.

#include "net/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/net/support.h"

namespace proffer::files_test {
namespace {

namespace fs = std::filesystem;
using net_test::TempDir;

// outside/secret, root/{stdout, sub/deep}, and links of all kinds in root.
struct Tree {
  TempDir dir;
  fs::path root = dir.path() / "root";
  Tree() {
    fs::create_directories(root / "sub");
    fs::create_directories(dir.path() / "outside");
    fs::create_directories(dir.path() / "root-twin");
    dir.write("outside/secret", "secret");
    dir.write("root-twin/secret", "secret");
    dir.write("root/stdout", "hello");
    dir.write("root/sub/deep", "deep");
    fs::create_symlink("sub/deep", root / "inner");
    fs::create_symlink(root / "sub", root / "inner_absolute");
    fs::create_symlink("../outside/secret", root / "out");
    fs::create_symlink("../outside", root / "out_dir");
    fs::create_symlink("../root-twin", root / "twin");
    fs::create_symlink("loop", root / "loop");
    fs::create_symlink("/etc/passwd", root / "absolute");
  }
};

TEST(Files, WithinTheRootAreFoundAlsoThroughLinks) {
  const Tree tree;
  for (const std::string path :
       {"stdout", "sub/deep", "inner", "inner_absolute/deep", "sub//deep", "./stdout"}) {
    const Result<OpenFile> file = open_confined(*open_root(tree.root), path);
    ASSERT_TRUE(file) << path << ": " << file.error().message();
    EXPECT_FALSE(file->is_directory);
    EXPECT_GT(file->bytes, 0) << path;
  }
  for (const std::string path : {"", ".", "sub", "inner_absolute", "sub/"}) {
    const Result<OpenFile> file = open_confined(*open_root(tree.root), path);
    ASSERT_TRUE(file) << path << ": " << file.error().message();
    EXPECT_TRUE(file->is_directory) << path;
  }
}

TEST(Files, OutsideTheRootAreNeverOpened) {
  const Tree tree;
  const struct {
    std::string path;
    ErrorCode code;
  } rows[] = {
      {"../outside/secret", ErrorCode::kInvalidArgument},
      {"sub/../../outside/secret", ErrorCode::kInvalidArgument},
      {"..", ErrorCode::kInvalidArgument},
      {"/etc/passwd", ErrorCode::kInvalidArgument},
      {"//etc/passwd", ErrorCode::kInvalidArgument},
      {std::string("stdout\0x", 8), ErrorCode::kInvalidArgument},
      {std::string(5000, 'x'), ErrorCode::kInvalidArgument},
      {"out", ErrorCode::kPermissionDenied},
      {"out_dir/secret", ErrorCode::kPermissionDenied},
      {"out_dir", ErrorCode::kPermissionDenied},
      {"twin/secret", ErrorCode::kPermissionDenied},
      {"absolute", ErrorCode::kPermissionDenied},
      {"loop", ErrorCode::kPermissionDenied},
      {"nothing", ErrorCode::kNotFound},
      {"stdout/below", ErrorCode::kNotFound},
      {"%2e%2e/outside/secret", ErrorCode::kNotFound},  // decoding happens once, elsewhere
  };
  for (const auto& row : rows) {
    const Result<OpenFile> file = open_confined(*open_root(tree.root), row.path);
    ASSERT_FALSE(file) << row.path;
    EXPECT_EQ(file.error().code(), row.code) << row.path << ": " << file.error().message();
  }
}

TEST(Files, ThatAreNoFilesAreRefusedWithoutWaiting) {
  const Tree tree;
  ASSERT_EQ(mkfifo((tree.root / "fifo").c_str(), 0600), 0);
  const Result<OpenFile> file = open_confined(*open_root(tree.root), "fifo");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), ErrorCode::kPermissionDenied);
}

TEST(Files, LinksThatGoUpAndDownStayInside) {
  const Tree tree;
  fs::create_directories(tree.root / "sub/a/b");
  fs::create_symlink("../../deep", tree.root / "sub/a/b/back");
  fs::create_symlink("sub/a/b/back", tree.root / "chain");
  fs::create_symlink("../../../../outside/secret", tree.root / "sub/a/b/away");
  fs::create_symlink("../root/stdout", tree.root / "around");
  fs::create_symlink(tree.root.string() + "-twin/secret", tree.root / "beside");
  const FilesRoot root = *open_root(tree.root);
  for (const std::string path : {"sub/a/b/back", "chain"}) {
    const Result<OpenFile> file = open_confined(root, path);
    ASSERT_TRUE(file) << path << ": " << file.error().message();
    EXPECT_EQ(file->bytes, 4) << path;
  }
  for (const std::string path : {"sub/a/b/away", "around", "beside"}) {
    const Result<OpenFile> file = open_confined(root, path);
    ASSERT_FALSE(file) << path;
    EXPECT_EQ(file.error().code(), ErrorCode::kPermissionDenied) << path;
  }
  // Even if the root's path leads elsewhere meanwhile.
  fs::rename(tree.root, tree.dir.path() / "moved");
  fs::create_symlink("outside", tree.root);
  EXPECT_TRUE(open_confined(root, "stdout"));
  EXPECT_EQ(open_confined(root, "secret").error().code(), ErrorCode::kNotFound);
  EXPECT_FALSE(open_confined(root, "inner_absolute/../../outside/secret"));
}

TEST(Files, LinksThatCostTooMuchAreRefused) {
  const Tree tree;
  std::string deep;
  std::string up;
  for (int i = 0; i < 200; ++i) {
    deep += "d/";
    up += "../";
  }
  fs::create_directories(tree.root / deep);
  fs::create_symlink(deep + up + deep + up + deep, tree.root / "yoyo");
  const Result<OpenFile> file = open_confined(*open_root(tree.root), "yoyo");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), ErrorCode::kPermissionDenied);
}

// A user without read access to a file may still link it into their own directory.
TEST(Files, HardLinksToWhatIsAnothersAreRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a directory to another user";
  const Tree tree;
  fs::create_hard_link(tree.root / "stdout", tree.root / "own");
  fs::create_hard_link(tree.dir.path() / "outside/secret", tree.root / "hard");
  const FilesRoot root = *open_root(tree.root);
  EXPECT_TRUE(open_confined(root, "hard"));
  for (const std::string path : {"", "stdout"}) {
    ASSERT_EQ(chown((tree.root / path).c_str(), net_test::kNobody, net_test::kNobody), 0);
  }
  EXPECT_TRUE(open_confined(root, "own"));
  EXPECT_EQ(open_confined(root, "hard").error().code(), ErrorCode::kPermissionDenied);
}

TEST(Files, AreListedByNameWithoutLinks) {
  const Tree tree;
  const Result<OpenFile> directory = open_confined(*open_root(tree.root), "");
  ASSERT_TRUE(directory);
  const Result<std::vector<DirEntry>> entries = list_directory(*directory);
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ((*entries)[0].name, "stdout");
  EXPECT_EQ((*entries)[0].bytes, 5);
  EXPECT_FALSE((*entries)[0].is_directory);
  EXPECT_GT((*entries)[0].modified, Time());
  EXPECT_EQ((*entries)[1].name, "sub");
  EXPECT_TRUE((*entries)[1].is_directory);
}

TEST(Files, RangesAreReadAsTheStandardSays) {
  using Kind = ByteRange::Kind;
  const struct {
    const char* header;
    ByteRange range;
  } rows[] = {
      {"", {Kind::kWhole, 0, 100}},
      {"bytes=0-99", {Kind::kPart, 0, 100}},
      {"bytes=0-0", {Kind::kPart, 0, 1}},
      {"bytes=10-19", {Kind::kPart, 10, 10}},
      {"bytes=90-1000", {Kind::kPart, 90, 10}},
      {"bytes=40-", {Kind::kPart, 40, 60}},
      {"bytes=-30", {Kind::kPart, 70, 30}},
      {"bytes=-1000", {Kind::kPart, 0, 100}},
      {"bytes=100-", {Kind::kUnsatisfiable, 0, 0}},
      {"bytes=100-200", {Kind::kUnsatisfiable, 0, 0}},
      {"bytes=-0", {Kind::kUnsatisfiable, 0, 0}},
      {"bytes=9-3", {Kind::kWhole, 0, 100}},
      {"bytes=0-1,5-6", {Kind::kWhole, 0, 100}},
      {"bytes=a-b", {Kind::kWhole, 0, 100}},
      {"bytes=", {Kind::kWhole, 0, 100}},
      {"bytes=-", {Kind::kWhole, 0, 100}},
      {"bytes=99999999999999999999-", {Kind::kWhole, 0, 100}},
      {"lines=1-2", {Kind::kWhole, 0, 100}},
  };
  for (const auto& row : rows)
    EXPECT_EQ(parse_byte_range(row.header, 100), row.range) << row.header;
  EXPECT_EQ(parse_byte_range("bytes=0-", 0), (ByteRange{Kind::kUnsatisfiable, 0, 0}));
}

}  // namespace
}  // namespace proffer::files_test
