// Join tokens as one line, the files that joining writes, and how a program finds its master.

#include "net/membership.h"

#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/text.h"
#include "net/fd.h"
#include "tests/net/support.h"

namespace proffer::membership_test {
namespace {

using testing::HasSubstr;

// Uses directories of the test for membership files and for `proffer dev`.
class MembershipFiles : public testing::Test {
 protected:
  MembershipFiles() {
    setenv("PROFFER_CONFIG_DIR", config().c_str(), 1);
    setenv("TMPDIR", directory_.path().c_str(), 1);
    unsetenv("PROFFER_MASTER");
  }
  ~MembershipFiles() override {
    unsetenv("PROFFER_CONFIG_DIR");
    unsetenv("TMPDIR");
    unsetenv("PROFFER_MASTER");
  }
  std::string config() const { return directory_.path() / "deep/config"; }
  static Membership member(KeyKind kind) {
    return {.kind = kind,
            .name = "a2",
            .masters = {{.host = "10.0.0.1", .port = 5051}, {.host = "10.0.0.2", .port = 5050}},
            .keys = {.own = make_key_pair(), .server = make_key_pair().public_key}};
  }
  static void write(const Membership& membership) {
    ASSERT_TRUE(prepare_membership(membership.kind));
    ASSERT_TRUE(write_membership(membership));
  }

  net_test::TempDir directory_;
};

JoinToken some_token() {
  return {.kind = KeyKind::kAgent,
          .name = "worker-7",
          .masters = {{.host = "10.0.0.1", .port = 5050}, {.host = "fd00::1", .port = 7}},
          .master_key = make_key_pair().public_key,
          .secret_key = make_key_pair().secret_key};
}

TEST(JoinTokens, AreOneLineThatComesBack) {
  for (int i = 0; i < 100; ++i) {
    JoinToken token = some_token();
    token.several = i % 2 == 1;
    const std::string line = to_text(token);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    const Result<JoinToken> parsed = parse_join_token(line + "\n");
    ASSERT_TRUE(parsed) << parsed.error().message();
    EXPECT_EQ(*parsed, token);
  }
}

TEST(JoinTokens, ThatAreCutOrChangedAreRefusedWithoutTheSecret) {
  const JoinToken token = some_token();
  const std::string line = to_text(token);
  std::vector<std::string> wrong = {
      "", "\n", line + " more", line + "\n" + line, "x" + line, std::string(100'000, 'a')};
  for (size_t cut = 0; cut < line.size(); cut += 3) wrong.push_back(line.substr(0, cut));
  for (const std::string& one : wrong) {
    const Result<JoinToken> parsed = parse_join_token(one);
    ASSERT_FALSE(parsed) << one;
    EXPECT_EQ(parsed.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(parsed.error().message().find(token.secret_key.substr(0, 8)), std::string::npos);
  }
  JoinToken nowhere = token;
  nowhere.masters = {{.host = "10.0.0.1", .port = 0}};
  EXPECT_FALSE(parse_join_token(to_text(nowhere)));
}

TEST_F(MembershipFiles, ComeBackAndAreForTheirOwnerOnly) {
  for (const KeyKind kind : {KeyKind::kAgent, KeyKind::kUser}) {
    EXPECT_EQ(*read_membership(kind), std::nullopt);
    const Membership joined = member(kind);
    write(joined);
    const auto read = read_membership(kind);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(*read, joined);
    const std::string path = *membership_file(kind);
    struct stat found = {};
    ASSERT_EQ(stat(path.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0600u);
    ASSERT_EQ(chmod(path.c_str(), 0644), 0);
    EXPECT_THAT(read_membership(kind).error().hint(), HasSubstr("chmod 600"));
    ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  }
}

// As a killed rotation leaves it.
TEST_F(MembershipFiles, MayHaveASuccessorOfTheirKey) {
  Membership joined = member(KeyKind::kUser);
  joined.successor = make_key_pair();
  write(joined);
  EXPECT_EQ(*read_membership(KeyKind::kUser), joined);
  EXPECT_EQ(*keys_for(KeyKind::kUser, joined.masters), joined.keys);
  const std::string path = *membership_file(KeyKind::kUser);
  std::ifstream in(path);
  const std::string good{std::istreambuf_iterator<char>(in), {}};
  std::ofstream(path) << good.substr(0, good.size() - 3);
  EXPECT_EQ(read_membership(KeyKind::kUser).error().code(), ErrorCode::kCorruption);
}

TEST_F(MembershipFiles, RunningProgramUsesTheKeysOfAFileOfItsOwnCluster) {
  const ClientKeys known{.own = make_key_pair(), .server = make_key_pair().public_key};
  EXPECT_EQ(current_keys(KeyKind::kUser, known), known) << "there is no file";
  Membership joined = member(KeyKind::kUser);
  write(joined);
  EXPECT_EQ(current_keys(KeyKind::kUser, known), known) << "it has joined another cluster";
  const ClientKeys former{.own = known.own, .server = joined.keys.server};
  EXPECT_EQ(current_keys(KeyKind::kUser, former), joined.keys);
  ASSERT_EQ(chmod(membership_file(KeyKind::kUser)->c_str(), 0644), 0);
  EXPECT_EQ(current_keys(KeyKind::kUser, former), former) << "others may have written it";
}

TEST_F(MembershipFiles, ThatAreDamagedAreRefused) {
  write(member(KeyKind::kUser));
  const std::string path = *membership_file(KeyKind::kUser);
  std::ifstream in(path);
  const std::string good{std::istreambuf_iterator<char>(in), {}};
  for (size_t cut = 0; cut + 1 < good.size(); cut += 7) {
    std::ofstream(path) << good.substr(0, cut);
    const auto read = read_membership(KeyKind::kUser);
    ASSERT_FALSE(read) << cut;
    EXPECT_EQ(read.error().code(), ErrorCode::kCorruption);
  }
}

TEST_F(MembershipFiles, SayWhereTheMasterIsIfNobodyElseDoes) {
  EXPECT_EQ(find_masters(KeyKind::kUser, "--master", "")->at(0).socket, kMasterSocket);
  const Membership joined = member(KeyKind::kUser);
  write(joined);
  EXPECT_EQ(*find_masters(KeyKind::kUser, "--master", ""), joined.masters);
  EXPECT_EQ(find_masters(KeyKind::kUser, "--master", "/run/x.sock")->at(0).socket, "/run/x.sock");
  // An agent on this machine has not joined.
  EXPECT_EQ(find_masters(KeyKind::kAgent, "--master", "")->at(0).socket, kMasterSocket);
  EXPECT_FALSE(find_masters(KeyKind::kUser, "--master", "a,host:0"));
}

// --- a cluster of `proffer dev` ------------------------------------------------------------------

class DevCluster : public MembershipFiles {
 protected:
  std::string directory() const { return directory_.path() / text("proffer-dev-", getuid()); }
  std::string socket() const { return directory() + "/master.sock"; }
  // A process listens there while the descriptor is open.
  Fd listen_at(const std::string& path) const {
    Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(fd.get(), 1), 0);
    return fd;
  }
  Fd serve() const {
    std::filesystem::create_directory(directory());
    return listen_at(socket());
  }
  static std::string found(const FoundMasters& masters) { return to_text(masters.masters); }
};

TEST_F(DevCluster, IsNeverFoundByDaemonsAndSchedulers) {
  const Fd listening = serve();
  for (const KeyKind kind : {KeyKind::kUser, KeyKind::kAgent}) {
    EXPECT_EQ(to_text(*find_masters(kind, "--master", "")), kMasterSocket);
    const Membership joined = member(kind);
    write(joined);
    EXPECT_EQ(*find_masters(kind, "--master", ""), joined.masters);
    setenv("PROFFER_MASTER", "/run/other.sock", 1);
    EXPECT_EQ(to_text(*find_masters(kind, "--master", "")), "/run/other.sock");
    EXPECT_EQ(to_text(*find_masters(kind, "--master", "/run/x.sock")), "/run/x.sock");
    setenv("PROFFER_MASTER", "", 1);
    EXPECT_EQ(*find_masters(kind, "--master", ""), joined.masters) << "empty is as if unset";
  }
  setenv("PROFFER_MASTER", "host:0", 1);
  const auto wrong = find_masters(KeyKind::kUser, "--master", "");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message(), HasSubstr("$PROFFER_MASTER"));
}

TEST_F(DevCluster, ComesForCommandsBehindAJoinedClusterWhichIsSaid) {
  EXPECT_EQ(found(*find_masters_for_user("--master", "")), kMasterSocket);
  const Fd listening = serve();
  EXPECT_EQ(found(*find_masters_for_user("--master", "")), socket());
  EXPECT_EQ(find_masters_for_user("--master", "")->note, "") << "there is no other";

  const Membership joined = member(KeyKind::kUser);
  write(joined);
  const FoundMasters both = *find_masters_for_user("--master", "");
  EXPECT_EQ(both.masters, joined.masters);
  EXPECT_THAT(both.note, HasSubstr(to_text(joined.masters)));
  EXPECT_THAT(both.note, HasSubstr("--master=" + socket()));

  for (const std::string& named : {socket(), std::string("/run/x.sock")}) {
    const FoundMasters taken = *find_masters_for_user("--master", named);
    EXPECT_EQ(found(taken), named);
    EXPECT_EQ(taken.note, "");
    setenv("PROFFER_MASTER", named.c_str(), 1);
    EXPECT_EQ(found(*find_masters_for_user("--master", "")), named);
    EXPECT_EQ(find_masters_for_user("--master", "")->note, "");
    unsetenv("PROFFER_MASTER");
  }
}

TEST_F(DevCluster, IsAbsentIfNobodyListensAtItsSocket) {
  { const Fd listening = serve(); }
  ASSERT_TRUE(std::filesystem::exists(socket())) << "as a kill -9 leaves it";
  EXPECT_EQ(dev_master(), std::nullopt);
  EXPECT_EQ(found(*find_masters_for_user("--master", "")), kMasterSocket);
  write(member(KeyKind::kUser));
  EXPECT_EQ(find_masters_for_user("--master", "")->note, "");
}

TEST_F(DevCluster, IsAbsentIfItsDirectoryIsNotOneOfThisUser) {
  std::filesystem::create_directory(directory_.path() / "elsewhere");
  const Fd listening = listen_at(directory_.path() / "elsewhere/master.sock");
  std::filesystem::create_directory_symlink(directory_.path() / "elsewhere", directory());
  EXPECT_EQ(dev_master(), std::nullopt);
  std::filesystem::remove(directory());
  std::filesystem::rename(directory_.path() / "elsewhere", directory());
  EXPECT_EQ(to_text(dev_master().value_or(Address())), socket());
  if (geteuid() != 0) return;
  ASSERT_EQ(chown(directory().c_str(), 65'534, 65'534), 0);
  EXPECT_EQ(dev_master(), std::nullopt);
}

TEST_F(DevCluster, IsFoundWithAFullQueueOfConnections) {
  const Fd listening = serve();
  std::vector<Fd> waiting;
  for (int i = 0; i < 8; ++i) {
    waiting.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    socket().copy(address.sun_path, sizeof address.sun_path - 1);
    const int failed =
        connect(waiting.back().get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
    if (failed != 0) break;
  }
  ASSERT_LT(waiting.size(), 8u);
  EXPECT_TRUE(has_listener(socket()));
}

TEST_F(MembershipFiles, AnotherMachineIsReachedWithKeysOrNotAtAll) {
  const Address near = {.host = "127.0.0.1", .port = 5050};
  const Address far = {.host = "10.0.0.9", .port = 5050};
  EXPECT_EQ(*keys_for(KeyKind::kUser, {{.socket = "/run/x.sock"}}), std::nullopt);
  EXPECT_EQ(*keys_for(KeyKind::kUser, {near}), std::nullopt);
  const auto none = keys_for(KeyKind::kUser, {near, far});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message(), HasSubstr("requires a key"));
  EXPECT_THAT(none.error().hint(), HasSubstr("proffer join"));

  Membership joined = member(KeyKind::kUser);
  write(joined);
  EXPECT_EQ(*keys_for(KeyKind::kUser, {near, far}), joined.keys);
  EXPECT_EQ(*keys_for(KeyKind::kUser, joined.masters), joined.keys);
  EXPECT_EQ(*keys_for(KeyKind::kUser, {near}), std::nullopt) << "for development";
  EXPECT_EQ(*keys_for(KeyKind::kUser, {{.socket = "/run/x.sock"}}), std::nullopt);
  joined.masters = {near, far};
  write(joined);
  EXPECT_EQ(*keys_for(KeyKind::kUser, {near}), joined.keys);
}

}  // namespace
}  // namespace proffer::membership_test
