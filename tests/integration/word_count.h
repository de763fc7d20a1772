#pragma once

// A word count of generated text, and its expected result.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/prng.h"
#include "common/text.h"
#include "proto/json/batch_json.h"
#include "proto/json/json.h"
#include "tests/integration/processes.h"

namespace proffer::test {

// Text of known words with special cases: empty lines, no final newline, tabs, bytes that are not
// UTF-8, an empty file, a subdirectory, names with a space, a quote and a newline.
class WordCount : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(home_ / "in/below it");
    Prng prng(42);
    for (int file = 0; file < 12; ++file) {
      std::string content;
      const int lines = static_cast<int>(prng.between(0, 4000));
      for (int line = 0; line < lines; ++line) {
        const int words = static_cast<int>(prng.between(0, 8));
        for (int word = 0; word < words; ++word) {
          content += "word" + std::to_string(prng.below(500)) + (prng.chance(1, 9) ? "\t" : " ");
        }
        if (prng.chance(1, 50)) content += "\xff\xfe";
        content += '\n';
      }
      if (file % 3 == 0) content += "the last line has no newline";
      write_file(home_ / ("in/" + std::string(file % 2 == 0 ? "below it/" : "") + "f " +
                          std::to_string(file)),
                 content);
    }
    write_file(home_ / "in/empty", "");
    write_file(home_ / "in/a name\nof two lines", "of a file\n");
    write_file(home_ / "in/it's \"quoted\" \\n $HOME", "quoted\n");
    write_file(home_ / "map.sh",
               "tr -cs 'A-Za-z0-9' '\\n' | awk 'NF { printf \"%s\\t1\\n\", $0 }'\n");
    write_file(home_ / "slow_map.sh", "sleep 0.3; sh map.sh\n");
    write_file(
        home_ / "reduce.awk",
        "BEGIN { FS = \"\\t\" } $1 != key { if (NR > 1) print key \"\\t\" n; key = $1; n = 0 } "
        "{ n += $2 } END { if (NR > 0) print key \"\\t\" n }\n");
    const Exit pipeline =
        run({"bash", "-c",
             "export LC_ALL=C; find in -type f -print0 | sort -z | xargs -0 grep -ah '' | "
             "sh map.sh | sort | awk -f reduce.awk"},
            {}, home_.path());
    ASSERT_EQ(pipeline.code, 0) << pipeline.err;
    ASSERT_GT(pipeline.out.size(), 1000u);
    expected_ = pipeline.out;
  }

  Words job(const std::string& map = "sh map.sh", const std::string& split = "8KiB") const {
    return {"batch",       "run",
            "--name",      "wc",
            "--map",       map,
            "--reduce",    "awk -f reduce.awk",
            "--files",     home_ / "map.sh",
            "--files",     home_ / "slow_map.sh",
            "--files",     home_ / "reduce.awk",
            "--input",     home_ / "in",
            "--output",    home_ / "out",
            "--reducers",  "3",
            "--split",     split,
            "--resources", "cpus:1;mem:64"};
  }
  static pid_t scheduler_of(const Cluster& cluster) {
    for (const pid_t pid : processes_of(cluster.dir())) {
      const std::string command = read_file(text("/proc/", static_cast<int64_t>(pid), "/cmdline"));
      if (command.find("proffer-batch\0scheduler", 0, 23) != std::string::npos) return pid;
    }
    return 0;
  }
  // Files below the sandboxes of all agents.
  static std::vector<std::string> left_on_agents(const Cluster& cluster) {
    const Exit found = run({"find", cluster.dir(), "-path", "*/sandboxes/*", "-type", "f"});
    std::vector<std::string> files;
    for (const std::string_view file : split(found.out, '\n')) {
      if (!file.empty()) files.emplace_back(file);
    }
    return files;
  }
  // The number of attempts by task name.
  static std::map<std::string, int> attempts_of_maps(const Cluster& cluster) {
    std::map<std::string, int> attempts;
    const auto rows = proto::parse_tasks(cluster.proffer({"tasks", "--all", "--json"}).out);
    for (const proto::TaskRow& row : rows ? *rows : std::vector<proto::TaskRow>()) {
      const std::string& id = row.task.str();
      if (id.find(".map-") != std::string::npos) ++attempts[id.substr(0, id.rfind('-'))];
    }
    return attempts;
  }
  static proto::BatchJob status(const Cluster& cluster, const std::string& job = "wc-1") {
    const auto told =
        proto::parse_batch_job(cluster.proffer({"batch", "status", job, "--json"}).out);
    return told ? *told : proto::BatchJob();
  }
  std::string counted() const {
    return run({"bash", "-c", "cat out/part-* | LC_ALL=C sort"}, {}, home_.path()).out;
  }

  TemporaryDirectory home_;
  std::string expected_;
};

}  // namespace proffer::test
