// Cases in which a law of the generated clusters once failed. Each is a separate story, so that it
// does not depend on the generator.

#include <string>

#include <gtest/gtest.h>

#include "tests/support/replay/story.h"

namespace proffer::kept_cases_test {
namespace {

using replay::Replay;
using replay::Story;

// Case 4781: the cap limits preemption of borrowers. Tasks on lent resources, which are set aside
// for another ask, end when that ask needs them, regardless of the cap.
TEST(KeptCase, WhatWasOnlyLentEndsWhateverTheCap) {
  Story s;
  s.agent("a1", "cpus:8;mem:8GiB");
  s.framework("small", "small");
  s.tasks("first", "cpus:1;mem:1GiB", 4, seconds(60));
  s.tasks("second", "cpus:1;mem:1GiB", 4, seconds(100));
  s.framework("large", "large").tasks("t", "cpus:8;mem:8GiB", 1, seconds(5), seconds(1));
  s.framework("guest", "guest", sim::Takes::kAsks, seconds(70)).tasks("t", "cpus:1;mem:1GiB", 8);
  s.ask().revocable_ok = true;
  Replay run = s.play({.allocator = {.revokes_per_minute = 1}});
  run.run_until(minutes(5));
  ASSERT_TRUE(run.wrong().empty()) << run.wrong()[0];
  EXPECT_EQ(run.group("guest", "t").revoked, 4);
  EXPECT_EQ(run.group("large", "t").finished, 1);
  EXPECT_EQ(run.group("guest", "t").running, 8);
}

// Found by renaming roles: of two roles that have borrowed equally, the one that was served last
// gives back, regardless of its name.
TEST(KeptCase, OfEqualBorrowersTheOneThatWasServedLastGivesBack) {
  for (const bool reverse : {false, true}) {
    const std::string first = reverse ? "y" : "b";
    const std::string second = reverse ? "b" : "y";
    Story s;
    s.agent("a1", "cpus:4;mem:4GiB").role("owner", "cpus:1");
    s.framework(first, first).tasks("t", "cpus:2;mem:1GiB", 1);
    s.framework(second, second, sim::Takes::kAsks, seconds(1)).tasks("t", "cpus:2;mem:1GiB", 1);
    s.framework("owner", "owner", sim::Takes::kAsks, minutes(2)).tasks("t", "cpus:1;mem:1GiB", 1);
    Replay run = s.play();
    run.run_until(minutes(5));
    ASSERT_TRUE(run.wrong().empty()) << run.wrong()[0];
    EXPECT_EQ(run.group(first, "t").revoked, 0);
    EXPECT_EQ(run.group(second, "t").revoked, 1);
  }
}

// A gang with at most one task per rack and per kind of disk: best fit puts its first task on the
// only agent that leaves no place for the second.
TEST(KeptCase, AGangThatTwoAttributesKeepApartIsPlacedIfThereIsAWay) {
  Story s;
  s.agent("corner", "cpus:2;mem:2GiB", "rack:r1;disk:ssd");
  s.agent("same-rack", "cpus:4;mem:4GiB", "rack:r1;disk:hdd");
  s.agent("same-disk", "cpus:4;mem:4GiB", "rack:r2;disk:ssd");
  s.framework("f", "f").tasks("t", "cpus:1;mem:1GiB", 2);
  s.ask().gang = 2;
  s.ask().max_per = {{"disk", 1}, {"rack", 1}};
  Replay run = s.play();
  run.run_until(minutes(1));
  ASSERT_TRUE(run.wrong().empty()) << run.wrong()[0];
  EXPECT_EQ(run.running("f"), 2);
}

// It gets a claim under churn.
TEST(KeptCase, AGangThatTwoAttributesKeepApartIsClaimedFor) {
  Story s;
  s.agent("corner", "cpus:2;mem:2GiB", "rack:r1;disk:ssd");
  s.agent("same-rack", "cpus:2;mem:2GiB", "rack:r1;disk:hdd");
  s.agent("same-disk", "cpus:2;mem:2GiB", "rack:r2;disk:ssd");
  s.framework("small", "small");
  s.tasks("t", "cpus:1;mem:1GiB", 600, milliseconds(2'300));
  s.tasks("u", "cpus:1;mem:1GiB", 600, milliseconds(3'100));
  s.framework("f", "f", sim::Takes::kAsks, seconds(5)).tasks("t", "cpus:2;mem:2GiB", 2);
  s.ask().gang = 2;
  s.ask().max_per = {{"disk", 1}, {"rack", 1}};
  Replay run = s.play();
  run.run_until(seconds(5) + kClaimAfter + seconds(8));
  ASSERT_TRUE(run.wrong().empty()) << run.wrong()[0];
  EXPECT_EQ(run.running("f"), 2);
}

}  // namespace
}  // namespace proffer::kept_cases_test
