#include "frameworks/batch/shell/submit.h"

#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "frameworks/batch/planning/input.h"
#include "frameworks/batch/shell/large_files.h"
#include "frameworks/batch/shell/output.h"
#include "frameworks/batch/shell/prepare.h"
#include "tests/support/with_directory.h"

namespace proffer::batch::submit_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Submit : public test::WithDirectory {
 protected:
  void put(const std::string& path, const std::string& content) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << content;
  }
  std::string at(const std::string& path) const { return (root_ / path).string(); }
};

TEST_F(Submit, FindsRegularFilesAsFindDoes) {
  put("in/b.txt", "12345");
  put("in/a/z", "1");
  put("in/a-b", "");
  put("elsewhere/secret", "123");
  fs::create_symlink(at("elsewhere/secret"), at("in/link"));
  fs::create_directory_symlink(at("elsewhere"), at("in/links"));
  ASSERT_EQ(::mkfifo(at("in/fifo").c_str(), 0600), 0);
  const Result<std::vector<InputFile>> files = find_input({at("in")});
  ASSERT_TRUE(files);
  // Sorted bytewise by the whole path: '-' comes before '/'.
  EXPECT_THAT(*files, ElementsAre(InputFile{at("in/a-b"), 0}, InputFile{at("in/a/z"), 1},
                                  InputFile{at("in/b.txt"), 5}));
  // A link that is given as an input is followed.
  EXPECT_EQ(find_input({at("in/links")})->size(), 1u);
  EXPECT_EQ(find_input({at("in/b.txt"), at("in/link")})->size(), 2u);
}

TEST_F(Submit, KnowsPackedFilesByNameAndFirstBytes) {
  put("in/a.gz", std::string("\x1f\x8b\x08", 3));
  put("in/b.gz", "text");
  put("in/c.gz", "");
  put("in/d.zst", std::string("\x28\xb5\x2f\xfd", 4));
  EXPECT_THAT(*find_input({at("in")}),
              ElementsAre(InputFile{at("in/a.gz"), 3, Codec::kGzip}, InputFile{at("in/b.gz"), 4},
                          InputFile{at("in/c.gz"), 0}, InputFile{at("in/d.zst"), 4, Codec::kZstd}));
  EXPECT_THAT(*find_input({at("in")}, false, false),
              ElementsAre(InputFile{at("in/a.gz"), 3}, InputFile{at("in/b.gz"), 4},
                          InputFile{at("in/c.gz"), 0}, InputFile{at("in/d.zst"), 4}));
}

TEST_F(Submit, ReadsWhatIsSaidOfTheShuffle) {
  JobText flags{.map = "cat", .reduce = "cat", .inputs = {"in"}, .output = "out"};
  flags.input_format = "fixed:8";
  flags.decompress = "false";
  flags.combine = "uniq -c";
  flags.key_fields = "2";
  flags.partition_fields = "1";
  flags.separator = ",";
  flags.sort = "-k1,1 -k2,2nr";
  flags.sort_memory = "16MiB";
  const Result<JobSpec> job = make_job({}, flags);
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(job->input_format.bytes, 8);
  EXPECT_FALSE(job->decompresses);
  EXPECT_EQ(job->shuffle.combine, "uniq -c");
  EXPECT_EQ(job->shuffle.keys.fields, 2u);
  EXPECT_EQ(job->shuffle.keys.partition_fields, 1u);
  EXPECT_EQ(job->shuffle.keys.separator, ',');
  EXPECT_EQ(job->shuffle.keys.sort, *parse_sort("1 2nr"));
  EXPECT_EQ(job->shuffle.sort_bytes, int64_t{16} << 20);
  struct Row {
    std::optional<std::string> JobText::*key;
    std::string value;
    std::string says;
  };
  const Row rows[] = {
      {&JobText::input_format, "xml", "input_format must be lines, nul or fixed:BYTES"},
      {&JobText::key_fields, "0", "key_fields"},
      {&JobText::partition_fields, "3", "partition_fields must be from 1 to key_fields"},
      {&JobText::separator, "ab", "separator must be one byte, not"},
      {&JobText::sort, "-k3", "not fields of the key, which has 2"},
      {&JobText::sort_memory, "200MiB", "sort_memory must be from"},
      {&JobText::reducers, "0", "need reducers"},
      {&JobText::decompress, "no", "decompress must be true or false"},
  };
  for (const Row& row : rows) {
    JobText wrong = flags;
    wrong.*row.key = row.value;
    if (row.key == &JobText::reducers) wrong.reduce.reset();
    const Result<JobSpec> refused = make_job({}, wrong);
    ASSERT_FALSE(refused) << row.value;
    EXPECT_THAT(refused.error().message(), HasSubstr(row.says));
  }
}

TEST_F(Submit, SaysWhatCannotBeRead) {
  const Result<std::vector<InputFile>> missing = find_input({at("nowhere")});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(missing.error().message(), HasSubstr(at("nowhere")));
  EXPECT_THAT(missing.error().message(), HasSubstr("No such file or directory"));

  put("in/empty", "");
  const Result<std::vector<InputFile>> empty = find_input({at("in")});
  ASSERT_FALSE(empty);
  EXPECT_THAT(empty.error().message(), HasSubstr("nothing to read"));
  EXPECT_TRUE(find_input({at("in")}, true));

  EXPECT_EQ(find_input({"/dev/null"}).error().code(), ErrorCode::kInvalidArgument);
}

TEST_F(Submit, SaysWhichDirectoryMayNotBeRead) {
  if (::geteuid() == 0) {
    // Root may read everything, so a child process of another user tries. Its exit code is the
    // answer.
    put("in/closed/file", "x");
    ASSERT_EQ(::chmod(at("").c_str(), 0755), 0);
    ASSERT_EQ(::chmod(at("in/closed").c_str(), 0), 0);
    EXPECT_EXIT(
        {
          if (::setgid(65'534) != 0 || ::setuid(65'534) != 0) ::_exit(3);
          const Result<std::vector<InputFile>> files = find_input({at("in")});
          ::_exit(!files && files.error().message() ==
                                text("input directory '", at("in/closed"), "': Permission denied")
                      ? 42
                      : 1);
        },
        ::testing::ExitedWithCode(42), "");
    return;
  }
  put("in/closed/file", "x");
  ASSERT_EQ(::chmod(at("in/closed").c_str(), 0), 0);
  const Result<std::vector<InputFile>> files = find_input({at("in")});
  ASSERT_EQ(::chmod(at("in/closed").c_str(), 0700), 0);
  ASSERT_FALSE(files);
  EXPECT_THAT(files.error().message(), HasSubstr("Permission denied"));
}

TEST_F(Submit, TakesPathsOfAJobFileFromItsDirectory) {
  put("jobs/job.yaml",
      "map: sh m.sh\nreduce: cat\ninput: data/./\noutput: out\nfiles: m.sh\nfetch: file:///w\n"
      "env: {A: 1, B: 2}\n");
  put("jobs/m.sh", "cat");
  const Result<JobFile> file = read_job_file(at("jobs/job.yaml"));
  ASSERT_TRUE(file) << file.error().message();
  JobText flags;
  flags.output = at("other");
  flags.split = "1KiB";
  flags.env["B"] = "3";
  const Result<JobSpec> job = make_job(file->job, flags);
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_THAT(job->inputs, ElementsAre(at("jobs/data")));
  EXPECT_EQ(job->output, at("other"));
  EXPECT_EQ(job->split_bytes, 1'024);
  EXPECT_EQ(job->files.at("m.sh"), "cat");
  EXPECT_EQ(job->fetch, (std::vector<proto::FetchedFile>{{.uri = "file:///w"}}));
  EXPECT_EQ(job->env, (proto::Environment{{"A", "1"}, {"B", "3"}}));
}

TEST_F(Submit, NamesTheJobFileThatIsWrong) {
  put("job.yaml", "map: a\nmapp: b\n");
  const Result<JobFile> file = read_job_file(at("job.yaml"));
  ASSERT_FALSE(file);
  EXPECT_EQ(
      file.error().message(),
      text(at("job.yaml"), ": line 2: unknown key 'mapp' in a job file; did you mean 'map'?"));
  EXPECT_EQ(read_job_file(at("jop.yaml")).error().message(),
            text("there is no file ", quoted(at("jop.yaml"))));
  EXPECT_EQ(read_job_file(at("jop.yaml")).error().hint(),
            text("did you mean ", quoted(at("job.yaml")), "?"));
  EXPECT_THAT(read_job_file(at("")).error().message(), HasSubstr("is a directory"));
  put("s3.yaml", "map: a\nreduce: b\noutput: o\ninput: s3://bucket/x\n");
  const Result<JobFile> s3 = read_job_file(at("s3.yaml"));
  ASSERT_TRUE(s3);
  EXPECT_THAT(make_job(s3->job, {}).error().message(), HasSubstr("input 's3://bucket/x' is a URI"));
}

TEST_F(Submit, RefusesFlagsThatAreWrong) {
  JobText good;
  good.map = "cat";
  good.reduce = "cat";
  good.inputs = {"/in"};
  good.output = "/out";
  ASSERT_TRUE(make_job({}, good));
  JobText flags = good;
  flags.reducers = "four";
  EXPECT_THAT(make_job({}, flags).error().message(), HasSubstr("reducers"));
  flags = good;
  flags.resources = "cpus:0";
  EXPECT_THAT(make_job({}, flags).error().message(), HasSubstr("resources"));
  flags = good;
  flags.resources = "cpus:-1";
  EXPECT_FALSE(make_job({}, flags));
  flags = good;
  flags.allow_empty = "perhaps";
  EXPECT_THAT(make_job({}, flags).error().message(),
              HasSubstr("allow_empty must be true or false, not 'perhaps'"));
  flags = good;
  flags.map_accepts = {"1", "0"};
  EXPECT_THAT(make_job({}, flags).error().message(), HasSubstr("map_accepts"));
  flags.map_accepts = {"3", "1", "3"};
  EXPECT_THAT(make_job({}, flags)->map_accepts, ElementsAre(1, 3));
  flags = good;
  flags.role = "a//b";
  EXPECT_FALSE(make_job({}, flags));
  flags = good;
  flags.files = {at("none")};
  EXPECT_THAT(make_job({}, flags).error().message(), HasSubstr("file to ship"));
  put("a/x", "1");
  put("b/x", "2");
  flags.files = {at("a/x"), at("b/x")};
  EXPECT_THAT(make_job({}, flags).error().message(),
              HasSubstr("two files to ship have the same name"));
}

TEST_F(Submit, ReadsWhichHostsTasksPrefer) {
  put("near", "b,a /data\n");
  JobText flags{.map = "cat", .inputs = {"in"}, .output = "out"};
  flags.reducers = "0";
  EXPECT_EQ(make_job({}, flags)->locality_wait, kLocalityWait);
  flags.locality = at("near");
  flags.locality_wait = "1m";
  JobText file;
  file.prefer_hosts = {"c"};
  const Result<JobSpec> job = make_job(file, flags);
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(job->hosts_of_paths, (HostsOfPaths{{"/data", {"a", "b"}}}));
  EXPECT_THAT(job->prefer_hosts, ElementsAre("c"));
  EXPECT_EQ(job->locality_wait, minutes(1));
  flags.locality_wait = "soon";
  EXPECT_THAT(make_job({}, flags).error().message(), HasSubstr("locality_wait"));
  flags.locality_wait.reset();
  put("near", "a /data\nb\n");
  EXPECT_THAT(make_job({}, flags).error().message(), HasSubstr("line 2"));
  flags.locality = at("none");
  EXPECT_THAT(make_job({}, flags).error().message(), HasSubstr("locality"));
  JobText array;
  array.command = {"true"};
  array.array = "1-3";
  array.output = "out";
  array.locality = at("near");
  EXPECT_THAT(make_job({}, array).error().message(), HasSubstr("line 2"));
  put("near", "a /data\n");
  EXPECT_THAT(make_job({}, array).error().message(),
              HasSubstr("locality cannot be given for an array"));
}

// The input of such a job is not known at its submission; its plan will name the near hosts.
TEST_F(Submit, LeavesTheHostsOfAJobThatWaitsToItsPlan) {
  put("near", "b,a /data\nc /data/c\n");
  put("job.yaml", "map: cat\nreducers: 0\ninput: in\noutput: out\nafter: words-1\n");
  SubmitOptions given{.job_file = at("job.yaml")};
  given.flags.locality = at("near");
  given.flags.locality_wait = "7s";
  given.flags.prefer_hosts = {"a"};
  const Result<Prepared> ready = prepare(given);
  ASSERT_TRUE(ready) << ready.error().message();
  const JobOrder& order = ready->stages.stages.front().order;
  EXPECT_EQ(order.locality.groups, (std::vector<std::vector<std::string>>{{"a"}}));
  EXPECT_EQ(order.locality.all, 1u);
  const std::string plan = plan_directory(waiting_directory(order.output, order.plan), order.plan);
  const Result<std::string> hosts = read_file(plan + "/hosts", 1'000);
  ASSERT_TRUE(hosts) << hosts.error().message();
  EXPECT_EQ(*parse_hosts_of_paths(*hosts),
            (HostsOfPaths{{"/data", {"a", "b"}}, {"/data/c", {"c"}}}));
  const Result<std::string> request = read_file(plan + "/request", 10'000);
  ASSERT_TRUE(request);
  EXPECT_EQ(decode_plan_request(*request)->locality_wait, seconds(7));
}

TEST_F(Submit, ReadsTimeLimitsByBothNamesAndFlagsBeforeTheFile) {
  JobText map;
  map.map = "cat";
  map.reducers = "0";
  map.inputs = {"/in"};
  map.output = "/out";
  JobText array;
  array.command = {"true"};
  array.array = "1-2";
  array.output = "/out";
  struct Row {
    std::optional<std::string> file, flag, other_name;
    Duration expected;
  };
  const Row rows[] = {{{}, {}, {}, {}},
                      {"2h", {}, {}, hours(2)},
                      {"2h", "90s", {}, seconds(90)},
                      {"2h", {}, "1m", minutes(1)},
                      {{}, {}, "1m", minutes(1)}};
  for (const Row& row : rows) {
    JobText file;
    file.time_limit = row.file;
    for (JobText* flags : {&map, &array}) {
      flags->time_limit = row.flag;
      flags->timeout = row.other_name;
      const Result<JobSpec> job = make_job(file, *flags);
      ASSERT_TRUE(job) << job.error().message();
      EXPECT_EQ(job->array ? job->array->timeout : job->time_limit, row.expected);
      EXPECT_EQ(job->array ? job->time_limit : Duration(), Duration());
    }
  }
  for (const auto& [given, why] :
       {std::pair("0s", "more than 0s"), std::pair("10001h", "at most 10000h"),
        std::pair("soon", "time_limit")}) {
    map.time_limit = given;
    map.timeout.reset();
    EXPECT_THAT(make_job({}, map).error().message(), HasSubstr(why));
  }
  map.time_limit = map.timeout = "1s";
  EXPECT_THAT(make_job({}, map).error().message(), HasSubstr("mean the same"));
}

TEST_F(Submit, NeverTouchesAnOutputThatIsThere) {
  put("out/precious", "data");
  const Result<OutputDirectory> output = OutputDirectory::prepare(at("out"));
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().code(), ErrorCode::kAlreadyExists);
  EXPECT_TRUE(fs::exists(at("out/precious")));
  EXPECT_EQ(OutputDirectory::prepare(at("no/parent/out")).error().code(), ErrorCode::kNotFound);
}

TEST_F(Submit, WritesThePlanIntoTheOutput) {
  Result<OutputDirectory> output = OutputDirectory::prepare(at("out"));
  ASSERT_TRUE(output);
  const std::vector<Split> splits = {{{Chunk{"/in/a", 0, 5}}}, {{Chunk{"/in/b", 7, 2}}}};
  ASSERT_TRUE(output->write_plan("p", splits, {}, {.contents = {{"map.awk", "{ print }"}}}));
  const std::string directory = plan_directory(at("out"), "p");
  const Result<std::string> index = read_file(directory + "/index", 1'000);
  const Result<std::string> entries = read_file(directory + "/entries", 1'000);
  ASSERT_TRUE(index && entries);
  ASSERT_EQ(index->size(), 3 * kIndexEntryBytes);
  const auto entry = [&](size_t number) {
    const Result<IndexEntry> place =
        decode_index_entry(index->substr(number * kIndexEntryBytes, kIndexEntryBytes));
    return entries->substr(static_cast<size_t>(place->offset), static_cast<size_t>(place->length));
  };
  EXPECT_TRUE(*decode_split(entry(1)) == splits[1]);
  EXPECT_EQ(decode_files(entry(2))->contents.at("map.awk"), "{ print }");
}

TEST_F(Submit, PutsTheSmallestFilesIntoThePlanAndCopiesTheOthers) {
  put("one", std::string(kShippedBytesMax - 10, '1'));
  put("two", std::string(20, '2'));
  put("three", "3");
  put("four", "");
  const std::vector<std::string> paths = {at("one"), at("two"), at("three"), at("four")};
  const Result<DividedFiles> divided = divide_files(paths);
  ASSERT_TRUE(divided) << divided.error().message();
  EXPECT_EQ(divided->small, (std::map<std::string, std::string>{
                                {"two", at("two")}, {"three", at("three")}, {"four", at("four")}}));
  EXPECT_EQ(divided->large, (std::map<std::string, std::string>{{"one", at("one")}}));
  put("one", std::string(kShippedBytesMax - 21, '1'));
  EXPECT_TRUE(divide_files(paths)->large.empty());
  fs::create_directory(at("below"));
  EXPECT_THAT(divide_files({at("below")}).error().message(), HasSubstr("is a directory"));
  EXPECT_EQ(divide_files({at("none")}).error().code(), ErrorCode::kNotFound);
  // A sparse file, which is never read.
  put("huge", "");
  fs::resize_file(at("huge"), kLargeFilesBytesMax);
  EXPECT_TRUE(divide_files({at("huge")}));
  EXPECT_EQ(divide_files({at("huge"), at("two")}).error().code(), ErrorCode::kResourceExhausted);
}

TEST_F(Submit, CopiesLargeFilesBesideThePlan) {
  const std::string content(3 * kShippedBytesMax + 7, 'm');
  put("model", content);
  const struct timespec times[2] = {{.tv_sec = 1'000, .tv_nsec = 0},
                                    {.tv_sec = 1'700'000'000, .tv_nsec = 5}};
  ASSERT_EQ(::utimensat(AT_FDCWD, at("model").c_str(), times, 0), 0);
  Result<OutputDirectory> output = OutputDirectory::prepare(at("out"));
  ASSERT_TRUE(output);
  const auto files = output->copy_files("p", {{"m", at("model")}});
  ASSERT_TRUE(files) << files.error().message();
  const LargeFile file = files->at("m");
  EXPECT_EQ(file, (LargeFile{.bytes = static_cast<int64_t>(content.size()),
                             .modified_s = 1'700'000'000}));
  ASSERT_TRUE(output->write_plan("p", {}, {}, {.large = *files}));
  const std::string copy = large_file_path(plan_directory(at("out"), "p"), "m");
  put("model", "other");
  EXPECT_EQ(*read_file(copy, content.size()), content);
  struct stat seen = {};
  ASSERT_EQ(::stat(copy.c_str(), &seen), 0);
  EXPECT_EQ(seen.st_mode & 0777, 0555u);
  EXPECT_EQ(seen.st_mtim.tv_sec, file.modified_s);

  Result<OutputDirectory> another = OutputDirectory::prepare(at("another"));
  fs::remove(at("model"));
  const auto gone = another->copy_files("p", {{"m", at("model")}});
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(gone.error().message(), HasSubstr(at("model")));
}

TEST(LargeFiles, ThatChangeWhileTheyAreCopiedAreRefused) {
  const FileState before{.bytes = 10, .modified_s = 5, .modified_ns = 1};
  EXPECT_TRUE(check_copied("/m", before, before, 10));
  EXPECT_FALSE(check_copied("/m", before, before, 9));
  EXPECT_FALSE(check_copied("/m", before, {.bytes = 11, .modified_s = 5, .modified_ns = 1}, 10));
  const Result<void> later =
      check_copied("/m", before, {.bytes = 10, .modified_s = 5, .modified_ns = 2}, 10);
  ASSERT_FALSE(later);
  EXPECT_THAT(later.error().message(), HasSubstr("'/m' was changed while it was copied"));
  EXPECT_THAT(later.error().hint(), HasSubstr("submit the job again"));
}

TEST_F(Submit, RemovesAnOutputThatIsGivenUp) {
  Result<OutputDirectory> output = OutputDirectory::prepare(at("out"));
  ASSERT_TRUE(output);
  put("out/_temporary/map-1/part-00000", "a");
  output->abandon();
  EXPECT_FALSE(fs::exists(at("out")));
}

}  // namespace
}  // namespace proffer::batch::submit_test
