#pragma once

// A sort with a combiner: each full buffer goes through a command, and the command's output is
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
    std::string directory = {};  // must exist; for runs
    int64_t bytes = 0;
    uint32_t partitions = 1;
    std::string command = {};
    std::vector<std::string> environment = {};
    int stderr_fd = -1;
  };
  // `keys` must outlive it.
  CombiningSort(Options options, const KeyRule& keys);
  Result<bool> put(uint32_t partition, std::string_view line) override;
  // Call it once, after the last line.
  Result<void> finish(LineSink& out);
  // The failure of the command, if it caused an error.
  const std::optional<TaskTrouble>& trouble() const { return trouble_; }

 private:
  Result<void> combine();

  const Options options_;
  KeyRule keys_;
  SortBuffer given_;
  ExternalSort combined_;
  std::optional<TaskTrouble> trouble_;
};

}  // namespace proffer::batch
