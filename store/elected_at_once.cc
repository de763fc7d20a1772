#include "store/elected_at_once.h"

#include <utility>

#include "common/check.h"

namespace proffer {

ElectedAtOnce::ElectedAtOnce(std::unique_ptr<LocalStore> store) : store_(std::move(store)) {
  CHECK(store_ != nullptr);
}

void ElectedAtOnce::campaign(MasterPlace, Events events) {
  Result<LeaderEpoch> epoch = store_->begin_epoch();
  if (!epoch) return events.lost(std::move(epoch).error());
  Result<std::vector<StoreRecord>> rows = store_->load();
  if (!rows) return events.lost(std::move(rows).error());
  events.gained(*epoch, *std::move(rows));
}

}  // namespace proffer
