#pragma once

// Looks at this machine for findings.h. Most with what the agent itself uses when it starts
// (slave/shell), so that the two cannot disagree.

#include <string>
#include <vector>

#include "net/address.h"
#include "slave/doctor/findings.h"

namespace proffer::doctor {

struct DoctorOptions {
  Masters masters = {};       // one leads
  std::string work_dir = {};  // of the agent that would run here
  int64_t reserve_bytes = 0;  // as --disk_reserve of the agent
  PortSet ports = {};         // that it would offer
  std::string bin_dir = {};   // of our programs
  std::string root = {};      // before /proc; empty but in tests
};

// All checks, in the order of findings.h. Makes a cgroup and removes it again; begins no process.
std::vector<Finding> examine(const DoctorOptions& options);

// For tests.
NamespaceFacts look_at_namespaces(const std::string& root);
uint64_t look_at_processes(const std::string& root);
DiskFacts look_at_disk(const std::string& work_dir, int64_t reserve_bytes);
FolderFacts look_at_folder(const std::string& path);
std::vector<std::string> missing_programs(const std::string& bin_dir);
MasterFacts look_at_master(const Address& address);

}  // namespace proffer::doctor
