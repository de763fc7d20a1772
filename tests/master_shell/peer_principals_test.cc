// The principal of a connection, by its origin.

#include "master/shell/peer_principals.h"

#include <map>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/keys.h"

namespace proffer::master::peer_principals_test {
namespace {

constexpr PeerId kPeer{7};

PublicKey key(char letter) { return PublicKey(std::string(kPublicKeyBytes, letter)); }

struct Scenario {
  std::map<PeerId, PeerPrincipals::Origin> origins = {};
  std::map<PublicKey, KnownKey> registry = {};
  Time now = Time() + seconds(1'000);
  PeerPrincipals principals{{.origin_of = [this](PeerId peer) { return origins[peer]; },
                             .find_key = [this](const PublicKey& one) -> const KnownKey* {
                               const auto found = registry.find(one);
                               return found == registry.end() ? nullptr : &found->second;
                             },
                             .now = [this] { return now; }}};

  void comes(PeerPrincipals::Origin origin) { origins[kPeer] = std::move(origin); }
};

TEST(PeerPrincipals, TheKernelNamesTheUserOfAUnixSocket) {
  Scenario s;
  s.comes({.process = PeerProcess{.uid = geteuid()}});
  const PrincipalPtr by = s.principals.of(kPeer);
  ASSERT_NE(by, nullptr);
  EXPECT_EQ(by->uid, geteuid());
  EXPECT_FALSE(by->is_unproven);
}

TEST(PeerPrincipals, LocalTcpPeerIsThisUserOnlyWithoutKeys) {
  Scenario open;
  open.comes({.host = "127.0.0.1"});
  const PrincipalPtr by = open.principals.of(kPeer);
  ASSERT_NE(by, nullptr);
  EXPECT_EQ(by->uid, geteuid());
  EXPECT_TRUE(by->is_unproven);
  Scenario far;
  far.comes({.host = "192.0.2.7"});
  EXPECT_EQ(far.principals.of(kPeer), nullptr);
  Scenario keyed;
  keyed.principals.serve_by(key('m'));
  keyed.comes({.host = "127.0.0.1"});
  EXPECT_EQ(keyed.principals.of(kPeer), nullptr);
}

TEST(PeerPrincipals, OnlyTheMastersOwnKeyIsThatOfAnotherMaster) {
  Scenario s;
  s.principals.serve_by(key('m'));
  s.comes({.key = key('m')});
  const PrincipalPtr by = s.principals.of(kPeer);
  ASSERT_NE(by, nullptr);
  EXPECT_TRUE(by->is_master);
  s.principals.forget(kPeer);
  s.comes({.key = key('x')});
  EXPECT_EQ(s.principals.of(kPeer), nullptr);
}

TEST(PeerPrincipals, AKeyThatIsKnownLaterCountsFromThenOn) {
  Scenario s;
  s.comes({.key = key('a')});
  EXPECT_EQ(s.principals.of(kPeer), nullptr);
  EXPECT_TRUE(s.principals.knows(kPeer));
  s.registry[key('a')] = {.key = key('a'), .name = "ada"};
  const PrincipalPtr by = s.principals.of(kPeer);
  ASSERT_NE(by, nullptr);
  EXPECT_EQ(by->user, "ada");
}

// A connection's principal is looked up only once; so the connection must end with its key.
TEST(PeerPrincipals, ARevokedKeyNamesTheConnectionsThatCameWithIt) {
  Scenario s;
  s.registry[key('a')] = {.key = key('a'), .name = "ada"};
  s.registry[key('b')] = {.key = key('b'), .name = "bob"};
  s.origins = {{PeerId(1), {.key = key('a')}}, {PeerId(2), {.key = key('b')}}};
  s.principals.of(PeerId(1));
  s.principals.of(PeerId(2));
  s.registry.erase(key('a'));
  EXPECT_NE(s.principals.of(PeerId(1)), nullptr) << "it is kept";
  EXPECT_EQ(s.principals.forget_key(key('a')), std::vector<PeerId>{PeerId(1)});
  EXPECT_FALSE(s.principals.knows(PeerId(1)));
  EXPECT_EQ(s.principals.of(PeerId(1)), nullptr);
  EXPECT_TRUE(s.principals.knows(PeerId(2)));
}

}  // namespace
}  // namespace proffer::master::peer_principals_test
