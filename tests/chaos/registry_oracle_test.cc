// The oracle of the registry accepts a correct record, and finds each planted violation.

#include "tests/chaos/registry_oracle.h"

#include <gtest/gtest.h>

namespace proffer::test::registry_oracle_test {
namespace {

std::string violations(const std::string& records) {
  std::string all;
  for (const std::string& violation : judge_registry(records).violations) all += violation + "\n";
  return all;
}

// The second master leads from time 200 on.
constexpr const char* kTrue = R"(leads 100 1 110 3
asked 120 1 chaos-1 1
written 120 1 chaos-1 1 130 3 3
read 140 1 chaos-1 1 150
asked 160 1 chaos-1 2
leads 200 2 210 4
read 220 2 chaos-1 2 230
asked 240 2 reserved-2 1
written 240 2 reserved-2 1 250 4 -1
read 260 2 reserved-2 1 270
)";

TEST(RegistryOracle, BelievesATrueStory) {
  EXPECT_EQ(violations(kTrue), "");
  const RegistryJudgement judgement = judge_registry(kTrue);
  EXPECT_EQ(judgement.written, 2u);
  EXPECT_EQ(judgement.read, 3u);
  EXPECT_EQ(judgement.epochs, 2u);
}

TEST(RegistryOracle, AWriteThatWasNotAnsweredMayBeThereOrNotOrComeLater) {
  const std::string story =
      "asked 100 1 chaos-1 1\nwritten 100 1 chaos-1 1 110 3 3\n"
      "asked 120 1 chaos-1 2\n"
      "asked 130 1 chaos-1 3\nwritten 130 1 chaos-1 3 140 3 3\n";
  EXPECT_EQ(violations(story + "read 150 2 chaos-1 3 160\n"), "");
  EXPECT_EQ(violations(story + "read 150 2 chaos-1 2 160\n"), "");
  EXPECT_NE(violations(story + "read 150 2 chaos-1 1 160\n"), "");
}

TEST(RegistryOracle, FindsThatAnAcknowledgedWriteIsLost) {
  const std::string story =
      "asked 100 1 chaos-1 1\nwritten 100 1 chaos-1 1 110 3 3\n"
      "asked 120 1 chaos-1 2\nwritten 120 1 chaos-1 2 130 3 3\n";
  for (const char* value : {"0", "1", "7"}) {
    const std::string found = violations(story + "read 140 2 chaos-1 " + value + " 150\n");
    EXPECT_NE(found.find("not there"), std::string::npos) << value;
  }
  // A read that began before the answer may return the previous value.
  EXPECT_EQ(violations(story + "read 125 2 chaos-1 1 150\n"), "");
  // A role without a write has no value.
  EXPECT_NE(violations("read 100 1 chaos-1 5 110\n"), "");
  EXPECT_EQ(violations("read 100 1 chaos-1 0 110\n"), "");
}

TEST(RegistryOracle, FindsThatAReservationIsLostOrMadeTwice) {
  const std::string story =
      "asked 100 1 reserved-1 1\nwritten 100 1 reserved-1 1 110 3 3\n"
      "asked 120 1 reserved-1 2\n";
  EXPECT_EQ(violations(story + "read 140 2 reserved-1 1 150\n"), "");
  EXPECT_EQ(violations(story + "read 140 2 reserved-1 2 150\n"), "");
  EXPECT_NE(violations(story + "read 140 2 reserved-1 0 150\n"), "");
  EXPECT_NE(violations(story + "read 140 2 reserved-1 3 150\n"), "");
}

TEST(RegistryOracle, FindsALeaderThatGoesOnAfterALaterOneHasAnswered) {
  EXPECT_NE(violations("leads 100 1 110 3\nleads 120 2 130 4\nleads 140 1 150 3\n"), "");
  // The question was before the answer of the later leader.
  EXPECT_EQ(violations("leads 100 1 110 3\nleads 120 2 130 4\nleads 125 1 150 3\n"), "");
  // An earlier leader acknowledges a write that was requested after a later leader had answered.
  const std::string later = "leads 100 2 110 4\nasked 120 1 chaos-1 1\n";
  EXPECT_NE(violations(later + "written 120 1 chaos-1 1 130 3 3\n"), "");
  EXPECT_EQ(violations(later + "written 120 1 chaos-1 1 130 3 5\n"), "");
  EXPECT_EQ(violations(later + "written 120 1 chaos-1 1 130 3 -1\n"), "")
      << "which epoch it was is not known";
}

TEST(RegistryOracle, FindsTwoLeadersOfOneEpoch) {
  EXPECT_NE(violations("leads 100 1 200 3\nleads 100 2 200 3\n"), "");
}

TEST(RegistryOracle, FindsRecordsThatAreBroken) {
  EXPECT_NE(violations("leads 100 1\n"), "");
  EXPECT_NE(violations("says 100 1 2\n"), "");
  EXPECT_NE(violations("written 100 1 chaos-1 1 110 3 3\n"), "");
}

}  // namespace
}  // namespace proffer::test::registry_oracle_test
