// A task's init steps and sidecars, as the task's data.

#include "proto/task_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/prng.h"

namespace proffer::proto::task_group_test {
namespace {

using ::testing::HasSubstr;

const TaskGroup kGroup = {.init = {{"1", "./migrate; true"}, {"2", "a\nb"}},
                          .sidecars = {{"log", "ship 5;x"}, {"proxy", "envoy"}}};

TEST(TaskGroup, IsDecodedAsItWasEncoded) {
  const TaskGroup groups[] = {
      kGroup, {.init = {{"1", "x"}}, .sidecars = {}}, {.init = {}, .sidecars = {{"a", "y"}}}};
  for (const TaskGroup& group : groups) {
    ASSERT_TRUE(check_task_group(group));
    const auto again = decode_task_group(encode_task_group(group));
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(*again, group);
  }
}

TEST(TaskGroup, LeavesOtherDataAlone) {
  for (const char* data : {"", "{}", "proffer-group", "proffer-group-2 0;0;"}) {
    const auto group = decode_task_group(data);
    ASSERT_TRUE(group) << data;
    EXPECT_EQ(*group, std::nullopt) << data;
  }
}

TEST(TaskGroup, RefusesWhatBeginsAsOneAndIsNone) {
  const std::string whole = encode_task_group(kGroup);
  const std::string tag = "proffer-group-1 ";
  for (size_t size = tag.size(); size < whole.size(); ++size) {
    EXPECT_FALSE(decode_task_group(whole.substr(0, size))) << size;
  }
  EXPECT_FALSE(decode_task_group(whole + "0;"));
  EXPECT_FALSE(decode_task_group(tag + "17;"));
  EXPECT_FALSE(decode_task_group(tag + "1;99999999999999999999;"));
  Prng prng(7);
  for (int i = 0; i < 3'000; ++i) {
    std::string changed = whole;
    changed[tag.size() + prng.below(whole.size() - tag.size())] =
        static_cast<char>(prng.below(256));
    const auto group = decode_task_group(changed);
    if (!group) continue;
    EXPECT_TRUE(check_task_group(**group));
  }
}

TEST(TaskGroup, SaysWhichCommandIsWrong) {
  const std::pair<void (*)(TaskGroup&), const char*> rows[] = {
      {[](TaskGroup& group) { group.init[0].name = "a b"; }, "not 'a b'"},
      {[](TaskGroup& group) { group.init[1].command.clear(); }, "init step '2' must have"},
      {[](TaskGroup& group) { group.sidecars[0].command = std::string(1, '\0'); }, "NUL"},
      {[](TaskGroup& group) { group.sidecars[1].name = "log"; }, "without duplicates"},
      {[](TaskGroup& group) {
         group.init.assign(17, {"1", "x"});
       },
       "17 init steps; at most 16"},
      {[](TaskGroup& group) {
         group.sidecars.assign(9, {"1", "x"});
       },
       "9 sidecars; at most 8"},
      {[](TaskGroup& group) { group.init[0].command.assign(kGroupBytesMax, 'x'); },
       "at most 32768"},
  };
  for (const auto& [change, says] : rows) {
    TaskGroup group = kGroup;
    change(group);
    const Result<void> checked = check_task_group(group);
    ASSERT_FALSE(checked) << says;
    EXPECT_THAT(checked.error().message(), HasSubstr(says));
  }
}

}  // namespace
}  // namespace proffer::proto::task_group_test
