// The choice of victims for a claimant, alone, on tables.

#include "allocator/rules/victims.h"

#include <string>

#include <gtest/gtest.h>

namespace proffer::victims_test {
namespace {

using fair::Borrower;
using fair::Candidate;

constexpr auto kTotal = ResourceVector::of(100'000, 100'000'000);

ResourceVector cpus(int64_t whole) { return ResourceVector::of(whole * 1'000, 0); }

// A claimant that needs some CPUs; each candidate's CPUs are on one agent.
struct Table {
  std::vector<Borrower> borrowers = {};
  std::vector<Candidate> candidates = {};

  size_t borrower(int64_t use, int64_t entitled, std::optional<size_t> above = {},
                  size_t depth = 0) {
    borrowers.push_back(
        {.above = above, .depth = depth, .use = cpus(use), .entitlement = cpus(entitled)});
    return borrowers.size() - 1;
  }
  size_t task(size_t borrower, int64_t size, Band band = Band::kBatch, int32_t priority = 0,
              int64_t started = 0) {
    candidates.push_back({.borrower = borrower,
                          .amounts = cpus(size),
                          .frees = cpus(size),
                          .band = band,
                          .priority = priority,
                          .since = Time() + seconds(started)});
    return candidates.size() - 1;
  }
  // "2 0": the victims in order; "nobody".
  std::string victims_for(int64_t wanted) const {
    const auto chosen = fair::choose_victims(borrowers, candidates, cpus(wanted), kTotal,
                                             [&](const std::vector<size_t>& ended) {
                                               ResourceVector sum;
                                               for (const size_t i : ended)
                                                 sum += candidates[i].frees;
                                               return cpus(wanted).fits_in(sum);
                                             });
    if (!chosen) return "nobody";
    std::string text;
    for (const size_t i : *chosen) text += (text.empty() ? "" : " ") + std::to_string(i);
    return text;
  }
};

TEST(Victims, AreNobodyWhereNobodyBorrows) {
  Table t;
  const size_t b = t.borrower(4, 4);
  t.task(b, 4);
  EXPECT_EQ(t.victims_for(1), "nobody");
}

TEST(Victims, AreNobodyIfTheClaimantWouldNotFitEvenThen) {
  Table t;
  const size_t b = t.borrower(10, 8);
  for (int i = 0; i < 10; ++i) t.task(b, 1);
  EXPECT_EQ(t.victims_for(2), "0 1");
  EXPECT_EQ(t.victims_for(3), "nobody");  // the third would be within its entitlement
}

TEST(Victims, AreOfTheMostOverBorrowerAndThatChangesWithEach) {
  Table t;
  const size_t much = t.borrower(13, 10);
  const size_t little = t.borrower(12, 10);
  t.task(little, 1);
  t.task(little, 1);
  t.task(much, 1);
  t.task(much, 1);
  EXPECT_EQ(t.victims_for(1), "2");
  EXPECT_EQ(t.victims_for(3), "2 3 0");  // among equals the first in the table
}

TEST(Victims, OfALowerBandGoFirstWhateverTheShares) {
  Table t;
  const size_t much = t.borrower(20, 10);
  const size_t little = t.borrower(11, 10);
  t.task(much, 1, Band::kProduction);
  t.task(much, 1, Band::kBatch);
  t.task(little, 1, Band::kFree);
  EXPECT_EQ(t.victims_for(1), "2");
  EXPECT_EQ(t.victims_for(3), "2 1 0");
}

TEST(Victims, OfAFrameworkAreOfLowPriorityThenYoung) {
  Table t;
  const size_t b = t.borrower(20, 10);
  t.task(b, 1, Band::kBatch, 5, 90);
  t.task(b, 1, Band::kBatch, 0, 10);
  t.task(b, 1, Band::kBatch, 0, 20);
  t.task(b, 1, Band::kBatch, -1, 5);
  EXPECT_EQ(t.victims_for(4), "3 2 1 0");
}

// First the borrowers whose paths part from the claimant's nearest to the top; then down the tree,
// the largest excess first.
TEST(Victims, AreSoughtFromTheOutermostPlaceWhereThePathsPart) {
  Table t;
  const size_t near = t.borrower(30, 10, {}, 1);
  const size_t far = t.borrower(20, 15, {}, 0);
  const size_t far_first = t.borrower(9, 8, far);
  const size_t far_second = t.borrower(11, 7, far);
  t.task(near, 1);
  t.task(far_first, 1);
  t.task(far_second, 1);
  t.task(far_second, 1);
  t.task(far_second, 1);
  EXPECT_EQ(t.victims_for(1), "2");
  EXPECT_EQ(t.victims_for(6), "nobody");
  EXPECT_EQ(t.victims_for(5), "2 3 4 1 0");
}

TEST(Victims, AreNotOfARoleThatIsNotOverEvenIfAFrameworkInItIs) {
  Table t;
  const size_t role = t.borrower(10, 10);
  const size_t framework = t.borrower(8, 5, role);
  t.task(framework, 1);
  EXPECT_EQ(t.victims_for(1), "nobody");
}

TEST(Victims, HoldSomethingOfTheKindThatIsBorrowed) {
  Table t;
  const size_t b = t.borrower(10, 10);
  t.borrowers[b].use[ResourceKind::kMem] = 50'000;  // borrowed
  t.task(b, 1);
  EXPECT_EQ(t.victims_for(1), "nobody");
  t.task(b, 1);
  t.candidates[1].amounts[ResourceKind::kMem] = 1'000;
  EXPECT_EQ(t.victims_for(1), "1");
}

TEST(Victims, AreNotWhatAGuaranteeCovers) {
  Table t;
  const size_t b = t.borrower(10, 5);
  t.borrowers[b].guarantee = Quota::of(cpus(10));
  t.task(b, 1);
  EXPECT_EQ(t.victims_for(1), "nobody");
  // A guarantee of GPUs does not protect tasks without GPUs.
  t.borrowers[b].guarantee = Quota::of(ResourceVector::of(0, 0, 0, 2'000));
  EXPECT_EQ(t.victims_for(1), "0");
  // One victim may take the borrower below its guarantee, a second may not.
  t.borrowers[b].guarantee = Quota::of(cpus(9));
  t.candidates[0].amounts = t.candidates[0].frees = cpus(3);
  t.task(b, 3);
  EXPECT_EQ(t.victims_for(3), "0");
  EXPECT_EQ(t.victims_for(6), "nobody");
}

// The small task was selected first, but the large one is needed anyway.
TEST(Victims, AreNoMoreThanNeeded) {
  Table t;
  const size_t b = t.borrower(20, 10);
  t.task(b, 1, Band::kFree);
  t.task(b, 4, Band::kBatch);
  EXPECT_EQ(t.victims_for(4), "1");
  EXPECT_EQ(t.victims_for(5), "0 1");
}

TEST(Victims, FreeSomethingThatIsLacking) {
  Table t;
  const size_t b = t.borrower(20, 10);
  t.task(b, 2);
  t.candidates[0].frees = {};  // a gang on another agent
  t.task(b, 2);
  EXPECT_EQ(t.victims_for(2), "1");
}

TEST(Victims, AboveByARoundingErrorAreNone) {
  Table t;
  const size_t b = t.borrower(10, 10);
  t.task(b, 1);
  t.borrowers[b].use += ResourceVector::of(kTotal[ResourceKind::kCpus] / 1'000'000, 0);
  EXPECT_EQ(t.victims_for(1), "nobody");
  t.borrowers[b].use += ResourceVector::of(1, 0);
  EXPECT_EQ(t.victims_for(1), "0");
}

}  // namespace
}  // namespace proffer::victims_test
