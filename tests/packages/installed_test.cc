// The result of `cmake --install`: programs that find each other below any prefix, settings that
// the daemons accept, man pages, and files with which an author builds outside the source tree.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/processes.h"

namespace proffer::installed_test {
namespace {

namespace fs = std::filesystem;
using namespace test;
using testing::HasSubstr;

constexpr Seconds kBuildDeadline{240};

// One tree for all tests: the prefix /usr below a directory.
class Installed : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    root_ = std::make_unique<TemporaryDirectory>();
    const Exit done = run({"cmake", "--install", program("") + "..", "--prefix", "/usr"},
                          {{"DESTDIR", root_->path()}});
    ASSERT_EQ(done.code, 0) << done.out << done.err;
  }
  static void TearDownTestSuite() { root_ = nullptr; }

  // A path as on a system where the tree is installed.
  static std::string at(const std::string& path) { return root_->path() + path; }

  static std::unique_ptr<TemporaryDirectory> root_;
};
std::unique_ptr<TemporaryDirectory> Installed::root_;

// A master and an agent of the installed tree, with the installed settings.
class Daemons {
 public:
  Daemons(const std::string& programs, const std::string& settings)
      : master_({programs + "/proffer-master", "--flagfile=" + settings + "/master.flags",
                 "--socket=" + socket(), "--data_dir=" + (home_ / "master")}),
        agent_({programs + "/proffer-agent", "--master=" + socket(),
                "--flagfile=" + settings + "/agent.flags", "--work_dir=" + (home_ / "agent"),
                "--resources=cpus:2;mem:512", "--tasks_on_exit=kill", "--name=the-agent"}) {}
  ~Daemons() {
    for (Process* daemon : {&agent_, &master_}) {
      daemon->kill(SIGTERM);
      EXPECT_EQ(daemon->wait().code, 0) << daemon->err();
    }
  }
  Daemons(const Daemons&) = delete;
  Daemons& operator=(const Daemons&) = delete;

  std::string socket() const { return home_ / "run/master.sock"; }

 private:
  TemporaryDirectory home_;
  Process master_;
  Process agent_;
};

TEST_F(Installed, ProgramsFindEachOtherThroughTheLinkInBin) {
  EXPECT_TRUE(fs::is_symlink(at("/usr/bin/proffer")));
  const Exit batch = run({at("/usr/bin/proffer"), "batch", "--help"});
  EXPECT_EQ(batch.code, 0) << batch.err;
  const Daemons daemons(at("/usr/lib/proffer"), at("/etc/proffer"));
  // The command waits for the agent.
  const Exit done = run({at("/usr/bin/proffer"), "run", "--", "echo from the tree"},
                        {{"PROFFER_MASTER", daemons.socket()}});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, "from the tree\n");
}

TEST_F(Installed, UnitsNameProgramsAndSettingsThatAreInstalled) {
  for (const std::string name :
       {"proffer-master", "proffer-agent", "proffer-service", "proffer-batch"}) {
    const std::string unit = read_file(at("/usr/lib/systemd/system/" + name + ".service"));
    EXPECT_THAT(unit, HasSubstr("\nExecStart=/usr/lib/proffer/" + name + " "));
    int settings = 0;
    for (size_t from = unit.find("/etc/"); from != std::string::npos;
         from = unit.find("/etc/", from + 1)) {
      const std::string path = unit.substr(from, unit.find_first_of(" \n", from) - from);
      EXPECT_TRUE(fs::exists(at(path))) << name << " " << path;
      ++settings;
    }
    EXPECT_EQ(settings, 1) << name;
  }
}

TEST_F(Installed, SystemdTakesTheUnitsInAnyPrefix) {
  if (run({"systemd-analyze", "--version"}).code != 0) GTEST_SKIP() << "not run: no systemd here";
  const TemporaryDirectory prefix;
  const Exit done = run({"cmake", "--install", program("") + "..", "--component", "runtime",
                         "--prefix", prefix.path()});
  ASSERT_EQ(done.code, 0) << done.out << done.err;
  for (const std::string name :
       {"proffer-master", "proffer-agent", "proffer-service", "proffer-batch"}) {
    const std::string unit = prefix / "lib/systemd/system/" + name + ".service";
    const Exit verified = run({"systemd-analyze", "verify", "--man=no", unit});
    EXPECT_EQ(verified.code, 0) << verified.err;
    EXPECT_EQ(verified.err, "") << name;
  }
}

// Every flag of --help is in the defaults file, as a comment, and in the man page.
TEST_F(Installed, FilesOfDefaultsAndManPagesHaveAllFlagsAndRulesAreThere) {
  for (const std::string name : {"master", "agent"}) {
    const std::string help = run({at("/usr/lib/proffer/proffer-" + name), "--help"}).out;
    const std::string file = read_file(at("/etc/proffer/" + name + ".flags"));
    const std::string page = at("/usr/share/man/man8/proffer-" + name + ".8.gz");
    const std::string manual = run({"gzip", "-dc", page}).out;
    int flags = 0;
    for (size_t from = help.find("\n  --"); from != std::string::npos;
         from = help.find("\n  --", from + 1)) {
      const size_t begin = from + 5;
      const std::string flag = help.substr(begin, help.find_first_of("=\n", begin) - begin);
      EXPECT_THAT(manual, HasSubstr("\n  \\-\\-" + flag));
      if (flag == "flagfile") continue;
      EXPECT_THAT(file, HasSubstr("\n#--" + flag));
      ++flags;
    }
    EXPECT_GE(flags, 10);
    for (size_t line = 0; line < file.size(); line = file.find('\n', line) + 1) {
      EXPECT_TRUE(file[line] == '#' || file[line] == '\n') << file.substr(line, 40);
    }
  }
  for (const auto& page : fs::directory_iterator(at("/usr/share/man/man1"))) {
    // What apropos finds: proffer\-run \- run a command.
    const std::string manual = run({"gzip", "-dc", page.path()}).out;
    EXPECT_THAT(manual, testing::ContainsRegex("\nproffer[^ ]* .- [a-z]")) << page.path();
  }
  EXPECT_TRUE(fs::exists(at("/usr/share/man/man1/proffer-run.1.gz")));
  EXPECT_TRUE(fs::exists(at("/usr/share/proffer/prometheus/proffer.rules.yml")));
}

// A shell that prints its completions of lines, as after the Tab key at their ends.
struct Shell {
  std::string name;
  Words command;  // Before the lines. It prints -- behind the completions of each line.
};

class Completion : public Installed {
 protected:
  using Offered = std::map<std::string, std::vector<std::string>>;  // In their order, by line.

  static std::string bash() { return at("/usr/share/bash-completion/completions/proffer"); }
  static std::string zsh() { return at("/usr/share/zsh/vendor-completions"); }
  static std::string fish() { return at("/usr/share/fish/vendor_completions.d/proffer.fish"); }

  // The three shells, those that this machine has. The others are named on standard output.
  static std::vector<Shell> shells() {
    const Shell all[] = {
        // Completions of a line that bash would split at blanks only.
        {"bash",
         {"bash", "-c",
          "source \"$0\"; for line in \"$@\"; do read -ra COMP_WORDS <<<\"$line\"; "
          "[[ $line != *' ' ]] || COMP_WORDS+=(''); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); "
          "COMPREPLY=(); _proffer proffer; printf '%s\\n' \"${COMPREPLY[@]}\"; echo --; done",
          bash()}},
        {"zsh",
         {"zsh", "-f", std::string(PROFFER_SOURCE_DIR) + "/tests/packages/completed.zsh", zsh()}},
        {"fish",
         {"fish", "--no-config", "-c",
          "source $argv[1]; for line in $argv[2..-1]; complete --do-complete $line | "
          "string split -f 1 \\t; echo -- --; end",
          "--", fish()}}};
    std::vector<Shell> here;
    for (const Shell& shell : all) {
      if (run({"which", shell.name}).code == 0) {
        here.push_back(shell);
      } else {
        std::cout << "not run: no " << shell.name << " here, see tools/setup.sh --test\n";
      }
    }
    return here;
  }

  // In a folder with nothing but a file app.yaml.
  static Offered offered(const Shell& shell, const Words& lines, const std::string& master,
                         const std::string& programs = at("/usr/bin")) {
    static const TemporaryDirectory folder;
    std::ofstream(folder / "app.yaml") << "name: web\n";
    Words words = shell.command;
    words.insert(words.end(), lines.begin(), lines.end());
    const Exit done = run(words,
                          {{"PATH", programs + ":" + getenv("PATH")},
                           {"HOME", folder.path()},
                           {"PROFFER_MASTER", master}},
                          folder.path(), kBuildDeadline);
    EXPECT_EQ(done.err, "") << shell.name;
    Offered found;
    std::istringstream out(done.out);
    size_t line = 0;
    for (std::string word; std::getline(out, word) && line < lines.size();) {
      std::vector<std::string>& of_line = found[lines[line]];
      if (word == "--") {
        std::sort(of_line.begin(), of_line.end());
        ++line;
      } else if (!word.empty()) {
        of_line.push_back(word);
      }
    }
    EXPECT_EQ(line, lines.size()) << shell.name << ": " << done.out;
    return found;
  }

  // That a shell offers exactly these words for each line.
  static void expect_offered(const Shell& shell, const Offered& expected, const std::string& master,
                             const std::string& programs = at("/usr/bin")) {
    Words lines;
    for (const auto& [line, words] : expected) lines.push_back(line);
    Offered found = offered(shell, lines, master, programs);
    for (const auto& [line, words] : expected) {
      EXPECT_EQ(found[line], words) << shell.name << ": " << line;
    }
  }
};

TEST_F(Completion, OffersCommandsVerbsAndOptionsInEachShell) {
  for (const Shell& shell : shells()) {
    Offered expected = {{"proffer ag", {"agent", "agents"}},
                        {"proffer --json stat", {"status"}},
                        {"proffer --master m:1 stat", {"status"}},
                        {"proffer role s", {"set"}},
                        {"proffer role set --w", {"--weight"}},
                        {"proffer run --gra", {"--grace"}},
                        {"proffer master --offer", {"--offer_timeout"}},
                        {"proffer batch cron re", {"remove", "resume"}},
                        {"proffer batch cron next --co", {"--count"}},
                        {"proffer backup --zk-s", {"--zk-secret-file"}},
                        // Options of the command that is run are not ours.
                        {"proffer run -- nothing --gra", {}},
                        {"proffer service run ap", {"app.yaml"}}};
    // Bash itself looks for files where there is nothing else.
    if (shell.name == "bash") expected["proffer service run ap"] = {};
    expect_offered(shell, expected, "/nowhere");
  }
}

TEST_F(Completion, OffersNamesOfWhatRunsInEachShell) {
  const Daemons daemons(at("/usr/lib/proffer"), at("/etc/proffer"));
  const auto proffer = [&](Words words) {
    words.insert(words.begin(), {at("/usr/bin/proffer"), "--master=" + daemons.socket()});
    return run(words).out;
  };
  Process task({at("/usr/bin/proffer"), "--master=" + daemons.socket(), "run", "--name", "sleeper",
                "--", "sleep 1000"});
  EXPECT_TRUE(eventually([&] { return proffer({"tasks"}).find("running") != std::string::npos; }));
  proffer({"role", "set", "eng", "--weight", "2"});
  const auto second_line = [](const std::string& table) {
    const size_t begin = table.find('\n') + 1;
    return table.substr(begin, table.find(' ', begin) - begin);
  };
  const std::string task_id = second_line(proffer({"tasks"}));
  EXPECT_THAT(task_id, HasSubstr("sleeper"));
  const std::string framework_id = second_line(proffer({"frameworks"}));

  for (const Shell& shell : shells()) {
    Offered expected = {{"proffer drain ", {"the-agent"}},
                        {"proffer reserve the-agent e", {"eng"}},
                        {"proffer role unset e", {"eng"}},
                        {"proffer history --role e", {"eng"}},
                        {"proffer explain role e", {"eng"}},
                        {"proffer events --role eng --agent t", {"the-agent"}},
                        // The word after --grace is its value.
                        {"proffer kill --grace 5s ", {task_id}},
                        {"proffer exec ", {task_id}},
                        {"proffer teardown ", {framework_id}},
                        // A new agent has no name yet.
                        {"proffer join-token --agent t", {}}};
    // Bash splits at =, and offers what follows it.
    if (shell.name == "bash") expected["proffer history --role = e"] = {"eng"};
    expect_offered(shell, expected, daemons.socket());
    const std::string equals = shell.name == "bash" ? " = " : "=";
    expect_offered(shell,
                   {{"proffer --master " + daemons.socket() + " drain ", {"the-agent"}},
                    {"proffer --master" + equals + daemons.socket() + " drain ", {"the-agent"}}},
                   "/nowhere");
  }
  task.kill(SIGTERM);
  task.wait();
}

// Apps and jobs are listed by their schedulers; here by a program in place of proffer.
TEST_F(Completion, AsksTheListingsOfAppsAndJobs) {
  const TemporaryDirectory folder;
  const std::string stub = folder / "proffer";
  std::ofstream(stub) << "#!/bin/sh\necho NAME OWNER\necho \"$*\" | tr ' ' _\n";
  fs::permissions(stub, fs::perms(0755));
  for (const Shell& shell : shells()) {
    expect_offered(shell,
                   {{"proffer service scale ", {"service_list"}},
                    {"proffer batch cancel ", {"batch_list"}},
                    {"proffer batch logs ", {"batch_list_--all"}},
                    {"proffer batch cron pause ", {"batch_cron_list"}},
                    {"proffer batch array 3 --after ", {"batch_list"}},
                    {"proffer secret remove ", {"secret_list"}}},
                   "/nowhere", folder.path());
  }
}

// The completion knows all commands.
TEST_F(Completion, TheHelpOfEachCommandHasExitCodesAndAnExample) {
  std::istringstream lines(read_file(bash()));
  std::vector<std::string> commands;
  for (std::string line; std::getline(lines, line) && line != "_proffer_value() {";) {
    const size_t end = line.find("') echo");
    if (line.starts_with("    '") && end != std::string::npos) {
      commands.push_back(line.substr(5, end - 5));
    }
  }
  int looked_at = 0;
  for (const std::string& command : commands) {
    const bool is_group = std::any_of(commands.begin(), commands.end(), [&](const auto& other) {
      return other.starts_with(command + " ");
    });
    if (command.empty() || is_group || command == "master") continue;
    Words words = {at("/usr/bin/proffer")};
    std::istringstream parts(command);
    for (std::string part; parts >> part;) words.push_back(part);
    if (words[1] == "explain" || words[1] == "blame") words.pop_back();
    words.push_back("--help");
    const Exit help = run(words);
    EXPECT_EQ(help.code, 0) << command;
    EXPECT_THAT(help.out, HasSubstr("xit code")) << command;
    EXPECT_THAT(help.out, HasSubstr("xample")) << command;
    ++looked_at;
  }
  EXPECT_GE(looked_at, 80);
}

// An author may include any header first, and gets no macros from it: glog's, for example, have
// common names.
TEST_F(Installed, EachHeaderCompilesAloneAndDefinesNoMacrosButOurs) {
  std::vector<std::string> headers;
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(at("/usr/include/proffer"))) {
    if (entry.is_regular_file()) headers.push_back(entry.path());
  }
  ASSERT_GE(headers.size(), 18u);
  std::vector<std::string> compile = {"g++",   "-std=c++20", "-fsyntax-only",
                                      "-Wall", "-Wextra",    "-x",
                                      "c++",   "-I",         at("/usr/include")};
  compile.insert(compile.end(), headers.begin(), headers.end());
  const Exit compiled = run(compile, {}, {}, kBuildDeadline);
  EXPECT_EQ(compiled.code, 0) << compiled.err;

  int ours = 0;
  for (const std::string& header : headers) {
    // Each #define, after a line with its position: # 12 "/usr/include/x.h".
    std::istringstream lines(
        run({"g++", "-std=c++20", "-E", "-dD", "-x", "c++", "-I", at("/usr/include"), header}).out);
    std::string file;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("# ")) {
        const size_t quote = line.find('"');
        file = line.substr(quote + 1, line.rfind('"') - quote - 1);
        EXPECT_EQ(file.find("/glog/"), std::string::npos) << header << " includes " << file;
      }
      if (!line.starts_with("#define ") || !file.starts_with(at("/usr/include/proffer"))) continue;
      EXPECT_THAT(line, testing::StartsWith("#define PROFFER_")) << file;
      ++ours;
    }
  }
  EXPECT_GE(ours, 3);  // the version's macros; fewer means that nothing was examined
}

// tests/packages/author is the project of docs/guides/write-a-framework.md.
TEST_F(Installed, AnAuthorBuildsOutsideTheSourceTree) {
  const std::string source = std::string(PROFFER_SOURCE_DIR) + "/tests/packages/author";
  const TemporaryDirectory build;
  const Exit configured = run({"cmake", "-S", source, "-B", build.path(), "-G", "Ninja",
                               "-DCMAKE_PREFIX_PATH=" + at("/usr")},
                              {}, {}, kBuildDeadline);
  ASSERT_EQ(configured.code, 0) << configured.out << configured.err;
  const Exit built = run({"cmake", "--build", build.path()}, {}, {}, kBuildDeadline);
  ASSERT_EQ(built.code, 0) << built.out << built.err;
  const Exit tested = run({build / "hello_test"});
  EXPECT_EQ(tested.code, 0) << tested.out;

  const Exit by_pkg_config =
      run({"/bin/sh", "-c",
           "g++ -std=c++20 -o \"$0/by_pkg_config\" main.cc $(pkg-config --cflags --libs proffer)",
           build.path()},
          {{"PKG_CONFIG_PATH", at("/usr/lib/pkgconfig")}}, source, kBuildDeadline);
  ASSERT_EQ(by_pkg_config.code, 0) << by_pkg_config.err;

  const Daemons daemons(at("/usr/lib/proffer"), at("/etc/proffer"));
  for (const char* program : {"hello", "by_pkg_config"}) {
    const Exit ran = run({build / program, "--master=" + daemons.socket()});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("is finished"));
  }
}

}  // namespace
}  // namespace proffer::installed_test
