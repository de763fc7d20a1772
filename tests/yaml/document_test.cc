// Valid documents as trees, and refused documents.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/prng.h"
#include "yaml/read.h"

namespace proffer::yaml::document_test {
namespace {

using ::testing::HasSubstr;

Result<Node> parse(std::string_view text) { return parse_document(text, "a file", 10'000); }
std::string error_of(std::string_view text) {
  const Result<Node> node = parse(text);
  return node ? "" : node.error().message();
}

// Prints a node in a form similar to JSON.
std::string shown(const Node& node) {
  std::string out;
  switch (node.kind) {
    case Node::Kind::kNothing:
      return "-";
    case Node::Kind::kText:
      return node.text;
    case Node::Kind::kList:
      for (const Node& entry : node.entries) out += text(out.empty() ? "" : ",", shown(entry));
      return text("[", out, "]");
    case Node::Kind::kTable:
      for (const Row& row : node.rows) {
        out += text(out.empty() ? "" : ",", row.key, ":", shown(row.value));
      }
      return text("{", out, "}");
  }
  return out;
}

TEST(YamlDocument, IsATreeWithLines) {
  const Result<Node> node = parse("a: 1\nb:\n  - x\n  - {c: 'd e', f: }\ng: ~\n");
  ASSERT_TRUE(node) << node.error().message();
  EXPECT_EQ(shown(*node), "{a:1,b:[x,{c:d e,f:-}],g:-}");
  EXPECT_EQ(node->rows[1].line, 2);
  EXPECT_EQ(node->rows[1].value.entries[1].line, 4);
}

TEST(YamlDocument, JsonIsOneToo) {
  EXPECT_EQ(shown(*parse(R"({"a": [1, "two"], "b": {}})")), "{a:[1,two],b:{}}");
}

TEST(YamlDocument, AliasesRepeatWhatTheyName) {
  EXPECT_EQ(shown(*parse("a: &x {b: [1]}\nc: *x\n")), "{a:{b:[1]},c:{b:[1]}}");
}

TEST(YamlDocument, AliasesDoNotGrowWithoutEnd) {
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 10; ++i) {
    bomb += text("a", i, ": &a", i, " [");
    for (int k = 0; k < 10; ++k) bomb += text(k == 0 ? "" : ",", "*a", i - 1);
    bomb += "]\n";
  }
  EXPECT_THAT(error_of(bomb), HasSubstr("more than 4000000 values"));
}

TEST(YamlDocument, SaysWhatIsWrongAndWhere) {
  const std::pair<std::string, const char*> rows[] = {
      {"", "the file is empty"},
      {"a: 1\n---\nb: 2\n", "line 2: a second document begins; a file has one"},
      {"a: 1\nb: 2\na: 3\n", "line 3: key 'a' is given twice"},
      {"[1]: 2\n", "line 1: a key must be one text or number"},
      {"a: {\n", "line "},
      {"a: &x [*x]\n", "line 1: "},
      {std::string(100, '[') + std::string(100, ']'), "more than 64 tables and lists"},
      // Deeper than yaml-cpp itself supports.
      {std::string(5'000, '['), "line 1: more than 64 tables and lists"},
      {std::string(10'001, ' '), "a file of 10001 bytes; at most 10000 are allowed"},
  };
  for (const auto& [given, says] : rows) EXPECT_THAT(error_of(given), HasSubstr(says)) << given;
}

TEST(YamlDocument, OfATextWithSeveralHaveTheLinesOfTheText) {
  const auto nodes =
      parse_documents("a: 1\n---\n# nothing\n---\nb: &x 2\nc: *x\n...\n", "a file", 1'000, 3);
  ASSERT_TRUE(nodes) << nodes.error().message();
  ASSERT_EQ(nodes->size(), 2u);
  EXPECT_EQ(shown((*nodes)[0]), "{a:1}");
  EXPECT_EQ(shown((*nodes)[1]), "{b:2,c:2}");
  EXPECT_EQ((*nodes)[1].rows[0].line, 5);
  const std::pair<const char*, const char*> rows[] = {
      {"a: 1\n---\nb: 2\n---\nc: 3\n---\nd: 4\n", "document 4 begins; a file has at most 3"},
      {"---\n---\n", "the file is empty"},
      {"a: &x 1\n---\nb: *x\n", "line 3: "},
      {"a: 1\n---\nb: 2\nb: 3\n", "line 4: key 'b' is given twice"},
      {"a: 1\n---\nb: 'c\n", "line 3: a quote begins here and never ends"},
      {"a: 'b\n---\nc: 1\n", "line "},
  };
  for (const auto& [given, says] : rows) {
    const auto parsed = parse_documents(given, "a file", 1'000, 3);
    ASSERT_FALSE(parsed) << given;
    EXPECT_THAT(parsed.error().message(), HasSubstr(says)) << given;
  }
}

TEST(YamlDocument, GarbageEndsInAnAnswer) {
  Prng prng(7);
  const std::string seed = "a: &x {b: [1, 2], c: 'd'}\ne: *x\n- f\n";
  for (int i = 0; i < 20'000; ++i) {
    std::string garbage = seed;
    for (int change = 0; change < 4; ++change) {
      garbage[prng.below(garbage.size())] = static_cast<char>(prng.below(256));
    }
    const Result<Node> node = parse(garbage);
    if (!node) {
      EXPECT_EQ(node.error().message().find('\n'), std::string::npos);
    }
    const auto nodes = parse_documents(garbage, "a file", 10'000, 5);
    EXPECT_TRUE(!node || node->is_nothing() || nodes) << garbage;
  }
}

TEST(YamlRead, NamesTheKeyTheLineAndTheNearestKnown) {
  const Node table = *parse("a: 1\nlenght: 5s\n");
  Duration length;
  const Result<void> read =
      read_table("a file", table, {"a", "length"}, [&](const std::string& key, const Node& node) {
        return key == "a" ? Result<void>() : read_duration(key, node, length);
      });
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message(),
            "line 2: unknown key 'lenght' in a file; did you mean 'length'?");
  EXPECT_EQ(read.error().hint(), "the keys of a file are a, length");
}

TEST(YamlRead, TakesOneTextForAList) {
  EXPECT_EQ(texts_of("a", *parse("x"))->size(), 1u);
  EXPECT_EQ(texts_of("a", *parse("[x, y]"))->size(), 2u);
  EXPECT_EQ(texts_of("a", *parse("{x: y}")).error().message(),
            "line 1: the value of 'a' must be a text or a list, not a table");
}

}  // namespace
}  // namespace proffer::yaml::document_test
