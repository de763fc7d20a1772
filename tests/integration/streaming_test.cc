// A mapper and a reducer for Hadoop Streaming, in Python, unchanged.

#include <filesystem>
#include <map>

#include <gtest/gtest.h>

#include "common/text.h"
#include "proto/json/batch_json.h"
#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

// As in many tutorials: they use the name of the input file, the number of the task, and counters
// and a status on standard error.
constexpr std::string_view kMapper = R"py(#!/usr/bin/env python3
import os
import sys

name = os.path.basename(os.environ["mapreduce_map_input_file"])
int(os.environ["mapreduce_task_partition"])
sys.stderr.write("reporter:status:reading %s\n" % name)
for line in sys.stdin:
    words = line.strip().split()
    if not words:
        sys.stderr.write("reporter:counter:Lines,Empty,1\n")
    for word in words:
        print("%s\t%d" % (word.lower(), 1))
    sys.stderr.write("reporter:counter:Words,%s,%d\n" % (name, len(words)))
)py";

constexpr std::string_view kReducer = R"py(#!/usr/bin/env python3
import sys
from itertools import groupby
from operator import itemgetter


def pairs():
    for line in sys.stdin:
        yield line.rstrip("\n").split("\t", 1)


for word, group in groupby(pairs(), itemgetter(0)):
    print("%s\t%d" % (word, sum(int(count) for _, count in group)))
    sys.stderr.write("reporter:counter:Words,Distinct,1\n")
)py";

std::map<std::string, int64_t> counters_of(const proto::BatchJob& job) {
  std::map<std::string, int64_t> counters;
  for (const proto::BatchCounter& counter : job.counters) {
    counters[text(counter.group, ",", counter.name)] = counter.amount;
  }
  return counters;
}

TEST(HadoopStreaming, ScriptsRunUnchanged) {
  const TemporaryDirectory home;
  std::filesystem::create_directory(home / "in");
  write_file(home / "in/a.txt", "The cat and the hat\n\nthe end\n");
  write_file(home / "in/b.txt", "a cat\n");
  write_file(home / "mapper.py", std::string(kMapper));
  write_file(home / "reducer.py", std::string(kReducer));
  Cluster cluster({.agents = 2, .resources = "cpus:2;mem:2048", .batch = true});
  const Exit done = cluster.proffer({"batch",      "run",
                                     "--name",     "stream",
                                     "--map",      "./mapper.py",
                                     "--combine",  "./reducer.py",
                                     "--reduce",   "./reducer.py",
                                     "--files",    home / "mapper.py",
                                     "--files",    home / "reducer.py",
                                     "--input",    home / "in",
                                     "--output",   home / "out",
                                     "--reducers", "2",
                                     "--by-file"},
                                    Seconds(60));
  ASSERT_EQ(done.code, 0) << done.err << done.out;
  const Exit all = run({"sort", home / "out/part-00000", home / "out/part-00001"});
  EXPECT_EQ(all.out, "a\t1\nand\t1\ncat\t2\nend\t1\nhat\t1\nthe\t3\n");

  const auto job =
      proto::parse_batch_job(cluster.proffer({"batch", "status", "stream-1", "--json"}).out);
  ASSERT_TRUE(job) << job.error().message();
  std::map<std::string, int64_t> counters = counters_of(*job);
  // Distinct words: 5 in the combiner of a.txt's map, 2 in that of b.txt's, 6 in the reducers.
  EXPECT_EQ(counters["Lines,Empty"], 1);
  EXPECT_EQ(counters["Words,a.txt"], 7);
  EXPECT_EQ(counters["Words,b.txt"], 2);
  EXPECT_EQ(counters["Words,Distinct"], 5 + 2 + 6);
  const Exit shown = cluster.proffer({"batch", "status", "stream-1"});
  EXPECT_NE(shown.out.find("Words,a.txt  7"), std::string::npos) << shown.out;
}

}  // namespace
}  // namespace proffer::test
