// Which callers may read an agent's files from another machine.

#include "slave/shell/file_gate.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/limits.h"
#include "common/text.h"
#include "net/file_token.h"
#include "net/users.h"

namespace proffer::agent::file_gate_test {
namespace {

class Gate : public testing::Test {
 protected:
  FileToken token(const std::string& user) const {
    return {.until = now_ + kFileTokenAge, .user = user, .prefix = "/v1/files/F1/"};
  }
  std::variant<PrincipalPtr, HttpRefusal> admit(const FileToken& token,
                                                const std::string& path = "/v1/files/F1/t/stdout") {
    return gate_.admit(seal(token, key_), path, "10.0.0.7");
  }
  static int status(const std::variant<PrincipalPtr, HttpRefusal>& answer) {
    const auto* refusal = std::get_if<HttpRefusal>(&answer);
    return refusal == nullptr ? 200 : refusal->status;
  }

  Secret key_ = Secret(std::string(32, 'a'));
  Time now_ = Time::from_nanos(1'000'000'000'000);
  std::vector<RefusedBearer> refused_;
  FileGate gate_ = FileGate(
      key_, [this] { return now_; },
      [this](RefusedBearer refused) { refused_.push_back(std::move(refused)); });
};

TEST_F(Gate, TheBearerHasTheRightsOfTheUserOfThatName) {
  const auto admitted = admit(token(user_name(geteuid())));
  ASSERT_EQ(status(admitted), 200);
  const PrincipalPtr by = std::get<PrincipalPtr>(admitted);
  EXPECT_EQ(by->uid, geteuid());
  EXPECT_EQ(by->groups, groups_of(geteuid()));
  EXPECT_FALSE(by->is_operator);
  EXPECT_TRUE(refused_.empty());
}

TEST_F(Gate, AUserOfNoNameHereIsRefusedUnlessItIsAnOperatorOfTheCluster) {
  FileToken stranger = token("zelda-of-nowhere");
  EXPECT_EQ(status(admit(stranger)), 403);
  ASSERT_EQ(refused_.size(), 1u);
  EXPECT_EQ(refused_[0].user, "zelda-of-nowhere");
  EXPECT_EQ(refused_[0].peer, "10.0.0.7");
  stranger.is_operator = true;
  const auto admitted = admit(stranger);
  ASSERT_EQ(status(admitted), 200);
  EXPECT_EQ(std::get<PrincipalPtr>(admitted)->uid, kNoUid);
  EXPECT_TRUE(std::get<PrincipalPtr>(admitted)->is_operator);
}

TEST_F(Gate, OpensThePathsOfItsFrameworkAndNoOthers) {
  const FileToken own = token(user_name(geteuid()));
  for (const char* path :
       {"/v1/files/F1/", "/v1/files/F1/t", "/v1/files/F1/t/a/b", "/v1/usage/F1"}) {
    EXPECT_EQ(status(admit(own, path)), 200) << path;
  }
  for (const char* path :
       {"/v1/files/F1", "/v1/files/F10/t", "/v1/files/F2/t/stdout", "/v1/status", "/v1/usage/",
        "/v1/usage/F10", "/v1/usage/F1/", "/v1/usage/F", "/metrics", "/v1/access/F1/a2", "/", ""}) {
    EXPECT_EQ(status(admit(own, path)), 403) << path;
  }
}

TEST_F(Gate, NoTokenAForgedOneAndOneWhoseTimeIsOverAreAudited) {
  const std::string path = "/v1/files/F1/t/stdout";
  EXPECT_EQ(status(gate_.admit("", path, "10.0.0.7")), 401);
  const FileToken own = token(user_name(geteuid()));
  EXPECT_EQ(status(gate_.admit(seal(own, Secret(std::string(32, 'b'))), path, "10.0.0.7")), 401);
  EXPECT_EQ(status(gate_.admit("f1.00.00", path, "10.0.0.7")), 401);
  const std::string sealed = seal(own, key_);
  now_ = now_ + kFileTokenAge;
  EXPECT_EQ(status(gate_.admit(sealed, path, "10.0.0.7")), 401);
  ASSERT_EQ(refused_.size(), 4u);
  for (const RefusedBearer& one : refused_) {
    EXPECT_EQ(one.user, "?");
    EXPECT_EQ(one.path, path);
    EXPECT_FALSE(one.why.empty());
  }
}

}  // namespace
}  // namespace proffer::agent::file_gate_test
