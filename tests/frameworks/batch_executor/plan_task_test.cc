// The first task of a job whose input was not known at its submission.

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "frameworks/batch/core/order.h"
#include "frameworks/batch/executor/task.h"
#include "frameworks/batch/planning/plan_files.h"
#include "tests/support/with_directory.h"

namespace proffer::batch::plan_task_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

void put(const fs::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

class PlanTask : public test::WithDirectory {
 protected:
  void SetUp() override { fs::create_directories(root_ / "in"); }

  std::string out() const { return (root_ / "out").string(); }
  fs::path waiting() const { return waiting_directory(out(), "p"); }
  void request(const PlanRequest& request, const std::string& order = "") {
    const fs::path directory = plan_directory(waiting().string(), "p");
    fs::create_directories(directory);
    put(directory / "request", encode_plan_request(request));
    if (!order.empty()) put(directory / "order", order);
  }
  PlanWork work(uint32_t attempt = 1) const {
    PlanWork work{.common = {.job = "job-1", .plan = "p", .attempt = attempt}, .place = out()};
    work.common.output = waiting().string();
    return work;
  }
  // Runs the plan task; after a failure, the cause is in `trouble_`.
  PlanResult plan(uint32_t attempt = 1) {
    PlanResult result;
    trouble_ = make_plan(work(attempt), result);
    return result;
  }
  Result<std::string> entry(uint32_t number) const {
    return read_plan({.output = out(), .plan = "p"}, number);
  }

  std::optional<TaskTrouble> trouble_;
};

TEST_F(PlanTask, FindsTheInputAndTakesTheDirectoryToItsPlace) {
  put(root_ / "in/a", std::string(100, 'a'));
  put(root_ / "in/b", std::string(50, 'b'));
  request({.inputs = {(root_ / "in").string()},
           .split_bytes = 100,
           .files = {.contents = {{"run.sh", "x"}}}});
  const PlanResult result = plan();
  ASSERT_FALSE(trouble_) << trouble_->message;
  EXPECT_EQ(result, (PlanResult{.maps = 2, .input_bytes = 150}));
  EXPECT_FALSE(fs::exists(waiting()));
  const Result<Split> second = decode_split(*entry(1));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->chunks.front().path, (root_ / "in/b").string());
  EXPECT_EQ(decode_files(*entry(2))->contents.at("run.sh"), "x");
}

TEST_F(PlanTask, SaysWhichHostsHaveTheInputNear) {
  put(root_ / "in/a", std::string(100, 'a'));
  put(root_ / "in/b", std::string(50, 'b'));
  request({.inputs = {(root_ / "in").string()}, .split_bytes = 100, .locality_wait = seconds(5)});
  const fs::path directory = plan_directory(waiting().string(), "p");
  put(directory / "hosts", text("h2,h1 ", (root_ / "in/b").string(), "\n"));
  const PlanResult result = plan();
  ASSERT_FALSE(trouble_) << trouble_->message;
  EXPECT_EQ(result.maps, 2);
  EXPECT_EQ(result.locality, (Locality{.groups = {{"h1", "h2"}},
                                       .maps = {{.group = 0, .count = 1}, {.group = 1, .count = 1}},
                                       .wait = seconds(5)}));
  EXPECT_EQ(plan(2), result);
}

TEST_F(PlanTask, RefusesMoreHostsThanItCanTell) {
  std::string hosts;
  for (int i = 0; i < 2'000; ++i) {
    put(root_ / "in" / std::to_string(i), "x");
    hosts += text("host-number-", i, " ", (root_ / "in" / std::to_string(i)).string(), "\n");
  }
  request({.inputs = {(root_ / "in").string()}, .by_file = true, .locality_wait = seconds(5)});
  put(fs::path(plan_directory(waiting().string(), "p")) / "hosts", hosts);
  plan();
  ASSERT_TRUE(trouble_);
  EXPECT_THAT(trouble_->message, HasSubstr("Name larger directories in the locality file"));
  EXPECT_EQ(trouble_->blame, Blame::kInput);
}

// The input changed between the attempts: all tasks read what the first attempt found.
TEST_F(PlanTask, OfASecondAttemptTellsWhatTheFirstOneFound) {
  put(root_ / "in/a", "x\n");
  request({.inputs = {(root_ / "in").string()}, .split_bytes = 1});
  const PlanResult first = plan(1);
  put(root_ / "in/b", "y\n");
  EXPECT_EQ(plan(2), first);
  EXPECT_FALSE(trouble_);
}

// The attempt made a plan, and was killed before it moved the directory.
TEST_F(PlanTask, GoesOnWithWhatACutOffAttemptLeft) {
  put(root_ / "in/a", "x\n");
  request({.inputs = {(root_ / "in").string()}, .split_bytes = 1});
  fs::create_directories(root_ / "out/of another");
  plan(1);
  ASSERT_TRUE(trouble_);
  EXPECT_THAT(trouble_->message, HasSubstr("exists"));
  EXPECT_EQ(trouble_->blame, Blame::kInput);
  fs::remove_all(root_ / "out");
  put(root_ / "in/b", "y\n");
  EXPECT_EQ(plan(2).maps, 2);  // two bytes in a
  EXPECT_FALSE(trouble_);
}

TEST_F(PlanTask, SaysWhatIsMissing) {
  request({.inputs = {(root_ / "nowhere").string()}});
  plan();
  ASSERT_TRUE(trouble_);
  EXPECT_THAT(trouble_->message, HasSubstr("nowhere"));
  EXPECT_EQ(trouble_->blame, Blame::kAttempt);  // a network file system may lag behind
  EXPECT_TRUE(fs::exists(waiting()));
  request({.inputs = {(root_ / "in").string()}});
  plan();
  ASSERT_TRUE(trouble_);
  EXPECT_THAT(trouble_->message, HasSubstr("nothing to read"));
}

TEST_F(PlanTask, OfAnArrayReadsItsArguments) {
  JobOrder order;
  order.name = "job";
  order.output = out();
  order.plan = "p";
  order.resources = ResourceVector::of(1'000, 256'000);
  order.array.emplace();
  order.array->command = {"true", "{}"};
  order.array->has_arguments = true;
  order.array->directory = "/";
  put(root_ / "list", "one\ntwo\nthree");
  request({.lines_of = (root_ / "list").string()}, encode_order(order));
  const PlanResult result = plan();
  ASSERT_FALSE(trouble_) << trouble_->message;
  EXPECT_EQ(result.elements, 3);
  EXPECT_THAT(*decode_arguments(*entry(0)), ::testing::ElementsAre("one", "two", "three"));
  std::ifstream file(made_plan(plan_directory(out(), "p")) + "/order", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(decode_order(bytes)->array->size(), 3u);
}

TEST_F(PlanTask, OfAJobWhosePlanIsKnownOnlyMovesItsDirectory) {
  const std::string directory = plan_directory(waiting().string(), "p");
  fs::create_directories(directory);
  ASSERT_TRUE(write_plan_files(directory, {}, {"a", "b"}, {}));
  EXPECT_EQ(plan(), PlanResult());
  EXPECT_FALSE(trouble_);
  EXPECT_THAT(*decode_arguments(*entry(0)), ::testing::ElementsAre("a", "b"));
  EXPECT_EQ(plan(2), PlanResult());
  EXPECT_FALSE(trouble_);
}

// Each firing of a schedule has its own plan, and shares one copy of a large file.
TEST_F(PlanTask, OfAScheduleDoesNotCopyLargeFiles) {
  put(root_ / "in/a", "x\n");
  const fs::path model = root_ / "model";
  fs::create_directories(model / "files");
  put(model / "request", encode_plan_request({.inputs = {(root_ / "in").string()},
                                              .files = {.large = {{"m", {.bytes = 7}}}}}));
  put(model / "files/m", "content");
  PlanWork first = work();
  first.model = model.string();
  PlanResult result;
  trouble_ = make_plan(first, result);
  ASSERT_FALSE(trouble_) << trouble_->message;
  const std::string copy = large_file_path(plan_directory(out(), "p"), "m");
  EXPECT_TRUE(fs::equivalent(copy, model / "files/m"));
  EXPECT_EQ(decode_files(*entry(1))->large.at("m").bytes, 7);
}

TEST_F(PlanTask, RefusesARequestThatWasChanged) {
  request({});
  put(fs::path(plan_directory(waiting().string(), "p")) / "request", "rubbish");
  plan();
  ASSERT_TRUE(trouble_);
  EXPECT_EQ(trouble_->blame, Blame::kInput);
}

}  // namespace
}  // namespace proffer::batch::plan_task_test
