#pragma once

// The leadership of a single master: no other process can open its store.

#include <memory>

#include "store/leadership.h"

namespace proffer {

class ElectedAtOnce final : public Leadership {
 public:
  explicit ElectedAtOnce(std::unique_ptr<LocalStore> store);

  // Calls `gained`, or `lost` if the store cannot be read, before it returns. Blocks.
  void campaign(MasterPlace, Events events) override;
  bool may_serve(Time) const override { return true; }
  Store& store() override { return *store_; }
  std::optional<MasterPlace> other_leader() const override { return std::nullopt; }

 private:
  std::unique_ptr<LocalStore> store_;
};

}  // namespace proffer
