#include "tests/frameworks/batch_disk/disk_job.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frameworks/batch/executor/posix.h"
#include "frameworks/batch/executor/task.h"
#include "frameworks/batch/shell/prepare.h"

namespace proffer::batch::disk_test {
namespace {

namespace fs = std::filesystem;
using proto::TaskReason;
using proto::TaskState;

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream all;
  all << file.rdbuf();
  return all.str();
}

// The result of a task's process: a letter, then the update's data and message.
std::string packed(const TaskOutcome& outcome) {
  std::string data;
  if (outcome.range) data = encode_range_result(*outcome.range);
  if (outcome.plan) data = encode_plan_result(*outcome.plan);
  if (outcome.result) data = encode_result(*outcome.result);
  const bool is_done = outcome.range || outcome.plan || outcome.result;
  if (!is_done) data = encode_failure(outcome.failure);
  return text(is_done ? "+" : "-", data.size(), " ", data, outcome.message);
}

}  // namespace

DiskJob::DiskJob(Fault fault, int64_t index) : failing_(root_ / "disk", fault, index) {
  for (const char* name : {"disk/in", "disk/sandboxes", "beside"}) {
    fs::create_directories(root_ / name);
  }
  const std::string sandboxes = root_ / "disk/sandboxes";
  Result<std::unique_ptr<HttpServer>> server = HttpServer::listen(
      loop_, {.address = {"127.0.0.1", 0},
              .handler = {},
              .files = {.prefix = "/v1/files/",
                        .resolve = [sandboxes](std::string_view rest,
                                               const PrincipalPtr&) -> Result<ServedPath> {
                          const size_t slash = rest.find('/');  // "framework/task/path"
                          return ServedPath{.root = *open_root(sandboxes),
                                            .relative = std::string(rest.substr(slash + 1))};
                        },
                        .encode_directory = [](const std::vector<DirEntry>&) { return "[]"; }}});
  EXPECT_TRUE(server) << server.error().message();
  if (server) server_ = *std::move(server);
}
DiskJob::~DiskJob() = default;

// Returns what the child process writes to a pipe at its end.
std::string DiskJob::in_child(const std::function<std::string()>& what, bool& was_killed) {
  Result<Pipe> pipe = make_pipe();
  EXPECT_TRUE(pipe);
  const pid_t child = ::fork();
  if (child == 0) {
    // Tasks signal their process group, which must contain no other process.
    ::setpgid(0, 0);
    ::signal(SIGPIPE, SIG_IGN);
    failing_.begin();
    const std::string told = what();
    (void)write_all(pipe->write.get(), told);
    ::_exit(0);
  }
  pipe->write.reset();
  std::string told;
  char buffer[4'096];
  for (;;) {
    const Result<size_t> got = read_some(pipe->read.get(), buffer, sizeof buffer);
    if (!got || *got == 0) break;
    told.append(buffer, *got);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  was_killed = WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
  // Kills remaining processes, as an agent does.
  ::kill(-child, SIGKILL);
  return told;
}

void DiskJob::submit(const JobText& flags) {
  SubmitOptions given;
  given.flags = flags;
  given.flags.output = output();
  for (int round = 0;; ++round) {
    bool was_killed = false;
    const std::string told = in_child(
        [&] {
          const Result<Prepared> ready = prepare(given);
          if (!ready) return "-" + ready.error().message();
          return "+" + encode_order(ready->stages.stages.front().order);
        },
        was_killed);
    if (!told.empty() && told.front() == '+') {
      const Result<JobOrder> order = decode_order(told.substr(1));
      ASSERT_TRUE(order) << order.error().message();
      scheduler_ = std::make_unique<JobScenario>(*order);
      scheduler_->holds_last_tasks();
      scheduler_->begins_on({});
      scheduler_->agent("a", 1);
      return;
    }
    ASSERT_EQ(round, 0) << "it is refused again: " << told;
    ASSERT_NE(failing_.failed(), "") << told;
    if (was_killed) {
      fs::remove_all(output());  // as the command's error message says
    } else {
      EXPECT_FALSE(fs::exists(output())) << failing_.failed() << ": " << told;
    }
    failing_.mend();
  }
}

void DiskJob::run() {
  for (int round = 0; round < 1'000 && !scheduler_->over(); ++round) {
    scheduler_->offer_all();
    const std::vector<std::string> running = scheduler_->running_ids();
    if (running.empty()) {
      scheduler_->advance(seconds(5));
    } else {
      run_one(running.front());
    }
  }
  ASSERT_TRUE(scheduler_->over()) << "it does not end";
}

void DiskJob::run_one(const std::string& id) {
  const JobScenario::Running task = scheduler_->running().at(id);
  const Result<Work> work = decode_work(task.spec.data);
  ASSERT_TRUE(work);
  const std::string sandbox = text(disk(), "/sandboxes/", task.spec.id.str());
  fs::create_directories(sandbox);
  // The task's name without its attempt number.
  const std::string what = id.substr(0, id.rfind('-'));
  if (finished_.count(what) != 0) repeated_.push_back(id);
  bool was_killed = false;
  const std::string told = in_child(
      [&] {
        std::atomic<bool> stopped = false;
        ElementGroup group;
        if (::chdir(sandbox.c_str()) != 0) return std::string();
        return packed(
            run_task(*work, {.framework = "f",
                             .task = task.spec.id.str(),
                             .sandbox = sandbox,
                             .agent = {.http_address = text("127.0.0.1:", server_->port())},
                             .environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}},
                             .sort_bytes = int64_t{1} << 20,
                             .stopped = &stopped,
                             .group = &group}));
      },
      was_killed);
  if (was_killed || told.empty()) {
    ++failed_tasks_;
    return scheduler_->end(id, TaskState::kFailed, TaskReason::kExecutorEnded, "executor ended");
  }
  const size_t space = told.find(' ');
  const size_t size = std::stoul(told.substr(1, space - 1));
  const std::string data = told.substr(space + 1, size);
  const std::string message = told.substr(space + 1 + size);
  const bool is_done = told.front() == '+';
  if (is_done && !id.starts_with("range")) finished_.insert(what);
  if (!is_done) ++failed_tasks_;
  scheduler_->end(id, is_done ? TaskState::kFinished : TaskState::kFailed, TaskReason::kNone,
                  message, data);
}

bool DiskJob::retry() {
  finished_.erase("end-00000");
  scheduler_->handle(Request{.relay = 9, .what = Retry{scheduler_->id()}, .by = {.user = "ada"}});
  const Answer& answer = scheduler_->told().back();
  EXPECT_EQ(answer.relay, 9u);
  if (!answer.job) ADD_FAILURE() << answer.job.error().message();
  return answer.job.has_value();
}

std::map<std::string, int> DiskJob::journal(const std::string& first) const {
  std::map<std::string, int> counts;
  std::istringstream lines(contents(beside("journal")));
  for (std::string word, rest; lines >> word && std::getline(lines, rest);) {
    if (word == first) ++counts[rest.substr(1)];
  }
  return counts;
}

std::map<uint32_t, std::string> DiskJob::results() const {
  std::map<uint32_t, std::string> all;
  const Result<std::vector<ElementResult>> results = read_results(output());
  EXPECT_TRUE(results) << results.error().message();
  if (!results) return all;
  for (const ElementResult& one : *results) {
    if (!one.is_done) continue;
    const std::string path = beside("read");
    const Result<Fd> to = open_to_write(path);
    const Result<void> copied = copy_output(output(), one, false, to->get());
    EXPECT_TRUE(copied) << copied.error().message();
    all[one.index] = contents(path);
  }
  return all;
}

std::string DiskJob::output_of_parts() const {
  std::string all;
  for (uint32_t part = 0; fs::exists(text(output(), "/", part_name(part))); ++part) {
    all += contents(text(output(), "/", part_name(part)));
  }
  return all;
}

}  // namespace proffer::batch::disk_test
