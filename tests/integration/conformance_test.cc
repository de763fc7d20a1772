// `proffer conformance`: passes a good framework, and says what is wrong with a broken one.

#include <gtest/gtest.h>

#include "tests/integration/processes.h"

namespace proffer::test::conformance_test {
namespace {

// tests/<name> of the build, beside bin.
std::string test_program(const std::string& name) { return program("../tests/" + name); }

// Of one item in the output of --json.
std::string line_of(const Exit& exit, const std::string& item) {
  const size_t at = exit.out.find("{\"item\":\"" + item + "\"");
  return at == std::string::npos ? "" : exit.out.substr(at, exit.out.find('\n', at) - at);
}

TEST(Conformance, PassesTheHelloFramework) {
  const Exit all =
      run({program("proffer"), "conformance", "--json", "--", program("examples/hello_framework")},
          {}, {}, Seconds(240));
  EXPECT_EQ(all.code, 0) << all.out << all.err;
  for (const std::string item : {"baseline", "agent_lost", "offer_rescinded", "update_duplicated",
                                 "connection_broken", "master_restarted"}) {
    EXPECT_NE(line_of(all, item).find("\"result\":\"passed\""), std::string::npos)
        << item << ": " << all.out;
  }
  // Without a session file it is not the same framework again, and its tasks would outlive it for a
  // week.
  EXPECT_NE(line_of(all, "scheduler_killed").find("\"result\":\"not tested\""), std::string::npos)
      << all.out;
}

TEST(Conformance, ASchedulerThatIsStartedAgainMustBeTheSameFramework) {
  const std::string session = "--session_file={dir}/session";
  const std::string hello = program("examples/hello_framework");
  const Exit same = run({program("proffer"), "conformance", "--only", "scheduler_killed",
                         "--restart-with", hello + " " + session, "--", hello, session},
                        {}, {}, Seconds(120));
  EXPECT_EQ(same.code, 0) << same.out << same.err;
  EXPECT_NE(same.out.find("came back as hello"), std::string::npos) << same.out;
  const Exit other = run({program("proffer"), "conformance", "--only", "scheduler_killed",
                          "--restart-with", hello, "--", hello},
                         {}, {}, Seconds(120));
  EXPECT_EQ(other.code, 1) << other.out << other.err;
  EXPECT_NE(other.out.find("it has lost its tasks"), std::string::npos) << other.out;
}

TEST(Conformance, FailsWhatABrokenFrameworkNeverDoesAndSaysSo) {
  struct Case {
    std::string never;
    std::string item;
    std::string seen;
  };
  for (const Case& broken :
       {Case{"acknowledge", "baseline", "never acknowledged"},
        Case{"answer", "baseline", "held an offer for its whole lease"},
        Case{"ask_again", "connection_broken", "did not declare its asks again"}}) {
    const Exit exit = run({program("proffer"), "conformance", "--only", broken.item, "--json", "--",
                           test_program("broken_framework"), broken.never},
                          {}, {}, Seconds(120));
    EXPECT_EQ(exit.code, 1) << exit.out << exit.err;
    const std::string line = line_of(exit, broken.item);
    EXPECT_NE(line.find("\"result\":\"FAILED\""), std::string::npos) << exit.out;
    EXPECT_NE(line.find(broken.seen), std::string::npos) << exit.out;
  }
}

TEST(Conformance, SaysWhichProgramThereIsNot) {
  const Exit none = run({program("proffer"), "conformance", "--", "no_such_scheduler"});
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("'no_such_scheduler'"), std::string::npos) << none.err;
}

}  // namespace
}  // namespace proffer::test::conformance_test
