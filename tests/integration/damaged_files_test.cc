// The table of damaged files in docs/concepts/registry.md, cell by cell. A file of a killed process
// is damaged as the column says, and the process is restarted: it must behave, and write the
// message, as the cell says.

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <sstream>

#include <gtest/gtest.h>

#include "common/text.h"
#include "tests/integration/processes.h"

namespace proffer::test::damaged_files_test {
namespace {

namespace fs = std::filesystem;

// --- The table.

struct Cell {
  std::string file;
  std::string damage;   // the column's heading
  std::string outcome;  // "refused"
  std::string said;     // the message in the log or on standard error; empty: none
};

std::string without_ticks(std::string_view cell) {
  std::string plain(trimmed(cell));
  std::erase(plain, '`');
  return plain;
}

// The rows of the section's table "| file | …", with the numbered texts below it.
std::vector<Cell> read_table() {
  std::istringstream page(
      read_file(std::string(PROFFER_SOURCE_DIR) + "/docs/concepts/registry.md"));
  std::vector<std::string> heads;
  std::vector<Cell> cells;
  std::map<std::string, std::string> words;
  bool is_in_section = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) is_in_section = line == "## Damaged files";
    if (!is_in_section) continue;
    const size_t dot = line.find(". `");
    if (dot != std::string::npos && dot <= 2) {
      words[line.substr(0, dot)] = without_ticks(line.substr(dot + 2));
    }
    if (!line.starts_with("| ") || line.starts_with("| outcome")) continue;
    std::vector<std::string> row;
    for (const std::string_view cell : split(line, '|')) row.push_back(without_ticks(cell));
    row.erase(row.begin());
    row.pop_back();
    if (row[0] == "file") heads = row;
    if (row[0] == "file" || heads.empty() || row.size() != heads.size()) continue;
    for (size_t i = 1; i < row.size(); ++i) {
      const size_t number = row[i].find_last_of(' ');
      const bool is_said = number != std::string::npos && isdigit(row[i][number + 1]);
      cells.push_back({.file = row[0],
                       .damage = heads[i],
                       .outcome = is_said ? row[i].substr(0, number) : row[i],
                       .said = is_said ? row[i].substr(number + 1) : ""});
    }
  }
  for (Cell& cell : cells) {
    if (cell.said.empty()) continue;
    EXPECT_TRUE(words.contains(cell.said)) << "words " << cell.said << " of " << cell.file;
    cell.said = words[cell.said];
  }
  return cells;
}

// --- Files.

// The files of a directory at one time, by relative path. The contents of sandboxes are ignored,
// not their existence.
class Files {
 public:
  Files() = default;
  explicit Files(const fs::path& directory) {
    visit(directory, [&](const fs::path& file, const std::string& name) {
      bytes_[name] = {read_file(file), fs::status(file).permissions()};
    });
  }
  void put(const fs::path& directory) const {
    visit(directory, [&](const fs::path& file, const std::string& name) {
      if (!bytes_.contains(name)) fs::remove(file);
    });
    for (const auto& [name, file] : bytes_) {
      const fs::path path = directory / name;
      fs::create_directories(path.parent_path());
      write_file(path, file.first);
      fs::permissions(path, file.second);
    }
  }
  std::string& operator[](const std::string& name) {
    EXPECT_TRUE(bytes_.contains(name)) << name;
    return bytes_[name].first;
  }
  void erase(const std::string& name) { bytes_.erase(name); }

 private:
  template <class Visit>
  static void visit(const fs::path& directory, const Visit& each) {
    std::vector<fs::path> found;
    for (auto entry = fs::recursive_directory_iterator(directory);
         entry != fs::recursive_directory_iterator(); ++entry) {
      const std::string name = entry->path().filename();
      if (entry->is_directory() && (name == "sandboxes" || name == "runs")) {
        entry.disable_recursion_pending();
      } else if (entry->is_regular_file() && !entry->is_symlink()) {
        found.push_back(entry->path());
      }
    }
    for (const fs::path& file : found) each(file, fs::relative(file, directory).string());
  }

  std::map<std::string, std::pair<std::string, fs::perms>> bytes_;
};

// The bytes to flip, for files whose middle may be unused.
const std::map<std::string, std::string> kMarks = {{"registry.db", "early"},
                                                   {"registry.db-wal", "late"}};

void damage(Files& files, Files older, const std::string& name, const std::string& how) {
  if (how == "missing") return files.erase(name);
  std::string& bytes = files[name];
  if (how == "empty") {
    bytes.clear();
  } else if (how == "cut") {
    bytes.resize(bytes.size() / 2);
  } else if (how == "zeros") {
    bytes.assign(bytes.size(), '\0');
  } else if (how == "flipped") {
    const auto mark = kMarks.find(name);
    const size_t at = mark == kMarks.end() ? bytes.size() / 2 : bytes.find(mark->second);
    ASSERT_NE(at, std::string::npos) << name;
    constexpr char kBit = 0x10;  // changes a hexadecimal digit to another character
    bytes[at] = static_cast<char>(bytes[at] ^ kBit);
  } else {
    ASSERT_EQ(how, "older copy");
    bytes = older[name];
  }
}

// --- The owners of files. Each has the files of a killed process, and of an earlier one. ---------

class Owner {
 public:
  virtual ~Owner() = default;
  virtual Words command() const = 0;
  virtual std::map<std::string, std::string> environment() const { return {}; }
  // A text in the log that shows that the process serves.
  virtual std::string serves() const = 0;
  // Whether acknowledged data is there.
  virtual bool is_whole() const { return true; }

  void check(const Cell& cell, const std::string& name) {
    Files files = base_of(name);
    damage(files, older_, name, cell.damage);
    files.put(directory_);
    Process process(command(), environment());
    const bool is_up = process.complains(serves());
    if (cell.outcome == "refused") {
      EXPECT_FALSE(is_up);
      const Exit ended = process.wait();
      EXPECT_NE(ended.code, 0);
      EXPECT_NE(ended.err.find(cell.said), std::string::npos) << ended.err;
      EXPECT_TRUE(names(ended.err, name)) << ended.err;
      return;
    }
    EXPECT_TRUE(is_up) << process.err();
    if (!is_up) return;
    EXPECT_TRUE(is_whole()) << process.err();
    if (!cell.said.empty()) {
      EXPECT_TRUE(process.complains(cell.said, Seconds{10})) << process.err();
      // The message names the file, or its directory if the file is missing.
      EXPECT_TRUE(names(process.err(), name)) << process.err();
    }
    if (cell.outcome == "the same") {
      EXPECT_TRUE(cell.said.empty());
      EXPECT_EQ(complaints(process.err(), name), "");
    } else if (cell.outcome == "set aside") {
      EXPECT_TRUE(fs::exists(directory_ + "/" + name + ".damaged-1"));
    } else if (cell.outcome == "made anew") {
      EXPECT_TRUE(fs::exists(directory_ + "/" + name));
      EXPECT_FALSE(cell.said.empty());
    } else {
      EXPECT_EQ(cell.outcome, "goes on");
      EXPECT_FALSE(cell.said.empty());
    }
    process.kill(SIGKILL);
    process.wait();
  }

 protected:
  // Runs the process, does `work`, and kills the process.
  void live(const std::function<void()>& work) {
    Process process(command(), environment());
    ASSERT_TRUE(process.complains(serves())) << process.err();
    work();
    process.kill(SIGKILL);
    process.wait();
  }

  virtual Files base_of(const std::string&) const { return base_; }

  std::string directory_;
  Files older_;
  Files base_;

 private:
  static bool names(const std::string& log, std::string name) {
    if (name.ends_with("-wal")) name.resize(name.size() - 4);  // a part of the database
    const auto has = [&](const std::string& part) { return log.find(part) != std::string::npos; };
    const fs::path path(name);
    return has(path.filename()) ||
           (path.has_parent_path() && has("/" + path.parent_path().string()));
  }
  // Warnings and errors that name the file.
  static std::string complaints(const std::string& log, const std::string& name) {
    std::istringstream lines(log);
    std::string found;
    for (std::string line; std::getline(lines, line);) {
      const bool is_complaint = line.starts_with('W') || line.starts_with('E');
      if (is_complaint && line.find(fs::path(name).filename()) != std::string::npos) {
        found += line + "\n";
      }
    }
    return found;
  }
};

Exit proffer(const std::string& socket, Words words) {
  words.insert(words.begin(), program("proffer"));
  const Exit done = run(words, {{"PROFFER_MASTER", socket}});
  EXPECT_EQ(done.code, 0) << done.err;
  return done;
}

class MasterFiles : public Owner {
 public:
  explicit MasterFiles(const TemporaryDirectory& home)
      : socket_(home / "m.sock"), http_(home / "m-http.sock") {
    directory_ = home / "m";
    EXPECT_EQ(run({program("proffer"), "keys", "init", "--data-dir=" + directory_}).code, 0);
    write_file(home / "secret", "tell no one");
    live([&] {
      proffer(socket_, {"role", "set", "early", "--weight=2"});
      proffer(socket_, {"secret", "set", "password", "--file=" + (home / "secret")});
    });
    older_ = Files(directory_);
    // From a time when another key encrypted other secrets.
    older_["secrets.key"] = "proffer secrets key 1 " + std::string(64, '7') + "\n";
    live([&] { proffer(socket_, {"role", "set", "late", "--weight=2"}); });
    base_of_log_ = Files(directory_);
    // This run moves the records of the write-ahead log to the database.
    live([] {});
    base_ = Files(directory_);
  }
  Files base_of(const std::string& name) const override {
    return name == "registry.db-wal" ? base_of_log_ : base_;
  }
  Words command() const override {
    return {program("proffer-master"),
            "--data_dir=" + directory_,
            "--socket=" + socket_,
            "--bind=127.0.0.1",
            "--port=0",
            "--http_port=0"};
  }
  std::string serves() const override { return "master listens"; }
  bool is_whole() const override {
    const std::string roles = get_http(http_, "/v1/roles");
    return roles.find("\"early\"") != std::string::npos &&
           roles.find("\"late\"") != std::string::npos;
  }

 private:
  const std::string socket_;
  const std::string http_;
  Files base_of_log_;
};

// A cluster for owners that need one.
class ServingMaster {
 public:
  explicit ServingMaster(const TemporaryDirectory& home)
      : socket_(home / "serving.sock"),
        made_(run({program("proffer"), "keys", "init", "--data-dir=" + (home / "serving")})),
        master_({program("proffer-master"), "--data_dir=" + (home / "serving"),
                 "--socket=" + socket_, "--bind=127.0.0.1", "--port=0", "--heartbeat=1s"}) {
    EXPECT_TRUE(master_.complains("master listens")) << master_.err();
  }
  ~ServingMaster() {
    master_.kill(SIGTERM);
    EXPECT_EQ(master_.wait().code, 0) << master_.err();
  }
  ServingMaster(const ServingMaster&) = delete;
  ServingMaster& operator=(const ServingMaster&) = delete;
  const std::string& socket() const { return socket_; }

 private:
  const std::string socket_;
  const Exit made_;
  Process master_;
};

class AgentFiles : public Owner {
 public:
  AgentFiles(const TemporaryDirectory& home, const ServingMaster& master)
      : socket_(master.socket()) {
    directory_ = home / "a";
    live([&] { proffer(socket_, {"run", "--cpus=1", "--mem=32", "--", "true"}); });
    older_ = Files(directory_);
    live([&] { proffer(socket_, {"run", "--cpus=1", "--mem=32", "--", "true"}); });
    base_ = Files(directory_);
  }
  // Executors of killed agents still wait for the next agent.
  ~AgentFiles() override {
    for (const pid_t pid : processes_of(directory_)) ::kill(pid, SIGKILL);
  }
  AgentFiles(const AgentFiles&) = delete;
  AgentFiles& operator=(const AgentFiles&) = delete;
  Words command() const override {
    return {program("proffer-agent"),
            "--master=" + socket_,
            "--name=a1",
            "--work_dir=" + directory_,
            "--resources=cpus:1;mem:64",
            "--http_port=0",
            "--heartbeat=1s"};
  }
  std::string serves() const override { return "agent serves"; }

 private:
  const std::string socket_;
};

class SchedulerFiles : public Owner {
 public:
  SchedulerFiles(const TemporaryDirectory& home, const ServingMaster& master)
      : socket_(master.socket()) {
    directory_ = home / "s";
    fs::create_directories(directory_);
    live([&] {
      older_ = Files(directory_);
      const std::string lines = older_["session"];
      const size_t at = lines.find("framework ") + 10;
      proffer(socket_, {"teardown", lines.substr(at, lines.find('\n', at) - at)});
    });
    // The message says to remove the file: the framework is gone.
    fs::remove(directory_ + "/session");
    live([&] {});
    base_ = Files(directory_);
  }
  Words command() const override {
    return {program("proffer-service"), "scheduler", "--master=" + socket_,
            "--session-file=" + directory_ + "/session"};
  }
  std::string serves() const override { return "apps read from the store"; }

 private:
  const std::string socket_;
};

// --- The tests.

class DamagedFiles : public testing::Test {
 protected:
  static void check(Owner& owner, const std::string& of) {
    int checked = 0;
    for (const Cell& cell : read_table()) {
      if (!cell.file.starts_with(of + "/")) continue;
      SCOPED_TRACE(text(cell.file, " ", cell.damage, ": ", cell.outcome));
      owner.check(cell, cell.file.substr(of.size() + 1));
      ++checked;
      if (HasFatalFailure()) return;
    }
    EXPECT_GT(checked, 0);
  }

  const TemporaryDirectory home_;
};

TEST_F(DamagedFiles, OfAMasterDoWhatTheTableSays) {
  MasterFiles master(home_);
  check(master, "master");
}

TEST_F(DamagedFiles, OfAnAgentDoWhatTheTableSays) {
  const ServingMaster master(home_);
  AgentFiles agent(home_, master);
  check(agent, "agent");
}

TEST_F(DamagedFiles, OfASchedulerDoWhatTheTableSays) {
  const ServingMaster master(home_);
  SchedulerFiles scheduler(home_, master);
  check(scheduler, "scheduler");
}

// Every command reads what `proffer join` wrote.
TEST_F(DamagedFiles, OfAUserDoWhatTheTableSays) {
  const ServingMaster master(home_);
  const std::string config = home_ / "config";
  const std::map<std::string, std::string> environment = {{"PROFFER_CONFIG_DIR", config}};
  const Exit token = proffer(master.socket(), {"join-token", "--user", "root"});
  write_file(home_ / "token", token.out);
  fs::create_directories(config);
  const Exit joined =
      run({program("proffer"), "join", "--join-file", home_ / "token"}, environment);
  ASSERT_EQ(joined.code, 0) << joined.err;
  const Files older(config);
  ASSERT_EQ(run({program("proffer"), "keys", "rotate"}, environment).code, 0);
  const Files base(config);
  for (const Cell& cell : read_table()) {
    if (!cell.file.starts_with("user/")) continue;
    SCOPED_TRACE(text(cell.file, " ", cell.damage, ": ", cell.outcome));
    Files files = base;
    damage(files, older, cell.file.substr(5), cell.damage);
    files.put(config);
    const Exit done = run({program("proffer"), "status"}, environment);
    EXPECT_EQ(cell.outcome, "refused");
    EXPECT_NE(done.code, 0);
    EXPECT_NE(done.err.find(cell.said), std::string::npos) << done.err;
  }
}

}  // namespace
}  // namespace proffer::test::damaged_files_test
