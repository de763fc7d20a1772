// The sixty mistakes of docs/checklists/commands/mistakes.md, typed on a real cluster: each answer
// names the value, what is allowed, and the next step. And their siblings that need a cluster.

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/processes.h"
#include "tests/support/temporary_directory.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct Mistake {
  int number;
  Words typed;              // after `proffer`
  std::vector<Words> says;  // each of these groups has one text that the answer has
  int code = 2;
  std::string file = {};  // written to FILE in `typed`
};

class Mistakes : public testing::Test {
 protected:
  // What is typed is run in the directory of the test.
  Exit type(const Cluster& cluster, const Words& typed) const {
    Words words = {program("proffer")};
    words.insert(words.end(), typed.begin(), typed.end());
    return run(words, {{"PROFFER_MASTER", cluster.master()}}, home_.path());
  }
  void check(const Cluster& cluster, const std::vector<Mistake>& mistakes) const {
    for (const Mistake& mistake : mistakes) {
      SCOPED_TRACE(mistake.number);
      if (!mistake.file.empty()) write_file(home_ / "FILE", mistake.file);
      const Exit answer = type(cluster, mistake.typed);
      EXPECT_EQ(answer.code, mistake.code) << answer.out << answer.err;
      for (const Words& one_of : mistake.says) {
        bool is_said = false;
        for (const std::string& one : one_of) is_said |= answer.err.find(one) != std::string::npos;
        EXPECT_TRUE(is_said) << testing::PrintToString(one_of) << " is not in\n" << answer.err;
      }
    }
  }

  TemporaryDirectory home_;
};

// One cluster for all: it takes most of the time.
TEST_F(Mistakes, AreAnsweredWithValueAllowedAndNextStep) {
  const Cluster cluster({.service = true, .batch = true});
  write_file(home_ / "job.sh", "#!/bin/sh\necho hi\n");
  write_file(home_ / "job.yaml", "name: x\nparameters: {replicas: 1}\nrun: echo ~{replicas}\n");
  ASSERT_EQ(type(cluster, {"role", "set", "eng", "--weight", "2"}).code, 0);
  const std::string run_help = "help: proffer run --help";
  const std::string array_help = "help: proffer batch array --help";
  const std::string job_keys = "a job file has name";
  const std::string forms = "constraints are: NAME == VALUE";

  check(
      cluster,
      {
          // run
          {1,
           {"run", "--cpus", "500m", "--", "sleep", "1"},
           {{"'500m'"}, {"a number from 0"}, {"0.5"}}},
          {2,
           {"run", "--memory", "512", "--", "true"},
           {{"'--memory'"}, {run_help}, {"--mem 512"}}},
          {3, {"run", "-n", "4", "hostname"}, {{"'-n'"}, {run_help}, {"--count 4"}}},
          {4,
           {"run", "--partition=gpu", "--", "x"},
           {{"'--partition'"}, {run_help}, {"--constraint"}}},
          {5,
           {"run", "--env", "HOME", "--", "env"},
           {{"'HOME'"}, {"NAME=VALUE"}, {"HOME=\"$HOME\""}}},
          {6,
           {"run", "--image", "ubuntu:22.04", "--", "bash"},
           {{"'--image'"}, {"without a container image"}, {"--fetch"}}},
          {7,
           {"run", "--constraint", "hostname:CLUSTER:agent-1", "--", "true"},
           {{"'hostname:CLUSTER:agent-1'"}, {forms}, {"write 'host == agent-1'"}}},
          {8, {"run", "--constraint", "gpu", "--", "true"}, {{"'gpu'"}, {forms}, {"'gpu exists'"}}},
          {9,
           {"run", "-w", "agent-7", "--", "hostname"},
           {{"'-w'"}, {run_help}, {"--constraint 'host == agent-7'"}}},
          {10,
           {"run", "--kill-signal", "TERMINATE", "--", "true"},
           {{"'TERMINATE'"}, {"a name as SIGINT or a number"}, {"write SIGTERM"}}},
          // Arrays
          {11,
           {"batch", "array", "1..10", "--", "true"},
           {{"'1..10'"}, {"a range"}, {"write 1-10"}}},
          {12,
           {"batch", "array", "--array=1-10", "--", "true"},
           {{"'--array'"}, {array_help}, {"proffer batch array 1-10 -- CMD"}}},
          {13,
           {"batch", "array", "10-1", "--", "true"},
           {{"'10-1'"}, {"the smaller index is first"}, {"write 1-10"}}},
          {14,
           {"batch", "array", "1-10", "--cpus-per-task", "2", "--", "true"},
           {{"'--cpus-per-task'"}, {array_help}, {"--resources 'cpus:2;mem:256'"}}},
          {15,
           {"batch", "array", "1-10%0", "--", "true"},
           {{"'0'"}, {"at least 1"}, {"without %, as many as fit"}}},
          {16,
           {"batch", "array", "1-10", "--dependency=afterok:job-1", "--", "true"},
           {{"'--dependency'"}, {array_help}, {"--after JOB for afterok"}}},
          {17,
           {"batch", "array", "1-2", "--output", "o17", "--", "./job.sh"},
           {{"./job.sh"}, {"not executable"}, {"chmod +x ./job.sh"}},
           1},
          {18,
           {"batch", "map", "-j", "4", "--", "wc", "{}", ":::", "a"},
           {{"'-j'"}, {"help: proffer batch map --help"}, {"--at-once 4"}}},
          {19,
           {"batch", "map", "-I", "%", "--", "echo", "%", ":::", "a"},
           {{"'-I'"}, {"help: proffer batch map --help"}, {"write {} where the argument belongs"}}},
          {20,
           {"batch", "array", "1-2", "--output", "out-%a.txt", "--", "true"},
           {{"out-%a.txt"}, {"one directory"}, {"proffer batch results JOB INDEX"}},
           0},
          // Job files
          {21,
           {"batch", "run", "FILE"},
           {{"line 2: unknown key 'mapper'"}, {"a job file"}, {"write map: LINE"}},
           2,
           "name: x\nmapper: cat\nreducers: 0\ninput: job.sh\noutput: o21\n"},
          {22,
           {"batch", "run", "FILE"},
           {{"line 4: input 'hdfs:///logs'"}, {"a path that exists on all agents"}, {"mount"}},
           2,
           "name: x\nmap: cat\nreducers: 0\ninput: hdfs:///logs\noutput: o22\n"},
          {23,
           {"batch", "run", "FILE"},
           {{"a manifest of Kubernetes (apiVersion, kind: Job)"}, {job_keys}, {"run: LINE"}},
           2,
           "apiVersion: batch/v1\nkind: Job\nspec: {template: {}}\n"},
          {24,
           {"batch", "submit", "FILE"},
           {{"'R/2026-01-01T03:00:00Z/PT24H'"}, {"minute, hour, day of month"}, {"write @daily"}},
           2,
           R"({"name": "nightly", "command": "x", "schedule": "R/2026-01-01T03:00:00Z/PT24H"})"},
          {25,
           {"batch", "submit", "FILE"},
           {},
           0,
           "name: daily\nschedule: \"@daily\"\nrun: echo\noutput: o25\n"},  // no mistake here
          {26,
           {"batch", "run", "FILE"},
           {{"line 3: the value of 'resources'"},
            {"one text"},
            {"write resources: 'cpus:2;mem:4096'"}},
           2,
           "name: x\nrun: echo\nresources: {cpus: 2, memory: 4096}\n"},
          {27,
           {"batch", "run", "FILE"},
           {{"line 4: ", "'wrods'"}, {"the stages are words, most"}, {"did you mean 'words'?"}},
           2,
           "name: p\nstages:\n  words: {run: echo hi, output: w}\n"
           "  most: {after: wrods, run: echo, output: m}\n"},
          {28,
           {"batch", "run", "FILE"},
           {{"line 2: run and map"}, {"either an array, or has map"}, {"two stages"}},
           2,
           "name: x\nrun: ./job.sh\nmap: cat\ninput: job.sh\noutput: o28\n"},
          {29,
           {"batch", "run", "job.yaml", "-p", "relpicas=3"},
           {{"'relpicas'"}, {"the file declares replicas"}, {"did you mean 'replicas'?"}}},
          {30, {"batch", "run", "job.yml"}, {{"no file 'job.yml'"}, {"did you mean 'job.yaml'?"}}},
          // App files
          {31,
           {"service", "apply", "FILE"},
           {{"line 3: unknown key 'count'"}, {"an app file"}, {"write instances: NUMBER"}},
           2,
           "name: web\ncommand: sleep 9\ncount: 3\n"},
          {32,
           {"service", "apply", "FILE"},
           {{"'id'"},
            {"'cmd'"},
            {"'cpus'"},
            {"'mem'"},
            {"write name: NAME"},
            {"write command: LINE"},
            {"write resources: "}},
           2,
           R"({"id": "/web", "cmd": "sleep 9", "instances": 2, "cpus": 0.5, "mem": 64})"},
          {33,
           {"service", "apply", "FILE"},
           {{"a manifest of Kubernetes (apiVersion, kind: Deployment)"},
            {"an app file has name"},
            {"instances"}},
           2,
           "apiVersion: apps/v1\nkind: Deployment\n"},
          {34,
           {"service", "apply", "FILE"},
           {{"line 3: ports has '8080:80'"}, {"a name and a number"}, {"ports: [{http: 8080}]"}},
           2,
           "name: web\ncommand: sleep 9\nports: [\"8080:80\"]\n"},
          {35,
           {"service", "apply", "FILE"},
           {{"line 3: health"},
            {"http, tcp or command"},
            {"health: {http: {port: http, path: /healthz}}"}},
           2,
           "name: web\ncommand: sleep 9\nhealth: /healthz\n"},
          {36,
           {"service", "apply", "FILE"},
           {{"line 1: name", "'/team/web'"}, {"characters A-Z"}, {"write team-web"}},
           2,
           "name: /team/web\ncommand: sleep 9\n"},
          {37,
           {"service", "apply", "FILE"},
           {{"line 3: instances"}, {"a whole number from 0"}, {"write 2"}},
           2,
           "name: web\ncommand: sleep 9\ninstances: 2.5\n"},
          {38,
           {"service", "apply", "FILE"},
           {{"docker compose (services)"}, {"an app file has name"}, {"one app for each service"}},
           2,
           "services: {web: {image: nginx}}\n"},
          {39,
           {"service", "apply", "FILE"},
           {{"line 3: max_unavailable", "'25%'"},
            {"a whole number from 0"},
            {"write the number itself, as in 1"}},
           2,
           "name: web\ncommand: sleep 9\nupdate: {max_unavailable: 25%}\n"},
          {40,
           {"service", "apply", "FILE"},
           {{"line 3: constraints", "'hostname:UNIQUE'"}, {forms}, {"max_per: {host: 1}"}},
           2,
           "name: web\ncommand: x\nconstraints: [[hostname, UNIQUE]]\n"},
          // Roles
          {41,
           {"role", "create", "eng"},
           {{"'create'"}, {"list, tree, set, unset"}, {"`proffer role set`"}}},
          {42,
           {"role", "set", "eng", "--quota", "cpus:4"},
           {{"'--quota'"}, {"help: proffer role set --help"}, {"--guarantee cpus:4"}}},
          {43,
           {"role", "set", "eng", "--guarantee", "4"},
           {{"'4'"}, {"KIND:AMOUNT"}, {"as in cpus:4"}}},
          {44,
           {"role", "set", "eng", "--guarantee", "cpu:4"},
           {{"'cpu'"}, {"known are cpus, mem, disk, gpus"}, {"did you mean 'cpus'?"}}},
          {45, {"role", "set", "*", "--weight", "2"}, {{"'*'"}, {"A-Z a-z 0-9"}, {"default"}}},
          {46,
           {"role", "list", "egn"},
           {{"'egn'"}, {"proffer role list"}, {"did you mean 'eng'?"}},
           1},
          {47,
           {"role", "unset", "egn"},
           {{"'egn'"}, {"proffer role list"}, {"did you mean 'eng'?"}},
           0},
          {48,
           {"role", "set", "eng", "--guarantee", "cpus:2", "--limit", "cpus:1"},
           {{"cpus:2"}, {"above its own limit"}, {"lower the guarantee or raise the limit"}}},
          {49,
           {"role", "set", "eng", "--users", "root,nosuchuser"},
           {{"'nosuchuser'"}, {"a user of another machine that joined"}, {"--users all"}},
           0},
          {50,
           {"role", "set", "eng", "--weight", "50%"},
           {{"'50%'"}, {"between 0.001 and 1000"}, {"weights are relative"}}},
      });
}

TEST_F(Mistakes, WithoutASchedulerNameItsCommand) {
  const Cluster cluster({.agents = 1});
  check(cluster,
        {
            {1, {"batch", "list"}, {{"no framework 'batch'"}, {"`proffer batch scheduler"}}, 3},
            {2,
             {"batch", "array", "1", "--", "true"},
             {{"no framework 'batch'"}, {"`proffer batch scheduler"}},
             3},
            {3,
             {"service", "list"},
             {{"no framework 'service'"}, {"`proffer service scheduler`"}},
             3},
            {4,
             {"service", "status", "web"},
             {{"no framework 'service'"}, {"`proffer service scheduler`"}},
             3},
            {5,
             {"explain", "task", "foo"},
             {{"error: a task must be FRAMEWORK/TASK, not 'foo'"}, {"proffer tasks"}}},
            {6, {"cron", "list"}, {{"'cron'"}, {"`proffer batch cron`"}}},
            {7, {"map", "echo", ":::", "1"}, {{"'map'"}, {"`proffer batch map`"}}},
            {8, {"run", "--kill-signal", "FOO", "--", "true"}, {{"'FOO'"}, {"write SIGTERM"}}},
        });
}

TEST_F(Mistakes, OfJobsAndInstancesNameTheNearest) {
  const Cluster cluster({.service = true, .batch = true});
  ASSERT_EQ(type(cluster, {"batch", "array", "1", "--name", "sweep", "--", "true"}).code, 0);
  write_file(home_ / "m.yaml",
             "name: m\ncommand: echo $NOMAD_PORT_http; exec sleep 99\n"
             "resources: \"cpus:0.1;mem:16\"\n");
  const Exit applied = type(cluster, {"service", "apply", "m.yaml", "--wait"});
  ASSERT_EQ(applied.code, 0) << applied.err;
  EXPECT_THAT(applied.err, HasSubstr("note: $NOMAD_PORT_http is a variable of Nomad"));
  fs::create_directory(home_ / "apps");
  fs::copy(home_ / "m.yaml", home_ / "apps/m.yaml");
  write_file(home_ / "py", "#!/usr/bin/pyhton3\nprint(1)\n");
  fs::permissions(home_ / "py", fs::perms::owner_all);
  const std::string both = "name: w\nmap: cat\nreducers: many\ninpt: x\noutput: o\n";

  check(cluster,
        {
            {1, {"batch", "status", "sweeep-1"}, {{"'sweeep-1'"}, {"did you mean 'sweep-1'?"}}, 1},
            {2, {"batch", "wait", "sweeep-1"}, {{"did you mean 'sweep-1'?"}}, 1},
            {3,
             {"service", "logs", "m.1.0"},
             {{"'m.1.0'"}, {"an instance of app 'm'"}, {"proffer logs m.1.0"}},
             1},
            {4, {"service", "status", "m.1.0"}, {{"an instance of app 'm'"}}, 1},
            {5,
             {"service", "apply", "apps"},
             {{"'apps' is a directory"}, {"an app file"}, {"apps/m.yaml"}}},
            {6, {"batch", "run", "apps"}, {{"'apps' is a directory"}, {"apps/m.yaml"}}},
            {7,
             {"batch", "array", "1", "--output", "/proc/x", "--", "true"},
             {{"'/proc/x'"}, {"a directory in which you may write"}},
             1},
            {8,
             {"batch", "array", "1", "--output", "o8", "--", "./py"},
             {{"./py"}, {"the interpreter '/usr/bin/pyhton3'"}},
             1},
            {9,
             {"batch", "array", "1", "--output", "o9", "--", "sh", "-c", ": $SLURM_ARRAY_TASK_ID"},
             {{"note: $SLURM_ARRAY_TASK_ID is a variable of Slurm"}, {"$PROFFER_ARRAY_INDEX"}},
             0},
            {10,
             {"batch", "run", "FILE"},
             {{"line 3: reducers must be a whole number"},
              {"line 4: unknown key 'inpt'"},
              {"did you mean 'input'?"}},
             2,
             both},
            {11,
             {"batch", "--json", "arry", "1", "--", "true"},
             {{"'arry'"}, {"`proffer batch array`"}}},
            {12,
             {"batch", "array", "1", "--mem", "4GiB", "--", "true"},
             {{"'--mem'"}, {"--resources 'cpus:1;mem:4GiB'"}}},
            {13,
             {"batch", "array", "1", "--retires", "3", "--", "true"},
             {{"did you mean --retries?"}}},
        });
}

// One word is a shell command line, several are a program and its arguments; "--" may be left out.
TEST_F(Mistakes, OneWordIsAShellLineForArraysAsForRun) {
  const Cluster cluster({.batch = true});
  EXPECT_EQ(type(cluster, {"run", "echo a b | tr a-z A-Z"}).out, "A B\n");
  EXPECT_EQ(type(cluster, {"batch", "array", "1-2", "echo a{} \"b{}\" 'c{}' | tr a-z A-Z"}).out,
            "A1 B1 C1\nA2 B2 C2\n");
  write_file(home_ / "a b.txt", "x\n");
  const Exit mapped = type(cluster, {"batch", "map", "cat {} | tr x {/.}", ":::", "a b.txt"});
  EXPECT_EQ(mapped.out, "a\n") << mapped.err;
  const Exit hostile = type(cluster, {"batch", "map", "echo {}", ":::", "; id #", "$(id)"});
  EXPECT_EQ(hostile.out, "; id #\n$(id)\n") << hostile.err;
  EXPECT_EQ(type(cluster, {"batch", "array", "1-2", "echo", "a{} | b", "--", "-n"}).out,
            "a1 | b -- -n\na2 | b -- -n\n");
  EXPECT_EQ(type(cluster, {"batch", "array", "1-2", "echo $(({} * {}))"}).out, "1\n4\n");
}

TEST_F(Mistakes, OfProgramsOfTheSdkAreAnswered) {
  const auto answer = [&](const std::string& name, const Words& flags) {
    Words words = {program("examples/" + name)};
    words.insert(words.end(), flags.begin(), flags.end());
    return run(words, {}, home_.path());
  };
  const struct {
    std::string name;
    Words flags;
    Words says;
  } rows[] = {
      {"hello_framework",
       {"--master=zk://localhost:2181/mesos"},
       {"'zk://localhost:2181/mesos'", "SOCKET or HOST:PORT", "host1:5050,host2:5050"}},
      {"hello_framework", {"--rol=eng"}, {"'--rol'", "--session_file", "did you mean --role?"}},
      {"hello_framework", {"--role=*"}, {"'*'", "A-Z a-z 0-9", "default"}},
      {"failover_framework",
       {"--session_file=missing/x.session"},
       {"'missing/x.session'", "session_file=PATH", "mkdir -p missing"}},
  };
  for (const auto& [name, flags, says] : rows) {
    const Exit ended = answer(name, flags);
    EXPECT_NE(ended.code, 0);
    for (const std::string& one : says) EXPECT_THAT(ended.err, HasSubstr(one)) << flags.front();
  }
}

}  // namespace
}  // namespace proffer::test
