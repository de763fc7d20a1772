// The oracle of kill storms accepts a true record, and finds each planted lie.

#include "tests/integration/kill_oracle.h"

#include <gtest/gtest.h>

#include "common/text.h"

namespace proffer::test::kill_oracle_test {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

// Records in the given order, one second apart unless `at` sets the time.
class Story {
 public:
  Story& journal(const std::string& word, const std::string& rest) {
    journal_ += text(word, " ", next(), " ", rest, "   \n");
    return *this;
  }
  Story& heard(const std::string& word, const std::string& rest, const std::string& by = "s") {
    if (word == "life") life_ = rest;
    heard_[by] += text(word, " ", next(), " ", rest, "\n");
    return *this;
  }
  // A launch with this many milli-CPUs; its process starts with the parent 100.
  Story& launches(const std::string& task, int64_t cpus_milli = 1'000) {
    return heard("launch", text(task, " a ", cpus_milli, " 64 0"));
  }
  Story& starts(const std::string& task, int64_t cpus_milli = 1'000) {
    return journal("start", text(task, " a 200 100 ", cpus_milli, " 64 0"));
  }
  Story& ends(const std::string& task, const std::string& how) {
    return journal("end", task + " " + how);
  }
  Story& told(const std::string& task, const std::string& how) {
    return heard("update", task + " " + how + " agent 2 " + life_);
  }
  // As schedulers of earlier versions record it.
  Story& told_before(const std::string& task, const std::string& how) {
    return heard("update", task + " " + how + " agent 2");
  }
  Story& at(int64_t second) {
    second_ = second;
    return *this;
  }

  // All violations, in one text.
  std::string violations() {
    Testimony testimony{
        .journal = journal_,
        .heard = heard_,
        .agents = {
            {"a", {.cpus_milli = 2'000, .mem = 1'024, .first_port = 31'000, .last_port = 31'001}}}};
    for (auto& [scheduler, records] : testimony.heard) {
      if (records.find("life") == std::string::npos) records = "life 1 5\n" + records;
      records += "settled 1 \n";
    }
    std::string all;
    for (const std::string& violation : judge(testimony).violations) all += violation + "\n";
    return all;
  }

 private:
  int64_t next() { return ++second_ * kSecond; }

  int64_t second_ = 0;
  std::string life_ = "5";
  std::string journal_;
  std::map<std::string, std::string> heard_;
};

TEST(KillOracle, BelievesEachTrueStory) {
  EXPECT_EQ(Story()
                .launches("t")
                .told("t", "running none - -")
                .starts("t")
                .journal("alive", "t")
                .ends("t", "exit:0")
                .told("t", "finished command_exited 0 -")
                .violations(),
            "");
  EXPECT_EQ(Story()
                .launches("t")
                .starts("t")
                .ends("t", "exit:7")
                .told("t", "failed command_exited 7 -")
                .violations(),
            "");
  EXPECT_EQ(Story()
                .launches("t")
                .starts("t")
                .ends("t", "signal:9")
                .told("t", "failed command_signalled - 9")
                .violations(),
            "");
  EXPECT_EQ(Story()
                .launches("t")
                .starts("t")
                .journal("kill", "executor - 100")
                .told("t", "failed executor_ended - 9")
                .violations(),
            "");
  EXPECT_EQ(Story()
                .launches("t")
                .starts("t")
                .heard("kill", "t")
                .told("t", "killed killed_by_scheduler - 15")
                .violations(),
            "");
  EXPECT_EQ(Story()
                .launches("t")
                .journal("kill", "scheduler s 5")
                .heard("life", "6")
                .told("t", "lost task_unknown - -")
                .violations(),
            "");
}

TEST(KillOracle, FindsALaunchWithoutAnEnd) {
  EXPECT_NE(Story().launches("t").starts("t").violations().find("has no end"), std::string::npos);
}

TEST(KillOracle, FindsATaskThatRanTwice) {
  const std::string found = Story()
                                .launches("t")
                                .starts("t")
                                .starts("t")
                                .ends("t", "exit:0")
                                .told("t", "finished command_exited 0 -")
                                .violations();
  EXPECT_NE(found.find("started 2 times"), std::string::npos) << found;
}

TEST(KillOracle, FindsATaskThatNobodyLaunched) {
  EXPECT_NE(Story().starts("t").violations().find("nobody launched it"), std::string::npos);
}

TEST(KillOracle, FindsEndsThatAreNotTrue) {
  struct Row {
    const char* end;  // the task's record; "": it never started
    const char* told;
  };
  const Row rows[] = {
      {"exit:0", "finished command_exited 1 -"},
      {"exit:0", "failed command_exited 0 -"},
      {"exit:1", "failed command_exited 2 -"},
      {"", "finished command_exited 0 -"},
      {"signal:9", "failed command_signalled - 15"},
      {"exit:0", "failed command_signalled - 9"},
      {"exit:0", "killed killed_by_scheduler - 15"},
      {"exit:0", "lost executor_ended - -"},
      {"exit:0", "lost executor_timeout - -"},
      {"exit:0", "lost task_unknown - -"},
      {"", "lost task_unknown - -"},
      {"", "lost agent_restarted - -"},
      {"", "refused agent_restarted - -"},
      {"exit:0", "refused agent_restarted - -"},
      {"", "failed launch_failed - -"},
      {"exit:0", "refused offer_not_valid - -"},
      {"", "refused duplicate_task_id - -"},
      {"", "failed executor_ended - -"},
      {"exit:0", "gone agent_removed - -"},
      {"exit:0", "killed framework_torn_down - 15"},
  };
  for (const Row& row : rows) {
    Story story;
    story.launches("t");
    if (*row.end != '\0') story.starts("t").ends("t", row.end);
    EXPECT_NE(story.told("t", row.told).violations().find("was told as"), std::string::npos)
        << row.end << " / " << row.told;
  }
}

TEST(KillOracle, AnotherExecutorThatWasKilledIsNoExcuse) {
  EXPECT_NE(Story()
                .launches("t")
                .starts("t")
                .journal("kill", "executor - 101")
                .told("t", "failed executor_ended - 9")
                .violations(),
            "");
}

// At the moment of its fork, an executor looks like its fork server, and its task has not begun.
TEST(KillOracle, AForkServerThatWasKilledIsAnExcuseForATaskThatNeverStarted) {
  Story never;
  never.launches("t").journal("kill", "fork_server - 100");
  EXPECT_EQ(never.told("t", "failed executor_ended - 9").violations(), "");
  Story started;
  started.launches("t").starts("t").journal("kill", "fork_server - 100");
  EXPECT_NE(started.told("t", "failed executor_ended - 9").violations(), "");
}

// At the moment of its fork, a command looks like its executor. An hour of the storm found this
// once.
TEST(KillOracle, ACommandThatTheStormTookForItsExecutorFell) {
  const auto signalled = [](const std::string& kill) {
    Story story;
    story.launches("t").starts("t").journal("kill", kill);
    return story.told("t", "failed command_signalled - 9").violations();
  };
  EXPECT_EQ(signalled("executor - 200"), "");
  EXPECT_NE(signalled("executor - 100"), "");
  EXPECT_NE(signalled("agent a 200"), "");
}

TEST(KillOracle, AnExecutorThatWasGoneWhenItsTaskLookedWasKilledBefore) {
  const auto orphan = [](Story& story) -> Story& {
    return story.journal("start", "t a 200 0 1000 64 0");
  };
  Story before;
  before.launches("t").journal("kill", "executor - 100");
  EXPECT_EQ(orphan(before).told("t", "failed executor_ended - 9").violations(), "");

  Story after;
  orphan(after.launches("t")).journal("kill", "executor - 100");
  EXPECT_NE(after.told("t", "failed executor_ended - 9").violations(), "");
}

TEST(KillOracle, FindsATaskThatLivesOnAfterItsEndWasTold) {
  const std::string found = Story()
                                .launches("t")
                                .starts("t")
                                .ends("t", "exit:0")
                                .told("t", "finished command_exited 0 -")
                                .journal("alive", "t")
                                .violations();
  EXPECT_NE(found.find("lived on"), std::string::npos) << found;
}

TEST(KillOracle, AnEndMayRepeatOnlyInALaterLifeAfterALostAcknowledgement) {
  const auto story = [] {
    return Story()
        .at(100)
        .launches("t")
        .starts("t")
        .ends("t", "exit:0")
        .told("t", "finished command_exited 0 -");
  };
  EXPECT_NE(story().told("t", "finished command_exited 0 -").violations(), "") << "the same life";
  EXPECT_EQ(story()
                .journal("kill", "scheduler s 5")
                .heard("life", "6")
                .told("t", "finished command_exited 0 -")
                .violations(),
            "");
  EXPECT_NE(story()
                .journal("kill", "scheduler s 5")
                .heard("life", "6")
                .told("t", "lost task_unknown - -")
                .violations(),
            "")
      << "another end";
  EXPECT_NE(story()
                .at(120)
                .journal("kill", "scheduler s 5")
                .heard("life", "6")
                .told("t", "finished command_exited 0 -")
                .violations(),
            "")
      << "it was acknowledged long ago";
}

TEST(KillOracle, AFaultExcusesOnlyItsMemberAndOnlyWhileItLasts) {
  const auto unknown = [](const std::string& fault, int64_t launched_at) {
    Story story;
    story.at(100).journal("fault", fault).at(110).journal("healed", fault);
    story.at(launched_at).launches("t");
    return story.told("t", "lost task_unknown - -").violations();
  };
  EXPECT_EQ(unknown("agent a deaf", 105), "");
  EXPECT_EQ(unknown("master m slow", 112), "") << "what it held up may be on its way";
  EXPECT_NE(unknown("agent a deaf", 120), "");
  EXPECT_NE(unknown("agent b deaf", 105), "");
  EXPECT_NE(unknown("executor - stopped", 105), "");
  EXPECT_NE(Story().journal("healed", "agent a deaf").violations(), "") << "it was no fault";
}

TEST(KillOracle, AFaultThatNeverHealsLastsToTheEnd) {
  Story story;
  story.journal("fault", "agent a deaf").at(1'000).launches("t");
  EXPECT_EQ(story.told("t", "lost task_unknown - -").violations(), "");
}

TEST(KillOracle, OnlyAFullDiskExcusesATaskThatCouldNotStart) {
  for (const char* end : {"failed launch_failed - -", "refused agent_full - -"}) {
    const auto told = [&](const std::string& fault) {
      Story story;
      story.journal("fault", fault).launches("t");
      return story.told("t", end).violations();
    };
    EXPECT_EQ(told("agent a full"), "");
    EXPECT_NE(told("agent a deaf"), "");
    EXPECT_NE(told("agent b full"), "");
  }
}

TEST(KillOracle, ACutCheckpointExcusesATaskThatIsForgottenAndEndedAndNoOther) {
  for (const char* what : {"cut", "emptied"}) {
    for (const char* reason : {"agent_forgot", "task_unknown"}) {
      const auto forgotten = [&](const std::string& agent) {
        Story story;
        story.launches("t").starts("t").told("t", "running none - -");
        story.journal("fault", text("agent ", agent, " ", what));
        return story.told("t", text("lost ", reason, " - -"));
      };
      EXPECT_EQ(forgotten("a").violations(), "");
      EXPECT_NE(forgotten("b").violations(), "") << "another agent's checkpoint was cut";
      EXPECT_NE(forgotten("a").journal("alive", "t").violations(), "") << "it lives on";
      EXPECT_NE(forgotten("a").starts("t").violations(), "") << "it was started twice";
    }
  }
}

TEST(KillOracle, ASchedulerIsReplacedOnlyByATwin) {
  EXPECT_EQ(Story().journal("fault", "scheduler s twin").heard("replaced", "5").violations(), "");
  EXPECT_NE(Story().heard("replaced", "5").violations(), "");
  EXPECT_NE(Story().journal("fault", "scheduler s deaf").heard("replaced", "5").violations(), "");
}

// Two runs are active at the same time: the end is reported to each of them.
TEST(KillOracle, AnEndIsHeardOnceInEachLife) {
  const auto told_again_in = [](const std::string& life) {
    Story story;
    story.journal("fault", "scheduler s twin").launches("t").starts("t").ends("t", "exit:0");
    story.told("t", "finished command_exited 0 -").heard("life", "6").heard("life", life);
    return story.told("t", "finished command_exited 0 -").violations();
  };
  EXPECT_EQ(told_again_in("6"), "");
  EXPECT_NE(told_again_in("5"), "");
}

TEST(KillOracle, WhatOneLifeAcknowledgedTheOtherHearsToBeUnknown) {
  const auto told_again = [](const std::string& fault, const std::string& life,
                             const std::string& how) {
    Story story;
    story.heard("life", "5").heard("life", "6").launches("t").starts("t").ends("t", "exit:0");
    story.journal("fault", fault).told("t", "finished command_exited 0 -");
    return story.heard("life", life).told("t", how).violations();
  };
  EXPECT_EQ(told_again("scheduler s twin", "5", "lost task_unknown - -"), "");
  EXPECT_NE(told_again("scheduler s twin", "6", "lost task_unknown - -"), "") << "the same life";
  EXPECT_NE(told_again("scheduler s twin", "5", "lost agent_forgot - -"), "");
  EXPECT_NE(told_again("scheduler s deaf", "5", "lost task_unknown - -"), "");
  EXPECT_NE(told_again("scheduler r twin", "5", "lost task_unknown - -"), "");
}

TEST(KillOracle, AnUpdateThatDoesNotSayWhoseLifeItWasIsOfTheLatest) {
  const auto ended = [] {
    Story story;
    story.launches("t").starts("t").ends("t", "exit:0");
    return story.told_before("t", "finished command_exited 0 -");
  };
  EXPECT_EQ(ended().violations(), "");
  EXPECT_NE(ended().told_before("t", "finished command_exited 0 -").violations(), "");
  EXPECT_EQ(ended()
                .journal("kill", "scheduler s 5")
                .heard("life", "6")
                .told_before("t", "finished command_exited 0 -")
                .violations(),
            "");
  EXPECT_NE(ended().heard("update", "t finished").violations().find("a broken record"),
            std::string::npos);
}

TEST(KillOracle, MeasuresFromTheKillOfAMasterToTheNextLaunchThatStarts) {
  Testimony testimony{.journal = "kill 100 master m 7\nstart 400 u a 200 100 500 64 0\n",
                      .heard = {{"s", "launch 150 t a 500 64 0\nlaunch 350 u a 500 64 0\n"}}};
  EXPECT_EQ(judge(testimony).gaps_nanos, std::vector<int64_t>({250}));
}

TEST(KillOracle, FindsAnAgentThatRunsMoreThanItHas) {
  const auto ended = [](Story& story, const std::string& task) -> Story& {
    return story.ends(task, "exit:0").told(task, "finished command_exited 0 -");
  };
  Story after;
  after.launches("t", 1'500).launches("u", 1'500).starts("t", 1'500);
  ended(after, "t").starts("u", 1'500);
  EXPECT_EQ(ended(after, "u").violations(), "");

  Story both;
  both.launches("t", 1'500).launches("u", 1'500).starts("t", 1'500).starts("u", 1'500);
  ended(both, "t");
  EXPECT_NE(ended(both, "u").violations().find("one too many"), std::string::npos);
}

TEST(KillOracle, FindsAPortThatTwoHaveOrThatIsNotTheAgents) {
  const auto with_port = [](Story& story, const std::string& task, const std::string& port) {
    story.journal("start", task + " a 200 100 500 64 " + port);
  };
  const auto launched = [](const std::string& task) { return task + " a 500 64 1"; };
  Story both;
  both.heard("launch", launched("t")).heard("launch", launched("u"));
  with_port(both, "t", "31000");
  with_port(both, "u", "31000");
  for (const char* task : {"t", "u"}) {
    both.ends(task, "exit:0").told(task, "finished command_exited 0 -");
  }
  EXPECT_NE(both.violations().find("with another"), std::string::npos);

  Story foreign;
  foreign.heard("launch", launched("t"));
  with_port(foreign, "t", "32000");
  foreign.ends("t", "exit:0").told("t", "finished command_exited 0 -");
  EXPECT_NE(foreign.violations().find("not of a"), std::string::npos);
}

TEST(KillOracle, FindsRecordsThatAreMissing) {
  EXPECT_NE(Story().journal("start", "t").violations(), "");
  EXPECT_NE(judge({.journal = "", .heard = {{"s", "life 1 5\n"}}, .agents = {}}).violations.size(),
            0u)
      << "not settled";
}

}  // namespace
}  // namespace proffer::test::kill_oracle_test
