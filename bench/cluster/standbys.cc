// Standbys that follow the event log, without a ZooKeeper: for the leader they are like real ones.

#include <filesystem>

#include "bench/cluster/processes.h"
#include "bench/cluster/shared.h"
#include "common/check.h"
#include "common/text.h"
#include "master/shell/standby_link.h"
#include "tests/integration/processes.h"

namespace proffer::bench {

void run_standby(const Phase& phase, int index, Shared& shared) {
  const test::TemporaryDirectory home;
  Loop loop;
  master::StandbyLink link(
      loop,
      {.says = {.master = proto::MasterId(std::string(32, static_cast<char>('a' + index))),
                .name = text("standby-", index)},
       .events = HistoryLogOptions{.directory = home / "events", .bytes_max = uint64_t{64} << 20},
       .heartbeat = seconds(1)});
  link.follow(MasterPlace{.address = text("127.0.0.1:", phase.master_port)});
  uint64_t told = 0;
  Timer look(loop, [&] {
    shared.events_followed += link.events()->written() - told;
    told = link.events()->written();
    if (shared.frameworks_stop) return loop.stop();
    look.arm(loop.now() + milliseconds(20));
  });
  look.arm(loop.now());
  loop.run();
}

}  // namespace proffer::bench
