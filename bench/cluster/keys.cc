#include "bench/cluster/keys.h"

#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "net/users.h"
#include "proto/codec/records.h"
#include "store/registry_file.h"

namespace proffer::bench {
namespace {

std::vector<ClientKeys> make_client_keys(int count, const PublicKey& server) {
  std::vector<ClientKeys> keys;
  for (int i = 0; i < count; ++i) keys.push_back({.own = make_key_pair(), .server = server});
  return keys;
}

}  // namespace

ClusterKeys make_cluster_keys(int agents, int frameworks) {
  ClusterKeys keys{.master = make_key_pair()};
  keys.agents = make_client_keys(agents, keys.master.public_key);
  keys.frameworks = make_client_keys(frameworks, keys.master.public_key);
  return keys;
}

void write_cluster_keys(const ClusterKeys& keys, const std::string& data_dir) {
  const std::string user = user_name(geteuid());
  std::vector<StoreRecord> rows;
  const auto add = [&](KnownKey known) {
    const proto::RegistryRow row = std::move(known);
    rows.push_back({proto::table_of(row), proto::key_of(row), proto::encode_row(row)});
  };
  for (size_t number = 0; number < keys.agents.size(); ++number) {
    add({.key = keys.agents[number].own.public_key,
         .kind = KeyKind::kAgent,
         .name = text("agent-", number),
         .by = user,
         .runs_as = user});
  }
  for (const ClientKeys& one : keys.frameworks) {
    add({.key = one.own.public_key, .kind = KeyKind::kUser, .name = user, .by = user});
  }
  const auto registry = RegistryFile::open(data_dir);
  CHECK(registry) << registry.error().message();
  const Result<int64_t> epoch = (*registry)->raise_epoch();
  CHECK(epoch) << epoch.error().message();
  const Result<void> done = (*registry)->commit({rows}, *epoch);
  CHECK(done) << done.error().message();
  const Result<void> written = write_key_file(text(data_dir, "/", kMasterKeyFile), keys.master);
  CHECK(written) << written.error().message();
}

}  // namespace proffer::bench
