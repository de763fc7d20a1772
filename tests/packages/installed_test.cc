// The result of `cmake --install`: programs that find each other below any prefix, settings that
// the daemons accept, man pages, and files with which an author builds outside the source tree.

#include <filesystem>
#include <fstream>
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
  EXPECT_TRUE(fs::exists(at("/usr/share/man/man1/proffer-run.1.gz")));
  EXPECT_TRUE(fs::exists(at("/usr/share/proffer/prometheus/proffer.rules.yml")));
}

// Like bash when a user types a word and presses Tab.
TEST_F(Installed, BashCompletesCommandsVerbsAndOptions) {
  const auto completed = [&](const std::string& line) {
    const Exit done = run({"bash", "-c",
                           "source \"$0\"; COMP_WORDS=($1); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); "
                           "_proffer; echo \"${COMPREPLY[@]}\"",
                           at("/usr/share/bash-completion/completions/proffer"), line});
    EXPECT_EQ(done.err, "");
    return done.out;
  };
  EXPECT_EQ(completed("proffer ag"), "agents agent\n");
  EXPECT_EQ(completed("proffer --json stat"), "status\n");
  EXPECT_EQ(completed("proffer role s"), "set\n");
  EXPECT_EQ(completed("proffer role set --w"), "--weight\n");
  EXPECT_EQ(completed("proffer run --gra"), "--grace\n");
  EXPECT_EQ(completed("proffer master --offer"), "--offer_timeout\n");
  EXPECT_EQ(completed("proffer run -- --gra"), "\n");

  const Daemons daemons(at("/usr/lib/proffer"), at("/etc/proffer"));
  const auto agent = [&] {
    return run({"bash", "-c",
                "source \"$0\"; COMP_WORDS=(\"$1\" drain ''); COMP_CWORD=2; _proffer; "
                "echo \"${COMPREPLY[@]}\"",
                at("/usr/share/bash-completion/completions/proffer"), at("/usr/bin/proffer")},
               {{"PROFFER_MASTER", daemons.socket()}})
        .out;
  };
  EXPECT_TRUE(eventually([&] { return agent() == "the-agent\n"; }));
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
