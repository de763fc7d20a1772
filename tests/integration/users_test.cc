// Another user of the same machine: what it can see, and that it can change nothing. Needs root, to
// run as another user.

#include <filesystem>
#include <fstream>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/text.h"
#include "net/fd.h"
#include "proto/json/json.h"
#include "tests/integration/processes.h"

namespace proffer::users_test {
namespace {

namespace fs = std::filesystem;
using namespace test;
using testing::HasSubstr;
using testing::Not;

constexpr uid_t kNobody = 65'534;

class OtherUser : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "not run: only root can become another user";
    fs::permissions(home_.path(), fs::perms::owner_all | fs::perms::others_exec);
    ASSERT_EQ(chown(own_.path().c_str(), kNobody, kNobody), 0);
    // Other users may have no access to the build directory.
    for (const char* name : {"proffer", "proffer-master", "proffer-agent", "proffer-executor",
                             "proffer-fetch", "proffer-batch", "proffer-batch-executor"}) {
      fs::copy_file(program(name), home_ / name);
    }
    start_master();
    agent_ = std::make_unique<Process>(Words{home_ / "proffer-agent", "--master=" + socket_path(),
                                             "--name=a1", "--work_dir=" + (home_ / "agent"),
                                             "--resources=cpus:2;mem:512", "--tasks_on_exit=kill"});
    ASSERT_TRUE(
        eventually([&] { return as_root({"agents"}).out.find("a1") != std::string::npos; }));
  }

  void start_master() {
    master_ = std::make_unique<Process>(Words{program("proffer-master"),
                                              "--data_dir=" + (home_ / "master"),
                                              "--socket=" + socket_path(), "--heartbeat=1s"});
    ASSERT_TRUE(eventually([&] { return as_root({"status"}).code == 0; })) << master_->err();
  }

  // SIGTERM makes the agent end its executors; a kill would leave them.
  void TearDown() override {
    for (const auto& daemon : {agent_.get(), master_.get()}) {
      if (daemon == nullptr) continue;
      daemon->kill(SIGTERM);
      EXPECT_EQ(daemon->wait().code, 0) << daemon->err();
    }
    EXPECT_EQ(processes_of(home_.path()), std::vector<pid_t>());
  }

  std::string socket_path() const { return home_ / "run/master.sock"; }
  Exit as_root(Words words) const {
    words.insert(words.begin(), program("proffer"));
    return run(words, {{"PROFFER_MASTER", socket_path()}});
  }
  // Runs the copy of `proffer`.
  Exit as_nobody(Words words) const {
    words.front() = home_ / words.front();
    return nobody_runs(std::move(words));
  }
  Exit nobody_runs(Words words) const {
    const Words become = {"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
    words.insert(words.begin(), become.begin(), become.end());
    return run(words, {{"PROFFER_MASTER", socket_path()}, {"TMPDIR", own_.path()}});
  }

  std::unique_ptr<Process> start_service() const {
    auto started = std::make_unique<Process>(
        Words{program("proffer-service"), "scheduler", "--master=" + socket_path(),
              "--session-file=" + (home_ / "service.session"), "--serve-users"});
    EXPECT_TRUE(eventually([&] { return as_root({"service", "list"}).code == 0; }));
    return started;
  }

  std::unique_ptr<Process> start_batch() const {
    auto started = std::make_unique<Process>(
        Words{program("proffer-batch"), "scheduler", "--master=" + socket_path(),
              "--session-file=" + (home_ / "batch.session"), "--serve-users"});
    EXPECT_TRUE(eventually([&] { return as_root({"batch", "list"}).code == 0; }));
    return started;
  }

  TemporaryDirectory home_;
  TemporaryDirectory own_;  // of the other user
  std::unique_ptr<Process> master_;
  std::unique_ptr<Process> agent_;
};

TEST_F(OtherUser, SeesTheClusterAndChangesNothing) {
  Process task({program("proffer"), "run", "--", "sleep", "1000"},
               {{"PROFFER_MASTER", socket_path()}});
  ASSERT_TRUE(
      eventually([&] { return as_root({"tasks"}).out.find("running") != std::string::npos; }));

  EXPECT_EQ(as_nobody({"proffer", "status"}).code, 0);
  EXPECT_THAT(as_nobody({"proffer", "agents"}).out, HasSubstr("a1"));

  const std::pair<Words, std::string> attacks[] = {
      {{"role", "set", "eng", "--weight", "5"}, "may not change a role"},
      {{"drain", "a1"}, "may not drain an agent"},
      {{"undrain", "a1"}, "may not drain an agent"},
      {{"agent", "gone", "a1", "--yes"}, "may not declare an agent gone"},
      {{"agent", "lift-brake"}, "may not lift the brake on lost agents"},
      {{"reserve", "a1", "eng", "cpus:1"}, "may not reserve resources"},
      {{"kill", "run-"}, "may not kill a task of another user"},
      {{"service", "list", "--framework", "run-"}, "may not send a request to a framework"},
  };
  for (const auto& [words, says] : attacks) {
    Words command = {"proffer"};
    command.insert(command.end(), words.begin(), words.end());
    const Exit refused = as_nobody(command);
    EXPECT_NE(refused.code, 0) << words.front();
    EXPECT_THAT(refused.err, HasSubstr(says)) << words.front();
    EXPECT_THAT(refused.err, HasSubstr("nobody")) << words.front();
  }
  EXPECT_THAT(as_root({"tasks"}).out, HasSubstr("running"));
  EXPECT_THAT(as_root({"roles"}).out, Not(HasSubstr("eng")));
  task.kill(SIGINT);
  task.wait();
}

TEST_F(OtherUser, IsNotToldWhenTasksOfOthersWillStart) {
  const auto start = [&](const std::string& command) {
    return std::make_unique<Process>(
        Words{program("proffer"), "run", "--name=sort", "--cpus=2", "--", command},
        std::map<std::string, std::string>{{"PROFFER_MASTER", socket_path()}});
  };
  EXPECT_EQ(start("true")->wait().code, 0);
  const auto runs = start("sleep 1000");
  ASSERT_TRUE(
      eventually([&] { return as_root({"tasks"}).out.find("running") != std::string::npos; }));
  const auto waits = start("true");
  ASSERT_TRUE(eventually([&] {
    return as_root({"tasks", "--pending", "--json"}).out.find("\"eta\":") != std::string::npos;
  }));
  const Exit stranger = as_nobody({"proffer", "tasks", "--pending", "--json"});
  EXPECT_THAT(stranger.out, HasSubstr("\"no_eta\":\"not_yours\""));
  EXPECT_THAT(stranger.out, Not(HasSubstr("\"eta\":")));
  EXPECT_THAT(as_nobody({"proffer", "explain", "framework", "sort"}).out,
              Not(HasSubstr("nine of ten")));
  for (const auto& process : {waits.get(), runs.get()}) {
    process->kill(SIGINT);
    process->wait();
  }
}

TEST_F(OtherUser, HearsThatItMayNotReachAMasterAndNotThatThereIsNone) {
  fs::create_directory(home_ / "locked");
  fs::permissions(home_ / "locked", fs::perms::owner_all);
  const Exit status = as_nobody({"proffer", "status", "--master=" + (home_ / "locked/m.sock")});
  EXPECT_NE(status.code, 0);
  EXPECT_THAT(status.err, HasSubstr("user 'nobody' may not connect to ipc://"));
}

// Its files are fetched with its own rights, even if root has fetched them before.
TEST_F(OtherUser, HasOnlyThoseFilesFetchedThatItMayRead) {
  const std::string sum = "sha256=2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
  const std::string secret = home_ / "secret";
  write_file(secret, "hello");
  fs::permissions(secret, fs::perms::owner_read);
  write_file(own_ / "mine", "of nobody");
  ASSERT_EQ(chown((own_ / "mine").c_str(), kNobody, kNobody), 0);
  fs::permissions(own_ / "mine", fs::perms::owner_read);

  const std::string file = text("file://", secret, ",", sum);
  const Exit root = as_root({"run", "--fetch", file, "--", "cat secret"});
  EXPECT_EQ(root.out, "hello") << root.err;
  const Exit refused = as_nobody({"proffer", "run", "--fetch", file, "--", "cat secret"});
  EXPECT_NE(refused.code, 0);
  EXPECT_EQ(refused.out, "");
  EXPECT_THAT(refused.err, HasSubstr("fetch_failed"));
  EXPECT_THAT(refused.err, HasSubstr("Permission denied"));
  const Exit own = as_nobody({"proffer", "run", "--fetch", text("file://", own_ / "mine"), "--",
                              "cat mine; stat -c %U mine"});
  EXPECT_EQ(own.out, "of nobodynobody\n") << own.err;
}

// The identity of another user's task, and what it must not do: read root's sandbox or the agent's
// files, or signal a task of root.
TEST_F(OtherUser, RunsTasksAsItself) {
  Process task({program("proffer"), "run", "--",
                "echo secret > file; echo $$ > $PROFFER_SANDBOX/pid; sleep 1000"},
               {{"PROFFER_MASTER", socket_path()}});
  fs::path sandbox;
  ASSERT_TRUE(eventually([&] {
    std::error_code none;
    for (const auto& entry : fs::recursive_directory_iterator(home_ / "agent/sandboxes", none)) {
      if (entry.path().filename() == "pid" && fs::file_size(entry.path()) > 0) {
        sandbox = entry.path().parent_path();
      }
    }
    return !sandbox.empty();
  }));
  std::ifstream file(sandbox / "pid");
  int pid = 0;
  file >> pid;

  const Exit own =
      as_nobody({"proffer", "run", "--",
                 "id -un; id -G; pwd; echo $HOME $TMPDIR; echo $USER; stat -c '%U %a' .; "
                 "stat -c '%U %a' stdout; umask; ls -d ../.. | wc -l"});
  EXPECT_EQ(own.code, 0) << own.err;
  EXPECT_THAT(own.out, testing::MatchesRegex("nobody\n65534\n(/.*)\n/.* /.*\nnobody\nnobody 700\n"
                                             "nobody 600\n0022\n1\n"))
      << own.err;

  const std::string attacks[] = {
      "cat " + (sandbox / "file").string(),
      "ls " + sandbox.string(),
      "echo x >> " + (sandbox / "stdout").string(),
      "ls " + (home_ / "agent"),
      "cat " + (home_ / "agent/checkpoint.log"),
      "cat " + (home_ / "agent/identity"),
      "ls " + (home_ / "agent/sandboxes"),
      "ls " + (home_ / "agent/runs"),
      text("kill -9 ", pid),
      text("cat /proc/", pid, "/environ"),
      // The environment of the executor contains the token, so its task must not read it.
      "cat /proc/$PPID/environ",
      "kill -9 1",
      "touch /etc/proffer-attack",
  };
  for (const std::string& attack : attacks) {
    const Exit refused = as_nobody({"proffer", "run", "--", attack});
    EXPECT_NE(refused.code, 0) << attack << "\n" << refused.out;
    EXPECT_THAT(refused.err, testing::ContainsRegex("ermi[ts]|ermission")) << attack;
  }
  EXPECT_TRUE(is_alive(pid));
  task.kill(SIGINT);
  task.wait();
}

// The kernel identifies the peer of the socket; claims in the request do not count.
TEST_F(OtherUser, ChangesNothingOfOthersOverHttp) {
  Process task({program("proffer"), "run", "--", "echo begun; exec sleep 1000"},
               {{"PROFFER_MASTER", socket_path()}});
  ASSERT_TRUE(task.line_with("begun")) << task.err();
  const auto rows = proto::parse_tasks(as_root({"tasks", "--json"}).out);
  ASSERT_TRUE(rows && rows->size() == 1u);
  const std::string framework = rows->front().framework.str();
  const std::string http = fs::path(socket_path()).replace_filename("master-http.sock");
  const auto post = [&](const std::string& path, const std::string& body) {
    return nobody_runs({"/usr/bin/curl", "-sS", "--unix-socket", http, "--json", body, "-H",
                        "Authorization: Bearer root", "http://localhost/v1/" + path});
  };
  const std::pair<std::string, std::string> attacks[] = {
      {"kill", text("{\"task\":\"", framework, "/", rows->front().task.str(), "\"}")},
      {"kill", text("{\"framework\":\"", framework, "\"}")},
      {"teardown", text("{\"framework\":\"", framework, "\"}")},
      {"frameworks/" + framework + "/requests", "{}"},
      {"drain", R"({"agent":"a1"})"},
      {"agent_gone", R"({"agent":"a1"})"},
      {"role_set", R"({"role":"a","weight":9})"},
      {"reserve", R"({"agent":"a1","role":"a","resources":"cpus:1"})"},
      {"brake_lift", "{}"},
      {"key_revoke", R"({"kind":"user","name":"root"})"},
      {"secret_remove", R"({"name":"db","owner":"root"})"},
  };
  for (const auto& [path, body] : attacks) {
    const Exit refused = post(path, body);
    EXPECT_THAT(refused.out, HasSubstr("\"permission_denied\"")) << path << refused.err;
    EXPECT_THAT(refused.out, HasSubstr("user 'nobody' may not")) << path;
  }
  EXPECT_TRUE(master_->complains("audit: refused user=nobody"));
  EXPECT_EQ(as_root({"tasks", "--json"}).out.find("killing"), std::string::npos);
  // It may change its own secrets.
  EXPECT_EQ(post("secret_set", R"({"name":"db","value_hex":"61"})").out, "{}");
  EXPECT_THAT(as_nobody({"proffer", "secret", "list"}).out, HasSubstr("db"));
  task.kill(SIGINT);
  task.wait();
}

// Names and amounts are public; commands and files are not.
TEST_F(OtherUser, SeesNoCommandsFilesOrLogsOfOthers) {
  Process task({program("proffer"), "run", "--", "echo whispered; exec sleep 1000 # secret"},
               {{"PROFFER_MASTER", socket_path()}});
  ASSERT_TRUE(task.line_with("whispered")) << task.err();
  const std::string http = fs::path(socket_path()).replace_filename("master-http.sock");
  const Words ask_tasks = {"/usr/bin/curl", "-sS", "--unix-socket", http,
                           "http://localhost/v1/tasks"};
  EXPECT_THAT(as_root({"tasks", "--json"}).out, HasSubstr("secret"));
  EXPECT_THAT(run(ask_tasks).out, HasSubstr("secret"));

  const Exit listed = as_nobody({"proffer", "tasks", "--json"});
  EXPECT_THAT(listed.out, HasSubstr("\"user\":\"root\""));
  EXPECT_THAT(listed.out, Not(HasSubstr("secret")));
  const Exit over_http = nobody_runs(ask_tasks);
  EXPECT_THAT(over_http.out, HasSubstr("\"user\":\"root\"")) << over_http.err;
  EXPECT_THAT(over_http.out, Not(HasSubstr("secret")));
  const auto rows = proto::parse_tasks(listed.out);
  ASSERT_TRUE(rows && rows->size() == 1u) << listed.out;
  const std::string name = rows->front().framework.str() + "/" + rows->front().task.str();
  EXPECT_THAT(as_root({"explain", "task", name, "--json"}).out, HasSubstr("secret"));
  EXPECT_THAT(as_nobody({"proffer", "explain", "task", name, "--json"}).out,
              Not(HasSubstr("secret")));

  EXPECT_THAT(as_root({"logs", name}).out, HasSubstr("whispered"));
  const Exit logs = as_nobody({"proffer", "logs", name});
  EXPECT_NE(logs.code, 0);
  EXPECT_THAT(logs.err, HasSubstr("user 'nobody' may not read files of a task of another user"));
  EXPECT_THAT(logs.err, HasSubstr("user 'root'"));
  EXPECT_THAT(logs.out, Not(HasSubstr("whispered")));
  const std::string files = "http://localhost/v1/files/" + name + "/";
  for (const char* file : {"", "stdout", "stdout?follow=1"}) {
    const Exit read = nobody_runs({"/usr/bin/curl", "-sS", "--path-as-is", "--unix-socket",
                                   rows->front().http_address, files + file});
    EXPECT_THAT(read.out, HasSubstr("may")) << file << read.err;
    EXPECT_THAT(read.out, Not(HasSubstr("whispered"))) << file;
    EXPECT_THAT(read.out, Not(HasSubstr("stdout\""))) << file;
  }
  task.kill(SIGINT);
  task.wait();
}

// A command in a task runs as the task's user, not as the caller.
TEST_F(OtherUser, RunsCommandsInItsOwnTasksOnly) {
  Process theirs({program("proffer"), "run", "--name", "theirs", "--",
                  "cut -d: -f2- /proc/self/cgroup > groups; echo begun; sleep 1000"},
                 {{"PROFFER_MASTER", socket_path()}});
  ASSERT_TRUE(theirs.line_with("begun")) << theirs.err();
  const Exit refused = as_nobody({"proffer", "exec", "theirs", "--", "id -un"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_EQ(refused.out, "");
  EXPECT_THAT(refused.err,
              HasSubstr("user 'nobody' may not run a command in a task of another user"));
  Words words = {"/usr/bin/setpriv",
                 "--reuid=65534",
                 "--regid=65534",
                 "--clear-groups",
                 home_ / "proffer",
                 "run",
                 "--name",
                 "own",
                 "--",
                 "echo begun; sleep 1000"};
  Process own(words, {{"PROFFER_MASTER", socket_path()}});
  ASSERT_TRUE(own.line_with("begun")) << own.err();
  EXPECT_EQ(as_nobody({"proffer", "exec", "own", "--", "id -un; pwd"}).out.substr(0, 7),
            "nobody\n");
  EXPECT_EQ(as_root({"exec", "own", "--", "id -un"}).out, "nobody\n");
  EXPECT_EQ(as_root({"exec", "theirs", "--", "id -un"}).out, "root\n");
  // The command runs within the limits of its task.
  const Exit same =
      as_root({"exec", "theirs", "--", "cut -d: -f2- /proc/self/cgroup | diff groups -"});
  EXPECT_EQ(same.code, 0) << same.out;
  for (Process* task : {&theirs, &own}) {
    task->kill(SIGINT);
    task->wait();
  }
}

// Root runs the batch scheduler here; a job runs as its user, and others may not end or read it.
TEST_F(OtherUser, RunsItsBatchJobsAsItselfAndLeavesThoseOfOthersAlone) {
  std::unique_ptr<Process> batch = start_batch();
  write_file(home_ / "input", "line\n");
  write_file(own_ / "input", "line\n");
  const auto submission = [](const std::string& directory, const std::string& map) {
    return Words{"batch",       "submit",
                 "--map",       map,
                 "--reducers",  "0",
                 "--input",     directory + "/input",
                 "--output",    directory + "/out",
                 "--resources", "cpus:1;mem:64"};
  };
  const Exit theirs =
      as_root(submission(home_.path(), "echo whispered >&2; exec sleep 1000 # secret"));
  ASSERT_EQ(theirs.out, "job-1\n") << theirs.err;
  ASSERT_TRUE(
      eventually([&] { return as_root({"tasks"}).out.find("running") != std::string::npos; }));
  ASSERT_EQ(as_root({"role", "set", "default/vip", "--users", "root"}).code, 0);

  for (const Words& seen :
       {Words{"proffer", "batch", "status", "job-1"},
        Words{"proffer", "batch", "status", "job-1", "--json"}, Words{"proffer", "batch", "list"},
        Words{"proffer", "batch", "list", "--json"}}) {
    const Exit told = as_nobody(seen);
    EXPECT_EQ(told.code, 0) << told.err;
    EXPECT_THAT(told.out, HasSubstr("root"));
    EXPECT_THAT(told.out, Not(HasSubstr("secret")));
    EXPECT_THAT(told.out, Not(HasSubstr(home_.path())));
  }
  Words foreign = submission(own_.path(), "cat");
  foreign.insert(foreign.begin(), "proffer");
  foreign.insert(foreign.end(), {"--role", "default/vip"});
  const std::pair<Words, std::string> attacks[] = {
      {{"proffer", "batch", "cancel", "job-1"},
       "user 'nobody' may not end job 'job-1' of user 'root'"},
      {{"proffer", "batch", "retry", "job-1"},
       "user 'nobody' may not retry job 'job-1' of user 'root'"},
      {{"proffer", "batch", "logs", "job-1"}, "job 'job-1' belongs to user 'root'"},
      {{"proffer", "batch", "logs", "job-1", "map-0"}, "job 'job-1' belongs to user 'root'"},
      {{"proffer", "logs", "--stderr", "job-1.map-00000-1"}, "may not read files"},
      {foreign, "user 'nobody' may not use role 'default/vip'"},
  };
  for (const auto& [words, says] : attacks) {
    const Exit refused = as_nobody(words);
    EXPECT_EQ(refused.code, 1) << words[2];
    EXPECT_THAT(refused.err, HasSubstr(says)) << words[2];
    EXPECT_THAT(refused.out, Not(HasSubstr("whispered"))) << words[2];
  }
  EXPECT_FALSE(fs::exists(own_ / "out"));  // the output of the refused job
  // The process that refuses a request logs it.
  EXPECT_TRUE(batch->complains("audit: refused user=nobody")) << batch->err();
  for (const char* verb : {"end", "retry"}) {
    EXPECT_TRUE(batch->complains(text("may not ", verb, " job"))) << batch->err();
  }
  EXPECT_TRUE(
      master_->complains(R"(audit: refused user=nobody action="use a role" of="default/vip")"))
      << master_->err();
  EXPECT_EQ(as_root({"batch", "logs", "job-1", "map-0"}).out, "whispered\n");

  Words mine = submission(own_.path(), "id -un; cat >/dev/null");
  mine.insert(mine.begin(), "proffer");
  ASSERT_EQ(as_nobody(mine).out, "job-2\n");
  EXPECT_EQ(as_nobody({"proffer", "batch", "wait", "job-2"}).code, 0);
  EXPECT_EQ(read_file(own_ / "out/part-00000"), "nobody\n");
  const Exit history = as_nobody({"proffer", "batch", "history"});
  EXPECT_THAT(history.out, HasSubstr("job-2"));
  EXPECT_EQ(as_root({"batch", "cancel", "job-1"}).code, 0);
  EXPECT_EQ(as_root({"batch", "wait", "job-1"}).code, 1);
  batch->kill(SIGTERM);
  EXPECT_EQ(batch->wait().code, 0) << batch->err();
}

// Root runs the service scheduler here; an app runs as its user, and others may not change it or
// read its logs.
TEST_F(OtherUser, RunsItsAppsAsItself) {
  std::unique_ptr<Process> service = start_service();
  const auto file_of = [&](const std::string& app) {
    std::string path = own_ / (app + ".yaml");
    write_file(path, "name: " + app + "\ncommand: \"id -un; exec sleep 1000\"\n");
    return path;
  };
  ASSERT_EQ(as_root({"service", "apply", file_of("theirs"), "--wait"}).code, 0);
  const Exit applied = as_nobody({"proffer", "service", "apply", file_of("mine"), "--wait"});
  ASSERT_EQ(applied.code, 0) << applied.err;
  EXPECT_EQ(as_nobody({"proffer", "logs", "mine.1.0-"}).out, "nobody\n");
  EXPECT_EQ(as_root({"logs", "theirs.1.0-"}).out, "root\n");
  EXPECT_THAT(as_nobody({"proffer", "logs", "theirs.1.0-"}).err, HasSubstr("may not read"));

  for (const Words& words : {Words{"proffer", "service", "stop", "theirs"},
                             Words{"proffer", "service", "scale", "theirs", "3"},
                             Words{"proffer", "service", "apply", file_of("theirs")}}) {
    const Exit refused = as_nobody(words);
    EXPECT_NE(refused.code, 0);
    EXPECT_THAT(refused.err, HasSubstr("user 'nobody' may not change app 'theirs' of user 'root'"));
  }

  // Both the scheduler and the master remember the owners.
  service->kill(SIGKILL);
  service->wait();
  master_->kill(SIGKILL);
  master_->wait();
  start_master();
  service = start_service();
  EXPECT_EQ(as_nobody({"proffer", "service", "scale", "mine", "2", "--wait"}).code, 0);
  EXPECT_EQ(as_nobody({"proffer", "logs", "mine.1.1-"}).out, "nobody\n");
  EXPECT_EQ(as_nobody({"proffer", "kill", "mine.1.0-"}).code, 0);
  EXPECT_EQ(as_nobody({"proffer", "service", "stop", "mine", "--wait"}).code, 0);
  EXPECT_EQ(as_root({"service", "stop", "theirs", "--wait"}).code, 0);
  service->kill(SIGTERM);
  EXPECT_EQ(service->wait().code, 0) << service->err();
}

// An agent that does not run as root runs only its own user's tasks.
TEST_F(OtherUser, AnAgentThatIsNotRootRunsOnlyItsOwn) {
  const std::string socket = own_ / "run/master.sock";
  const auto daemon = [&](Words words) {
    const Words become = {"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
    words.front() = home_ / words.front();
    words.insert(words.begin(), become.begin(), become.end());
    return std::make_unique<Process>(words);
  };
  const auto master =
      daemon({"proffer-master", "--data_dir=" + (own_ / "master"), "--socket=" + socket});
  const auto agent =
      daemon({"proffer-agent", "--master=" + socket, "--name=own", "--work_dir=" + (own_ / "agent"),
              "--resources=cpus:2;mem:512", "--tasks_on_exit=kill"});
  const auto proffer = [&](bool root, Words words) {
    if (!root) words.front() = home_ / words.front();
    if (root) words.front() = program(words.front());
    const Words become = {"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
    if (!root) words.insert(words.begin(), become.begin(), become.end());
    return run(words, {{"PROFFER_MASTER", socket}, {"TMPDIR", own_.path()}});
  };
  ASSERT_TRUE(eventually([&] {
    return proffer(true, {"proffer", "agents"}).out.find("own") != std::string::npos;
  })) << master->err()
      << agent->err();
  EXPECT_EQ(proffer(false, {"proffer", "run", "--", "id -un"}).out, "nobody\n");
  const Exit refused = proffer(true, {"proffer", "run", "--", "id -un"});
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.err,
              HasSubstr("agent 'own' does not run as root, and runs tasks of user 'nobody' only"));
  for (const auto& daemon_ : {agent.get(), master.get()}) {
    daemon_->kill(SIGTERM);
    EXPECT_EQ(daemon_->wait().code, 0) << daemon_->err();
  }
}

// An agent obeys its master; as root it could act as any user.
TEST_F(OtherUser, IsNoMasterOfAnAgentThatIsRoot) {
  const std::string socket = own_ / "run/master.sock";
  const Words become = {"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
  Words words = become;
  for (const std::string& word : Words{home_ / "proffer-master", "--data_dir=" + (own_ / "master"),
                                       "--socket=" + socket, "--agent_users=root"}) {
    words.push_back(word);
  }
  Process master(words);
  const Words agent = {program("proffer-agent"), "--master=" + socket, "--name=a2",
                       "--work_dir=" + (home_ / "second"), "--resources=cpus:2;mem:512"};
  const Words agents = {program("proffer"), "agents"};
  {
    Process wary(agent);
    EXPECT_TRUE(wary.complains("is served by user 'nobody', which is not trusted")) << wary.err();
    wary.kill(SIGTERM);
    wary.wait();
    EXPECT_TRUE(eventually([&] {
      return run(agents, {{"PROFFER_MASTER", socket}}).out.find(" connected") == std::string::npos;
    }));
  }
  Words told = agent;
  told.push_back("--master_user=nobody");
  Process trusting(told);
  EXPECT_TRUE(eventually([&] {
    return run(agents, {{"PROFFER_MASTER", socket}}).out.find(" connected") != std::string::npos;
  }));
  for (Process* daemon : {&trusting, &master}) {
    daemon->kill(SIGTERM);
    daemon->wait();
  }
  const Exit tcp = run({program("proffer-agent"), "--master=127.0.0.1:5050", "--name=a3",
                        "--work_dir=" + (home_ / "third")});
  EXPECT_EQ(tcp.code, 2);
  EXPECT_THAT(tcp.err, HasSubstr("takes tasks only from a master's Unix socket"));
}

// A link in a user's sandbox is opened with that user's rights, also for operators.
TEST_F(OtherUser, ALinkInASandboxGivesNoMoreThanItsUserMayRead) {
  write_file(home_ / "root-only", "of root");
  fs::permissions(home_ / "root-only", fs::perms::owner_read);
  Words words = {home_ / "proffer", "run", "--",
                 "echo mine > own; mkdir closed; echo x > closed/file; chmod 0 closed; "
                 "echo $PROFFER_FRAMEWORK_ID/$PROFFER_TASK_ID; pwd; exec sleep 1000"};
  const Words become = {"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
  words.insert(words.begin(), become.begin(), become.end());
  Process task(words, {{"PROFFER_MASTER", socket_path()}, {"TMPDIR", own_.path()}});
  const std::optional<std::string> name = task.line_with("/");
  const std::optional<std::string> sandbox = task.line_with("/");
  ASSERT_TRUE(name && sandbox) << task.err();
  // A user could make this link where the kernel allows hard links to others' files.
  fs::create_hard_link(home_ / "root-only", *sandbox + "/linked");
  const std::string http = proto::parse_tasks(as_root({"tasks", "--json"}).out)->at(0).http_address;
  for (const bool is_root : {true, false}) {
    const auto read = [&](const std::string& file) {
      const Words curl = {"/usr/bin/curl", "-sS", "--unix-socket", http,
                          "http://localhost/v1/files/" + *name + "/" + file};
      return is_root ? run(curl) : nobody_runs(curl);
    };
    EXPECT_EQ(read("own").out, "mine\n") << read("own").err;
    EXPECT_THAT(read("linked").out, Not(HasSubstr("of root")));
    EXPECT_THAT(read("closed/file").out, HasSubstr("may not be read"));
  }
  fs::remove(*sandbox + "/linked");
  task.kill(SIGINT);
  task.wait();
}

// Such an agent would get the tasks of others.
TEST_F(OtherUser, RegistersNoAgent) {
  const Exit refused = as_nobody({"proffer-agent", "--name=evil", "--work_dir=" + (own_ / "evil"),
                                  "--resources=cpus:64;mem:1024"});
  EXPECT_THAT(refused.err, HasSubstr("user 'nobody' may not register an agent"));
  EXPECT_THAT(as_root({"agents"}).out, Not(HasSubstr("evil")));
}

// libzmq would abort if no descriptor is left. The master has a low limit, because a high one only
// takes longer.
TEST_F(OtherUser, ManyConnectionsDoNotEndTheMaster) {
  const std::string crowded = home_ / "crowded.sock";
  Process master({"/bin/sh", "-c", "ulimit -n 200; exec \"$@\"", "sh", program("proffer-master"),
                  "--data_dir=" + (home_ / "crowded"), "--socket=" + crowded});
  const auto answers = [&] {
    return run({program("proffer"), "status"}, {{"PROFFER_MASTER", crowded}}).code == 0;
  };
  ASSERT_TRUE(eventually(answers)) << master.err();
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  crowded.copy(address.sun_path, sizeof address.sun_path - 1);
  std::vector<Fd> connections;
  for (int i = 0; i < 500; ++i) {
    Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval patience{5, 0};
    setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    ASSERT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0) << i;
    connections.push_back(std::move(fd));
  }
  connections.clear();
  EXPECT_TRUE(eventually(answers)) << master.err();
  EXPECT_TRUE(is_alive(master.pid()));
  master.kill(SIGTERM);
  EXPECT_EQ(master.wait().code, 0);
  EXPECT_FALSE(fs::exists(crowded));
}

// A socket's path belongs to one master.
TEST_F(OtherUser, TheSocketIsNotTaken) {
  const Exit second = run(
      {program("proffer-master"), "--data_dir=" + (home_ / "other"), "--socket=" + socket_path()});
  EXPECT_EQ(second.code, 1);
  EXPECT_THAT(second.err, HasSubstr("is in use by another process"));
  EXPECT_EQ(as_root({"status"}).code, 0);

  // Other files are not replaced either: a bind would remove them.
  write_file(home_ / "letter", "dear");
  const Exit third = run({program("proffer-master"), "--data_dir=" + (home_ / "third"),
                          "--socket=" + (home_ / "letter")});
  EXPECT_EQ(third.code, 1);
  EXPECT_THAT(third.err, HasSubstr("a file that is not a socket is at"));
  EXPECT_EQ(read_file(home_ / "letter"), "dear");
}

// For development: each peer that reaches the port acts as the master's user.
TEST(InsecureTcp, IsForThoseThatAskForIt) {
  TemporaryDirectory home;
  const Words plain = {program("proffer-master"), "--data_dir=" + (home / "master"),
                       "--socket=", "--port=0"};
  const Exit refused = run(plain);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("serving other machines requires a key, and there is no key"));

  Words command = plain;
  command.push_back("--insecure_tcp");
  Process master(command);
  std::string address;
  ASSERT_TRUE(eventually([&] {
    const auto told = proto::parse_json_line(trimmed(read_file(home / "master/address.json")));
    if (told) address = std::get<std::string>(told->at("address"));
    return told.has_value();
  }));
  EXPECT_THAT(address, testing::StartsWith("127.0.0.1:"));
  const Exit set = run({program("proffer"), "role", "set", "eng", "--weight", "2"},
                       {{"PROFFER_MASTER", address}});
  EXPECT_EQ(set.code, 0) << set.err;
  master.kill(SIGTERM);
  const Exit ended = master.wait();
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.err, HasSubstr("has all the rights of user"));
}

}  // namespace
}  // namespace proffer::users_test
