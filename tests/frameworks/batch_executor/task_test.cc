// Map and reduce tasks with real commands, real files and a real file server.

#include "frameworks/batch/executor/task.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zstd.h>

#include "common/prng.h"
#include "common/text.h"
#include "frameworks/batch/executor/blocks.h"
#include "frameworks/batch/executor/fetch.h"
#include "frameworks/batch/executor/posix.h"
#include "net/http_server.h"

namespace proffer::batch::task_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
constexpr auto kCommit = EndWork::Kind::kCommit;
constexpr auto kSetAside = EndWork::Kind::kSetAside;
constexpr auto kRemove = EndWork::Kind::kRemove;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream all;
  all << file.rdbuf();
  return all.str();
}
void put(const fs::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// One host with an agent's file server, the job's output and a sandbox for each task.
class BatchTask : public ::testing::Test {
 protected:
  void SetUp() override {
    // Tasks signal their own process group; it has to be ours alone.
    ASSERT_TRUE(::getpgrp() == ::getpid() || ::setpgid(0, 0) == 0);
    ::signal(SIGPIPE, SIG_IGN);
    std::string place = (fs::temp_directory_path() / "proffer-batch-XXXXXX").string();
    ASSERT_NE(::mkdtemp(place.data()), nullptr);
    root_ = place;
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
  void TearDown() override {
    server_.reset();
    fs::remove_all(root_);
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
    // The executor's working directory is its sandbox.
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

  // The plan of the job, as its submitter writes it.
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
  // What a map task left for its reducers.
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

  fs::path root_;
  Loop loop_;
  std::unique_ptr<HttpServer> server_;
  std::atomic<bool> stopped_ = false;
  uint32_t maps_ = 1;
};

// The contract: each part is exactly the lines of its partition, sorted by key, in input order
// within a key; whatever bytes there are, wherever the splits cut, however many maps there are to
// merge.
TEST_F(BatchTask, TogetherGiveThePipelineToTheLastLine) {
  Prng random(7);
  for (int round = 0; round < 6; ++round) {
    fs::remove_all(root_ / "out");
    fs::create_directories(root_ / "out/_temporary");
    fs::remove_all(root_ / "in");
    fs::create_directories(root_ / "in");
    std::vector<InputFile> files;
    std::vector<std::string> all;
    for (int f = 0; f < 5; ++f) {
      std::string content;
      const uint64_t size = random.below(3'000);
      const std::string letters("ab\t\n\0\xFF\r-", 8);
      while (content.size() < size) content += letters[random.below(letters.size())];
      const fs::path path = root_ / "in" / text("file-", f);
      put(path, content);
      files.push_back({path.string(), static_cast<int64_t>(size)});
      for (const std::string& line : lines_of(content)) all.push_back(line);
    }
    // The last round has more maps than sort merges at once.
    const Result<std::vector<Split>> splits = make_splits(files, round == 5 ? 60 : 1'000);
    ASSERT_TRUE(splits);
    plan(*splits);
    const auto reducers = static_cast<uint32_t>(random.below(4) + 1);
    int64_t records = 0;
    for (uint32_t m = 0; m < splits->size(); ++m) {
      // Jobs of before have plain outputs; a retry may find both.
      const TaskOutcome outcome = map(MapWork{.common = common("cat", m, 1),
                                              .reducers = reducers,
                                              .shuffle = {.is_packed = random.chance(2, 3)}});
      ASSERT_TRUE(outcome.result) << outcome.message << outcome.failure.stderr_tail;
      EXPECT_EQ(outcome.result->records_in, outcome.result->records_out);
      EXPECT_EQ(outcome.result->http_address, address());
      records += outcome.result->records_in;
    }
    EXPECT_EQ(records, static_cast<int64_t>(all.size()));
    for (uint32_t r = 0; r < reducers; ++r) {
      const TaskOutcome outcome = reduce(reduce_of("cat", r, splits->size()));
      ASSERT_TRUE(outcome.result) << outcome.message << outcome.failure.stderr_tail;
      std::vector<std::string> expected;
      for (const std::string& line : all) {
        if (partition_of(line, {}, reducers) == r) expected.push_back(line);
      }
      std::stable_sort(expected.begin(), expected.end(),
                       [](const std::string& a, const std::string& b) {
                         return key_of(a, {}) < key_of(b, {});  // As unsigned bytes.
                       });
      ASSERT_EQ(lines_of(part(r)), expected) << "round " << round << ", part " << r;
      EXPECT_EQ(outcome.result->records_out, static_cast<int64_t>(expected.size()));
    }
  }
}

TEST_F(BatchTask, HasItsFilesItsEnvironmentAndTheCLocale) {
  MapWork work = map_of(
      "sh script.sh", "x\n", 1,
      {.contents = {{"script.sh",
                     "cat >/dev/null; echo \"$LC_ALL $COLOUR $(test -x script.sh && echo x)\""}}});
  work.common.env["COLOUR"] = "blue";
  const TaskOutcome outcome = map(work);
  ASSERT_TRUE(outcome.result) << outcome.message;
  EXPECT_EQ(output_of("job-1.map-00000-1"), "C blue x\n");
}

TEST_F(BatchTask, FailsWithItsCommandAndTellsTheEndOfStandardError) {
  const TaskOutcome outcome = map(map_of("cat; echo 'awk: what?' >&2; exit 7", "x\n"));
  EXPECT_FALSE(outcome.result);
  EXPECT_EQ(outcome.message, "the mapper exited with 7");
  EXPECT_EQ(outcome.failure.stderr_tail, "awk: what?\n");
}

TEST_F(BatchTask, SaysWhichSignalEndedItsCommand) {
  const TaskOutcome outcome = map(map_of("kill -SEGV $$", "x\n"));
  EXPECT_THAT(outcome.message, HasSubstr("was ended by signal 11"));
}

TEST_F(BatchTask, KeepsOnlyTheEndOfLongStandardError) {
  const TaskOutcome outcome = map(
      map_of("i=0; while [ $i -lt 2000 ]; do echo line $i >&2; i=$((i+1)); done; exit 1", "x\n"));
  EXPECT_LE(outcome.failure.stderr_tail.size(), kStderrTailBytesMax);
  EXPECT_THAT(outcome.failure.stderr_tail, HasSubstr("line 1999"));
}

TEST_F(BatchTask, MayReadLessThanAllOfItsInput) {
  std::string large;
  while (large.size() < 1'000'000) large += "many lines\n";
  TaskOutcome outcome = map(map_of("head -n 1", large));
  ASSERT_TRUE(outcome.result) << outcome.message;
  EXPECT_EQ(outcome.result->records_out, 1);
  outcome = map(map_of("true", large));
  ASSERT_TRUE(outcome.result) << outcome.message;
  EXPECT_EQ(outcome.result->records_out, 0);

  // Nor need a reducer.
  ASSERT_TRUE(map(map_of("cat", large)).result);
  fs::create_directories(root_ / "job-1.map-00001-1");
  fs::copy(root_ / "job-1.map-00000-1/map.out", root_ / "job-1.map-00001-1/map.out");
  fs::copy(root_ / "job-1.map-00000-1/map.index", root_ / "job-1.map-00001-1/map.index");
  outcome = reduce(reduce_of("head -n 2", 0, 2));
  ASSERT_TRUE(outcome.result) << outcome.message;
  EXPECT_EQ(part(0), "many lines\nmany lines\n");
}

TEST_F(BatchTask, FailsIfItsInputIsGone) {
  MapWork work = map_of("cat", "x\n");
  fs::remove(root_ / "in/only");
  const TaskOutcome outcome = map(work);
  EXPECT_FALSE(outcome.result);
  EXPECT_THAT(outcome.message, HasSubstr("No such file"));
}

TEST_F(BatchTask, OfAJobWithoutReducersWritesAPart) {
  const TaskOutcome outcome = map(map_of("tr a-z A-Z; printf end", "b\na\n", 0));
  ASSERT_TRUE(outcome.result) << outcome.message;
  EXPECT_EQ(part(0), "B\nA\nend\n");
  EXPECT_EQ(outcome.result->records_out, 3);
  EXPECT_FALSE(fs::exists(root_ / "out/_temporary/job-1.map-00000-1"));
}

TEST_F(BatchTask, WithNothingToReduceStillRunsItsCommand) {
  ASSERT_TRUE(map(map_of("true", "x\n")).result);
  const TaskOutcome outcome = reduce(reduce_of("wc -l", 0, 1));
  ASSERT_TRUE(outcome.result) << outcome.message;
  EXPECT_EQ(part(0), "0\n");
}

TEST_F(BatchTask, DoesNotReplaceAPartThatIsInPlace) {
  ASSERT_TRUE(map(map_of("cat", "x\n")).result);
  ASSERT_TRUE(reduce(reduce_of("echo first", 0, 1)).result);
  ReduceWork again = reduce_of("echo second", 0, 1);
  again.common.attempt = 2;
  ASSERT_TRUE(reduce(again).result);
  EXPECT_EQ(part(0), "first\n");
}

TEST_F(BatchTask, PutsNoPartInPlaceWhenItsCommandFails) {
  ASSERT_TRUE(map(map_of("cat", "x\n")).result);
  EXPECT_EQ(reduce(reduce_of("cat; exit 3", 0, 1)).message, "the reducer exited with 3");
  EXPECT_FALSE(fs::exists(root_ / "out/part-00000"));
}

TEST_F(BatchTask, SaysSoWhenTheOutputIsNotThere) {
  ASSERT_TRUE(map(map_of("cat", "x\n")).result);
  fs::remove_all(root_ / "out");
  const TaskOutcome outcome = reduce(reduce_of("cat", 0, 1));
  EXPECT_FALSE(outcome.result);
  EXPECT_THAT(outcome.message, HasSubstr("_temporary"));
}

TEST_F(BatchTask, CommitsTheOutputOnce) {
  ASSERT_TRUE(map(map_of("cat", "x\n", 0)).result);
  EXPECT_THAT(end(kCommit, 2).message, HasSubstr("part-00001"));
  EXPECT_FALSE(fs::exists(root_ / "out/_SUCCESS"));
  ASSERT_TRUE(end(kCommit, 1).result);
  EXPECT_TRUE(fs::exists(root_ / "out/_SUCCESS"));
  EXPECT_FALSE(fs::exists(root_ / "out/_temporary"));
  EXPECT_TRUE(end(kCommit, 1).result);  // A second attempt finds it done.
  // The output was moved away, and another job writes there.
  fs::rename(root_ / "out", root_ / "result");
  fs::create_directories(root_ / "out/_temporary/plan-q");
  put(root_ / "out/part-00000", "half");
  EXPECT_THAT(end(kCommit, 1).message, HasSubstr("is not that of this job"));
  EXPECT_FALSE(fs::exists(root_ / "out/_SUCCESS"));
  EXPECT_TRUE(fs::exists(root_ / "out/_temporary/plan-q"));
}

TEST_F(BatchTask, RemovesTheOutputOfItsOwnJobOnly) {
  ASSERT_TRUE(map(map_of("cat", "x\n", 0)).result);
  ASSERT_TRUE(end(kRemove, 1).result);
  EXPECT_FALSE(fs::exists(root_ / "out"));
  fs::create_directories(root_ / "out/of another");
  EXPECT_TRUE(end(kRemove, 1).result);
  EXPECT_TRUE(fs::exists(root_ / "out/of another"));
}

// What a failed job leaves gets out of the way, and comes back when a retry has done the rest.
TEST_F(BatchTask, SetsTheOutputAsideAndCommitsItFromThere) {
  ASSERT_TRUE(map(map_of("cat", "x\n", 0)).result);
  ASSERT_TRUE(end(kSetAside, 1).result);
  EXPECT_FALSE(fs::exists(root_ / "out"));
  EXPECT_TRUE(fs::exists(root_ / "aside/part-00000"));
  EXPECT_TRUE(end(kSetAside, 1).result);           // A second attempt finds it done.
  EXPECT_TRUE(end(kSetAside, 1, "aside").result);  // So does the end of a retry that failed.
  EXPECT_THAT(end(kCommit, 2, "aside").message, HasSubstr("part-00001"));
  // Another job has taken the place.
  fs::create_directories(root_ / "out/of another");
  EXPECT_THAT(end(kCommit, 1, "aside").message, HasSubstr("exists"));
  EXPECT_TRUE(fs::exists(root_ / "aside/part-00000"));
  fs::remove_all(root_ / "out");
  ASSERT_TRUE(end(kCommit, 1, "aside").result);
  EXPECT_EQ(part(0), "x\n");
  EXPECT_TRUE(fs::exists(root_ / "out/_SUCCESS"));
  EXPECT_FALSE(fs::exists(root_ / "out/_temporary"));
  EXPECT_FALSE(fs::exists(root_ / "aside"));
  EXPECT_TRUE(end(kCommit, 1, "aside").result);
}

TEST_F(BatchTask, PutsNoPartIntoTheOutputOfAnotherJob) {
  const MapWork work = map_of("cat; rm -r \"$OUT\"/_temporary/plan-p", "x\n", 0);
  MapWork late = work;
  late.common.env["OUT"] = (root_ / "out").string();
  EXPECT_FALSE(map(late).result);
  EXPECT_FALSE(fs::exists(root_ / "out/part-00000"));
}

TEST_F(BatchTask, IsDoneWithAnExitCodeThatItsJobAccepts) {
  MapWork work = map_of("grep nothing", "x\n");
  EXPECT_EQ(map(work).failure.blame, Blame::kAttempt);
  work.common.accepts = {1};
  const TaskOutcome accepted = map(work);
  ASSERT_TRUE(accepted.result) << accepted.message;
  EXPECT_EQ(accepted.result->records_out, 0);
  ReduceWork reduces = reduce_of("cat; exit 9", 0, 1);
  reduces.common.accepts = {8, 9};
  EXPECT_TRUE(reduce(reduces).result);
  work.common.command = "kill -TERM $$";
  EXPECT_FALSE(map(work).result);
}

TEST_F(BatchTask, SaysWhetherItsCommandOrItsInputIsToBlame) {
  struct Row {
    std::string command;
    Blame blame;
    std::string says;
  };
  const Row rows[] = {
      {"no-such-program-anywhere", Blame::kCommand, "127: it was not found"},
      {"/dev/null", Blame::kCommand, "126: it cannot be executed"},
      {"if", Blame::kCommand, "exited with 2"},
      {"exit 64", Blame::kCommand, "exited with 64"},
      {"exit 1", Blame::kAttempt, "exited with 1"},
      {"kill -KILL $$", Blame::kAttempt, "signal 9"},
      {"head -c 70000000 /dev/zero", Blame::kInput, "longer than 64 MiB"},
  };
  for (const Row& row : rows) {
    const TaskOutcome outcome = map(map_of(row.command, "x\n"));
    EXPECT_FALSE(outcome.result) << row.command;
    EXPECT_EQ(outcome.failure.blame, row.blame) << row.command;
    EXPECT_THAT(outcome.message, HasSubstr(row.says)) << row.command;
  }
}

TEST_F(BatchTask, TellsItsCommandWhichPartOfWhichFileItReads) {
  const std::string show =
      "cat >/dev/null; echo \"$PROFFER_TASK_INDEX $mapreduce_task_partition "
      "${mapreduce_map_input_file##*/} $mapreduce_map_input_start $mapreduce_map_input_length\"";
  ASSERT_TRUE(map(map_of(show, "a\nb\n")).result);
  EXPECT_EQ(output_of("job-1.map-00000-1"), "0 0 only 0 4\n");
  const std::string path = (root_ / "in/only").string();
  plan({{{Chunk{path, 0, 2}}}, {{Chunk{path, 2, 2}}}, {{Chunk{path, 0, 2}, Chunk{path, 2, 2}}}});
  ASSERT_TRUE(map(MapWork{.common = common(show, 1, 1), .reducers = 1}).result);
  EXPECT_EQ(output_of("job-1.map-00001-1"), "1 1 only 2 2\n");
  // Of several files none is named.
  ASSERT_TRUE(map(MapWork{.common = common(show, 2, 1), .reducers = 1}).result);
  EXPECT_EQ(output_of("job-1.map-00002-1"), "2 2   \n");
}

TEST_F(BatchTask, ReadsNothingWithoutAnError) {
  plan({Split()});
  ASSERT_TRUE(map(MapWork{.common = common("wc -l", 0, 1), .reducers = 1}).result);
  EXPECT_EQ(output_of("job-1.map-00000-1"), "0\n");
}

TEST_F(BatchTask, NoticesADamagedPlan) {
  const MapWork work = map_of("cat", "x\n");
  const fs::path entries = plan_directory((root_ / "out").string(), "p") + "/entries";
  std::string damaged = contents(entries);
  damaged[8] = static_cast<char>(damaged[8] ^ 1);
  put(entries, damaged);
  EXPECT_THAT(map(work).message, HasSubstr("plan"));
}

TEST_F(BatchTask, TellsWhichMapOutputsItCannotGet) {
  ASSERT_TRUE(map(map_of("cat", "x\n")).result);
  // Map 1 is not on that agent; nobody answers for maps 2 and 3, since that port was closed again.
  Result<std::unique_ptr<HttpServer>> gone =
      HttpServer::listen(loop_, {.address = {"127.0.0.1", 0}, .handler = {}, .files = {}});
  ASSERT_TRUE(gone);
  const std::string nobody = text("127.0.0.1:", (*gone)->port());
  gone->reset();
  ReduceWork work = reduce_of("cat", 0, 2);
  work.addresses.push_back(nobody);
  work.maps.push_back({.agent = 1, .attempt = 4});
  work.maps.push_back({.agent = 1, .attempt = 5});
  const TaskOutcome outcome = reduce(work);
  EXPECT_FALSE(outcome.result);
  EXPECT_THAT(outcome.failure.fetch_failed,
              ElementsAre(MapAttempt{1, 1}, MapAttempt{2, 4}, MapAttempt{3, 5}));
  EXPECT_THAT(outcome.message, HasSubstr("cannot fetch 3 map outputs"));
}

TEST_F(BatchTask, NoticesADamagedMapOutput) {
  ASSERT_TRUE(map(map_of("cat", "some text\n")).result);
  std::string damaged = contents(root_ / "job-1.map-00000-1/map.out");
  damaged[3] = 'X';
  put(root_ / "job-1.map-00000-1/map.out", damaged);
  EXPECT_THAT(reduce(reduce_of("cat", 0, 1)).failure.fetch_failed, ElementsAre(MapAttempt{0, 1}));
  fs::resize_file(root_ / "job-1.map-00000-1/map.out", 4);
  EXPECT_THAT(reduce(reduce_of("cat", 0, 1)).failure.fetch_failed, ElementsAre(MapAttempt{0, 1}));
}

// --- combiner and keys -------------------------------------------------------------------------

constexpr std::string_view kCount =
    "awk -F '\\t' '{n[$1] += $2} END {for (k in n) printf \"%s\\t%d\\n\", k, n[k]}'";

TEST_F(BatchTask, CombinesTheLinesOfAMapWhateverItsMemory) {
  std::string words;
  std::map<std::string, int> counts;
  Prng random(4);
  while (words.size() < 300'000) {
    const std::string word = text("word-", random.below(50));
    ++counts[word];
    words += text(word, "\t1\n");
  }
  std::string expected;
  for (const auto& [word, count] : counts) expected += text(word, "\t", count, "\n");
  for (const int64_t bytes : {int64_t{64} << 20, int64_t{60'000}}) {
    MapWork work = map_of("cat", words);
    work.shuffle.combine = kCount;  // awk writes its table in no order.
    work.shuffle.sort_bytes = bytes;
    const TaskOutcome outcome = map(work);
    ASSERT_TRUE(outcome.result) << outcome.message << outcome.failure.stderr_tail;
    const std::string combined = output_of("job-1.map-00000-1");
    // In little memory the combiner runs more than once.
    if (bytes > 1'000'000) {
      EXPECT_EQ(combined, expected);
    }
    EXPECT_LT(combined.size(), words.size() / 2);
    ReduceWork last = reduce_of(std::string(kCount) + " | sort", 0, 1);
    fs::remove(root_ / "out/part-00000");
    ASSERT_TRUE(reduce(last).result);
    EXPECT_EQ(part(0), expected);
  }
}

TEST_F(BatchTask, SaysThatItsCombinerFailed) {
  MapWork work = map_of("cat", "a\t1\n");
  work.shuffle.combine = "cat >/dev/null; echo no >&2; exit 7";
  TaskOutcome outcome = map(work);
  EXPECT_EQ(outcome.message, "the combiner exited with 7");
  EXPECT_EQ(outcome.failure.blame, Blame::kAttempt);
  EXPECT_EQ(outcome.failure.stderr_tail, "no\n");
  work.shuffle.combine = "no-such-program-anywhere";
  outcome = map(work);
  EXPECT_EQ(outcome.failure.blame, Blame::kCommand);
}

// A secondary sort: the reducer of a host reads its lines with the largest number first.
TEST_F(BatchTask, SortsByFieldsAndDividesByTheFirstOfThem) {
  KeyRule keys{.separator = ',', .fields = 2, .partition_fields = 1};
  keys.sort = *parse_sort("-k1,1 -k2,2nr");
  MapWork work = map_of("cat", "b,2,x\na,9,y\nb,10,z\na,10\na,9,before? no, after\n", 3);
  work.shuffle.keys = keys;
  ASSERT_TRUE(map(work).result);
  std::string all;
  for (uint32_t r = 0; r < 3; ++r) {
    ReduceWork reduces = reduce_of("cat", r, 1);
    reduces.shuffle.keys = keys;
    ASSERT_TRUE(reduce(reduces).result);
    const std::string lines = part(r);
    EXPECT_EQ(lines.find("a,") != std::string::npos, lines.find("a,10") != std::string::npos);
    all += lines;
  }
  EXPECT_THAT(all, HasSubstr("a,10\na,9,y\na,9,before? no, after\n"));
  EXPECT_THAT(all, HasSubstr("b,10,z\nb,2,x\n"));
}

// --- input formats -----------------------------------------------------------------------------

std::string packed_by(Codec codec, const fs::path& place, const std::string& input) {
  if (codec == Codec::kZstd) {
    std::string packed(::ZSTD_compressBound(input.size()), '\0');
    // With a checksum, as the program zstd has it.
    ZSTD_CCtx* context = ::ZSTD_createCCtx();
    ::ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    packed.resize(
        ::ZSTD_compress2(context, packed.data(), packed.size(), input.data(), input.size()));
    ::ZSTD_freeCCtx(context);
    return packed;
  }
  put(place, input);
  EXPECT_EQ(::system(("gzip -f '" + place.string() + "'").c_str()), 0);
  return contents(place.string() + ".gz");
}

TEST_F(BatchTask, ReadsPackedFilesWhole) {
  std::string lines;
  Prng random(31);
  while (lines.size() < 700'000) lines += text(random.below(1'000'000), "\n");
  const std::string gzip = packed_by(Codec::kGzip, root_ / "in/a", lines);
  const std::string zstd = packed_by(Codec::kZstd, root_ / "in/b", lines);
  put(root_ / "in/a.gz",
      gzip + gzip + std::string(700, '\0'));  // Members, then what fills a block.
  put(root_ / "in/b.zst", zstd + zstd);
  const auto size = [&](const char* name) {
    return static_cast<int64_t>(fs::file_size(root_ / "in" / name));
  };
  plan({{{Chunk{(root_ / "in/a.gz").string(), 0, size("a.gz"), Codec::kGzip},
          Chunk{(root_ / "in/b.zst").string(), 0, size("b.zst"), Codec::kZstd}}}});
  const TaskOutcome outcome = map(MapWork{.common = common("cat", 0, 1)});
  ASSERT_TRUE(outcome.result) << outcome.message;
  EXPECT_TRUE(part(0) == lines + lines + lines + lines);
  EXPECT_EQ(outcome.result->records_in, 4 * std::count(lines.begin(), lines.end(), '\n'));
}

TEST_F(BatchTask, SaysWhereAPackedFileIsDamaged) {
  std::string lines;
  Prng random(32);
  while (lines.size() < 300'000) lines += text(random.next(), "\n");
  struct Row {
    std::string name;
    Codec codec;
  };
  for (const Row& row : {Row{"a.gz", Codec::kGzip}, Row{"b.zst", Codec::kZstd}}) {
    const fs::path path = root_ / "in" / row.name;
    const std::string good = packed_by(row.codec, root_ / "in/x", lines);
    std::string changed = good;
    changed[good.size() / 2] = static_cast<char>(changed[good.size() / 2] ^ 0x55);
    for (const std::string& damaged :
         {changed, good.substr(0, good.size() / 2), good + "garbage"}) {
      put(path, damaged);
      plan({{{Chunk{path.string(), 0, static_cast<int64_t>(damaged.size()), row.codec}}}});
      // The mapper fails at what it gets, too: that is not its fault.
      const TaskOutcome outcome = map(MapWork{.common = common("cat >/dev/null; exit 3", 0, 1)});
      EXPECT_FALSE(outcome.result) << row.name;
      EXPECT_EQ(outcome.failure.blame, Blame::kInput) << outcome.message;
      EXPECT_THAT(outcome.message, HasSubstr(path.string()));
      EXPECT_THAT(outcome.message, HasSubstr("is damaged at byte "));
    }
  }
}

TEST_F(BatchTask, GivesItsMapperRecordsAsTheyStand) {
  const std::string path = (root_ / "in/only").string();
  put(path, std::string("a\nb\0c", 5));
  plan({{.chunks = {{path, 0, 5}}, .format = {.kind = InputFormat::Kind::kNul}}});
  TaskOutcome outcome = map(MapWork{.common = common("tr '\\0\\n' '|.'", 0, 1)});
  ASSERT_TRUE(outcome.result) << outcome.message;
  EXPECT_EQ(outcome.result->records_in, 2);
  EXPECT_EQ(part(0), "a.b|c|\n");

  put(path, "aabbccd");
  const InputFormat pairs{.kind = InputFormat::Kind::kFixed, .bytes = 2};
  plan({{.chunks = {{path, 0, 6}}, .format = pairs}});
  fs::remove(root_ / "out/part-00000");
  outcome = map(MapWork{.common = common("fold -w2", 0, 1)});
  ASSERT_TRUE(outcome.result) << outcome.message;
  EXPECT_EQ(outcome.result->records_in, 3);
  EXPECT_EQ(part(0), "aa\nbb\ncc\n");
  plan({{.chunks = {{path, 0, 7}}, .format = pairs}});
  outcome = map(MapWork{.common = common("cat", 0, 1)});
  EXPECT_EQ(outcome.failure.blame, Blame::kInput);
  EXPECT_THAT(outcome.message, HasSubstr("ends inside a record: 1 of 2 bytes"));
}

// --- reports -----------------------------------------------------------------------------------

TEST_F(BatchTask, CountsWhatItsCommandsReport) {
  MapWork work = map_of(
      "cat; echo reporter:counter:words,read,2 >&2; echo seen >&2; echo reporter:status:half >&2",
      "a\n");
  work.shuffle.combine = "cat; echo reporter:counter:words,combined,1 >&2";
  std::string status;
  TaskSetting its = setting("job-1.map-00000-1");
  its.on_task_status = [&status](const std::string& told) { status = told; };
  TaskOutcome outcome = run_task(work, its);
  ASSERT_TRUE(outcome.result) << outcome.message;
  EXPECT_EQ(outcome.result->counters,
            (Counters{{{"words", "read"}, 2}, {{"words", "combined"}, 1}}));
  EXPECT_EQ(outcome.failure.stderr_tail, "seen\n");
  EXPECT_EQ(status, "half");
  // A scheduler of before could not read a result with counters.
  work.shuffle = {.is_packed = false};
  outcome = map(work);
  ASSERT_TRUE(outcome.result) << outcome.message;
  EXPECT_TRUE(outcome.result->counters.empty());
  EXPECT_THAT(outcome.failure.stderr_tail, HasSubstr("reporter:counter:words,read,2"));
}

// --- fetching ----------------------------------------------------------------------------------

// Passes connections on to a server and ends each after so many bytes of its answers.
class BreakingProxy {
 public:
  BreakingProxy(uint16_t server, size_t bytes_each) : server_(server), bytes_each_(bytes_each) {
    listener_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in place = loopback(0);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&place), sizeof place), 0);
    EXPECT_EQ(::listen(listener_.get(), 16), 0);
    socklen_t size = sizeof place;
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&place), &size);
    port_ = ntohs(place.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~BreakingProxy() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  uint16_t port() const { return port_; }
  size_t passed() const { return passed_; }

 private:
  static sockaddr_in loopback(uint16_t port) {
    sockaddr_in place = {};
    place.sin_family = AF_INET;
    place.sin_port = htons(port);
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return place;
  }
  void serve() {
    for (;;) {
      const Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (client.get() < 0) return;
      const Fd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      sockaddr_in place = loopback(server_);
      if (::connect(server.get(), reinterpret_cast<sockaddr*>(&place), sizeof place) != 0) return;
      std::string buffer(16 * 1024, '\0');
      const ssize_t asked = ::read(client.get(), buffer.data(), buffer.size());
      if (asked <= 0) continue;
      if (!write_all(server.get(), std::string_view(buffer.data(), static_cast<size_t>(asked)))
               .ok()) {
        continue;
      }
      for (size_t room = bytes_each_; room > 0;) {
        const ssize_t got = ::read(server.get(), buffer.data(), std::min(room, buffer.size()));
        if (got <= 0) break;
        room -= static_cast<size_t>(got);
        passed_ += static_cast<size_t>(got);
        if (!write_all(client.get(), std::string_view(buffer.data(), static_cast<size_t>(got)))
                 .ok()) {
          break;
        }
      }
    }
  }

  const uint16_t server_;
  const size_t bytes_each_;
  uint16_t port_ = 0;
  Fd listener_;
  std::atomic<size_t> passed_ = 0;
  std::thread thread_;
};

// Each connection brings a part; what was right is not fetched again.
TEST_F(BatchTask, GoesOnFetchingWhereAConnectionBroke) {
  std::string input;
  Prng random(12);
  while (input.size() < 500'000) input += text(random.next(), "\n");
  ASSERT_TRUE(map(map_of("cat", input)).result);
  const size_t size = fs::file_size(root_ / "job-1.map-00000-1/map.out");
  // More breaks than a fetch without progress may have.
  BreakingProxy proxy(server_->port(), 35'000);
  ASSERT_GT(size, 5u * 35'000u);
  ReduceWork work = reduce_of("cat", 0, 1);
  work.addresses = {text("127.0.0.1:", proxy.port())};
  const TaskOutcome outcome = reduce(work);
  ASSERT_TRUE(outcome.result) << outcome.message;
  std::vector<std::string> expected = lines_of(input);
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(lines_of(part(0)), expected);
  EXPECT_LT(proxy.passed(), 2 * size);
}

TEST_F(BatchTask, LeavesNoProcessBehind) {
  const TaskOutcome outcome = map(map_of("sleep 1000 >/dev/null & cat", "x\n"));
  ASSERT_TRUE(outcome.result) << outcome.message;  // The sleep had standard error open.
}

TEST_F(BatchTask, EndsWhenItIsStopped) {
  TaskOutcome outcome;
  const MapWork work = map_of("echo started >started; sleep 1000 | cat", "x\n");
  const TaskSetting its = setting("job-1.map-00000-1");
  std::thread runner([&] { outcome = run_task(work, its); });
  const fs::path sign = root_ / "job-1.map-00000-1/started";
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (contents(sign).empty() && std::chrono::steady_clock::now() < deadline) ::sched_yield();
  EXPECT_FALSE(contents(sign).empty());
  stopped_ = true;
  signal_group(SIGTERM);
  runner.join();
  EXPECT_FALSE(outcome.result);
}

TEST_F(BatchTask, RefusesALineThatItWouldHaveToHoldInMemory) {
  const TaskOutcome outcome = map(map_of("head -c 100000000 /dev/zero", "x\n"));
  EXPECT_FALSE(outcome.result);
  EXPECT_THAT(outcome.message, HasSubstr("longer than 64 MiB"));
}

}  // namespace
}  // namespace proffer::batch::task_test
