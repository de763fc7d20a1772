// Predictions of the ends of tasks: a table (allocator/rules/prospect.h).

#include "allocator/rules/prospect.h"

#include <memory>

#include <gtest/gtest.h>

namespace proffer::fair {
namespace {

struct Row {
  const char* what = nullptr;
  Duration declared = {};
  Duration longest_run = {};  // of its framework
  Duration runs = {};         // the present run time of the task
  bool was_told_to_end = false;
  bool is_lent = false;
  Outlook outlook = Outlook::kUnknown;
};

const Row kRows[] = {
    {.what = "nothing is known", .runs = seconds(1)},
    {.what = "it has run for less than twice what its ask declares",
     .declared = seconds(10),
     .runs = seconds(20),
     .outlook = Outlook::kEnds},
    {.what = "for more", .declared = seconds(10), .runs = seconds(21)},
    {.what = "for less than twice the longest run of its framework",
     .longest_run = seconds(10),
     .runs = seconds(20),
     .outlook = Outlook::kEnds},
    {.what = "for more than that", .longest_run = seconds(10), .runs = seconds(21)},
    {.what = "what is declared counts, not what others ran",
     .declared = seconds(10),
     .longest_run = seconds(100),
     .runs = seconds(21)},
    {.what = "it is declared to run until somebody ends it",
     .declared = kDurationMax,
     .longest_run = seconds(10),
     .runs = seconds(1),
     .outlook = Outlook::kNever},
    {.what = "but it was told to end",
     .declared = kDurationMax,
     .was_told_to_end = true,
     .outlook = Outlook::kEnds},
    {.what = "but it was only lent what it uses",
     .declared = kDurationMax,
     .is_lent = true,
     .outlook = Outlook::kEnds},
};

TEST(Outlook, OfATask) {
  const Time launched = Time() + seconds(1'000);
  for (const Row& row : kRows) {
    Framework owner;
    Leaf leaf;
    leaf.owner = &owner;
    leaf.longest_run = row.longest_run;
    auto& ask = owner.asks[AskName("task")] = std::make_unique<AskEntry>();
    ask->ask.duration = row.declared;
    Task task;
    task.leaf = &leaf;
    task.terms = Shared(TaskTerms{.booked = {.lent = row.is_lent}, .ask = AskName("task")});
    task.since = launched;
    if (row.was_told_to_end) task.times.set({.ends_by = launched + seconds(5)});
    EXPECT_EQ(outlook_of(task, launched + row.runs), row.outlook) << row.what;
  }
}

// If a task's ask is no longer declared, only the runs of its framework are known.
TEST(Outlook, OfATaskWithoutItsAsk) {
  Framework owner;
  Leaf leaf;
  leaf.owner = &owner;
  Task task;
  task.leaf = &leaf;
  task.terms = Shared(TaskTerms{.ask = AskName("task")});
  EXPECT_EQ(outlook_of(task, Time() + seconds(1)), Outlook::kUnknown);
  leaf.longest_run = seconds(1);
  EXPECT_EQ(outlook_of(task, Time() + seconds(1)), Outlook::kEnds);
}

}  // namespace
}  // namespace proffer::fair
