// Errors about the words of command lines: unknown options, verbs and commands, and the words of
// other systems.

#include "common/usage_problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/attributes.h"
#include "common/exec_problem.h"
#include "common/foreign_variables.h"
#include "common/text.h"

namespace proffer::usage_problem_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const CommandWords kArray{"proffer batch array",
                          {"--help", "-h", "--retries", "--resources", "--at-once", "--after",
                           "--name", "--time-limit", "--json", "--output"}};

TEST(UsageProblem, AnUnknownOptionNamesTheNearestAndTheHelp) {
  const Error error = unexpected_words({"--retires", "3"}, kArray);
  EXPECT_EQ(error.message(),
            "unknown option '--retires' of proffer batch array; did you mean --retries?");
  EXPECT_EQ(error.hint(), "see: proffer batch array --help");
  EXPECT_EQ(unexpected_words({"--retires=3"}, kArray).message(), error.message());
  EXPECT_EQ(unexpected_words({"-retries"}, kArray).message(),
            "unknown option '-retries' of proffer batch array; did you mean --retries?");
  EXPECT_EQ(unexpected_words({"--zzzz"}, kArray).message(),
            "unknown option '--zzzz' of proffer batch array");
  EXPECT_EQ(unexpected_words({"x", "y"}, kArray).message(), "unexpected argument 'x'");
}

TEST(UsageProblem, OptionsOfOtherSystemsAreTranslated) {
  const struct {
    std::vector<std::string> words;
    std::string way;
  } rows[] = {
      {{"--mem", "4GiB"}, "all resources of a task are one option: --resources 'cpus:1;mem:4GiB'"},
      {{"--mem=4GiB", "-c4"}, "--resources 'cpus:4;mem:4GiB'"},
      {{"--cpus-per-task", "2"}, "--resources 'cpus:2;mem:256'"},
      {{"--array=0-7"}, "the indices are the first argument: proffer batch array 0-7 -- CMD"},
      {{"-j", "8"}, "write --at-once 8"},
      {{"-j8"}, "write --at-once 8"},
      {{"-J", "sweep"}, "write --name sweep"},
      {{"--dependency=afterok:a-1"}, "--after JOB for afterok"},
      {{"-t", "1h"}, "write --time-limit 1h"},
      {{"-t", "; rm -rf ."}, "write --time-limit VALUE"},
      {{"-o", "x"}, "write --output DIRECTORY"},
      {{"--image", "x"}, "without a container image"},
  };
  for (const auto& [words, way] : rows) {
    EXPECT_THAT(unexpected_words(words, kArray).hint(), HasSubstr(way)) << words.front();
  }
}

TEST(UsageProblem, AnUnknownVerbNamesTheNearestOne) {
  const std::vector<std::string_view> verbs = {"list", "tree", "set", "unset"};
  const Error error = unknown_verb("sett", "proffer role", verbs);
  EXPECT_EQ(error.message(), "unknown subcommand 'sett' of proffer role");
  EXPECT_EQ(error.hint(),
            "did you mean `proffer role set`? The subcommands are list, tree, set, unset\n"
            "help: proffer role set --help");
  for (const auto& [word, own] :
       {std::pair("create", "set"), {"delete", "unset"}, {"ls", "list"}}) {
    EXPECT_THAT(unknown_verb(word, "proffer role", verbs).hint(),
                HasSubstr(text("`proffer role ", own, "`")));
  }
  EXPECT_EQ(unknown_verb("", "proffer role", verbs).message(), "a subcommand is missing");
  EXPECT_THAT(unknown_verb("--jsn", "proffer role", verbs).hint(),
              HasSubstr("write proffer role SUBCOMMAND --jsn"));
}

TEST(UsageProblem, CommandsOfOtherSystemsAreTranslated) {
  EXPECT_THAT(unknown_command("squeue", {}).hint(), HasSubstr("`proffer batch list`"));
  EXPECT_THAT(unknown_command("rnu", {"run", "role"}).hint(), HasSubstr("`proffer run`"));
  EXPECT_EQ(unknown_command("zzzzzz", {"run"}).hint(), "proffer --help lists the commands");
}

TEST(ForeignVariables, AreToldOnceWithOurs) {
  const auto none = [](const std::string&) { return false; };
  EXPECT_THAT(foreign_variables("x $SLURM_ARRAY_TASK_ID ${SLURM_ARRAY_TASK_ID}", none),
              ElementsAre("$SLURM_ARRAY_TASK_ID is a variable of Slurm and empty here: use "
                          "$PROFFER_ARRAY_INDEX, and {} in the words of the command"));
  EXPECT_THAT(foreign_variables("serve ${NOMAD_PORT_http:-80} $PBS_ARRAYID", none),
              ElementsAre(HasSubstr("$PORT_NAME"), HasSubstr("of PBS")));
  EXPECT_THAT(foreign_variables("$HOME $PORT_http $PATH SLURM_JOB_ID $", none), IsEmpty());
  EXPECT_THAT(foreign_variables("$SLURM_JOB_ID",
                                [](const std::string& name) { return name == "SLURM_JOB_ID"; }),
              IsEmpty());
}

TEST(ForeignConstraints, AreWrittenInOurWords) {
  for (const auto& [theirs, ours] :
       {std::pair("rack:LIKE:r1", "write 'rack =~ r1'; constraints are: NAME == VALUE"),
        {"hostname:UNIQUE", "max_per: {host: 1}"},
        {"rack:GROUP_BY", "write --spread rack"},
        {"disk=ssd", "write 'disk == ssd'"},
        {"gpu", "write 'gpu exists'"}}) {
    const Result<Constraint> parsed = parse_constraint(theirs);
    ASSERT_FALSE(parsed) << theirs;
    EXPECT_THAT(parsed.error().message(), HasSubstr(theirs));
    EXPECT_THAT(parsed.error().hint(), HasSubstr(ours));
  }
}

TEST(ExecProblem, NamesWhatIsMissing) {
  EXPECT_EQ(exec_problem("./x", ENOENT, "#!/usr/bin/pyhton3 -u\nprint()\n"),
            "No such file or directory: its first line names the interpreter '/usr/bin/pyhton3', "
            "which this machine does not have");
  EXPECT_THAT(exec_problem("./x", ENOENT, "#!/bin/sh\r\necho\r\n"), HasSubstr("carriage return"));
  EXPECT_THAT(exec_problem("./x", ENOENT, "\177ELF"), HasSubstr("another system"));
  EXPECT_THAT(exec_problem("nosuch", ENOENT, std::nullopt), HasSubstr("no directory of PATH"));
  EXPECT_THAT(exec_problem("./x", EACCES, "echo"), HasSubstr("chmod +x ./x"));
  EXPECT_THAT(exec_problem("./d", EACCES, std::nullopt), HasSubstr("neither a directory"));
  EXPECT_EQ(exec_problem("x", E2BIG, std::nullopt), "Argument list too long");
}

TEST(ExecProblem, AScriptNamesItsInterpreter) {
  EXPECT_EQ(interpreter_of("#!/bin/sh\necho"), "/bin/sh");
  EXPECT_EQ(interpreter_of("#! /usr/bin/env python3\n"), "/usr/bin/env");
  EXPECT_EQ(interpreter_of("#!/bin/sh"), "/bin/sh");
  EXPECT_EQ(interpreter_of("#!/bin/sh\r\necho"), "/bin/sh\r");  // a program that does not exist
  EXPECT_EQ(interpreter_of("#!\n"), "");
  EXPECT_EQ(interpreter_of("#!"), "");
  EXPECT_EQ(interpreter_of("\177ELF"), "");
  EXPECT_EQ(interpreter_of(""), "");
}

}  // namespace
}  // namespace proffer::usage_problem_test
