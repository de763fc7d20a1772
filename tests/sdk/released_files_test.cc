// Files that the author has released, and the messages about them to the master.

#include "common/text.h"
#include "tests/sdk/driver_world.h"

namespace proffer::sdk::released_files_test {
namespace {

using Names = std::vector<std::string>;

proto::ReleaseFiles release_of(Names begins, Names agents = {}) {
  proto::ReleaseFiles released{.framework = {}, .begins = std::move(begins), .agents = {}};
  for (const std::string& agent : agents) released.agents.emplace_back(agent);
  return released;
}

TEST(ReleasedFiles, AreToldInThisSessionAndAgainInEachLaterOne) {
  DriverWorld w;
  w.subscribe();
  w.want(release_of({"job-1."}, {"a1"}));
  EXPECT_EQ(w.sent<proto::ReleaseFiles>(), std::vector{release_of({"job-1."}, {"a1"})});
  w.disconnect();
  w.forget();
  w.want(release_of({"job-2."}));
  EXPECT_TRUE(w.sent<proto::ReleaseFiles>().empty());
  w.subscribe(true);
  EXPECT_EQ(w.sent<proto::ReleaseFiles>(),
            (std::vector{release_of({"job-1."}, {"a1"}), release_of({"job-2."})}));
}

TEST(ReleasedFiles, OfManyAreToldInParts) {
  DriverWorld w;
  w.subscribe();
  Names begins;
  for (size_t i = 0; i <= kReleasedNamesMax; ++i) begins.push_back(text("job-", i, "."));
  w.want(release_of(begins, {"a1"}));
  const auto sent = w.sent<proto::ReleaseFiles>();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].begins.size(), kReleasedNamesMax);
  EXPECT_EQ(sent[1], release_of({begins.back()}, {"a1"}));
}

TEST(ReleasedFiles, OfMoreAgentsThanAMessageNamesAreToldToAll) {
  DriverWorld w;
  w.subscribe();
  Names agents;
  for (size_t i = 0; i <= kReleasedAgentsMax; ++i) agents.push_back(text("a", i));
  w.want(release_of({"job-1."}, agents));
  EXPECT_EQ(w.sent<proto::ReleaseFiles>(), std::vector{release_of({"job-1."})});
}

// A frame that the master refuses would end the session.
TEST(ReleasedFiles, WhatNoIdCanBeginWithIsLeftOut) {
  DriverWorld w;
  w.subscribe();
  w.want(release_of({"", "no name", "job-1.", std::string(200, 'x')}));
  w.want(release_of({"job-2."}, {"", "no agent"}));
  w.want(release_of({}));
  EXPECT_EQ(w.sent<proto::ReleaseFiles>(), std::vector{release_of({"job-1."})});
}

TEST(ReleasedFiles, TheNewestAreRemembered) {
  DriverWorld w;
  w.subscribe();
  for (size_t i = 0; i <= kReleasesKeptMax; ++i) w.want(release_of({text("job-", i, ".")}));
  w.disconnect();
  w.forget();
  w.subscribe(true);
  const auto sent = w.sent<proto::ReleaseFiles>();
  ASSERT_EQ(sent.size(), kReleasesKeptMax);
  EXPECT_EQ(sent.front(), release_of({"job-1."}));
}

}  // namespace
}  // namespace proffer::sdk::released_files_test
