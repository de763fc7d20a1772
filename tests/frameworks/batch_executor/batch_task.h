#pragma once

// Map and reduce tasks with real commands, real files and a real file server.

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "common/text.h"
#include "frameworks/batch/executor/blocks.h"
#include "frameworks/batch/executor/posix.h"
#include "frameworks/batch/executor/task.h"
#include "net/http_server.h"
#include "tests/support/with_directory.h"

namespace proffer::batch::task_test {

namespace fs = std::filesystem;
inline constexpr auto kCommit = EndWork::Kind::kCommit;
inline constexpr auto kSetAside = EndWork::Kind::kSetAside;
inline constexpr auto kRemove = EndWork::Kind::kRemove;

inline std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream all;
  all << file.rdbuf();
  return all.str();
}
inline void put(const fs::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}
inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// One host with an agent's file server, the job's output and a sandbox for each task.
class BatchTask : public test::WithDirectory {
 protected:
  void SetUp() override {
    // Tasks signal their process group, which must contain no other process.
    ASSERT_TRUE(::getpgrp() == ::getpid() || ::setpgid(0, 0) == 0);
    ::signal(SIGPIPE, SIG_IGN);
    fs::create_directories(root_ / "in");
    fs::create_directories(root_ / "out/_temporary");
    const fs::path root = root_;
    Result<std::unique_ptr<HttpServer>> server = HttpServer::listen(
        loop_, {.address = {"127.0.0.1", 0},
                .handler = {},
                .files = {.prefix = "/v1/files/",
                          .resolve = [root](std::string_view rest,
                                            const PrincipalPtr&) -> Result<ServedPath> {
                            const size_t slash = rest.find('/');  // "framework/task/path"
                            return ServedPath{.root = *open_root(root),
                                              .relative = std::string(rest.substr(slash + 1))};
                          },
                          .encode_directory = [](const std::vector<DirEntry>&) { return "[]"; }}});
    ASSERT_TRUE(server) << server.error().message();
    server_ = *std::move(server);
  }

  std::string address() const { return text("127.0.0.1:", server_->port()); }

  TaskSetting setting(const std::string& task) {
    TaskSetting setting{.framework = "f",
                        .task = task,
                        .sandbox = (root_ / task).string(),
                        .agent = {.http_address = address()},
                        .environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}},
                        .sort_bytes = int64_t{1} << 20,
                        .stopped = &stopped_};
    fs::create_directories(setting.sandbox);
    // An executor's working directory is its sandbox.
    EXPECT_EQ(::chdir(setting.sandbox.c_str()), 0);
    return setting;
  }

  WorkCommon common(const std::string& command, uint32_t number, uint32_t attempt) const {
    return WorkCommon{.job = "job-1",
                      .command = command,
                      .output = (root_ / "out").string(),
                      .plan = "p",
                      .maps = maps_,
                      .number = number,
                      .attempt = attempt};
  }

  // The plan of the job, as `proffer batch submit` writes it.
  void plan(const std::vector<Split>& splits, const ShippedFiles& files = {}) {
    maps_ = static_cast<uint32_t>(splits.size());
    std::string entries;
    std::string index;
    const auto add = [&](const std::string& entry) {
      index += encode_index_entry(plan_entry(static_cast<int64_t>(entries.size()), entry));
      entries += entry;
    };
    for (const Split& split : splits) add(encode_split(split));
    add(encode_files(files));
    const fs::path directory = plan_directory((root_ / "out").string(), "p");
    fs::create_directories(directory);
    put(directory / "entries", entries);
    put(directory / "index", index);
  }

  TaskOutcome run(const Work& work, TaskKind kind, const WorkCommon& common) {
    return run_task(work, setting(to_task_id({.job = JobId("job-1"),
                                              .kind = kind,
                                              .number = common.number,
                                              .attempt = common.attempt})
                                      .str()));
  }
  TaskOutcome map(const MapWork& work) { return run(work, TaskKind::kMap, work.common); }
  TaskOutcome reduce(const ReduceWork& work) { return run(work, TaskKind::kReduce, work.common); }
  TaskOutcome end(EndWork::Kind kind, uint32_t parts, const std::string& from = "out") {
    EndWork work{.common = common("", 0, 1),
                 .kind = kind,
                 .place = (root_ / (kind == EndWork::Kind::kCommit ? "out" : "aside")).string(),
                 .parts = parts};
    work.common.output = (root_ / from).string();
    return run(work, TaskKind::kEnd, work.common);
  }

  MapWork map_of(const std::string& command, const std::string& input, uint32_t reducers = 1,
                 const ShippedFiles& files = {}) {
    put(root_ / "in/only", input);
    plan({{{Chunk{(root_ / "in/only").string(), 0, static_cast<int64_t>(input.size())}}}}, files);
    return MapWork{.common = common(command, 0, 1), .reducers = reducers};
  }
  ReduceWork reduce_of(const std::string& command, uint32_t number, size_t maps) {
    ReduceWork work{.common = common(command, number, 1), .addresses = {address()}};
    work.maps.assign(maps, MapOutput{.agent = 0, .attempt = 1});
    return work;
  }
  // The output of a map task for its reducers.
  std::string output_of(const std::string& task) const {
    const std::string path = (root_ / task / "map.out").string();
    Unpacker unpacker;
    BlockReader reader(*open_to_read(path), path, unpacker);
    std::string lines;
    for (;;) {
      const Result<bool> more = reader.next();
      EXPECT_TRUE(more) << more.error().message();
      if (!more || !*more) return lines;
      lines += text(reader.line(), "\n");
    }
  }
  std::string part(uint32_t number) const { return contents(root_ / "out" / part_name(number)); }

  Loop loop_;
  std::unique_ptr<HttpServer> server_;
  std::atomic<bool> stopped_ = false;
  uint32_t maps_ = 1;
};

}  // namespace proffer::batch::task_test
