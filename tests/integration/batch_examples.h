#pragma once

// The jobs of examples/batch: how to submit them, how to read their results, and expected results
// from independent computations.

#include <functional>
#include <string>
#include <vector>

#include "tests/integration/processes.h"

namespace proffer::test {

struct BatchExample {
  std::string name = {};
  std::string file = {};  // below examples; empty: batch/NAME.yaml
  std::string job = {};   // the prefix of its ids JOB-1, JOB-2, …
  Words parameters = {};  // arguments of the command, without the output's name
  // True: a parameter of the file names the output; false: --output does.
  bool has_out_parameter = true;
  std::string expected = {};  // the exact bytes
  enum class Result {
    kSortedParts,   // the sorted lines of all parts: their order depends on the partitioning
    kParts,         // all parts, concatenated
    kBatchResults,  // the output of `proffer batch results`
  } result = Result::kSortedParts;
  std::string suffix = {};  // suffix of the output directory of the stage with the result
  std::string stage = {};   // suffix of that stage's id, for kBatchResults
  // A schedule: it is submitted once, and starts a job at each fire time. `out` has a directory per
  // firing.
  bool is_schedule = false;
  // Maximum number of failed attempts of a task, so that the job still succeeds.
  int failures_max = 3;

  // The arguments of `proffer` that run it.
  Words run(const std::string& out) const;
  // Its actual result. `proffer` runs a command on the cluster.
  std::string given(const std::string& out, const std::string& id,
                    const std::function<Exit(const Words&)>& proffer) const;
};

// The examples that need only the packages of tools/packages.txt, without the schedule. Writes
// their inputs to `directory`, with this many lines each, and computes the expected results.
std::vector<BatchExample> batch_examples(const std::string& directory, int lines);

// A schedule with the input of batch_examples(). It fires each minute.
BatchExample schedule_example(const std::string& directory);

// Why the Open MPI program cannot run here; empty if it can. mpi_example() compiles it into
// `directory`.
std::string why_no_mpi();
BatchExample mpi_example(const std::string& directory);
// The lines of a result without the cgroups, which differ from run to run.
std::string without_groups(const std::string& lines);

}  // namespace proffer::test
