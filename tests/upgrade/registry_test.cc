// Registries of masters of earlier versions, opened by the current one. recorded_test.cc has the
// operations that were recorded.

#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/check.h"
#include "master/core/master.h"
#include "proto/codec/records.h"
#include "store/registry_file.h"
#include "tests/net/support.h"
#include "tests/upgrade/versions.h"

namespace proffer::upgrade_test {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;

struct Line {
  std::string operator()(const proto::AgentRecord& row) const {
    return text("agent ", row.agent.str(), row.unreachable ? " unreachable" : "",
                row.drained_by ? " drained" : "", row.secret == Secret() ? "" : " with its secret");
  }
  std::string operator()(const proto::FrameworkRecord& row) const {
    return text("framework ", row.framework.str(), " ", row.name, " in ", row.role.str(),
                " away for ", to_text(row.failover_timeout),
                row.secret == Secret() ? "" : " with its secret");
  }
  std::string operator()(const proto::RoleRecord& row) const {
    return text("role ", row.role.str(), " weight ", row.settings.weight, " guarantee ",
                to_text(row.settings.guarantee), " limit ", to_text(row.settings.limit));
  }
  std::string operator()(const proto::ReservationRecord& row) const {
    return text("reservation ", row.agent.str(), " ", row.role.str(), " ", to_text(row.resources));
  }
  std::string operator()(const proto::StoreRecord& row) const {
    return text("store ", row.framework.str(), " ", row.key);
  }
  std::string operator()(const KnownKey& row) const { return text("key ", row.name); }
  std::string operator()(const proto::SecretRecord& row) const {
    return text("secret ", row.owner, " ", row.name);
  }
  std::string operator()(const proto::ClusterRecord&) const { return "cluster"; }
};

class PreviousRegistry : public testing::TestWithParam<Version> {
 protected:
  PreviousRegistry() {
    for (const auto& file : fs::directory_iterator(GetParam().fixture(""))) {
      const std::string name = file.path().filename();
      if (name.starts_with("registry.")) fs::copy_file(file.path(), home_.path() / name);
    }
  }
  std::vector<proto::RegistryRow> rows() const {
    const auto opened = RegistryFile::open(home_.path());
    CHECK(opened) << opened.error().message();
    const auto records = (*opened)->load();
    CHECK(records) << records.error().message();
    std::vector<proto::RegistryRow> rows;
    for (const StoreRecord& record : *records) {
      auto row = proto::decode_row(record.table, record.key, *record.value);
      CHECK(row) << record.table << "/" << record.key << ": " << row.error().message();
      rows.push_back(*std::move(row));
    }
    return rows;
  }

  net_test::TempDir home_;
};
INSTANTIATE_TEST_SUITE_P(Of, PreviousRegistry, testing::ValuesIn(versions()), name_of);

TEST_P(PreviousRegistry, EachRowMeansWhatItMeant) {
  std::vector<std::string> lines;
  for (const proto::RegistryRow& row : rows()) lines.push_back(std::visit(Line(), row));
  EXPECT_THAT(lines, IsSupersetOf({"agent a1 with its secret", "agent a2 drained with its secret",
                                   "role ads weight 3000 guarantee cpus:1 limit cpus:3;mem:2048",
                                   "role ads/batch weight 2000 guarantee  limit ",
                                   "reservation a1 ads cpus:1;mem:256",
                                   "framework service-1-1 service in default away for 1w "
                                   "with its secret"}));
  EXPECT_THAT(lines, Contains(HasSubstr("store service-1-1 ")));
}

TEST_P(PreviousRegistry, AMasterGoesOnFromIt) {
  const std::vector<proto::RegistryRow> found = rows();
  const master::Master master({}, {.rows = found});
  EXPECT_TRUE(master.violations().empty());
  const std::vector<proto::RegistryRow> kept = master.snapshot().rows;
  for (const proto::RegistryRow& row : found) {
    EXPECT_NE(std::find(kept.begin(), kept.end(), row), kept.end()) << std::visit(Line(), row);
  }
  std::vector<std::string> roles;
  for (const proto::RoleRow& row : master.roles()) {
    roles.push_back(text(row.role.str(), " ", row.weight, " ", to_text(row.guarantee)));
  }
  EXPECT_THAT(roles, IsSupersetOf({"ads 3000 cpus:1", "ads/batch 2000 "}));
}

// A later epoch than any that agents may know.
TEST_P(PreviousRegistry, TheNextEpochIsAboveThoseOfBefore) {
  const auto opened = RegistryFile::open(home_.path());
  ASSERT_TRUE(opened) << opened.error().message();
  const auto epoch = (*opened)->raise_epoch();
  ASSERT_TRUE(epoch) << epoch.error().message();
  EXPECT_GE(*epoch, 2);
}

}  // namespace
}  // namespace proffer::upgrade_test
