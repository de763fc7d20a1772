// The findings of `proffer doctor` from facts, and from directory trees that imitate machines.

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/text.h"
#include "net/fd.h"
#include "slave/doctor/facts.h"
#include "slave/doctor/findings.h"
#include "tests/support/temporary_directory.h"

namespace proffer::doctor::doctor_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr int64_t kMib = int64_t{1} << 20;

// A bad finding says what will not work, and what to do.
void expect(const Finding& finding, Verdict verdict, std::string_view what) {
  EXPECT_EQ(finding.verdict, verdict) << finding.what;
  EXPECT_THAT(finding.what, HasSubstr(std::string(what)));
  EXPECT_EQ(finding.effect.empty(), verdict == Verdict::kOk) << finding.what;
  EXPECT_EQ(finding.fix.empty(), verdict == Verdict::kOk) << finding.what;
}

TEST(Doctor, SaysWhichLimitsHold) {
  const agent::Enforced all = {.limits = {"cpu", "memory", "pids"}, .by = "cgroups v1"};
  expect(judge_limits(all, true), Verdict::kOk, "cpu, memory, pids (cgroups v1)");
  agent::Enforced some = all;
  some.missing = {{"io", "not mounted"}};
  expect(judge_limits(some, true), Verdict::kWarning, "not enforced: io (not mounted)");
  const Finding none = judge_limits(Error::unsupported("permission denied"), false);
  expect(none, Verdict::kWarning, "limits are not enforced: permission denied");
  EXPECT_THAT(none.fix, HasSubstr("root"));
}

TEST(Doctor, SaysWhoMayMakeNamespaces) {
  expect(judge_namespaces({.most = 1'000}, false), Verdict::kOk, "");
  expect(judge_namespaces({.most = 1'000, .unprivileged = 0}, true), Verdict::kOk, "");
  expect(judge_namespaces({.most = 1'000, .unprivileged = 0}, false), Verdict::kWarning, "root");
  expect(judge_namespaces({.most = 0}, true), Verdict::kWarning, "no user namespaces");
  expect(judge_namespaces({}, true), Verdict::kWarning, "no user namespaces");
}

TEST(Doctor, SaysHowManyTasksDescriptorsAndProcessesAllow) {
  expect(judge_descriptors(1'048'576), Verdict::kOk, "1048576 open descriptors are allowed");
  expect(judge_descriptors(256), Verdict::kWarning, "256 open descriptors are allowed");
  expect(judge_descriptors(UINT64_MAX), Verdict::kOk, "");
  expect(judge_processes(32'768), Verdict::kOk, "32768");
  expect(judge_processes(100), Verdict::kWarning, "100");
}

TEST(Doctor, SaysThatTheClockIsWrong) {
  const Time now = Time::from_nanos(int64_t{1'800'000'000} * 1'000'000'000);
  expect(judge_clock({.now = now, .newest = now - hours(1)}), Verdict::kOk, "");
  expect(judge_clock({.now = now, .newest = now + hours(1)}), Verdict::kWarning, "1h");
  expect(judge_clock({.now = Time(), .newest = Time()}), Verdict::kFails, "2020");
}

TEST(Doctor, SaysWhatIsWrongWithTheDisk) {
  const DiskFacts good = {.folder = "/d",
                          .free_bytes = 9'000 * kMib,
                          .reserve_bytes = 256 * kMib,
                          .reserve_files = 1'000,
                          .free_files = 100'000};
  const auto with = [&](auto change) {
    DiskFacts facts = good;
    change(facts);
    return judge_disk(facts);
  };
  expect(judge_disk(good), Verdict::kOk, "9000 MiB are free");
  expect(with([](DiskFacts& d) { d.free_bytes = 100 * kMib; }), Verdict::kFails, "100 MiB are");
  expect(with([](DiskFacts& d) { d.free_files = 3; }), Verdict::kFails, "only 3 more files");
  expect(with([](DiskFacts& d) { d.free_files = -1; }), Verdict::kOk, "");
  expect(with([](DiskFacts& d) { d.is_read_only = true; }), Verdict::kFails, "read-only");
  expect(with([](DiskFacts& d) { d.is_writable = false; }), Verdict::kFails, "may not write");
  expect(with([](DiskFacts& d) { d.forbids_programs = true; }), Verdict::kWarning, "noexec");
}

TEST(Doctor, SaysWhoElseTakesThePorts) {
  const auto ports = [](std::vector<PortRange> ranges) { return PortSet(std::move(ranges)); };
  PortFacts facts = {
      .range = ports({{31000, 31009}}), .outgoing_first = 32768, .outgoing_last = 60999};
  expect(judge_ports(facts), Verdict::kOk, "31000-31009");
  facts.in_use = ports({{31003, 31004}});
  expect(judge_ports(facts), Verdict::kOk, "31003-31004");
  facts.in_use = ports({{31000, 31007}});
  expect(judge_ports(facts), Verdict::kWarning, "8 are in use");
  facts.outgoing_first = 1024;
  const Finding overlap = judge_ports(facts);
  expect(overlap, Verdict::kWarning, "1024-60999");
  EXPECT_THAT(overlap.fix, HasSubstr("ip_local_reserved_ports=31000-31009"));
}

TEST(Doctor, SaysWhichProgramsAreMissing) {
  expect(judge_programs("/bin", {}), Verdict::kOk, "/bin");
  expect(judge_programs("/bin", {"proffer-executor"}), Verdict::kFails, "proffer-executor");
  EXPECT_THAT(judge_programs("/bin", {"/bin/sh"}).effect, HasSubstr("no command"));
}

TEST(Doctor, SaysWhoseTheRunFolderAndTheMasterAre) {
  const FolderFacts folder = {.path = "/run/proffer", .is_there = true, .owner = 0, .mode = 0755};
  expect(judge_run_folder(folder, 1000), Verdict::kOk, "/run/proffer");
  FolderFacts open = folder;
  open.mode = 0777;
  expect(judge_run_folder(open, 1000), Verdict::kFails, "is writable for other users");
  FolderFacts none = folder;
  none.is_there = false;
  expect(judge_run_folder(none, 1000), Verdict::kOk, "does not exist yet");
  FolderFacts file = folder;
  file.is_folder = false;
  expect(judge_run_folder(file, 1000), Verdict::kFails, "not a folder");

  MasterFacts master = {.address = "/run/proffer/master.sock", .served_by = 0};
  expect(judge_master(master, 1000), Verdict::kOk, "served by uid 0");
  master.served_by = 1000;
  expect(judge_master(master, 1000), Verdict::kOk, "served by uid 1000");
  master.served_by = 99;
  master.folder_owner = 99;
  expect(judge_master(master, 1000), Verdict::kOk, "served by uid 99");
  master.folder_owner = 0;
  expect(judge_master(master, 1000), Verdict::kFails, "served by uid 99");
  master.failed = "no such file";
  expect(judge_master(master, 1000), Verdict::kWarning, "no such file");
}

// --- facts -------------------------------------------------------------------------------------

class Facts : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& content) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << content;
  }
  const test::TemporaryDirectory directory_;
  const fs::path root_ = directory_.path();
};

TEST_F(Facts, AreReadFromTheKernelsFiles) {
  EXPECT_EQ(look_at_namespaces(root_.string()).most, std::nullopt);
  write("proc/sys/user/max_user_namespaces", "31337\n");
  write("proc/sys/kernel/unprivileged_userns_clone", "0\n");
  EXPECT_EQ(look_at_namespaces(root_.string()).most, 31'337);
  EXPECT_EQ(look_at_namespaces(root_.string()).unprivileged, 0);
  write("proc/sys/kernel/pid_max", "4000\n");
  write("proc/sys/kernel/threads-max", "3000\n");
  EXPECT_LE(look_at_processes(root_.string()), 3'000u);
}

TEST_F(Facts, OfADiskAreThoseOfTheNearestFolder) {
  const DiskFacts facts = look_at_disk((root_ / "not/there/yet").string(), 256 * kMib);
  EXPECT_EQ(facts.folder, root_.string());
  EXPECT_GT(facts.free_bytes, 0);
  EXPECT_LE(facts.reserve_bytes, 256 * kMib);
  EXPECT_TRUE(facts.is_writable);
  EXPECT_TRUE(fs::is_empty(root_));
}

TEST_F(Facts, OfProgramsAndFolders) {
  EXPECT_THAT(missing_programs(root_.string()), ::testing::Contains("proffer-executor"));
  write("proffer-executor", "");
  EXPECT_THAT(missing_programs(root_.string()), ::testing::Contains("proffer-executor"));
  fs::permissions(root_ / "proffer-executor", fs::perms::owner_all);
  EXPECT_THAT(missing_programs(root_.string()),
              ::testing::Not(::testing::Contains("proffer-executor")));
  ::chmod(root_.c_str(), 0750);
  const FolderFacts folder = look_at_folder(root_.string());
  EXPECT_TRUE(folder.is_there && folder.is_folder);
  EXPECT_EQ(folder.owner, ::geteuid());
  EXPECT_EQ(folder.mode, 0750u);
  EXPECT_FALSE(look_at_folder((root_ / "none").string()).is_there);
}

TEST_F(Facts, OfAMasterAreWhoAnswers) {
  const std::string path = (root_ / "master.sock").string();
  EXPECT_TRUE(look_at_master({.socket = path}).failed);
  const Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_TRUE(look_at_master({.socket = path}).failed);  // no process listens
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  const MasterFacts facts = look_at_master({.socket = path});
  EXPECT_FALSE(facts.failed);
  EXPECT_EQ(facts.served_by, ::geteuid());
  EXPECT_EQ(facts.folder_owner, ::geteuid());
}

TEST_F(Facts, GiveAFindingForEachCheckAndLeaveNothingBehind) {
  const std::vector<Finding> findings = examine({.masters = {{.socket = root_ / "master.sock"}},
                                                 .work_dir = root_.string(),
                                                 .ports = PortSet({{31000, 31009}}),
                                                 .bin_dir = root_.string()});
  EXPECT_EQ(findings.size(), 10u);
  EXPECT_TRUE(fs::is_empty(root_));
}

}  // namespace
}  // namespace proffer::doctor::doctor_test
