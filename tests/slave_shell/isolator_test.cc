// Limits of process groups: parsing of mounts and written files, with trees of plain files; and
// their effect in the kernel, if this process may create cgroups.

#include "slave/shell/isolator.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/text.h"
#include "slave/shell/cgroups_v1.h"
#include "slave/shell/cgroups_v2.h"
#include "slave/shell/device_program.h"
#include "slave/shell/processes.h"
#include "tests/support/temporary_directory.h"

namespace proffer::agent {
namespace isolator_test {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMebi = int64_t{1} << 20;

std::string read(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

void write(const fs::path& path, std::string_view value) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << value;
}

ResourceVector amounts(std::string_view resources) {
  return parse_agent_resources(resources)->amounts;
}

GroupOptions options_of_this_test() {
  return {.parent = "proffer-test", .agent = std::to_string(getpid()), .agent_cpus_milli = 2000};
}

std::string mountinfo() {
  std::ifstream file("/proc/self/mountinfo");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The real cgroups of version 1; empty if there are none: then the test is skipped with a message.
std::unique_ptr<Cgroups> real_cgroups(GroupOptions options = options_of_this_test()) {
  Result<std::unique_ptr<Cgroups>> made =
      make_cgroups_v1(parse_cgroup_mounts(mountinfo()), options);
  if (made && (*made)->enforced().limits.size() == 3) return *std::move(made);
  std::printf("no cgroups v1 for this test: %s\n",
              made ? to_text((*made)->enforced()).c_str() : made.error().message().c_str());
  return nullptr;
}

// A process that enters `files` and then becomes /bin/sh; without a script it forks for ever.
pid_t start_in(const std::vector<std::string>& files, const char* script) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  setsid();
  for (const std::string& file : files) {
    const int fd = open(file.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0 || ::write(fd, "0", 1) != 1) _exit(99);
    close(fd);
  }
  while (script == nullptr) fork();
  execl("/bin/sh", "sh", "-c", script, nullptr);
  _exit(98);
}

int status_of(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

template <class Condition>
bool comes_true(const Condition& condition) {
  for (int i = 0; i < 10'000; ++i) {
    if (condition()) return true;
    poll(nullptr, 0, 1);
  }
  return false;
}

class FakeTree : public testing::Test {
 protected:
  const test::TemporaryDirectory directory;
  const fs::path root = directory.path();
};

// --- mounts ------------------------------------------------------------------------------------

TEST(CgroupMounts, AreReadFromMountinfo) {
  const std::vector<CgroupMount> mounts = parse_cgroup_mounts(
      "23 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
      "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
      "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
      "41 31 0:38 / /sys/fs/a\\040b rw,relatime - cgroup2 cgroup2 rw\n");
  ASSERT_EQ(mounts.size(), 2u);
  EXPECT_EQ(mounts[0].path, "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_EQ(mounts[0].controllers, (std::vector<std::string>{"rw", "cpu", "cpuacct"}));
  EXPECT_FALSE(mounts[0].is_v2);
  EXPECT_EQ(mounts[1].path, "/sys/fs/a b");
  EXPECT_TRUE(mounts[1].is_v2);
}

TEST(CgroupMounts, NoneMeansNoLimitsAndSaysWhy) {
  const Result<std::unique_ptr<Cgroups>> none = choose_cgroups({}, options_of_this_test());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::kUnsupported);
}

TEST(Enforced, SaysWhatIsNotEnforcedAndWhy) {
  EXPECT_EQ(to_text(Enforced{.limits = {"cpu", "pids"},
                             .by = "cgroups v1",
                             .missing = {{"memory", "its controller is not mounted"}}}),
            "cpu, pids (cgroups v1); not enforced: memory (its controller is not mounted)");
  EXPECT_EQ(Isolator("--limits=none").words(), "not enforced: cpu, memory, pids (--limits=none)");
}

// --- version 2, as files -----------------------------------------------------------------------

TEST_F(FakeTree, Version2WritesWeightMaximumAndKillsTheWholeGroup) {
  write(root / "cgroup.controllers", "cpuset cpu io memory pids\n");
  write(root / "cgroup.subtree_control", "");
  const GroupOptions options = {.agent = "a1", .agent_cpus_milli = 4000, .is_cpu_capped = true};
  const fs::path folder = root / "proffer" / "a1";
  write(root / "proffer/cgroup.subtree_control", "");
  write(folder / "cgroup.subtree_control", "");
  const std::vector<CgroupMount> mounts = {{.path = root.string(), .is_v2 = true}};
  Result<std::unique_ptr<Cgroups>> made = make_cgroups_v2(mounts, options);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(to_text((*made)->enforced()), "cpu, memory, pids (cgroups v2)");

  for (const char* name : {"pids.max", "memory.oom.group", "cpu.weight", "cpu.max", "memory.max",
                           "memory.swap.max", "cgroup.kill", "cgroup.procs"}) {
    write(folder / "1" / name, "");
  }
  ASSERT_TRUE((*made)->make("1"));
  EXPECT_EQ(read(folder / "1/memory.oom.group"), "1");
  const Result<bool> set =
      (*made)->set_limits("1", {.cpus_milli = 1500, .memory_bytes = 64 * kMebi, .processes = 99});
  ASSERT_TRUE(set) << set.error().message();
  EXPECT_TRUE(*set);
  EXPECT_EQ(read(folder / "1/pids.max"), "99");
  EXPECT_EQ(read(folder / "1/cpu.weight"), "150");
  EXPECT_EQ(read(folder / "1/cpu.max"), "150000 100000");
  EXPECT_EQ(read(folder / "1/memory.max"), "67108864");
  EXPECT_EQ(read(folder / "1/memory.swap.max"), "0");

  // The use exceeds the new limit: setting it would kill.
  write(folder / "1/memory.current", "50000000\n");
  const Result<bool> less =
      (*made)->set_limits("1", {.cpus_milli = 1500, .memory_bytes = 32 * kMebi});
  ASSERT_TRUE(less);
  EXPECT_FALSE(*less);
  EXPECT_EQ(read(folder / "1/memory.max"), "67108864");

  EXPECT_FALSE((*made)->kill_all("1"));
  write(folder / "1/cgroup.events", "populated 1\nfrozen 0\n");
  EXPECT_TRUE((*made)->kill_all("1"));
  EXPECT_EQ(read(folder / "1/cgroup.kill"), "1");

  write(folder / "1/cpu.stat", "usage_usec 2500\nuser_usec 2000\nthrottled_usec 7\n");
  write(folder / "1/memory.peak", "60000000\n");
  write(folder / "1/memory.events", "low 0\nhigh 0\nmax 3\noom 1\noom_kill 2\n");
  write(folder / "1/pids.current", "3\n");
  write(folder / "1/io.stat", "8:0 rbytes=10 wbytes=20 rios=1\n8:16 rbytes=1 wbytes=2 rios=1\n");
  EXPECT_EQ((*made)->usage("1"), (GroupUsage{.cpu_nanos = 2'500'000,
                                             .throttled_nanos = 7'000,
                                             .memory_bytes = 50'000'000,
                                             .memory_peak_bytes = 60'000'000,
                                             .memory_limit_bytes = 64 * kMebi,
                                             .out_of_memory = 2,
                                             .processes = 3,
                                             .read_bytes = 11,
                                             .written_bytes = 22}));
}

// Version 2 without controllers: its groups can also be killed as a whole beside version 1.
TEST(CgroupsV2, KillsAllThatIsInAGroup) {
  Result<std::unique_ptr<Cgroups>> made =
      make_cgroups_v2(parse_cgroup_mounts(mountinfo()), options_of_this_test(), true);
  if (!made) GTEST_SKIP() << made.error().message();
  ASSERT_TRUE((*made)->make("1"));
  const pid_t pid = start_in((*made)->entrances("1"), "setsid sleep 100 & sleep 100 & wait");
  ASSERT_TRUE(comes_true([&] { return (*made)->members("1").size() == 3; }));
  EXPECT_EQ((*made)->group_of(pid), "1");
  EXPECT_TRUE((*made)->kill_all("1"));
  EXPECT_TRUE(WIFSIGNALED(status_of(pid)));
  EXPECT_TRUE(comes_true([&] { return !(*made)->kill_all("1"); }));
  EXPECT_TRUE(comes_true([&] { return (*made)->remove("1").has_value(); }));
}

// --- version 1, in the kernel ------------------------------------------------------------------

TEST(CgroupsV1, MemoryOverTheLimitEndsTheProcessAndIsCounted) {
  const std::unique_ptr<Cgroups> real = real_cgroups();
  if (real == nullptr) GTEST_SKIP();
  ASSERT_TRUE(real->make("1"));
  ASSERT_TRUE(real->set_limits("1", {.cpus_milli = 1000, .memory_bytes = 16 * kMebi}));
  const pid_t pid =
      start_in(real->entrances("1"), "exec dd if=/dev/zero of=/dev/null bs=64M count=1");
  const int status = status_of(pid);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  const GroupUsage usage = real->usage("1");
  EXPECT_GE(usage.out_of_memory, 1);
  EXPECT_EQ(usage.memory_limit_bytes, 16 * kMebi);
  EXPECT_GT(usage.memory_peak_bytes, 15 * kMebi);
  EXPECT_FALSE(real->renew("1")) << "its count of killed processes would be another run's";
  EXPECT_TRUE(real->remove("1"));
  EXPECT_TRUE(real->groups().empty());
}

TEST(CgroupsV1, AForkBombIsHeldAndKilledAsAWhole) {
  const std::unique_ptr<Cgroups> real = real_cgroups();
  if (real == nullptr) GTEST_SKIP();
  ASSERT_TRUE(real->make("1"));
  ASSERT_TRUE(
      real->set_limits("1", {.cpus_milli = 100, .memory_bytes = 64 * kMebi, .processes = 40}));
  const pid_t pid = start_in(real->entrances("1"), nullptr);
  EXPECT_TRUE(comes_true([&] { return real->members("1").size() > 30; }));
  EXPECT_LE(real->usage("1").processes, 40);
  while (real->kill_all("1")) poll(nullptr, 0, 1);
  EXPECT_TRUE(WIFSIGNALED(status_of(pid)));
  EXPECT_TRUE(real->members("1").empty());
  EXPECT_TRUE(comes_true([&] { return real->remove("1").has_value(); }));
}

TEST(CgroupsV1, AGroupIsUsedAgainWithOtherLimits) {
  const std::unique_ptr<Cgroups> real = real_cgroups();
  if (real == nullptr) GTEST_SKIP();
  ASSERT_TRUE(real->make("1"));
  ASSERT_TRUE(real->set_limits("1", {.cpus_milli = 1000, .memory_bytes = 64 * kMebi}));
  EXPECT_EQ(status_of(start_in(real->entrances("1"), "true")), 0);
  EXPECT_GT(real->usage("1").cpu_nanos, 0);
  ASSERT_TRUE(real->renew("1"));
  EXPECT_EQ(real->usage("1").cpu_nanos, 0);
  ASSERT_TRUE(real->set_limits("1", {.cpus_milli = 500, .memory_bytes = 16 * kMebi}));
  EXPECT_EQ(real->usage("1").memory_limit_bytes, 16 * kMebi);
  EXPECT_EQ(status_of(start_in(real->entrances("1"), "true")), 0);
  EXPECT_TRUE(real->remove("1"));
}

TEST(CgroupsV1, OneAgentHasItsDirectory) {
  const std::unique_ptr<Cgroups> first = real_cgroups();
  if (first == nullptr) GTEST_SKIP();
  const Result<std::unique_ptr<Cgroups>> second =
      make_cgroups_v1(parse_cgroup_mounts(mountinfo()), options_of_this_test());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::kFailedPrecondition);
}

TEST(CgroupsV1, HidesTheGpusOfOthers) {
  GroupOptions options = options_of_this_test();
  options.gpu_minors = {{0, 0}, {1, 1}};
  Result<std::unique_ptr<Cgroups>> made =
      make_cgroups_v1(parse_cgroup_mounts(mountinfo()), options);
  if (!made || geteuid() != 0) GTEST_SKIP() << "needs root and cgroups v1";
  if (to_text((*made)->enforced()) != "cpu, gpus, memory, pids (cgroups v1)") GTEST_SKIP();
  Isolator isolator(*std::move(made), options);
  const test::TemporaryDirectory directory;
  // Without a driver an open fails with ENXIO, or ENODEV; a device that is hidden, with EPERM.
  const auto outcome = [&](uint64_t run, int minor) {
    const std::string device = directory / text("gpu", minor);
    const std::string script =
        text("cat ", device, " 2>&1 | grep -q 'not permitted' && exit 1; mknod ", device,
             "-2 c 195 ", minor, " 2>/dev/null || exit 2; rm ", device, "-2");
    return WEXITSTATUS(status_of(start_in(isolator.entrances(run), script.c_str())));
  };
  for (const int minor : {0, 1}) {
    ASSERT_EQ(mknod((directory / text("gpu", minor)).c_str(), S_IFCHR | 0600, makedev(195, minor)),
              0);
  }
  ASSERT_TRUE(isolator.prepare(1, amounts("cpus:1;mem:64"), {{0, kWholeDevice}}));
  EXPECT_EQ(outcome(1, 0), 0);
  EXPECT_EQ(outcome(1, 1), 1);
  isolator.update(1, amounts("cpus:1;mem:64"), {{1, 500}});
  EXPECT_EQ(outcome(1, 0), 1);
  EXPECT_EQ(outcome(1, 1), 0);
  // The next run in the same group has none.
  EXPECT_TRUE(comes_true([&] { return !isolator.kill_all(1); }));
  ASSERT_TRUE(isolator.cleanup(1, true));
  ASSERT_TRUE(isolator.prepare(2, amounts("cpus:1;mem:64")));
  EXPECT_EQ(outcome(2, 0), 1);
  EXPECT_EQ(outcome(2, 1), 1);
  isolator.cleanup(2);
}

// Programs of devices work in the groups of version 2 beside the controllers of version 1, too. The
// devices 1:3, 1:5, 1:7 and 1:9 are /dev/null, zero, full and urandom.
TEST(DeviceProgram, DeniesTheNamedDevicesAndNoOthers) {
  Result<std::unique_ptr<Cgroups>> made =
      make_cgroups_v2(parse_cgroup_mounts(mountinfo()), options_of_this_test(), true);
  if (!made) GTEST_SKIP() << made.error().message();
  ASSERT_TRUE((*made)->make("1"));
  const std::string entrance = (*made)->entrances("1").front();
  const std::string folder = fs::path(entrance).parent_path();
  const auto can_open = [&](const char* device) {
    const std::string script = text("exec 3<", device);
    return WEXITSTATUS(status_of(start_in({entrance}, script.c_str()))) == 0;
  };
  if (const Result<void> denied = deny_devices(folder, 1, {5, 9}); !denied) {
    GTEST_SKIP() << denied.error().message();
  }
  EXPECT_TRUE(can_open("/dev/null"));
  EXPECT_FALSE(can_open("/dev/zero"));
  EXPECT_TRUE(can_open("/dev/full"));
  EXPECT_FALSE(can_open("/dev/urandom"));
  ASSERT_TRUE(deny_devices(folder, 1, {7}));
  EXPECT_TRUE(can_open("/dev/zero"));
  EXPECT_FALSE(can_open("/dev/full"));
  ASSERT_TRUE(deny_devices(folder, 1, {}));
  EXPECT_TRUE(can_open("/dev/full"));
  EXPECT_TRUE(comes_true([&] { return (*made)->remove("1").has_value(); }));
}

// --- runs --------------------------------------------------------------------------------------

TEST(Isolator, ADaemonWithoutNameOrParentIsKilledWithItsRun) {
  std::unique_ptr<Cgroups> real = real_cgroups();
  if (real == nullptr) GTEST_SKIP();
  Cgroups& groups = *real;
  Isolator isolator(std::move(real));
  ASSERT_TRUE(isolator.prepare(7, amounts("cpus:0.5;mem:32")));
  const pid_t pid =
      start_in(isolator.entrances(7), "env -i setsid sh -c 'sleep 100 & sleep 100' &");
  EXPECT_EQ(status_of(pid), 0);  // it has left its descendants behind
  ASSERT_TRUE(isolator.usage(7));
  EXPECT_TRUE(comes_true([&] { return isolator.usage(7)->processes == 3; }));
  while (isolator.kill_all(7)) poll(nullptr, 0, 1);
  isolator.cleanup(7);
  EXPECT_FALSE(isolator.usage(7));
  EXPECT_FALSE(isolator.tidy_up());
  EXPECT_LE(groups.groups().size(), 1u);  // kept for the next run
}

TEST(Isolator, TheNextLifeFindsGroupsOfRunsAndEndsTheOthers) {
  std::unique_ptr<Cgroups> real = real_cgroups();
  if (real == nullptr) GTEST_SKIP();
  auto first = std::make_unique<Isolator>(std::move(real));
  pid_t pids[2] = {};
  for (const uint64_t run : {1, 2}) {
    ASSERT_TRUE(first->prepare(run, amounts("cpus:0.5;mem:32")));
    pids[run - 1] = start_in(first->entrances(run), "exec sleep 100");
  }
  for (const pid_t pid : pids) {
    ASSERT_TRUE(comes_true([&] { return read(text("/proc/", pid, "/comm")) == "sleep"; }));
  }
  first.reset();

  Isolator second(real_cgroups());
  second.recover(1, pids[0]);
  while (second.kill_strays()) poll(nullptr, 0, 1);
  EXPECT_TRUE(WIFSIGNALED(status_of(pids[1])));
  EXPECT_FALSE(find_process(pids[0])->zombie);
  ASSERT_TRUE(second.usage(1));
  EXPECT_EQ(second.usage(1)->memory_limit_bytes, 64 * kMebi);
  second.update(1, amounts("cpus:1;mem:64"));
  EXPECT_EQ(second.usage(1)->memory_limit_bytes, 96 * kMebi);
  EXPECT_TRUE(second.kill_all(1));
  EXPECT_TRUE(WIFSIGNALED(status_of(pids[0])));
  second.cleanup(1);
}

}  // namespace
}  // namespace isolator_test
}  // namespace proffer::agent
