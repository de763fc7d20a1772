// One function per check, in the order of printing.

#include "slave/doctor/findings.h"

#include <algorithm>

#include "common/text.h"
#include "slave/shell/descriptors.h"

namespace proffer::doctor {
namespace {

constexpr int64_t kBytesPerMib = int64_t{1} << 20;
constexpr uint32_t kOthersWrite = 022;  // group or all users

Finding ok(std::string check, std::string what) {
  return {.check = std::move(check), .what = std::move(what)};
}
Finding warning(std::string check, std::string what, std::string effect, std::string fix) {
  return {std::move(check), Verdict::kWarning, std::move(what), std::move(effect), std::move(fix)};
}
Finding fails(std::string check, std::string what, std::string effect, std::string fix) {
  return {std::move(check), Verdict::kFails, std::move(what), std::move(effect), std::move(fix)};
}

}  // namespace

std::string_view to_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return "ok";
    case Verdict::kWarning:
      return "warning";
    case Verdict::kFails:
      return "fails";
  }
  return "fails";
}

Finding judge_limits(const Result<agent::Enforced>& enforced, bool is_root) {
  const std::string fix = is_root ? "mount the missing cgroup controllers, or boot with "
                                    "systemd.unified_cgroup_hierarchy=1"
                                  : "run the agent as root: sudo proffer agent (the package's unit "
                                    "does), or sudo proffer dev";
  const std::string effect =
      "a task may use more than it asked for, and its processes can outlive it";
  if (!enforced) {
    return warning("limits", text("limits are not enforced: ", enforced.error().message()), effect,
                   fix);
  }
  if (!enforced->missing.empty()) return warning("limits", to_text(*enforced), effect, fix);
  return ok("limits", to_text(*enforced));
}

Finding judge_namespaces(const NamespaceFacts& facts, bool is_root) {
  const bool none = !facts.most || *facts.most == 0;
  const bool only_root = facts.unprivileged == std::optional<int64_t>(0);
  const std::string effect =
      "Proffer does not need them; tasks that create containers themselves (podman, bwrap) fail";
  if (none) {
    return warning("namespaces", "there are no user namespaces", effect,
                   "sudo sysctl user.max_user_namespaces=10000");
  }
  if (only_root && !is_root) {
    return warning("namespaces", "only root may create user namespaces", effect,
                   "sudo sysctl kernel.unprivileged_userns_clone=1");
  }
  return ok("namespaces", "tasks may create user namespaces");
}

Finding judge_descriptors(uint64_t limit) {
  constexpr size_t kFew = 200;
  const size_t tasks =
      agent::descriptor_shares(static_cast<size_t>(std::min<uint64_t>(limit, 1u << 30)), SIZE_MAX)
          .executors;
  const std::string what =
      text(limit, " open descriptors are allowed, enough for ", tasks, " executors at a time");
  if (tasks >= kFew) return ok("descriptors", what);
  return warning("descriptors", what, text("an agent refuses task number ", tasks + 1),
                 "ulimit -Hn 65536, or LimitNOFILE=65536 in the unit");
}

Finding judge_processes(uint64_t most) {
  constexpr uint64_t kFew = 1'000;
  const std::string what = text("the maximum is ", most);
  if (most >= kFew) return ok("processes", what);
  return warning("processes", what, "executors cannot be started when the maximum is reached",
                 "ulimit -u 65536, and sudo sysctl kernel.pid_max=4194304");
}

Finding judge_clock(const ClockFacts& facts) {
  const Time sane = Time::from_nanos(int64_t{1'600'000'000} * 1'000'000'000);  // September 2020
  const std::string effect =
      "times of tasks and of the history are wrong; timeouts use another clock and are right";
  const std::string fix = "sudo timedatectl set-ntp true";
  if (facts.now < sane) return fails("clock", "it is before 2020", effect, fix);
  if (facts.newest > facts.now + minutes(1)) {
    return warning("clock",
                   text("files were written ", proffer::to_text(facts.newest - facts.now),
                        " in the future: the clock was set back"),
                   effect, fix);
  }
  return ok("clock", "it is not before the newest file");
}

Finding judge_disk(const DiskFacts& facts) {
  const std::string free =
      text(facts.free_bytes / kBytesPerMib, " MiB are free on the disk of ", facts.folder, ", ",
           facts.reserve_bytes / kBytesPerMib, " MiB must stay free");
  if (facts.is_read_only) {
    return fails("disk", text(facts.folder, " is on a read-only file system"),
                 "an agent cannot start there",
                 text("sudo mount -o remount,rw \"$(findmnt -no TARGET -T ", facts.folder, ")\""));
  }
  if (!facts.is_writable) {
    return fails("disk", text("this user may not write to ", facts.folder),
                 "an agent of this user cannot start there",
                 "use another directory: --work_dir=DIR");
  }
  if (facts.free_bytes < facts.reserve_bytes) {
    return fails("disk", free, "an agent takes no tasks",
                 text("make room, or use another directory: --work_dir=DIR; see du -xh ",
                      facts.folder, " | sort -h | tail"));
  }
  if (facts.free_files >= 0 && facts.free_files < facts.reserve_files) {
    return fails("disk",
                 text("only ", facts.free_files, " more files fit on the disk of ", facts.folder,
                      ", ", facts.reserve_files, " must stay free"),
                 "an agent takes no tasks",
                 "remove files, or use another directory: --work_dir=DIR");
  }
  if (facts.forbids_programs) {
    return warning("disk", text(facts.folder, " is mounted noexec"),
                   "programs that tasks fetch into their sandbox cannot be run",
                   "use another directory: --work_dir=DIR");
  }
  return ok("disk", free);
}

Finding judge_ports(const PortFacts& facts) {
  const std::string range = to_text(facts.range);
  const auto first = static_cast<int64_t>(facts.range.ranges().front().first);
  const auto last = static_cast<int64_t>(facts.range.ranges().back().last);
  if (facts.outgoing_first <= last && facts.outgoing_last >= first) {
    return warning("ports",
                   text(range, " are offered, and the kernel uses ", facts.outgoing_first, "-",
                        facts.outgoing_last, " for outgoing connections"),
                   "sometimes a task's port is taken before the task listens",
                   text("sudo sysctl net.ipv4.ip_local_reserved_ports=", first, "-", last));
  }
  if (facts.in_use.size() * 2 > facts.range.size()) {
    return warning("ports", text("of ", range, " ", facts.in_use.size(), " are in use"),
                   "few tasks with ports fit",
                   "offer others: --resources 'ports:[41000-42000]', or see: ss -tlnp");
  }
  if (!facts.in_use.empty()) {
    return ok("ports", text(range, " are offered, but ", to_text(facts.in_use),
                            ", where other processes listen"));
  }
  return ok("ports", text(range, " are offered"));
}

Finding judge_programs(const std::string& folder, const std::vector<std::string>& missing) {
  if (missing.empty()) return ok("programs", text("all are in ", folder));
  const bool shell = std::find(missing.begin(), missing.end(), "/bin/sh") != missing.end();
  return fails("programs", text("missing, or not executable: ", listed(missing)),
               shell ? "no command can be run" : "tasks cannot be started",
               shell ? "install a shell"
                     : "install the package again: apt-get install --reinstall "
                       "proffer, or build the target `programs`");
}

Finding judge_run_folder(const FolderFacts& facts, uint32_t user) {
  const bool is_mine = facts.owner == user || facts.owner == 0;
  if (!facts.is_there) {
    return ok("run folder", text(facts.path, " does not exist yet; the daemons create it"));
  }
  const std::string effect =
      "programs refuse sockets there, because another user could answer for the master";
  if (!facts.is_folder) {
    return fails("run folder", text(facts.path, " is not a folder"), effect,
                 text("sudo rm ", facts.path));
  }
  if ((facts.mode & kOthersWrite) != 0) {
    return fails("run folder", text(facts.path, " is writable for other users"), effect,
                 text("sudo chmod go-w ", facts.path));
  }
  // The master of the packages runs as a system user, who owns its folder.
  return ok("run folder", text(facts.path, is_mine ? "" : text(" of uid ", facts.owner)));
}

Finding judge_master(const MasterFacts& facts, uint32_t user) {
  if (facts.failed) {
    return warning("master",
                   text("no master can be reached at ", facts.address, ": ", *facts.failed),
                   "an agent of this machine has no cluster to join there",
                   "sudo systemctl start proffer-master, or use another: proffer doctor "
                   "--master=ADDRESS, as proffer dev prints it");
  }
  if (facts.served_by && *facts.served_by != 0 && *facts.served_by != user &&
      *facts.served_by != facts.folder_owner) {
    return fails("master",
                 text(facts.address, " is served by uid ", *facts.served_by,
                      ", which is not root, this user or the owner of its folder"),
                 "programs refuse it", text("see who it is: sudo ss -xlp src ", facts.address));
  }
  return ok("master", facts.served_by ? text(facts.address, ", served by uid ", *facts.served_by)
                                      : facts.address);
}

}  // namespace proffer::doctor
