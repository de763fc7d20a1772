// A real master that is recorded, killed and recorded again, and replays of its recordings.

#include <csignal>
#include <filesystem>
#include <memory>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "common/text.h"
#include "tests/integration/leaders.h"
#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Json = nlohmann::json;

class Recordings : public testing::Test {
 protected:
  void start_master(Words more = {}) {
    Words words{program("proffer-master"), "--data_dir=" + (home_ / "master"),
                "--socket=" + socket(), "--heartbeat=1s", "--record=" + (home_ / "rec")};
    words.insert(words.end(), more.begin(), more.end());
    master_ = std::make_unique<Process>(words);
    ASSERT_TRUE(eventually([&] { return proffer({"status"}).code == 0; })) << master_->err();
  }
  void start_agent() {
    agent_ = std::make_unique<Process>(Words{program("proffer-agent"), "--master=" + socket(),
                                             "--name=a1", "--work_dir=" + (home_ / "agent"),
                                             "--resources=cpus:2;mem:512", "--tasks_on_exit=kill"});
    ASSERT_TRUE(eventually(
        [&] { return proffer({"agents"}).out.find(" connected") != std::string::npos; }));
  }
  void end(std::unique_ptr<Process>& process) {
    process->kill(SIGTERM);
    EXPECT_EQ(process->wait().code, 0) << process->err();
    process.reset();
  }
  std::string socket() const { return home_ / "master.sock"; }
  Exit proffer(Words words) const {
    words.insert(words.begin(), {program("proffer"), "--master=" + socket()});
    return run(words);
  }
  static Exit replay(Words words) {
    words.insert(words.begin(), {program("proffer"), "replay"});
    return run(words);
  }
  // The demands in a missing part are unknown, so the effect of another policy is unknown too.
  static void expect_nothing_is_tried(Words recordings, const std::string& why) {
    recordings.insert(recordings.end(), {"--with", "role default weight=2"});
    const Exit tried = replay(recordings);
    EXPECT_NE(tried.code, 0) << tried.out;
    EXPECT_THAT(tried.err, HasSubstr(why)) << tried.out;
    EXPECT_THAT(tried.out, Not(HasSubstr("simulation matches")));
  }
  std::vector<std::string> recordings() const {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(home_ / "rec")) {
      if (entry.path().filename().string().starts_with("0000")) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
  }
  // Waits until this many steps and tasks of the last run are on disk.
  void await_steps(int count, int tasks = 0) {
    ASSERT_TRUE(eventually([&] {
      const Json life = Json::parse(replay({recordings().back(), "--json"}).out, nullptr, false);
      return life.is_object() && life["same_until_step"] >= count && life["tasks"] >= tasks;
    }));
  }
  void run_tasks(int count) {
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(proffer({"run", "--cpus=1", "--mem=64", "--env", "TOKEN=abc", "--", "true"}).code,
                0);
    }
  }

  TemporaryDirectory home_;
  std::unique_ptr<Process> master_;
  std::unique_ptr<Process> agent_;
};

TEST_F(Recordings, OfTwoLivesAreReplayedToTheSame) {
  start_master();
  start_agent();
  run_tasks(3);
  EXPECT_EQ(proffer({"role", "set", "eng", "--weight", "3"}).code, 0);
  await_steps(40, 3);
  master_->kill(SIGKILL);
  master_->wait();
  start_master();
  ASSERT_TRUE(
      eventually([&] { return proffer({"agents"}).out.find(" connected") != std::string::npos; }));
  run_tasks(2);
  const auto waits =
      std::make_unique<Process>(Words{program("proffer"), "--master=" + socket(), "run", "--cpus=3",
                                      "--mem=64", "--name=large", "--", "true"});
  ASSERT_TRUE(eventually([&] {
    return proffer({"explain", "framework", "large"}).out.find("fits no agent") !=
           std::string::npos;
  }));
  end(master_);
  end(agent_);

  const Exit said = replay({home_ / "rec"});
  EXPECT_EQ(said.code, 0) << said.out << said.err;
  EXPECT_THAT(said.out, HasSubstr("leader 1, Proffer "));
  EXPECT_THAT(said.out, HasSubstr("leader 2, Proffer "));
  EXPECT_THAT(said.out, HasSubstr("its end: the master ended"));
  EXPECT_THAT(said.out, Not(HasSubstr("differs")));
  EXPECT_THAT(said.out, HasSubstr("between leaders 1 and 2: "));
  EXPECT_THAT(said.out, HasSubstr("2 lives: "));
  EXPECT_THAT(said.out, HasSubstr(" with 5 tasks launched, "));
  EXPECT_THAT(said.out, HasSubstr("all are the same as what happened"));
  ASSERT_EQ(recordings().size(), 2u);

  const Exit json = replay({recordings()[1], "--json"});
  const Json life = Json::parse(json.out);
  EXPECT_EQ(life["same"], true);
  EXPECT_EQ(life["leader"], 2);
  EXPECT_GT(life["steps"], 20);
  // Questions that an operator may ask afterwards.
  const Exit why = replay({recordings()[1], "--explain", "framework", "large"});
  EXPECT_THAT(why.out, HasSubstr("but no agent has more than 2"));
  const Exit blame = replay({recordings()[1], "--blame", "framework", "large"});
  EXPECT_THAT(blame.out, HasSubstr("\"impossible\""));
  const Exit trace = replay({recordings()[0], "--steps", "40", "--trace", "-"});
  EXPECT_THAT(trace.out, HasSubstr("agent registered"));
  // Another policy: there were six asks for tasks, and the large one waits for ever.
  const Exit trial = replay({home_ / "rec", "--with", "role default weight=2", "--json"});
  EXPECT_EQ(trial.code, 0) << trial.err;
  const std::string last_line = trial.out.substr(trial.out.rfind('\n', trial.out.size() - 2) + 1);
  const Json tried = Json::parse(last_line, nullptr, false);
  ASSERT_TRUE(tried.is_object()) << trial.out;
  for (const char* run : {"recorded", "again", "as_it_was", "changed"}) {
    EXPECT_EQ(tried["roles"]["default"][run]["waits"], 6) << run;
    // The simulation ends with the recording, even if its last tasks have not been launched.
    EXPECT_GE(tried["roles"]["default"][run]["waiting"], 1) << run;
  }
  EXPECT_EQ(tried["roles"]["default"]["recorded"]["waiting"], 1);
  const Exit table = replay({home_ / "rec", "--with", "role default weight=2"});
  EXPECT_THAT(table.out, HasSubstr("how well the simulation matches the recording: "));
  EXPECT_THAT(replay({home_ / "rec", "--with", "role defualt weight=2"}).err,
              HasSubstr("did you mean 'default'?"));
  // A part of a recording as a test, with its expected outcome.
  const std::string saved = home_ / "incident.rec";
  EXPECT_EQ(replay({recordings()[1], "--steps", "20", "--save", saved}).code, 0);
  const Json again = Json::parse(replay({saved, "--json"}).out);
  EXPECT_EQ(again["steps"], 20);
  EXPECT_EQ(again["same"], true);
  EXPECT_THAT(replay({recordings()[1], "--save", saved}).err, HasSubstr("is there already"));
}

// Each master has its own directory; its runs are replayed in the order of their leads.
TEST_F(Recordings, OfSeveralMastersAreToldAsOne) {
  for (int life = 0; life < 3; ++life) {
    start_master();
    end(master_);
  }
  const std::vector<std::string> files = recordings();
  ASSERT_EQ(files.size(), 3u);
  fs::create_directories(home_ / "first");
  fs::create_directories(home_ / "other");
  fs::rename(files[0], home_ / "first/000000000001.rec");
  fs::rename(files[2], home_ / "other/renamed.rec");
  const Exit all = replay({home_ / "other", home_ / "rec", home_ / "first", "--json"});
  EXPECT_EQ(all.code, 0) << all.err;
  std::istringstream lines(all.out);
  std::vector<Json> said;
  for (std::string line; std::getline(lines, line);) said.push_back(Json::parse(line));
  ASSERT_EQ(said.size(), 4u);
  uint64_t steps = 0;
  for (int life = 0; life < 3; ++life) {
    EXPECT_EQ(said[static_cast<size_t>(life)]["leader"], life + 1);
    steps += said[static_cast<size_t>(life)]["steps"].get<uint64_t>();
  }
  EXPECT_EQ(said[3]["lives"], 3);
  EXPECT_EQ(said[3]["steps"], steps);
  EXPECT_EQ(said[3]["same"], true);
  EXPECT_GT(said[3]["gaps_s"], 0);

  const Exit some = replay({home_ / "other", home_ / "first"});
  EXPECT_THAT(some.out, HasSubstr("between leaders 1 and 3: "));
  EXPECT_THAT(some.out, HasSubstr("; missing: leader 2\n"));
  EXPECT_THAT(some.out, HasSubstr("2 lives: "));
  expect_nothing_is_tried({home_ / "other", home_ / "first"}, "missing: leader 2");
  expect_nothing_is_tried({home_ / "other", home_ / "other/renamed.rec"},
                          "there are two recordings of leader 3");
}

// Three masters with a ZooKeeper server, each recorded to its own directory; the leader is killed
// while tasks run.
class RecordedLeaders : public Leaders {
 protected:
  std::string rec(int i) const { return dir(i) + "-rec"; }
  void start_recorded(int i) {
    masters_[i] = std::make_unique<Process>(command(i, {"--record=" + rec(i)}));
    ASSERT_TRUE(eventually([&] { return fs::exists(dir(i) + "/address.json"); }))
        << masters_[i]->err();
  }
};

TEST_F(RecordedLeaders, AreReplayedAsOneOverAFailover) {
  for (int i = 1; i <= 3; ++i) start_recorded(i);
  const std::string all = socket(1) + "," + socket(2) + "," + socket(3);
  Process agent({program("proffer-agent"), "--master=" + all, "--name=a1",
                 "--work_dir=" + (home_ / "a1"), "--resources=cpus:4;mem:512",
                 "--tasks_on_exit=kill"});
  const auto run_task = [&](const std::string& command) {
    return run({program("proffer"), "--master=" + all, "run", "--cpus=1", "--mem=64", "--", "sh",
                "-c", command})
        .code;
  };
  const int first = leader();
  EXPECT_EQ(run_task("true"), 0);
  Process long_task({program("proffer"), "--master=" + all, "run", "--cpus=1", "--mem=64", "--",
                     "sh", "-c",
                     "echo runs; until test -e " + (home_ / "end") + "; do sleep 0.1; done"});
  ASSERT_TRUE(long_task.line_with("runs")) << long_task.err();
  // The recording is written with a short delay, and a kill -9 loses the rest.
  ASSERT_TRUE(eventually([&] {
    const Exit life = run({program("proffer"), "replay", rec(first), "--json"});
    return life.out.find("\"tasks\":2,") != std::string::npos;
  }));
  masters_[first]->kill(SIGKILL);
  masters_[first]->wait();
  masters_.erase(first);
  const int second = leader();
  ASSERT_NE(second, first);
  EXPECT_EQ(run_task("true"), 0);
  write_file(home_ / "end", "");
  EXPECT_EQ(long_task.wait().code, 0) << long_task.err();
  masters_[second]->kill(SIGTERM);
  EXPECT_EQ(masters_[second]->wait().code, 0);
  agent.kill(SIGTERM);
  agent.wait();
  // The third master may lead now, but nothing happens any more.
  Words dirs = {program("proffer"), "replay"};
  for (int i = 1; i <= 3; ++i) {
    if (fs::exists(rec(i))) dirs.push_back(rec(i));
  }
  const Exit said = run(dirs);
  EXPECT_EQ(said.code, 0) << said.out << said.err;
  EXPECT_THAT(said.out, HasSubstr("between leaders "));
  EXPECT_THAT(said.out, HasSubstr(" with 3 tasks launched, "));
  EXPECT_THAT(said.out, HasSubstr("all are the same as what happened"));
  // Both runs are replayed as one workload: three tasks; one ran across the failover.
  dirs.insert(dirs.end(), {"--with", "role default weight=2", "--json"});
  const Exit tried = run(dirs);
  ASSERT_EQ(tried.code, 0) << tried.err;
  const Json trial = Json::parse(tried.out.substr(tried.out.rfind('\n', tried.out.size() - 2) + 1));
  EXPECT_EQ(trial["tasks"], 3);
  EXPECT_EQ(trial["all"]["recorded"]["waiting"], 0);
  EXPECT_EQ(trial["all"]["changed"]["waiting"], 0);
}

// A simulator run with a seed, kept as a recording.
TEST_F(Recordings, OfASeedAreWrittenByTheSimulator) {
  const auto simulate = [&](Words more) {
    Words words = {program("proffer-sim"),
                   "--seed",
                   "11",
                   "--workload",
                   "masters",
                   "--agents",
                   "3",
                   "--faults",
                   "master_crash"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  };
  const Exit ran = simulate({"--record", home_ / "two"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const Exit said = replay({home_ / "two"});
  EXPECT_EQ(said.code, 0) << said.out << said.err;
  EXPECT_THAT(said.out, HasSubstr("leader 1, Proffer simulated: "));
  EXPECT_THAT(said.out, HasSubstr("2 lives: "));
  EXPECT_THAT(said.out, HasSubstr("all are the same as what happened"));

  const Exit again = simulate({"--record", home_ / "two"});
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.err, HasSubstr("recordings are already in"));
  const Exit several = simulate({"--record", home_ / "three", "--seeds", "2"});
  EXPECT_EQ(several.code, 2);
  EXPECT_THAT(several.err, HasSubstr("--record records one run"));
  write_file(home_ / "file", "");
  EXPECT_THAT(simulate({"--record", home_ / "file"}).err, HasSubstr("cannot make the directory"));
}

TEST_F(Recordings, AreForTheMastersUserAlone) {
  start_master();
  struct stat found {};
  ASSERT_EQ(stat((home_ / "rec").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700u);
  ASSERT_EQ(stat(recordings().at(0).c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0077, 0u);
  end(master_);
}

TEST_F(Recordings, WrongFilesAndWordsAreTold) {
  EXPECT_THAT(replay({home_ / "none"}).err, HasSubstr("none"));
  EXPECT_EQ(replay({home_ / "none"}).code, 2);
  write_file(home_ / "text.rec", "this is no recording");
  const Exit text = replay({home_ / "text.rec"});
  EXPECT_EQ(text.code, 2) << text.out;
  fs::create_directories(home_ / "empty");
  EXPECT_THAT(replay({home_ / "empty"}).err, HasSubstr("there is no recording in"));
  const Exit kind = replay({home_ / "text.rec", "--explain", "job", "j"});
  EXPECT_THAT(kind.err, HasSubstr("not a 'job'"));
  const Exit until = replay({home_ / "text.rec", "--until", "soon"});
  EXPECT_THAT(until.err, HasSubstr("--until"));
  const Exit option = replay({home_ / "text.rec", "--unknown"});
  EXPECT_EQ(option.code, 2);
  EXPECT_THAT(option.err, StartsWith("error: "));
  EXPECT_THAT(option.err, HasSubstr("--unknown"));
  EXPECT_THAT(option.err, HasSubstr("\n  hint: see: proffer replay --help\n"));
  const Exit json = replay({home_ / "text.rec", "--json", "--unknown"});
  EXPECT_TRUE(Json::parse(json.err).contains("error")) << json.err;
  EXPECT_EQ(replay({"--help"}).code, 0);
  const Exit with = replay({home_ / "text.rec", "--with", "role eng colour=red"});
  EXPECT_EQ(with.code, 2);
  EXPECT_THAT(with.err, HasSubstr("no 'colour'"));
  const Exit bound = run({program("proffer-master"), "--data_dir=" + (home_ / "m"),
                          "--socket=" + socket(), "--record=" + (home_ / "rec"), "--record_mib=0"});
  EXPECT_EQ(bound.code, 2);
  EXPECT_THAT(bound.err, HasSubstr("--record_mib must be from 1 to"));
}

// A full disk, or a directory of another user, does not keep a master from leading.
TEST_F(Recordings, AreNotMadeInADirectoryOfOthersAndTheMasterLeads) {
  fs::create_directories(home_ / "rec");
  fs::permissions(home_ / "rec", fs::perms::all);
  start_master();
  EXPECT_TRUE(recordings().empty());
  master_->kill(SIGTERM);
  const Exit ended = master_->wait();
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.err, HasSubstr("the recording cannot begin: "));
  EXPECT_THAT(ended.err, HasSubstr("chmod 700"));
  master_.reset();
}

// The steps before a kill -9 are compared up to the last one.
TEST_F(Recordings, DamageEndsTheReplayOfItsLifeAlone) {
  start_master();
  start_agent();
  run_tasks(2);
  await_steps(20);
  master_->kill(SIGKILL);
  master_->wait();
  start_master();
  end(master_);
  end(agent_);
  const std::string first = recordings().at(0);
  const Json whole = Json::parse(replay({first, "--json"}).out);
  EXPECT_EQ(whole["same_until_step"], whole["steps"]);
  std::string bytes = read_file(first);
  bytes[bytes.size() / 4 * 3] ^= 1;
  write_file(first, bytes);
  const Exit both = replay({home_ / "rec", "--json"});
  EXPECT_EQ(both.code, 2) << both.out;
  EXPECT_THAT(both.err, HasSubstr("records are missing here"));
  EXPECT_THAT(both.out, HasSubstr("\"leader\":1,")) << both.err;
  EXPECT_THAT(both.out, HasSubstr("\"leader\":2,"));
  expect_nothing_is_tried({home_ / "rec"}, "the rest of " + first);
}

// The directory has a maximum size: the oldest runs are removed first.
TEST_F(Recordings, OldLivesAreForgotten) {
  fs::create_directories(home_ / "rec");
  fs::permissions(home_ / "rec", fs::perms::owner_all);
  write_file(home_ / "rec/000000000000.rec", std::string(size_t{2} << 20, 'x'));
  write_file(home_ / "rec/incident.rec", std::string(size_t{2} << 20, 'x'));
  start_master({"--record_mib=1"});
  end(master_);
  EXPECT_EQ(recordings().size(), 2u) << "the last life is kept, whatever its size";
  start_master({"--record_mib=1"});
  end(master_);
  EXPECT_EQ(recordings().size(), 2u);
  EXPECT_THAT(recordings().at(0), HasSubstr("000000000001.rec"));
  EXPECT_TRUE(fs::exists(home_ / "rec/incident.rec")) << "it is no recording of a life";
}

}  // namespace
}  // namespace proffer::test
