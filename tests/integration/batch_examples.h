#pragma once

// The jobs of examples/batch: how they are submitted, how their results are read, and the results
// of computations that share nothing with them.

#include <functional>
#include <string>
#include <vector>

#include "tests/integration/processes.h"

namespace proffer::test {

struct BatchExample {
  std::string name = {};
  std::string file = {};  // below examples; if none is said, batch/NAME.yaml
  std::string job = {};   // its ids are JOB-1, JOB-2, …
  Words parameters = {};  // words of the command, all but those that name the output
  // How the output is named: with a parameter of the file, or with --output.
  bool has_out_parameter = true;
  std::string expected = {};  // to the byte
  enum class Result {
    kSortedParts,   // the lines of all parts, sorted: their order is the partitioning's
    kParts,         // all parts, one after the other
    kBatchResults,  // what `proffer batch results` prints
  } result = Result::kSortedParts;
  std::string suffix = {};  // of the output directory of the stage that gives it
  std::string stage = {};   // the same of its id, for kBatchResults
  // It is submitted, and started at each fire time: `out` has a directory for each firing.
  bool is_schedule = false;
  // The most attempts of a task that may fail without failing the job.
  int failures_max = 3;

  // The words behind `proffer` that run it.
  Words run(const std::string& out) const;
  // Its result. `proffer` runs a command on the cluster.
  std::string given(const std::string& out, const std::string& id,
                    const std::function<Exit(const Words&)>& proffer) const;
};

// Those that need nothing but the packages of tools/packages.txt. Makes their input in `directory`,
// of so many lines each, and computes what they must give. Without that of a schedule.
std::vector<BatchExample> batch_examples(const std::string& directory, int lines);

// A schedule with the input of batch_examples(). It fires each minute.
BatchExample schedule_example(const std::string& directory);

// The Open MPI program, compiled into `directory`; how to say that it cannot be run here.
std::string why_no_mpi();
BatchExample mpi_example(const std::string& directory);
// The lines of a result without the groups of processes, which differ from run to run.
std::string without_groups(const std::string& lines);

}  // namespace proffer::test
