#include "common/resources.h"

#include <algorithm>
#include <ostream>
#include <set>

#include "common/byte_units.h"
#include "common/check.h"
#include "common/text.h"

namespace proffer {
namespace {

constexpr std::array<std::string_view, kResourceKindCount> kKindNames = {"cpus", "mem", "disk",
                                                                         "gpus"};

Error no_such_kind(std::string_view name) {
  std::vector<std::string_view> known(kKindNames.begin(), kKindNames.end());
  known.push_back("ports");
  Error error = Error::invalid_argument(
      text("unknown resource kind ", quoted(name), "; known are cpus, mem, disk, gpus and ports"));
  const std::string_view near = name == "memory" ? "mem" : nearest(name, known);
  if (near.empty()) return error;
  return std::move(error).with_hint(text("did you mean ", quoted(near), "?"));
}

// "512" (MiB), "4G", "8GiB", "1.5TiB" in milli-MiB.
Result<int64_t> parse_mebibytes(std::string_view amount) {
  const Result<ByteText> parts = split_byte_text(amount);
  if (!parts) return parts.error();
  Result<int64_t> milli = parse_milli(parts->number);
  if (!milli) {
    return Error(milli.error())
        .with_hint("write MiB, or a unit, as in 512 or 8GiB; the units are K, M, G and T");
  }
  constexpr int kMebiShift = 20;
  const int shift = parts->has_unit ? parts->shift : kMebiShift;
  if (shift >= kMebiShift) {
    if (*milli > kAmountMax >> (shift - kMebiShift)) {
      return Error::invalid_argument(text("the amount ", quoted(amount), " is too large"));
    }
    return *milli << (shift - kMebiShift);
  }
  if (*milli % (int64_t{1} << (kMebiShift - shift)) != 0) {
    return Error::invalid_argument(
        text("the amount ", quoted(amount), " is not a multiple of 0.001 MiB"));
  }
  return *milli >> (kMebiShift - shift);
}

Result<PortSet> parse_ports(std::string_view body) {
  const auto wrong = [&](std::string_view part) {
    return Error::invalid_argument(
        text("ports must be ranges in brackets from 1 to 65535, as in [31000-31099,32000], not ",
             quoted(part)));
  };
  if (body.size() < 2 || body.front() != '[' || body.back() != ']') return wrong(body);
  const std::string_view inside = trimmed(body.substr(1, body.size() - 2));
  if (inside.empty()) return PortSet();
  std::vector<PortRange> ranges;
  for (const std::string_view part : split(inside, ',')) {
    const size_t dash = part.find('-');
    const std::string_view first = trimmed(part.substr(0, dash));
    const std::string_view last =
        dash == std::string_view::npos ? first : trimmed(part.substr(dash + 1));
    const Result<int64_t> from = parse_whole("a port", first, 1, 65535);
    const Result<int64_t> to = parse_whole("a port", last, 1, 65535);
    if (!from || !to || *from > *to || ranges.size() == kPortRangesMax) return wrong(part);
    ranges.push_back({static_cast<uint16_t>(*from), static_cast<uint16_t>(*to)});
  }
  return PortSet(std::move(ranges));
}

// "[0,2-3]", the whole devices of an agent.
Result<std::vector<GpuDevice>> parse_devices(std::string_view body) {
  constexpr int64_t kLast = static_cast<int64_t>(kGpuDevicesMax) - 1;
  const auto wrong = [&](std::string_view part) {
    return Error::invalid_argument(text("gpus must be a number, or devices in brackets from 0 to ",
                                        kLast, ", each once, as in [0,2-3], not ", quoted(part)));
  };
  if (body.size() < 2 || body.back() != ']') return wrong(body);
  const std::string_view inside = trimmed(body.substr(1, body.size() - 2));
  std::set<int32_t> indices;
  for (const std::string_view part : split(inside, ',')) {
    const size_t dash = part.find('-');
    const std::string_view first = trimmed(part.substr(0, dash));
    const std::string_view last =
        dash == std::string_view::npos ? first : trimmed(part.substr(dash + 1));
    const Result<int64_t> from = parse_whole("a device", first, 0, kLast);
    const Result<int64_t> to = parse_whole("a device", last, 0, kLast);
    if (!from || !to || *from > *to) return wrong(part);
    for (int64_t index = *from; index <= *to; ++index) {
      if (!indices.insert(static_cast<int32_t>(index)).second) return wrong(part);
    }
  }
  std::vector<GpuDevice> devices;
  for (const int32_t index : indices) devices.push_back({index, kWholeDevice});
  return devices;
}

std::string print_devices(const std::vector<GpuDevice>& devices) {
  std::string out;
  for (const GpuDevice& device : devices) out += text(out.empty() ? "[" : ",", device.index);
  return out + "]";
}

bool are_the_first(const std::vector<GpuDevice>& devices) {
  return devices.empty() || devices.back().index + 1 == static_cast<int32_t>(devices.size());
}

}  // namespace

std::string_view to_text(ResourceKind kind) { return kKindNames.at(static_cast<size_t>(kind)); }

std::optional<ResourceKind> parse_resource_kind(std::string_view text) {
  for (const ResourceKind kind : kResourceKinds) {
    if (to_text(kind) == text) return kind;
  }
  return std::nullopt;
}

ResourceVector ResourceVector::min(const ResourceVector& o) const {
  ResourceVector v;
  for (size_t i = 0; i < milli_.size(); ++i) v.milli_[i] = std::min(milli_[i], o.milli_[i]);
  return v;
}

ResourceVector ResourceVector::max(const ResourceVector& o) const {
  ResourceVector v;
  for (size_t i = 0; i < milli_.size(); ++i) v.milli_[i] = std::max(milli_[i], o.milli_[i]);
  return v;
}

PortSet::PortSet(std::vector<PortRange> ranges) : ranges_(std::move(ranges)) {
  std::sort(ranges_.begin(), ranges_.end());
  std::vector<PortRange> joined;
  for (const PortRange& range : ranges_) {
    CHECK(range.first >= 1 && range.first <= range.last);
    if (!joined.empty() && int{range.first} <= int{joined.back().last} + 1) {
      joined.back().last = std::max(joined.back().last, range.last);
    } else {
      joined.push_back(range);
    }
  }
  ranges_ = std::move(joined);
}

int64_t PortSet::size() const {
  int64_t count = 0;
  for (const PortRange& range : ranges_) count += range.last - range.first + 1;
  return count;
}

bool PortSet::contains(uint16_t port) const {
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [&](const PortRange& r) { return r.first <= port && port <= r.last; });
}

bool PortSet::contains(const PortSet& other) const {
  return std::all_of(other.ranges_.begin(), other.ranges_.end(), [&](const PortRange& inner) {
    return std::any_of(ranges_.begin(), ranges_.end(), [&](const PortRange& outer) {
      return outer.first <= inner.first && inner.last <= outer.last;
    });
  });
}

bool PortSet::intersects(const PortSet& other) const {
  return std::any_of(other.ranges_.begin(), other.ranges_.end(), [&](const PortRange& a) {
    return std::any_of(ranges_.begin(), ranges_.end(),
                       [&](const PortRange& b) { return a.first <= b.last && b.first <= a.last; });
  });
}

PortSet& PortSet::operator+=(const PortSet& other) {
  std::vector<PortRange> all = ranges_;
  all.insert(all.end(), other.ranges_.begin(), other.ranges_.end());
  return *this = PortSet(std::move(all));
}

PortSet& PortSet::operator-=(const PortSet& other) {
  for (const PortRange& cut : other.ranges_) {
    std::vector<PortRange> rest;
    for (const PortRange& range : ranges_) {
      if (cut.last < range.first || range.last < cut.first) {
        rest.push_back(range);
        continue;
      }
      if (range.first < cut.first) {
        rest.push_back({range.first, static_cast<uint16_t>(cut.first - 1)});
      }
      if (cut.last < range.last) rest.push_back({static_cast<uint16_t>(cut.last + 1), range.last});
    }
    ranges_ = std::move(rest);
  }
  return *this;
}

std::optional<std::vector<uint16_t>> PortSet::lowest(int64_t count) const {
  std::vector<uint16_t> ports;
  for (const PortRange& range : ranges_) {
    for (int port = range.first; port <= range.last; ++port) {
      if (static_cast<int64_t>(ports.size()) == count) return ports;
      ports.push_back(static_cast<uint16_t>(port));
    }
  }
  if (static_cast<int64_t>(ports.size()) < count) return std::nullopt;
  return ports;
}

Resources& Resources::operator+=(const Resources& o) {
  amounts += o.amounts;
  ports += o.ports;
  for (const GpuDevice& device : o.gpus) {
    const auto at = std::lower_bound(gpus.begin(), gpus.end(), GpuDevice{device.index, 0});
    if (at != gpus.end() && at->index == device.index) {
      at->milli += device.milli;
      CHECK_LE(at->milli, kWholeDevice) << "gpu device " << device.index;
    } else {
      gpus.insert(at, device);
    }
  }
  return *this;
}

Resources& Resources::operator-=(const Resources& o) {
  CHECK(contains(o)) << to_text(o) << " is not in " << to_text(*this);
  amounts -= o.amounts;
  ports -= o.ports;
  for (const GpuDevice& device : o.gpus) {
    const auto at = std::lower_bound(gpus.begin(), gpus.end(), GpuDevice{device.index, 0});
    at->milli -= device.milli;
    if (at->milli == 0) gpus.erase(at);
  }
  return *this;
}

bool Resources::contains(const Resources& o) const {
  if (!o.amounts.fits_in(amounts) || !ports.contains(o.ports)) return false;
  return std::all_of(o.gpus.begin(), o.gpus.end(), [&](const GpuDevice& device) {
    const auto at = std::lower_bound(gpus.begin(), gpus.end(), GpuDevice{device.index, 0});
    return at != gpus.end() && at->index == device.index && at->milli >= device.milli;
  });
}

bool fits(const ResourceVector& shape, const Resources& free) {
  if (!shape.fits_in(free.amounts)) return false;
  const int64_t gpus = shape[ResourceKind::kGpus];
  if (gpus == 0) return true;
  if (gpus < kWholeDevice) {
    return std::any_of(free.gpus.begin(), free.gpus.end(),
                       [&](const GpuDevice& device) { return device.milli >= gpus; });
  }
  const auto whole = std::count_if(free.gpus.begin(), free.gpus.end(), [](const GpuDevice& device) {
    return device.milli == kWholeDevice;
  });
  return whole * kWholeDevice >= gpus;
}

int64_t count_that_fits(const ResourceVector& shape, const Resources& free, int64_t count_max) {
  int64_t count = count_max;
  for (const ResourceKind kind : kResourceKinds) {
    if (shape[kind] > 0) count = std::min(count, free.amounts[kind] / shape[kind]);
  }
  const int64_t gpus = shape[ResourceKind::kGpus];
  if (gpus == 0 || count <= 0) return std::max<int64_t>(count, 0);
  int64_t by_device = 0;
  for (const GpuDevice& device : free.gpus) {
    if (gpus < kWholeDevice)
      by_device += device.milli / gpus;
    else if (device.milli == kWholeDevice)
      ++by_device;
  }
  if (gpus >= kWholeDevice) by_device = by_device * kWholeDevice / gpus;
  return std::min(count, by_device);
}

Resources carve(const ResourceVector& shape, const Resources& free) {
  CHECK(fits(shape, free)) << to_text(shape) << " from " << to_text(free);
  Resources taken{.amounts = shape};
  int64_t gpus = shape[ResourceKind::kGpus];
  if (gpus == 0) return taken;
  if (gpus < kWholeDevice) {
    const GpuDevice* best = nullptr;
    for (const GpuDevice& device : free.gpus) {
      if (device.milli >= gpus && (best == nullptr || device.milli < best->milli)) best = &device;
    }
    taken.gpus.push_back({best->index, static_cast<int32_t>(gpus)});
    return taken;
  }
  for (const GpuDevice& device : free.gpus) {
    if (gpus == 0) break;
    if (device.milli != kWholeDevice) continue;
    taken.gpus.push_back(device);
    gpus -= kWholeDevice;
  }
  return taken;
}

namespace {

// Lists of devices are allowed only for an agent.
Result<Resources> parse_kinds(std::string_view whole, bool is_agents) {
  Resources resources;
  if (trimmed(whole).empty()) return resources;
  std::array<bool, kResourceKindCount + 1> seen{};
  for (const std::string_view part : split(whole, ';')) {
    const size_t colon = part.find(':');
    if (colon == std::string_view::npos) {
      return Error::invalid_argument(
                 text("resources must be KIND:AMOUNT separated by ';', as in cpus:2;mem:512, not ",
                      quoted(whole)))
          .with_hint(whole.find_first_not_of("0123456789.") == whole.npos
                         ? text("name the kind of the amount, as in cpus:", whole)
                         : std::string("name the kind of each amount: cpus, mem, disk or gpus"));
    }
    const std::string_view name = trimmed(part.substr(0, colon));
    const std::string_view amount = trimmed(part.substr(colon + 1));
    if (name != "ports" && amount.find(',') != amount.npos && amount.find(':') != amount.npos) {
      std::string ours(whole);
      std::replace(ours.begin(), ours.end(), ',', ';');
      return Error::invalid_argument(
                 text("resources must be KIND:AMOUNT separated by ';', not ", quoted(whole)))
          .with_hint(text("write ", quoted(ours), ", in quotes for the shell"));
    }
    const std::optional<ResourceKind> kind = parse_resource_kind(name);
    if (!kind && name != "ports") return no_such_kind(name);
    const size_t slot = kind ? static_cast<size_t>(*kind) : kResourceKindCount;
    if (seen[slot]) {
      return Error::invalid_argument(
          text("resource kind ", quoted(name), " is given twice in ", quoted(whole)));
    }
    seen[slot] = true;
    if (!kind) {
      Result<PortSet> ports = parse_ports(amount);
      if (!ports) return std::move(ports).error();
      resources.ports = *std::move(ports);
      continue;
    }
    if (is_agents && *kind == ResourceKind::kGpus && amount.starts_with('[')) {
      Result<std::vector<GpuDevice>> devices = parse_devices(amount);
      if (!devices) return std::move(devices).error();
      resources.gpus = *std::move(devices);
      resources.amounts[*kind] = static_cast<int64_t>(resources.gpus.size()) * kWholeDevice;
      continue;
    }
    const bool bytes = *kind == ResourceKind::kMem || *kind == ResourceKind::kDisk;
    Result<int64_t> milli = bytes ? parse_mebibytes(amount) : parse_milli(amount);
    if (!milli) return std::move(milli).error().in(name);
    resources.amounts[*kind] = *milli;
  }
  return resources;
}

}  // namespace

Result<Resources> parse_resources(std::string_view whole) { return parse_kinds(whole, false); }

Result<Resources> parse_agent_resources(std::string_view whole) {
  Result<Resources> parsed = parse_kinds(whole, true);
  if (!parsed) return parsed;
  const int64_t gpus = parsed->amounts[ResourceKind::kGpus];
  if (gpus % kWholeDevice != 0 || gpus / kWholeDevice > static_cast<int64_t>(kGpuDevicesMax)) {
    return Error::invalid_argument(text("an agent's gpus must be a whole number from 0 to ",
                                        kGpuDevicesMax, ", not ", print_milli(gpus)));
  }
  if (parsed->amounts.is_zero()) {
    return Error::invalid_argument(
        text("an agent must have more than zero of some kind, as in cpus:2;mem:2048, not ",
             quoted(whole)));
  }
  if (!parsed->gpus.empty()) return parsed;
  for (int32_t i = 0; i < gpus / kWholeDevice; ++i) parsed->gpus.push_back({i, kWholeDevice});
  return parsed;
}

std::string print_agent_resources(const Resources& total) {
  if (are_the_first(total.gpus)) return to_text(total);
  Resources others = total;
  others.amounts[ResourceKind::kGpus] = 0;
  others.gpus.clear();
  others.ports = PortSet();
  std::string out = to_text(others);
  out += text(out.empty() ? "" : ";", to_text(ResourceKind::kGpus), ":", print_devices(total.gpus));
  if (!total.ports.empty()) out += text(";ports:", to_text(total.ports));
  return out;
}

Result<ResourceVector> parse_shape(std::string_view whole) {
  Result<Resources> parsed = parse_resources(whole);
  if (!parsed) return std::move(parsed).error();
  if (!parsed->ports.empty()) {
    return Error::invalid_argument(
        text("a task's resources cannot include ports, as ", quoted(whole), " does"));
  }
  if (Result<void> checked = check_shape(parsed->amounts); !checked) {
    return std::move(checked).error();
  }
  return parsed->amounts;
}

Result<void> check_shape(const ResourceVector& shape) {
  if (shape.is_zero()) {
    return Error::invalid_argument("a task must take more than zero of some resource kind");
  }
  for (const ResourceKind kind : kResourceKinds) {
    if (shape[kind] >= 0 && shape[kind] <= kAmountMax) continue;
    return Error::invalid_argument(text(to_text(kind), " must be from 0 to ", kAmountMax / 1000,
                                        ", not ", print_milli(shape[kind])));
  }
  const int64_t gpus = shape[ResourceKind::kGpus];
  if (gpus > kWholeDevice && gpus % kWholeDevice != 0) {
    return Error::invalid_argument(
        text("gpus must be below 1 (a part of one device) or whole, not ", print_milli(gpus)));
  }
  return {};
}

std::string to_text(const ResourceVector& amounts) {
  std::string out;
  for (const ResourceKind kind : kResourceKinds) {
    if (amounts[kind] == 0) continue;
    if (!out.empty()) out += ';';
    out += text(to_text(kind), ':', print_milli(amounts[kind]));
  }
  return out;
}

std::string to_text(const PortSet& ports) {
  std::string out = "[";
  for (const PortRange& range : ports.ranges()) {
    if (out.size() > 1) out += ',';
    out += std::to_string(range.first);
    if (range.last != range.first) out += text('-', range.last);
  }
  return out + "]";
}

std::string to_text(const Resources& resources) {
  std::string out = to_text(resources.amounts);
  if (resources.ports.empty()) return out;
  if (!out.empty()) out += ';';
  return out + "ports:" + to_text(resources.ports);
}

std::ostream& operator<<(std::ostream& out, ResourceKind kind) { return out << to_text(kind); }
std::ostream& operator<<(std::ostream& out, const ResourceVector& amounts) {
  return out << to_text(amounts);
}
std::ostream& operator<<(std::ostream& out, const PortSet& ports) { return out << to_text(ports); }
std::ostream& operator<<(std::ostream& out, const Resources& resources) {
  return out << to_text(resources);
}

}  // namespace proffer
