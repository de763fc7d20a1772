// How a command ends: its grace, whichever way its end is requested, and the output of processes
// that it leaves behind.

#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "proto/json/json.h"
#include "tests/integration/processes.h"

namespace proffer::test::command_life_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct CommandLife : testing::Test {
  // A script that saves its work in the file that is its argument when it gets SIGTERM.
  std::string saver() const {
    const std::string path = home_ / "saver";
    write_file(path,
               "trap 'sleep 0.3; echo saved >>\"$1\"; exit 0' TERM\n"
               "echo $$ >\"$1.up\"\nwhile :; do sleep 0.05; done\n");
    return path;
  }
  std::string file(const std::string& name) const { return home_ / name; }
  // A command line that runs the saver below a shell.
  std::string below_a_shell(const std::string& name) const {
    return text("bash ", saver(), " ", file(name), "; true");
  }
  bool is_up(const std::string& name) const {
    return eventually([&] { return read_file(file(name) + ".up").ends_with('\n'); });
  }
  static pid_t parent_of(pid_t pid) {
    const std::string status = read_file(text("/proc/", pid, "/status"));
    return std::stoi(status.substr(status.find("PPid:") + 5));
  }
  static std::string seq(int last) {
    std::string lines;
    for (int i = 1; i <= last; ++i) lines += text(i, "\n");
    return lines;
  }

  TemporaryDirectory home_;
};

TEST_F(CommandLife, EveryWayToEndATaskGivesItsGrace) {
  Cluster cluster({.agents = 2, .resources = "cpus:8;mem:4096", .service = true, .batch = true});
  const auto run = [&](const std::string& name, Words more = {}) {
    Words words = {"run", "--cpus", "0.1", "--mem", "32", "--name", name};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", below_a_shell(name)});
    return cluster.start(words);
  };
  const auto array = [&](const std::string& name, Words more = {}) {
    Words words = {"batch", "array", "1", "--name", name, "--output", file(name + ".out")};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", "sh", "-c", below_a_shell(name)});
    return cluster.start(words);
  };
  write_file(file("app.yaml"), text("name: app\ncommand: '", below_a_shell("stopped"),
                                    "'\nresources: 'cpus:0.1;mem:32'\nkill_grace: 10s\n",
                                    "sidecars: {log: '", below_a_shell("sidecar"), "'}\n"));
  std::map<std::string, std::unique_ptr<Process>> started;
  started["killed"] = run("killed");
  // Without a shell between.
  started["words"] =
      cluster.start({"run", "--name", "words", "--", "bash", saver(), file("words")});
  started["interrupted"] = run("interrupted");
  started["signalled"] = run("signalled");
  started["limited"] = run("limited", {"--max-run-time", "1s"});
  started["drained"] = run("drained", {"--constraint", "host == agent-2"});
  started["late"] = array("late", {"--time-limit", "1s"});
  ASSERT_TRUE(is_up("late"));
  started["cancelled"] = array("cancelled");
  ASSERT_EQ(cluster.proffer({"service", "apply", file("app.yaml"), "--wait"}).code, 0);
  for (const auto& [name, process] : started) ASSERT_TRUE(is_up(name)) << name;
  ASSERT_TRUE(is_up("sidecar"));

  EXPECT_EQ(cluster.proffer({"kill", "killed-1"}).code, 0);
  EXPECT_EQ(cluster.proffer({"kill", "words-1"}).code, 0);
  started["interrupted"]->kill(SIGINT);
  // The executor is the parent of the shell.
  const pid_t executor = parent_of(parent_of(std::stoi(read_file(file("signalled.up")))));
  ASSERT_EQ(::kill(executor, SIGTERM), 0) << executor;
  EXPECT_EQ(cluster.proffer({"drain", "agent-2", "--wait"}).code, 0);
  const Exit cancelled = cluster.proffer({"batch", "cancel", "cancelled-2"});
  EXPECT_EQ(cancelled.code, 0) << cancelled.err;
  EXPECT_EQ(cluster.proffer({"service", "stop", "app", "--wait"}).code, 0);
  for (const auto& [name, process] : started) {
    process->wait();
    EXPECT_EQ(read_file(file(name)), "saved\n") << name << ": " << process->err();
  }
  // The drain may have moved its instance before.
  EXPECT_THAT(read_file(file("stopped")), StartsWith("saved\n"));
  EXPECT_EQ(read_file(file("sidecar")), read_file(file("stopped")));
}

TEST_F(CommandLife, AWarningComesBeforeTheLimit) {
  Cluster cluster({.resources = "cpus:8;mem:4096", .batch = true});
  // It has no handler until it is up, and then goes on until it is warned. The shell around it has
  // none at all.
  const std::string saver = home_ / "warned";
  write_file(saver, "trap 'echo saved; exit 7' USR1\nwhile :; do sleep 0.05; done\n");
  const std::string line = text("bash ", saver, "; echo code $?");
  const Words limits = {"--max-run-time", "4s", "--signal", "USR1@3s"};
  const auto run = [&](const Words& command) {
    Words words = {"run", "--name", command.front(), "--cpus", "0.1", "--mem", "32"};
    words.insert(words.end(), limits.begin(), limits.end());
    words.emplace_back("--");
    words.insert(words.end(), command.begin(), command.end());
    return cluster.start(words);
  };
  const auto direct = run({"bash", saver});
  const auto below = run({"sh", "-c", line});
  const auto careless = run({"sleep", "1000"});
  const auto array =
      cluster.start({"batch", "array", "1-2", "--output", file("out"), "--time-limit", "4s",
                     "--signal", "USR1@3s", "--", "sh", "-c", line});
  const Exit ended = direct->wait();
  EXPECT_EQ(ended.code, 7) << ended.err;
  EXPECT_EQ(ended.out, "saved\n");
  const Exit shell = below->wait();
  EXPECT_EQ(shell.code, 0) << shell.err;
  EXPECT_EQ(shell.out, "saved\ncode 7\n");
  // A command without a handler ends by the signal, as by a kill.
  EXPECT_EQ(careless->wait().code, 128 + SIGUSR1);
  const Exit elements = array->wait();
  EXPECT_EQ(elements.code, 0) << elements.err;
  EXPECT_EQ(elements.out, "saved\ncode 7\nsaved\ncode 7\n");
}

TEST_F(CommandLife, TheGraceIsNeverExceededAndNothingOutlivesIt) {
  Cluster cluster;
  const std::string stubborn =
      text("trap '' TERM; echo $$ >", file("it.up"), "; while :; do sleep 0.05; done");
  const auto running = cluster.start({"run", "--name", "it", "--grace", "300ms", "--", "sh", "-c",
                                      text("(", stubborn, ") & setsid sh -c 'echo $$ >",
                                           file("away.up"), "; sleep 1000' & wait")});
  ASSERT_TRUE(is_up("it") && is_up("away"));
  EXPECT_EQ(cluster.proffer({"kill", "it-1"}).code, 0);
  EXPECT_EQ(running->wait().code, 128 + SIGTERM);
  for (const char* name : {"it.up", "away.up"}) {
    EXPECT_FALSE(is_alive(std::stoi(read_file(file(name))))) << name;
  }
}

TEST_F(CommandLife, OutputOfFiltersThatItLeavesBehindIsComplete) {
  Cluster cluster({.batch = true});
  // The shell ends before its filters, which a shell does not wait for.
  const auto line = [&](const std::string& name) {
    return text("exec > >(sleep 0.1; tee ", name,
                " | sed p -n) 2> >(cat >&2); seq 20000; echo e >&2");
  };
  const std::string all = seq(20'000);
  const Exit ran = cluster.proffer({"run", "--", "bash", "-c", line(file("run"))});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, all);
  EXPECT_EQ(ran.err, "e\n");
  EXPECT_EQ(read_file(file("run")), all);
  // Their output goes to a file only.
  const Exit away = cluster.proffer(
      {"run", "--", "bash", "-c", text("exec > >(sleep 0.1; cat >", file("away"), "); seq 20000")});
  EXPECT_EQ(away.code, 0);
  EXPECT_EQ(read_file(file("away")), all);
  const Exit array = cluster.proffer({"batch", "array", "1-10", "--output", file("out"), "--",
                                      "bash", "-c", line(file("element-{}"))});
  ASSERT_EQ(array.code, 0) << array.err;
  std::string ten;
  for (int i = 1; i <= 10; ++i) {
    ten += all;
    EXPECT_EQ(read_file(file(text("element-", i))), all) << i;
  }
  EXPECT_TRUE(array.out == ten) << array.out.size() << " bytes of " << ten.size();
}

TEST_F(CommandLife, ALeftProcessThatNeverEndsIsReported) {
  Cluster cluster({.batch = true});
  const auto array = cluster.start(
      {"batch", "array", "1", "--output", file("out"), "--", "sh", "-c", "sleep 1000 & echo hi"});
  // A daemon, which does not write to the output, is not waited for.
  const Exit daemon = cluster.proffer(
      {"run", "--", "sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $! >" + file("daemon")});
  EXPECT_EQ(daemon.code, 0);
  EXPECT_EQ(daemon.err, "");
  EXPECT_FALSE(is_alive(std::stoi(read_file(file("daemon")))));
  const Exit ran = cluster.proffer({"run", "--", "sh", "-c", "sleep 1000 & echo hi"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "hi\n");
  EXPECT_THAT(ran.err, HasSubstr("(sleep) still ran 10s after the command had ended"));
  const Exit ended = array->wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
}

// Runs a shell line with `proffer` as a program, in the home directory of the test.
struct Surroundings : CommandLife {
  Exit shell(const std::string& line) const {
    return test::run({"bash", "-c", line},
                     {{"PROFFER_MASTER", cluster_.master()},
                      {"P", program("proffer")},
                      {"TOOL", kValue},
                      {"HOME", home_.path()},
                      {"PATH", home_.path() + ":/usr/bin:/bin"}},
                     home_.path());
  }

  static constexpr const char* kValue = "a-value-of-this-shell";
  Cluster cluster_{Cluster::Options{.batch = true}};
};

TEST_F(Surroundings, AreThoseOfTheShell) {
  const std::string program = home_ / "my-tool";
  write_file(program, "#!/bin/bash\necho $TOOL $HOME $(umask) $(ulimit -Sn) $(ulimit -Ss) $1\n");
  fs::permissions(program, fs::perms::owner_all);
  const std::string before = "umask 0027; ulimit -Sn 700; ulimit -Ss 4096; ";
  const std::string wanted = text(kValue, " ", home_.path(), " 0027 700 4096 1\n");
  EXPECT_EQ(shell(before + "my-tool 1").out, wanted);
  const Exit ran = shell(before + "$P run -- my-tool 1");
  EXPECT_EQ(ran.out, wanted) << ran.err;
  const Exit array = shell(before + "$P batch array 1 --output out -- my-tool");
  EXPECT_EQ(array.out, text(kValue, " ", home_.path(), " 0027 700 4096\n")) << array.err;
  const Exit map = shell(before + "ulimit -St 900; $P batch map --output map -- my-tool ::: 1");
  EXPECT_EQ(map.out, wanted) << map.err;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(file("out"))) {
    EXPECT_EQ(entry.status().permissions() & fs::perms::others_all, fs::perms::none)
        << entry.path();
  }
}

// The shell says only that the script was not found.
TEST_F(Surroundings, LackTheInterpreterOfAScript) {
  const std::string program = home_ / "their-tool";
  write_file(program, "#!/usr/bin/pyhton3\nprint()\n");
  fs::permissions(program, fs::perms::owner_all);
  for (const char* command : {"their-tool 1", "their-tool"}) {
    const Exit ran = shell(text("$P run -- ", command));
    EXPECT_THAT(ran.err, HasSubstr(text("note: ", program)));
    EXPECT_THAT(ran.err, HasSubstr("interpreter '/usr/bin/pyhton3', which this machine does not"));
  }
  const std::string quiet = " 2>&1 | grep note:";
  EXPECT_EQ(shell("$P run -- their-other-tool 1" + quiet).out, "");
  EXPECT_EQ(shell("$P run -- sh -c 'exit 127'" + quiet).out, "");
}

TEST_F(Surroundings, HaveTheStandardInput) {
  EXPECT_EQ(shell("echo data | $P run -- cat").out, "data\n");
  EXPECT_EQ(shell("printf 'a\\0b' | $P run -- wc -c").out, "3\n");
  EXPECT_EQ(shell("$P run -- sh -c 'read a; echo got $a; cat' <<< $'one\\ntwo'").out,
            "got one\ntwo\n");
  EXPECT_EQ(shell("$P run -- wc -c </dev/null").out, "0\n");
  EXPECT_EQ(shell("echo data | $P run --no-input -- wc -c").out, "0\n");
  // Larger than every buffer on the way, from a pipe and a file, to a reader that is slow at first.
  const std::string sum = shell("seq 400000 | sha256sum").out;
  EXPECT_EQ(shell("seq 400000 | $P run -- 'sleep 0.3; sha256sum'").out, sum);
  EXPECT_EQ(shell("seq 400000 >file; $P run -- sha256sum <file").out, sum);
  // A command that does not read to the end.
  EXPECT_EQ(shell("yes | $P run -- head -n 1").out, "y\n");
  const Exit loop =
      shell("printf '1\\n2\\n' | while read line; do $P run --no-input -- echo $line; done");
  EXPECT_EQ(loop.out, "1\n2\n");
}

// Parts of the input are messages through the master and the agent, and messages are lost with
// them.
TEST_F(Surroundings, GoOnWithTheInputAfterMasterAndAgentWereKilled) {
  const std::string sum = shell("(seq 200000; seq 300000) | sha256sum").out;
  std::unique_ptr<Process> master;
  std::unique_ptr<Process> agent;
  for (const std::string killed : {"master", "agent-1"}) {
    SCOPED_TRACE(killed);
    Process running({"bash", "-c",
                     text("(seq 200000; until [ -e ", file("go-" + killed),
                          " ]; do sleep 0.05; done; ", "seq 300000) | ", program("proffer"),
                          " run --name fed -- 'echo up >", file(killed + ".up"), "; sha256sum'")},
                    {{"PROFFER_MASTER", cluster_.master()}});
    ASSERT_TRUE(is_up(killed));
    if (killed == "master") {
      master = cluster_.restart_master();
    } else {
      ::kill(cluster_.pid_of(killed), SIGKILL);
      ASSERT_TRUE(cluster_.dev().line_with(killed).has_value());
      agent = cluster_.start_agent(killed, "cpus:4;mem:4096");
    }
    write_file(file("go-" + killed), "");
    const Exit fed = running.wait();
    EXPECT_EQ(fed.code, 0) << fed.err;
    EXPECT_EQ(fed.out, sum);
  }
}

// The first Ctrl-C waits for the tasks, which nothing can end while the master is away.
TEST_F(Surroundings, LetASecondCtrlCEndRunWithoutAMaster) {
  Process running({program("proffer"), "run", "--master=" + cluster_.master(), "--no-input", "--",
                   "sh", "-c", text("echo up >", file("alone.up"), "; exec sleep 1000")});
  ASSERT_TRUE(is_up("alone"));
  ::kill(cluster_.pid_of("master"), SIGKILL);
  running.kill(SIGINT);
  ASSERT_TRUE(running.complains("ending 1 task"));
  EXPECT_TRUE(is_alive(running.pid()));
  running.kill(SIGINT);
  EXPECT_EQ(running.wait().code, 128 + SIGINT) << running.err();
}

TEST_F(Surroundings, AreChosenByOptions) {
  const std::string print = " -- sh -c 'echo $TOOL,$HOME,$LANG'";
  EXPECT_EQ(shell("$P run --export NONE" + print).out, text(",", home_.path(), ",C.UTF-8\n"));
  EXPECT_EQ(shell("$P run --export TOOL" + print).out,
            text(kValue, ",", home_.path(), ",C.UTF-8\n"));
  EXPECT_THAT(shell("$P run --sandbox-home" + print).out, HasSubstr("/sandboxes/"));
  EXPECT_EQ(shell("TOOL=x $P run --env TOOL=y" + print).out,
            text("y,", home_.path(), ",C.UTF-8\n"));
  EXPECT_EQ(shell("$P batch array 1 --output none --export NONE" + print).out,
            text(",", home_.path(), ",C.UTF-8\n"));
  write_file(file(".profile"), "TOOL=of-the-profile\nLANG=C\nmodule() { echo module $1; }\n");
  EXPECT_EQ(shell("SHELL=/bin/sh $P run --login -- 'module load; echo $TOOL'").out,
            "module load\nof-the-profile\n");
  EXPECT_EQ(shell("SHELL=/bin/sh $P batch array 1 --output login --login" + print).out,
            text("of-the-profile,", home_.path(), ",C\n"));
  const Exit unset = shell("$P batch array 1 --export NO_SUCH -- true");
  EXPECT_EQ(unset.code, 2);
  EXPECT_THAT(unset.err, HasSubstr("'NO_SUCH'"));
}

TEST_F(Surroundings, StandNowhereButInPlanAndCheckpoint) {
  ASSERT_EQ(shell("$P run --name seen -- true").code, 0);
  ASSERT_EQ(shell("$P batch array 1-2 --output out -- true").code, 0);
  const auto running = cluster_.start({"run", "--name", "live", "--", "sleep 1000"});
  for (const Words& words :
       {Words{"status", "--json"}, Words{"tasks", "--all", "--json"}, Words{"snapshot"},
        Words{"events", "--all", "--json"}, Words{"history", "--json"}}) {
    const Exit shown = cluster_.proffer(words);
    EXPECT_THAT(shown.out, Not(HasSubstr(kValue))) << words.front();
  }
  for (const auto& entry : fs::recursive_directory_iterator(cluster_.dir())) {
    std::error_code none;
    if (entry.is_symlink(none) || !entry.is_regular_file(none) ||
        entry.path().filename() == "checkpoint.log") {
      continue;
    }
    EXPECT_THAT(read_file(entry.path()), Not(HasSubstr(kValue))) << entry.path();
  }
}

TEST_F(Surroundings, OfManyTasksAreSentInSeveralMessages) {
  const Exit ran = shell(
      "export BIG=$(head -c 100000 /dev/zero | tr '\\0' x)"
      "; $P run --count 30 --cpus 0.1 --mem 16 -- 'echo ${#BIG}' | sort | uniq -c | wc -l");
  EXPECT_EQ(ran.out, "30\n") << ran.err;
  const Exit large = shell(
      "export A=$(head -c 100000 /dev/zero | tr '\\0' x); export B=$A; export C=$A"
      "; $P run -- true");
  EXPECT_EQ(large.code, 2);
  EXPECT_THAT(large.err, HasSubstr("--export=PATH,LANG"));
  const Exit gang = shell(
      "export BIG=$(head -c 100000 /dev/zero | tr '\\0' x)"
      "; $P run --count 40 --gang 40 --cpus 0.1 --mem 16 -- true");
  EXPECT_EQ(gang.code, 2);
  EXPECT_THAT(gang.err, HasSubstr("--gang 40: with this environment at most 7 tasks"));
}

TEST_F(Surroundings, OfADirectoryThatIsGoneAreRefused) {
  const Exit gone = shell("mkdir gone; cd gone; rmdir ../gone; $P batch array 1 -- true");
  EXPECT_EQ(gone.code, 1);
  EXPECT_THAT(gone.err, HasSubstr("the current directory does not exist any more"));
}

TEST_F(Surroundings, TellATaskItsResources) {
  const std::string print =
      " -- 'echo $PROFFER_CPUS $PROFFER_MEM_MIB $PROFFER_DISK_MIB $OMP_NUM_THREADS'";
  EXPECT_EQ(shell("$P run --cpus 2 --mem 1GiB" + print).out, "2 1024 0 2\n");
  EXPECT_EQ(shell("$P run --cpus 0.5 --mem 64" + print).out, "0.5 64 0 1\n");
  EXPECT_EQ(shell("OMP_NUM_THREADS=7 $P run --cpus 2 --mem 64" + print).out, "2 64 0 7\n");
  EXPECT_EQ(shell("$P batch array 1 --output r --resources 'cpus:1.5;mem:96' -- sh -c "
                  "'echo $PROFFER_CPUS $PROFFER_MEM_MIB $OMP_NUM_THREADS'")
                .out,
            "1.5 96 1\n");
}

}  // namespace
}  // namespace proffer::test::command_life_test
