#pragma once

// Examines this machine for findings.h, mostly with the agent's own code (slave/shell), so that
// both get the same results.

#include <string>
#include <vector>

#include "net/address.h"
#include "slave/doctor/findings.h"

namespace proffer::doctor {

struct DoctorOptions {
  Masters masters = {};       // one of them leads
  std::string work_dir = {};  // of the agent that would run here
  int64_t reserve_bytes = 0;  // the agent's --disk_reserve
  PortSet ports = {};         // that the agent would offer
  std::string bin_dir = {};   // the directory of Proffer's programs
  std::string root = {};      // prefix of /proc; empty except in tests
};

// All checks, in the order of findings.h. Makes a cgroup and removes it; starts no process.
std::vector<Finding> examine(const DoctorOptions& options);

// For tests.
NamespaceFacts look_at_namespaces(const std::string& root);
uint64_t look_at_processes(const std::string& root);
DiskFacts look_at_disk(const std::string& work_dir, int64_t reserve_bytes);
FolderFacts look_at_folder(const std::string& path);
std::vector<std::string> missing_programs(const std::string& bin_dir);
MasterFacts look_at_master(const Address& address);

}  // namespace proffer::doctor
