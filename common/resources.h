#pragma once

// Exact amounts of resources and their text form,
// "cpus:2;mem:512;disk:1024;gpus:1;ports:[31000-32000]". Amounts are int64 milli-units: 1 CPU =
// 1000, 1 MiB = 1000, 1 GPU = 1000.

#include <array>
#include <compare>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/limits.h"
#include "common/result.h"

namespace proffer {

enum class ResourceKind : uint8_t { kCpus, kMem, kDisk, kGpus };
inline constexpr size_t kResourceKindCount = 4;
inline constexpr std::array<ResourceKind, kResourceKindCount> kResourceKinds = {
    ResourceKind::kCpus, ResourceKind::kMem, ResourceKind::kDisk, ResourceKind::kGpus};

std::string_view to_text(ResourceKind kind);  // "cpus", "mem", "disk", "gpus"
std::ostream& operator<<(std::ostream& out, ResourceKind kind);
std::optional<ResourceKind> parse_resource_kind(std::string_view text);

// All kinds together, in one cache line; four slots are reserved for kinds that a cluster names
// itself. Differences may be negative; amounts that people or peers give may not.
class ResourceVector {
 public:
  constexpr ResourceVector() = default;
  static constexpr ResourceVector of(int64_t cpus, int64_t mem, int64_t disk = 0,
                                     int64_t gpus = 0) {
    ResourceVector v;
    v.milli_ = {cpus, mem, disk, gpus};
    return v;
  }

  constexpr int64_t operator[](ResourceKind kind) const {
    return milli_[static_cast<size_t>(kind)];
  }
  constexpr int64_t& operator[](ResourceKind kind) { return milli_[static_cast<size_t>(kind)]; }

  constexpr bool operator==(const ResourceVector&) const = default;
  constexpr ResourceVector& operator+=(const ResourceVector& o) {
    for (size_t i = 0; i < milli_.size(); ++i) milli_[i] += o.milli_[i];
    return *this;
  }
  constexpr ResourceVector& operator-=(const ResourceVector& o) {
    for (size_t i = 0; i < milli_.size(); ++i) milli_[i] -= o.milli_[i];
    return *this;
  }
  constexpr ResourceVector operator+(const ResourceVector& o) const {
    return ResourceVector(*this) += o;
  }
  constexpr ResourceVector operator-(const ResourceVector& o) const {
    return ResourceVector(*this) -= o;
  }
  constexpr ResourceVector operator*(int64_t k) const {
    ResourceVector v(*this);
    for (int64_t& amount : v.milli_) amount *= k;
    return v;
  }

  // True if each kind is at most that of `o`. (This is not a total order: it may hold in neither
  // direction.)
  constexpr bool fits_in(const ResourceVector& o) const {
    for (size_t i = 0; i < milli_.size(); ++i) {
      if (milli_[i] > o.milli_[i]) return false;
    }
    return true;
  }
  constexpr bool is_zero() const { return *this == ResourceVector(); }
  constexpr bool has_negative() const {
    for (const int64_t amount : milli_) {
      if (amount < 0) return true;
    }
    return false;
  }
  // The least or the largest amount of each kind.
  ResourceVector min(const ResourceVector& o) const;
  ResourceVector max(const ResourceVector& o) const;

 private:
  std::array<int64_t, 8> milli_{};
};
static_assert(sizeof(ResourceVector) == 64);

inline constexpr int32_t kWholeDevice = 1'000;

// A GPU device of an agent, or a part of one.
struct GpuDevice {
  int32_t index = 0;
  int32_t milli = 0;  // amount of this device, up to kWholeDevice
  auto operator<=>(const GpuDevice&) const = default;
};

struct PortRange {
  uint16_t first = 0;
  uint16_t last = 0;  // included
  auto operator<=>(const PortRange&) const = default;
};

// A set of ports as sorted, disjoint, non-adjacent ranges. Operations are linear in the ranges.
class PortSet {
 public:
  PortSet() = default;
  // From ranges in any order; overlaps are joined. Each needs 1 <= first <= last.
  explicit PortSet(std::vector<PortRange> ranges);

  const std::vector<PortRange>& ranges() const { return ranges_; }
  bool empty() const { return ranges_.empty(); }
  int64_t size() const;
  bool contains(uint16_t port) const;
  bool contains(const PortSet& other) const;
  bool intersects(const PortSet& other) const;
  PortSet& operator+=(const PortSet& other);
  PortSet& operator-=(const PortSet& other);
  // The `count` lowest ports; none if there are fewer.
  std::optional<std::vector<uint16_t>> lowest(int64_t count) const;
  bool operator==(const PortSet&) const = default;

 private:
  std::vector<PortRange> ranges_;
};

// Amounts with their devices and ports. If `gpus` is not empty, its sum is amounts[kGpus].
struct Resources {
  ResourceVector amounts = {};
  std::vector<GpuDevice> gpus = {};  // sorted by index, each at most once, milli in 1..1000
  PortSet ports = {};

  bool operator==(const Resources&) const = default;
  bool is_zero() const { return amounts.is_zero() && ports.empty(); }
  // Union and difference, device by device and port by port. `-=` CHECKs that `o` is contained.
  Resources& operator+=(const Resources& o);
  Resources& operator-=(const Resources& o);
  // True if all of `o`, with its devices and ports, is contained.
  bool contains(const Resources& o) const;
};

// True if the amounts of `shape` can be taken from `free`: each kind suffices, and its gpus fit
// devices (below 1000 a part of one device, from 1000 whole devices). Ports of `free` are ignored.
bool fits(const ResourceVector& shape, const Resources& free);
// The number of times that `shape` can be taken from `free`, at most `count_max`. A zero shape fits
// count_max times.
int64_t count_that_fits(const ResourceVector& shape, const Resources& free, int64_t count_max);
// Takes `shape` out of `free`, and chooses devices: a part of a device comes from the device with
// the smallest sufficient rest, whole devices are those with the lowest indices. CHECKs fits().
// `free` is not changed.
Resources carve(const ResourceVector& shape, const Resources& free);

// Parses the total of an agent. Gpus are whole: "gpus:2" means devices 0 and 1, "gpus:[0,2-3]"
// means the listed ones. Errors: kInvalidArgument names the part that is wrong: an unknown kind
// (with the nearest known one), a kind given twice, a negative amount, more than 3 decimals, more
// than kAmountMax, an empty range, gpus that are not whole.
Result<Resources> parse_agent_resources(std::string_view text);
// The inverse: devices are listed unless they are the first ones.
std::string print_agent_resources(const Resources& total);
// Parses the resources of one task: amounts only, gpus below 1 or whole, no ports (use named
// dynamic ports). Same errors; at least one kind must be above zero.
Result<ResourceVector> parse_shape(std::string_view text);
// Checks a shape from a peer: no amount is negative or above kAmountMax, and gpus are as above.
Result<void> check_shape(const ResourceVector& shape);
// Parses any resources, "" for none: the inverse of to_text, gpus without device indices. Same
// errors.
Result<Resources> parse_resources(std::string_view text);

std::string to_text(const ResourceVector& amounts);  // "cpus:2;mem:512"; kinds of zero are left out
std::string to_text(const PortSet& ports);           // "[31000-31009,31020]"
std::string to_text(const Resources& resources);     // "cpus:2;mem:512;ports:[31000-31009]"
std::ostream& operator<<(std::ostream& out, const ResourceVector& amounts);
std::ostream& operator<<(std::ostream& out, const PortSet& ports);
std::ostream& operator<<(std::ostream& out, const Resources& resources);

}  // namespace proffer
