// The reference of the public headers in proffer-doc: comments of headers become descriptions, and
// the pages have them.

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/processes.h"

namespace proffer::reference_test {
namespace {

namespace fs = std::filesystem;
using namespace test;
using testing::HasSubstr;
using testing::Not;

std::string filtered(const std::string& header) {
  const TemporaryDirectory folder;
  write_file(folder / "x.h", header);
  const Exit done =
      run({"awk", "-f", std::string(PROFFER_SOURCE_DIR) + "/packaging/reference/comments.awk",
           folder / "x.h"});
  EXPECT_EQ(done.code, 0) << done.err;
  return done.out;
}

TEST(Reference, CommentsAboveAndBehindDeclarationsDescribeThem) {
  EXPECT_EQ(filtered("#pragma once\n"
                     "\n"
                     "// Holds <T> & co.\n"
                     "//\n"
                     "//   Ship ship(\"a<b>\");\n"
                     "//   ship.sail();\n"
                     "//\n"
                     "// It floats.\n"
                     "\n"
                     "#include <string>\n"
                     "\n"
                     "// Of the class.\n"
                     "class Ship {\n"
                     " public:\n"
                     "  // --- at sea ---------\n"
                     "  // Until land.\n"
                     "  // Errors: none.\n"
                     "  void sail();\n"
                     "\n"
                     "  // Stands alone.\n"
                     "\n"
                     "  int masts = 3;  // of \\wood\n"
                     "  int crew = 3;\n"
                     "  // Stands at the end.\n"
                     "};\n"
                     "enum class Sail {\n"
                     "  kSet,     // in wind\n"
                     "  kStruck  // in a storm\n"
                     "};\n"
                     "}  // namespace sea\n"),
            "#pragma once\n"
            "\n"
            "/// @file\n"
            "/// Holds \\<T\\> \\& co.\n"
            "///\n"
            "/// @code{.cpp}\n"
            "///   Ship ship(\"a<b>\");\n"
            "///   ship.sail();\n"
            "///\n"
            "/// @endcode\n"
            "/// It floats.\n"
            "\n"
            "#include <string>\n"
            "\n"
            "/// Of the class.\n"
            "class Ship {\n"
            " public:\n"
            "\n"
            "  /// Until land.\n"
            "  /// Errors: none.\n"
            "  void sail();\n"
            "\n"
            "  // Stands alone.\n"
            "\n"
            "  int masts = 3;  ///< of \\\\wood\n"
            "  int crew = 3;\n"
            "  // Stands at the end.\n"
            "};\n"
            "enum class Sail {\n"
            "  kSet,  ///< in wind\n"
            "  kStruck  ///< in a storm\n"
            "};\n"
            "}  // namespace sea\n");
}

// The text of a page without its tags.
std::string text_of(const std::string& page) {
  std::string text;
  bool in_tag = false;
  for (const char c : read_file(page)) {
    if (c == '<') in_tag = true;
    if (!in_tag) text += c;
    if (c == '>') in_tag = false;
  }
  return text;
}

TEST(Reference, HasAPageForEachPublicClassWithTheTextOfItsHeader) {
  if (run({"doxygen", "--version"}).code != 0) GTEST_SKIP() << "not run: no doxygen here";
  const TemporaryDirectory prefix;
  const Exit done = run(
      {"cmake", "--install", program("") + "..", "--component", "doc", "--prefix", prefix.path()});
  ASSERT_EQ(done.code, 0) << done.out << done.err;
  const std::string reference = prefix / "share/doc/proffer-doc/reference/";
  const std::string scheduler = text_of(reference + "classproffer_1_1sdk_1_1Scheduler.html");
  const size_t on_offer = scheduler.rfind("void proffer::sdk::Scheduler::on_offer");
  ASSERT_NE(on_offer, std::string::npos);
  const size_t text = scheduler.find("Called once for each offer.", on_offer);
  ASSERT_NE(text, std::string::npos);
  EXPECT_LT(text, scheduler.find("Scheduler::on_rescind", on_offer)) << "of another function";

  EXPECT_THAT(read_file(reference + "index.html"),
              HasSubstr("classproffer_1_1sdk_1_1Scheduler.html"));
  EXPECT_THAT(text_of(reference + "classproffer_1_1sdk_1_1SimCluster.html"),
              HasSubstr("The machine loses its power"));
  EXPECT_THAT(text_of(reference + "structproffer_1_1proto_1_1TaskSpec.html"),
              HasSubstr("tasks with the same id share an executor"));
  // Headers that are not installed are not described.
  for (const fs::directory_entry& page : fs::directory_iterator(reference)) {
    EXPECT_THAT(page.path().filename().string(), Not(HasSubstr("Host.html"))) << page.path();
  }
}

}  // namespace
}  // namespace proffer::reference_test
