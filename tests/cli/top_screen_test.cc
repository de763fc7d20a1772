// The screen of `proffer top`, and its keys.

#include "cli/top_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/printable.h"
#include "common/text.h"

namespace proffer::cli::top_screen_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TopPicture picture() {
  TopPicture all;
  all.master = "m1.example:5050";
  all.status = {.started_at = Time::from_nanos(0),
                .now = Time::from_nanos(7'200'000'000'000),
                .total = *parse_shape("cpus:8;mem:8GiB"),
                .allocated = *parse_shape("cpus:2;mem:8GiB")};
  all.status.agents_connected = 3;
  all.status.agents_unreachable = 1;
  all.frameworks = {{.framework = FrameworkId("small"), .dominant_share_millionths = 100'000},
                    {.framework = FrameworkId("large"),
                     .role = RoleName("ads"),
                     .dominant_share_millionths = 500'000,
                     .tasks = 7}};
  all.roles = {{.role = RoleName("ads")}};
  for (int i = 0; i < 40; ++i) {
    all.agents.push_back({.agent = AgentId(text("agent-", i)),
                          .total = {.amounts = *parse_shape("cpus:4")},
                          .allocated = i == 5 ? *parse_shape("cpus:3") : ResourceVector()});
  }
  all.tasks = {{.framework = FrameworkId("f"),
                .task = TaskId("old"),
                .launched_at = Time::from_nanos(3'600'000'000'000)},
               {.framework = FrameworkId("f"),
                .task = TaskId("new"),
                .launched_at = Time::from_nanos(7'190'000'000'000)}};
  return all;
}

// Names come from masters, and a master may send false ones.
TEST(TopScreen, HasNoControlCharacterAndNoLineThatIsTooLongWhateverNamesAre) {
  TopPicture all = picture();
  const std::string hostile = "\x1b]0;owned\x07\xc2\x9b\xe2\x80\xae\r\n";
  all.master += hostile;
  all.trouble = hostile;
  all.frameworks[0].framework = FrameworkId(hostile);
  all.frameworks[1].role = RoleName(hostile);
  all.roles[0].role = RoleName(hostile);
  all.agents[0].agent = AgentId(hostile);
  all.tasks[0].task = TaskId(hostile);
  for (const TopView view :
       {TopView::kFrameworks, TopView::kRoles, TopView::kAgents, TopView::kTasks}) {
    bool shows = false;
    for (const std::string& line : top_screen(all, {.view = view}, 60, 50)) {
      EXPECT_TRUE(is_printable(line)) << quoted(line);
      EXPECT_LE(line.size(), 60u);
      shows |= line.find("owned") != std::string::npos;
    }
    EXPECT_TRUE(shows);
  }
}

TEST(TopScreen, SaysHowTheClusterStandsAndThenTheRowsThatUseMost) {
  const auto lines = top_screen(picture(), {}, 80, 24);
  ASSERT_EQ(lines.size(), 9u);
  EXPECT_EQ(lines[0], "master m1.example:5050, leader epoch 0, up 2h");
  EXPECT_EQ(lines[1], "agents 3 connected, 1 away; frameworks 0 connected, 0 away");
  EXPECT_EQ(lines[3], "cpus   [#####---------------] 2 of 8");
  EXPECT_EQ(lines[4], "mem    [####################] 8 GiB of 8 GiB");
  EXPECT_THAT(lines[5], StartsWith("[Frameworks]  Roles"));
  EXPECT_THAT(lines[7], HasSubstr("large"));
  EXPECT_THAT(lines[8], HasSubstr("small"));
  EXPECT_THAT(top_screen(picture(), {.view = TopView::kAgents}, 80, 24)[7], HasSubstr("agent-5"));
  EXPECT_THAT(top_screen(picture(), {.view = TopView::kTasks}, 80, 24)[7],
              testing::AllOf(StartsWith("10s"), HasSubstr("f/new")));
  EXPECT_THAT(top_screen(picture(), {.view = TopView::kRoles}, 80, 24)[7], StartsWith("ads"));
}

TEST(TopScreen, FitsTheTerminal) {
  TopPicture wide = picture();
  wide.agents[0].agent = AgentId(std::string(100, 'x'));
  wide.trouble = "cannot reach a master: " + std::string(200, 'y');
  for (const size_t columns : {20u, 80u}) {
    for (const size_t lines : {8u, 24u}) {
      for (size_t view = 0; view < kTopViews; ++view) {
        const auto screen = top_screen(wide, {.view = static_cast<TopView>(view)}, columns, lines);
        EXPECT_LE(screen.size(), lines);
        for (const std::string& line : screen) EXPECT_LE(line.size(), columns) << line;
      }
    }
  }
  EXPECT_THAT(top_screen(wide, {}, 80, 24)[5], StartsWith("! cannot reach a master"));
}

TEST(TopScreen, ScrolledTooFarShowsTheLastRows) {
  const auto screen = top_screen(picture(), {.view = TopView::kAgents, .scrolled = 99}, 80, 24);
  ASSERT_EQ(screen.size(), 24u);
  EXPECT_THAT(screen.back(), HasSubstr("agent-39"));
}

TEST(TopKeys, ChooseTheViewAndScroll) {
  const TopPlace start;
  EXPECT_EQ(moved(start, TopKey::kRight, 40, 24).view, TopView::kRoles);
  EXPECT_EQ(moved(start, TopKey::kLeft, 40, 24).view, TopView::kTasks);
  EXPECT_EQ(moved(start, TopKey::kUp, 40, 24), start);
  EXPECT_EQ(moved(start, TopKey::kDown, 40, 24).scrolled, 1u);
  EXPECT_EQ(moved(start, TopKey::kPageDown, 40, 24).scrolled, 16u);
  EXPECT_EQ(moved({.scrolled = 20}, TopKey::kPageDown, 40, 24).scrolled, 23u);
  EXPECT_EQ(moved({.scrolled = 23}, TopKey::kDown, 40, 24).scrolled, 23u);
  EXPECT_EQ(moved({.scrolled = 10}, TopKey::kPageUp, 40, 24).scrolled, 0u);
  EXPECT_EQ(moved(start, TopKey::kDown, 3, 24).scrolled, 0u);
  EXPECT_EQ(moved({.scrolled = 5}, TopKey::kRight, 40, 24).scrolled, 0u);
}

TEST(TopKeys, ArriveInPieces) {
  std::string typed = "\x1b";
  EXPECT_EQ(take_key(typed), std::nullopt);
  typed += "[";
  EXPECT_EQ(take_key(typed), std::nullopt);
  typed += "Bq";
  EXPECT_EQ(take_key(typed), TopKey::kDown);
  EXPECT_EQ(take_key(typed), TopKey::kQuit);
  EXPECT_EQ(take_key(typed), std::nullopt);
  typed = "x\x1b[6~\x1bOA\x03";
  std::vector<TopKey> keys;
  while (const auto key = take_key(typed)) keys.push_back(*key);
  EXPECT_THAT(keys, ElementsAre(TopKey::kOther, TopKey::kPageDown, TopKey::kUp, TopKey::kQuit));
}

TEST(TopText, HasAllViews) {
  const auto lines = top_text(picture());
  for (const char* title : {"Frameworks", "Roles", "Agents", "Tasks"}) {
    EXPECT_THAT(lines, testing::Contains(title));
  }
  EXPECT_THAT(lines, testing::Contains(HasSubstr("agent-39")));
}

}  // namespace
}  // namespace proffer::cli::top_screen_test
