#pragma once

// A sort with a combiner: what fills its buffer goes through a command, and what that writes is
// sorted again.

#include <optional>
#include <string>

#include "frameworks/batch/core/work.h"
#include "frameworks/batch/executor/sort.h"
#include "frameworks/batch/executor/task.h"

namespace proffer::batch {

class CombiningSort : public LineSink {
 public:
  struct Options {
    std::string directory = {};  // exists; for runs
    int64_t bytes = 0;
    uint32_t partitions = 1;
    std::string command = {};
    std::vector<std::string> environment = {};
    int stderr_fd = -1;
  };
  // `keys` outlives it.
  CombiningSort(Options options, const KeyRule& keys);
  Result<bool> put(uint32_t partition, std::string_view line) override;
  // Once, behind the last line.
  Result<void> finish(LineSink& out);
  // Why the command failed, if an error is due to that.
  const std::optional<TaskTrouble>& trouble() const { return trouble_; }

 private:
  Result<void> combine();

  const Options options_;
  const KeyRule& keys_;
  SortBuffer given_;
  ExternalSort combined_;
  std::optional<TaskTrouble> trouble_;
};

}  // namespace proffer::batch
