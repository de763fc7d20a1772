#include "common/shared.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "common/rare.h"

namespace proffer::shared_test {
namespace {

struct HashOfText {
  size_t operator()(const std::string& text) const { return hashed(text); }
};
struct AllTheSame {
  size_t operator()(const std::string&) const { return 7; }
};

TEST(SharedValues, EqualValuesAreOneBlock) {
  SharedValues<std::string, HashOfText> values;
  const Shared<std::string> first = values.share("sleep 1");
  const Shared<std::string> other = values.share("sleep 2");
  const Shared<std::string> second = values.share("sleep 1");
  EXPECT_TRUE(first.is_same(second));
  EXPECT_FALSE(first.is_same(other));
  EXPECT_EQ(*second, "sleep 1");
  EXPECT_EQ(*other, "sleep 2");
}

TEST(SharedValues, ValuesWithEqualHashesStayApart) {
  SharedValues<std::string, AllTheSame> values;
  std::vector<Shared<std::string>> kept;
  for (int i = 0; i < 100; ++i) kept.push_back(values.share(std::to_string(i)));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(*kept[static_cast<size_t>(i)], std::to_string(i));
}

// After many other values, an equal value may get a second block with the same content.
TEST(SharedValues, ABlockIsUnchangedWhenItIsNoLongerFound) {
  using Values = SharedValues<std::string, HashOfText>;
  Values values;
  const Shared<std::string> first = values.share("first");
  for (size_t i = 0; i < Values::kBlocksMax * 20; ++i) values.share(std::to_string(i));
  EXPECT_EQ(*first, "first");
  const Shared<std::string> again = values.share("first");
  EXPECT_EQ(*again, "first");
  EXPECT_FALSE(again.is_same(first));
}

// The block ends with its last user, in any order of destruction.
TEST(Shared, ABlockEndsWithItsLastUser) {
  struct Counted {
    explicit Counted(int& living) : living_(&living) { ++*living_; }
    Counted(Counted&& other) noexcept : living_(std::exchange(other.living_, nullptr)) {}
    ~Counted() {
      if (living_ != nullptr) --*living_;
    }
    int* living_;
  };
  // An empty Shared reads as a default value, and Counted has none: so the values are optional.
  int living = 0;
  {
    std::vector<Shared<std::optional<Counted>>> users;
    users.emplace_back(std::optional<Counted>(std::in_place, living));
    for (int i = 0; i < 10; ++i) users.push_back(users.front());
    users.front() = users.back();
    users.erase(users.begin());
    users[3] = Shared<std::optional<Counted>>();
    Shared<std::optional<Counted>> moved = std::move(users.back());
    users.clear();
    EXPECT_EQ(living, 1);
    const auto& itself = moved;
    moved = itself;
    EXPECT_EQ(living, 1);
  }
  EXPECT_EQ(living, 0);
}

TEST(SharedValues, AnEmptyOneIsTheDefault) {
  const Shared<std::string> none;
  EXPECT_EQ(*none, "");
  SharedValues<std::string, AllTheSame> values;
  EXPECT_EQ(*values.share(""), "");
}

struct Wound {
  std::string where = {};
  int deep = 0;
  bool operator==(const Wound&) const = default;
};

TEST(Rare, TakesMemoryOnlyWhileItDiffersFromTheDefault) {
  Rare<Wound> wound;
  EXPECT_FALSE(wound.takes_memory());
  EXPECT_EQ(wound->deep, 0);
  wound.set({});
  EXPECT_FALSE(wound.takes_memory());
  wound.set({.where = "knee", .deep = 1});
  EXPECT_TRUE(wound.takes_memory());
  wound.change([](Wound& of) { of.deep = 2; });
  EXPECT_EQ(*wound, (Wound{.where = "knee", .deep = 2}));
  wound.set({});
  EXPECT_FALSE(wound.takes_memory());
  EXPECT_EQ(*wound, Wound());
}

}  // namespace
}  // namespace proffer::shared_test
