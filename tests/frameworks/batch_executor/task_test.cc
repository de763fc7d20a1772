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
#include <sched.h>
#include <signal.h>
#include <unistd.h>
#include <zstd.h>

#include "common/prng.h"
#include "common/text.h"
#include "frameworks/batch/executor/blocks.h"
#include "frameworks/batch/executor/posix.h"
#include "tests/frameworks/batch_executor/batch_task.h"

namespace proffer::batch::task_test {
namespace {

using ::testing::HasSubstr;

// The contract: each part has exactly the lines of its partition, sorted by key, and in input order
// within a key. It holds for any bytes, split positions and number of maps to merge.
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
    // The last round has more maps than one merge reads.
    const Result<std::vector<Split>> splits = make_splits(files, round == 5 ? 60 : 1'000);
    ASSERT_TRUE(splits);
    plan(*splits);
    const auto reducers = static_cast<uint32_t>(random.below(4) + 1);
    int64_t records = 0;
    for (uint32_t m = 0; m < splits->size(); ++m) {
      // Jobs of earlier versions have plain outputs; a retry may find both formats.
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
                         return key_of(a, {}) < key_of(b, {});  // as unsigned bytes
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

  // A reducer need not read its input to the end either.
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

// The result of a part of the input would look like a result of all of it.
TEST_F(BatchTask, FailsIfItsInputHasBecomeShorter) {
  MapWork work = map_of("cat", "one\ntwo\n");
  for (const char* left : {"one\n", "one\ntw", ""}) {
    put(root_ / "in/only", left);
    const TaskOutcome outcome = map(work);
    EXPECT_FALSE(outcome.result) << left;
    EXPECT_EQ(outcome.failure.blame, Blame::kInput);
    EXPECT_THAT(outcome.message, HasSubstr("in/only' has become shorter"));
  }
  put(root_ / "in/only", "one\ntwo\nthree\n");
  EXPECT_TRUE(map(work).result);
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
  EXPECT_TRUE(end(kCommit, 1).result);  // A second attempt finds the work done.
  // The output was moved away, and another job writes to its place.
  fs::rename(root_ / "out", root_ / "result");
  fs::create_directories(root_ / "out/_temporary/plan-q");
  put(root_ / "out/part-00000", "half");
  EXPECT_THAT(end(kCommit, 1).message, HasSubstr("belongs to another job"));
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

// The files of a failed job are moved out of the way, and move back when a retry has done the rest.
TEST_F(BatchTask, SetsTheOutputAsideAndCommitsItFromThere) {
  ASSERT_TRUE(map(map_of("cat", "x\n", 0)).result);
  ASSERT_TRUE(end(kSetAside, 1).result);
  EXPECT_FALSE(fs::exists(root_ / "out"));
  EXPECT_TRUE(fs::exists(root_ / "aside/part-00000"));
  EXPECT_TRUE(end(kSetAside, 1).result);           // A second attempt finds the work done.
  EXPECT_TRUE(end(kSetAside, 1, "aside").result);  // The end of a failed retry does too.
  EXPECT_THAT(end(kCommit, 2, "aside").message, HasSubstr("part-00001"));
  // Another job uses the place now.
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
  // The variables are empty if the split has several files.
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
    work.shuffle.combine = kCount;  // awk writes its table in no particular order
    work.shuffle.sort_bytes = bytes;
    const TaskOutcome outcome = map(work);
    ASSERT_TRUE(outcome.result) << outcome.message << outcome.failure.stderr_tail;
    const std::string combined = output_of("job-1.map-00000-1");
    // The combiner runs more than once if memory is small.
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

// A secondary sort: the reducer gets a host's lines with the largest number first.
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
    // zstd's own program also writes a checksum.
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
      gzip + gzip + std::string(700, '\0'));  // members, then zeros that fill a block
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
      // The mapper fails too, because of its damaged input. The input is blamed.
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
  // Schedulers of earlier versions cannot read a result with counters.
  work.shuffle = {.is_packed = false};
  outcome = map(work);
  ASSERT_TRUE(outcome.result) << outcome.message;
  EXPECT_TRUE(outcome.result->counters.empty());
  EXPECT_THAT(outcome.failure.stderr_tail, HasSubstr("reporter:counter:words,read,2"));
}

// --- ends ------------------------------------------------------------------------------------

TEST_F(BatchTask, LeavesNoProcessBehind) {
  const TaskOutcome outcome = map(map_of("sleep 1000 >/dev/null & cat", "x\n"));
  ASSERT_TRUE(outcome.result) << outcome.message;  // The sleep held standard error open.
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
