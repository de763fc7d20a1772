#pragma once

// The records of a service scheduler in the framework's store, as bytes: apps/<name>,
// versions/<name> and blocks/<name>/<number>. All other state is reported by the cluster.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "frameworks/service/core/app.h"
#include "frameworks/service/core/versions.h"

namespace proffer::service {

inline constexpr std::string_view kAppsPrefix = "apps/";
inline constexpr std::string_view kVersionsPrefix = "versions/";
inline constexpr std::string_view kBlocksPrefix = "blocks/";
inline constexpr std::string_view kInstancesPrefix =
    "instances/";                              // of earlier schedulers: one entry each
inline constexpr size_t kWhyBytesMax = 1'024;  // of stored texts for people; cut

// An update that does not continue until it is promoted or resumed.
struct Hold {
  int64_t slots = 0;       // the most slots with the present version; the others have the ready one
  bool is_canary = false;  // beside instances of the ready version; else the update was paused
  bool operator==(const Hold&) const = default;
};

struct AppRecord {
  AppSpec spec = {};
  uint64_t version = 1;
  bool stopping = false;
  std::string owner = {};  // the user that its instances run as; empty: the framework's user
  // For the present version, as in Version.
  Time applied_at = {};
  std::string applied_by = {};
  bool was_ready = false;
  std::string failed = {};
  uint64_t last_version = 1;   // the highest number so far
  uint64_t ready_version = 0;  // the last version whose instances were all ready; 0: none yet
  std::optional<Hold> hold = {};
  std::string rolled_back = {};  // from which version and why; until the next change
  bool waits = false;            // for the apps in spec.after; nothing has been launched yet
  bool operator==(const AppRecord&) const = default;
};

// Written before the instance is launched, and again when it reports a value that is reported only
// once.
struct InstanceRecord {
  AgentId agent = {};
  std::string host = {};
  Time launched_at = {};
  bool has_health_check = false;
  std::optional<bool> healthy = {};
  std::map<std::string, uint16_t> ports = {};
  std::optional<bool> told_ready = {};
  bool operator==(const InstanceRecord&) const = default;
};

// The instances of some slots of an app share one entry of the store, since a framework has few
// entries. Slot n is in block n / kSlotsPerBlock.
inline constexpr int64_t kSlotsPerBlock = 16;
// Instances on unreachable agents stay beside their replacements. A full block launches none until
// one of its instances has ended.
inline constexpr size_t kInstancesPerBlockMax = 64;
// The most bytes of an encoded block; it has names of agents, hosts and ports once.
inline constexpr size_t kBlockBytesMax = 80 * 1024;
using InstanceBlock = std::map<TaskId, InstanceRecord>;
struct BlockName {
  std::string app = {};
  int64_t number = 0;
  auto operator<=>(const BlockName&) const = default;
};

// A framework's quota of the store. Each app takes two keys and one for each block; its last block
// may be nearly empty. One third of the bytes is for instances (each twice in the worst case:
// unreachable, and its replacement), one third for versions (kAllVersionsBytesMax), and one third
// for apps.
inline constexpr size_t kInstanceBytes = 64;  // of most instances in a block
static_assert(3 * kAppsMax + kInstancesKeptMax / kSlotsPerBlock <= kStoreKeysPerFrameworkMax);
static_assert(2 * kInstancesKeptMax * kInstanceBytes <= kStoreBytesPerFrameworkMax / 3);

// The present version. The apps that it waits for are not part of a version.
inline Version present_of(const AppRecord& record) {
  Version present{.spec = record.spec,
                  .applied_at = record.applied_at,
                  .applied_by = record.applied_by,
                  .was_ready = record.was_ready,
                  .failed = record.failed};
  present.spec.after.clear();
  return present;
}

std::string app_key(const std::string& name);
std::string versions_key(const std::string& name);
std::string block_key(const BlockName& name);
// None if it is not the key of a block.
std::optional<BlockName> parse_block_key(std::string_view key);

std::string encode(const AppRecord& record);
std::string encode(const Versions& versions);
std::string encode(const InstanceBlock& block);
// The inverse. Errors: kCorruption, for any bytes that encode() does not make.
Result<AppRecord> decode_app(std::string_view bytes);
Result<Versions> decode_versions(std::string_view bytes);
Result<InstanceBlock> decode_block(const std::string& app, std::string_view bytes);
// The record of an earlier scheduler, under instances/<task id>.
Result<InstanceRecord> decode_instance(std::string_view bytes);

}  // namespace proffer::service
