// The HTTP server's treatment of a Range header (line 1) and of a path below a root (the rest).

#include <fstream>

#include "common/check.h"
#include "net/files.h"
#include "tests/fuzz/laws.h"
#include "tests/support/temporary_directory.h"

namespace proffer::fuzz {
namespace files_fuzz {
namespace {

namespace fs = std::filesystem;

// A root with a file, a directory, links that stay inside and links that lead out.
class Tree {
 public:
  Tree() {
    fs::create_directories(root() / "sub/deep");
    std::ofstream(top_ / "secret") << "secret";
    std::ofstream(root() / "stdout") << "0123456789";
    std::ofstream(root() / "sub/a b") << "x";
    fs::create_symlink("../secret", root() / "out");
    fs::create_symlink("..", root() / "up");
    fs::create_symlink("sub/deep", root() / "in");
    fs::create_symlink("loop", root() / "loop");
  }
  fs::path root() const { return top_ / "root"; }

 private:
  test::TemporaryDirectory directory_;
  fs::path top_ = directory_.path();
};

void check_range(std::string_view header) {
  for (const int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{10}, int64_t{1} << 60}) {
    const ByteRange range = parse_byte_range(header, bytes);
    switch (range.kind) {
      case ByteRange::Kind::kWhole:
        CHECK(range.first == 0 && range.count == bytes);
        break;
      case ByteRange::Kind::kPart:
        CHECK(range.first >= 0 && range.count > 0 && range.count <= bytes - range.first)
            << range.first << " " << range.count << " of " << bytes;
        break;
      case ByteRange::Kind::kUnsatisfiable:
        CHECK_EQ(range.count, 0);
        break;
    }
  }
}

}  // namespace
}  // namespace files_fuzz

void fuzz_files(Input input) {
  static const files_fuzz::Tree tree;
  static const Result<FilesRoot> root = open_root(tree.root());
  const auto [header, path] = first_line(text_of(input));
  files_fuzz::check_range(header);

  const Result<OpenFile> file = open_confined(*root, path);
  if (!file) return check_told(file.error());
  CHECK(file->is_directory || file->bytes == 10 || file->bytes == 1) << file->bytes;
  if (file->is_directory) CHECK(list_directory(*file)) << path;
}

}  // namespace proffer::fuzz
