// Released files of a framework: when the agent removes the sandboxes.

#include "tests/slave/agent_scenario.h"

namespace proffer::agent::releases_test {
namespace {

using proto::TaskState;
using scenario::AgentScenario;
using scenario::command_task;
using scenario::kBatch;
using Names = std::vector<std::string>;

proto::ReleaseFiles release_of(Names begins) {
  return {.framework = kBatch, .begins = std::move(begins), .agents = {}};
}

// The removals since the last call.
Names removed(AgentScenario& s) {
  Names names;
  for (const RemoveSandboxes& removal : s.take<RemoveSandboxes>()) {
    EXPECT_EQ(removal.framework, kBatch);
    names.insert(names.end(), removal.begins.begin(), removal.begins.end());
  }
  return names;
}

void ends(AgentScenario& s, PeerId peer, const std::string& task) {
  s.tell(peer, task, TaskState::kFinished, 2);
  s.acknowledge(task, 2);
  s.exits(task);
}

TEST(Releases, OfTasksThatHaveEndedAreRemovedAtOnce) {
  AgentScenario s;
  s.registered();
  ends(s, s.running("job-1.a"), "job-1.a");
  s.from_master(release_of({"job-1.", "job-2."}));
  EXPECT_EQ(removed(s), (Names{"job-1.", "job-2."}));
}

TEST(Releases, WaitUntilTheLastTaskHasEndedAndItsExecutorIsGone) {
  AgentScenario s;
  s.registered();
  ends(s, s.running("job-1.a"), "job-1.a");
  const PeerId b = s.running("job-1.b");
  const PeerId other = s.running("job-10.b");
  s.from_master(release_of({"job-1."}));
  EXPECT_EQ(removed(s), Names{});
  s.tell(b, "job-1.b", TaskState::kFinished, 2);
  EXPECT_EQ(removed(s), Names{}) << "nobody has heard how it ended";
  s.acknowledge("job-1.b", 2);
  ends(s, other, "job-10.b");
  EXPECT_EQ(removed(s), Names{}) << "its executor is there";
  s.exits("job-1.b");
  EXPECT_EQ(removed(s), Names{"job-1."});
}

TEST(Releases, WaitForTheAcknowledgementOfATaskWhoseExecutorIsGone) {
  AgentScenario s;
  s.registered();
  const PeerId a = s.running("job-1.a");
  s.tell(a, "job-1.a", TaskState::kFinished, 2);
  s.exits("job-1.a");
  s.from_master(release_of({"job-1."}));
  EXPECT_EQ(removed(s), Names{});
  s.acknowledge("job-1.a", 2);
  EXPECT_EQ(removed(s), Names{"job-1."});
  s.acknowledge("job-1.a", 2);
  EXPECT_EQ(removed(s), Names{});
}

TEST(Releases, OfOneFrameworkLeaveTasksOfTheSameNameInAnotherAlone) {
  AgentScenario s;
  s.registered();
  const PeerId a = s.running("job-1.a");
  s.from_master(
      proto::ReleaseFiles{.framework = FrameworkId("other"), .begins = {"job-1."}, .agents = {}});
  const std::vector<RemoveSandboxes> removals = s.take<RemoveSandboxes>();
  ASSERT_EQ(removals.size(), 1u);
  EXPECT_EQ(removals.front().framework, FrameworkId("other"));
  ends(s, a, "job-1.a");
  EXPECT_EQ(removed(s), Names{});
}

// Releases are not durable: the master repeats them when the agent registers.
TEST(Releases, ThatWaitedAreToldAgainToTheNextLife) {
  AgentScenario s;
  s.registered();
  s.running("job-1.a");
  s.from_master(release_of({"job-1."}));
  s.crash_and_restart();
  s.tick();
  const PeerId a = s.comes_back("job-1.a");
  s.connect();
  s.welcome();
  s.from_master(release_of({"job-1."}));
  ends(s, a, "job-1.a");
  EXPECT_EQ(removed(s), Names{"job-1."});
}

// An id has as many prefixes as it has letters.
std::string all_of(char letter) { return std::string(kNameBytesMax, letter); }
void release_beginnings(AgentScenario& s, const std::string& task) {
  proto::ReleaseFiles release = release_of({});
  for (size_t bytes = 1; bytes <= task.size(); ++bytes) {
    release.begins.push_back(task.substr(0, bytes));
  }
  s.from_master(release);
}

TEST(Releases, ThatAreToldAgainWaitOnce) {
  AgentScenario s;
  s.registered();
  const PeerId peer = s.running(all_of('a'));
  release_beginnings(s, all_of('a'));
  release_beginnings(s, all_of('a'));
  EXPECT_EQ(removed(s), Names{});
  ends(s, peer, all_of('a'));
  EXPECT_EQ(removed(s).size(), kNameBytesMax);
}

TEST(Releases, BeyondTheBoundAreNotRemembered) {
  AgentScenario s("cpus:8;mem:1024");
  s.registered();
  std::vector<PeerId> peers;
  for (char letter = 'a'; letter <= 'h'; ++letter) peers.push_back(s.running(all_of(letter)));
  static_assert(8 * kNameBytesMax > kReleasesWaitingMax);
  for (char letter = 'a'; letter <= 'h'; ++letter) release_beginnings(s, all_of(letter));
  EXPECT_NE(s.traced<TooManyReleases>(), nullptr);
  ends(s, peers.back(), all_of('h'));
  EXPECT_EQ(removed(s).size(), kReleasesWaitingMax - 7 * kNameBytesMax);
  ends(s, peers.front(), all_of('a'));
  EXPECT_EQ(removed(s).size(), kNameBytesMax);
}

}  // namespace
}  // namespace proffer::agent::releases_test
