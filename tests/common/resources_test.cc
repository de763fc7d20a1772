#include "common/resources.h"

#include <bitset>

#include <gtest/gtest.h>

#include "common/prng.h"

namespace proffer::resources_test {
namespace {

constexpr auto kCpus = ResourceKind::kCpus;
constexpr auto kMem = ResourceKind::kMem;
constexpr auto kDisk = ResourceKind::kDisk;
constexpr auto kGpus = ResourceKind::kGpus;

Resources with_gpus(std::vector<GpuDevice> devices) {
  Resources out;
  for (const GpuDevice& device : devices) out.amounts[kGpus] += device.milli;
  out.gpus = std::move(devices);
  return out;
}

TEST(Resources, AreReadFromText) {
  struct Row {
    std::string_view text;
    std::string_view printed;
  };
  const Row rows[] = {
      {"", ""},
      {"cpus:2", "cpus:2"},
      {" cpus : 2 ; mem : 512 ", "cpus:2;mem:512"},
      {"mem:8GiB", "mem:8192"},
      {"mem:1.5TiB;disk:1MiB", "mem:1572864;disk:1"},
      {"mem:1024KiB", "mem:1"},
      {"mem:512KiB", "mem:0.5"},
      {"mem:4G", "mem:4096"},
      {"mem:4Gi;disk:1.5T", "mem:4096;disk:1572864"},
      {"mem:512M;disk:2048K", "mem:512;disk:2"},
      {"mem:0.5GiB", "mem:512"},
      {"gpus:0.25", "gpus:0.25"},
      {"disk:1;cpus:0.001", "cpus:0.001;disk:1"},
      {"cpus:0", ""},
      {"ports:[31000-32000]", "ports:[31000-32000]"},
      {"ports:[5,1-3,4]", "ports:[1-5]"},
      {"ports:[ 7 - 9 , 1 ]", "ports:[1,7-9]"},
      {"ports:[]", ""},
      {"cpus:1;ports:[65535]", "cpus:1;ports:[65535]"},
      {"cpus:1125899906842.624", "cpus:1125899906842.624"},
  };
  for (const Row& row : rows) {
    const Result<Resources> resources = parse_resources(row.text);
    ASSERT_TRUE(resources) << row.text << ": " << resources.error().message();
    EXPECT_EQ(to_text(*resources), row.printed) << row.text;
    const Result<Resources> back = parse_resources(to_text(*resources));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, *resources) << row.text;
  }
}

TEST(Resources, WrongTextIsRefusedAndSaysWhy) {
  struct Row {
    std::string text;
    std::string_view says;
  };
  const Row rows[] = {
      {"cpus", "resources must be KIND:AMOUNT"},
      {"cpus:1;", "resources must be KIND:AMOUNT"},
      {"cpu:1", "unknown resource kind 'cpu'"},
      {"cpus:1;cpus:2", "'cpus' is given twice"},
      {"ports:[1];ports:[2]", "'ports' is given twice"},
      {"cpus:-1", "an amount must be"},
      {"cpus:1.2345", "an amount must be"},
      {"cpus:1GiB", "an amount must be"},
      {"mem:1.2345GiB", "an amount must be"},
      {"mem:8GB", "'8GB' has two readings: 8GiB, or 8000000000 bytes"},
      {"mem:512m", "unknown unit 'm' in '512m'"},
      {"mem:GiB", "an amount must be"},
      {"mem:1KiB", "not a multiple of 0.001 MiB"},
      {"mem:1099511627777GiB", "too large"},
      {"mem:1125899906842.625", "an amount must be"},
      {"cpus:1125899906842.625", "an amount must be"},
      {"ports:1-2", "ports must be ranges"},
      {"ports:[0]", "ports must be ranges"},
      {"ports:[2-1]", "ports must be ranges"},
      {"ports:[65536]", "ports must be ranges"},
      {"ports:[1-]", "ports must be ranges"},
      {"ports:[-1]", "ports must be ranges"},
      {"ports:[1,,2]", "ports must be ranges"},
      {"ports:[", "ports must be ranges"},
  };
  for (const Row& row : rows) {
    const Result<Resources> resources = parse_resources(row.text);
    ASSERT_FALSE(resources) << row.text;
    EXPECT_EQ(resources.error().code(), ErrorCode::kInvalidArgument) << row.text;
    EXPECT_NE(resources.error().message().find(row.says), std::string::npos)
        << row.text << ": " << resources.error().message();
  }
  EXPECT_EQ(parse_resources("cpu:1").error().hint(), "did you mean 'cpus'?");
  EXPECT_EQ(parse_resources("bananas:1").error().hint(), "");
}

TEST(Resources, OfAnAgentNumberItsGpus) {
  const Result<Resources> agent = parse_agent_resources("cpus:4;gpus:3");
  ASSERT_TRUE(agent) << agent.error().message();
  EXPECT_EQ(agent->gpus, (std::vector<GpuDevice>{{0, 1000}, {1, 1000}, {2, 1000}}));
  EXPECT_TRUE(parse_agent_resources("gpus:64"));
  for (const std::string_view wrong :
       {"", "cpus:0", "ports:[1-5]", "cpus:1;gpus:0.5", "cpus:1;gpus:65", "cpus:1;gpus:1.5"}) {
    EXPECT_FALSE(parse_agent_resources(wrong)) << wrong;
  }
}

TEST(Resources, OfAnAgentMayListItsGpus) {
  const Result<Resources> agent = parse_agent_resources("cpus:4;gpus:[5, 0,2-3];ports:[1-2]");
  ASSERT_TRUE(agent) << agent.error().message();
  EXPECT_EQ(agent->gpus, (std::vector<GpuDevice>{{0, 1000}, {2, 1000}, {3, 1000}, {5, 1000}}));
  EXPECT_EQ(agent->amounts, ResourceVector::of(4000, 0, 0, 4000));
  EXPECT_EQ(print_agent_resources(*agent), "cpus:4;gpus:[0,2,3,5];ports:[1-2]");
  EXPECT_EQ(print_agent_resources(*parse_agent_resources("gpus:[1]")), "gpus:[1]");
  // A count means the lowest devices.
  EXPECT_EQ(*parse_agent_resources("gpus:[0-1]"), *parse_agent_resources("gpus:2"));
  EXPECT_EQ(print_agent_resources(*parse_agent_resources("gpus:[1,0];mem:1")), "mem:1;gpus:2");
  for (const std::string_view wrong :
       {"gpus:[]", "gpus:[", "gpus:[64]", "gpus:[-1]", "gpus:[2-1]", "gpus:[0,0]", "gpus:[0.5]"}) {
    EXPECT_FALSE(parse_agent_resources(wrong)) << wrong;
  }
  EXPECT_EQ(parse_agent_resources("gpus:[0,x]").error().message(),
            "gpus must be a number, or devices in brackets from 0 to 63, each once, as in "
            "[0,2-3], not 'x'");
  // A task's shape has a count, not device numbers.
  EXPECT_FALSE(parse_shape("gpus:[0]"));
}

TEST(Resources, OfATaskAreAShape) {
  struct Row {
    std::string_view text;
    bool valid;
  };
  const Row rows[] = {{"cpus:1", true},       {"gpus:0.5", true},          {"gpus:1", true},
                      {"gpus:2;mem:1", true}, {"gpus:1.5", false},         {"", false},
                      {"cpus:0", false},      {"cpus:1;ports:[1]", false}, {"gpus:0.001", true}};
  for (const Row& row : rows) EXPECT_EQ(parse_shape(row.text).has_value(), row.valid) << row.text;
  EXPECT_FALSE(check_shape(ResourceVector::of(-1, 1)));
  EXPECT_FALSE(check_shape(ResourceVector::of(1, kAmountMax + 1)));
  EXPECT_TRUE(check_shape(ResourceVector::of(1, kAmountMax)));
}

TEST(ResourceVectors, AreComparedKindByKind) {
  const auto a = ResourceVector::of(1, 5, 2);
  const auto b = ResourceVector::of(2, 4, 2);
  EXPECT_FALSE(a.fits_in(b));
  EXPECT_FALSE(b.fits_in(a));
  EXPECT_TRUE(a.fits_in(a));
  EXPECT_EQ(a.min(b), ResourceVector::of(1, 4, 2));
  EXPECT_EQ(a.max(b), ResourceVector::of(2, 5, 2));
  EXPECT_EQ(a + b - a, b);
  EXPECT_EQ(a * 3, ResourceVector::of(3, 15, 6));
  EXPECT_TRUE((a - b).has_negative());
  EXPECT_FALSE(a.has_negative());
  EXPECT_TRUE((a - a).is_zero());
  EXPECT_EQ(a[kCpus] + a[kMem] + a[kDisk] + a[kGpus], 8);
}

// --- ports: compared with a plain set of bits --------------------------------------------------

using PortBits = std::bitset<65536>;

PortBits bits_of(const PortSet& ports) {
  PortBits bits;
  for (const PortRange& range : ports.ranges()) {
    for (int port = range.first; port <= range.last; ++port) bits.set(static_cast<size_t>(port));
  }
  return bits;
}

void expect_canonical(const PortSet& ports) {
  int least = 1;
  for (const PortRange& range : ports.ranges()) {
    EXPECT_GE(range.first, least);
    EXPECT_LE(range.first, range.last);
    least = range.last + 2;
  }
}

PortSet random_ports(Prng& prng) {
  std::vector<PortRange> ranges;
  const uint64_t count = prng.below(6);
  const int64_t base =
      prng.chance(1, 3) ? 65535 - 60 : 1;  // near either end, where arithmetic may overflow
  for (uint64_t i = 0; i < count; ++i) {
    const int64_t first = base + prng.between(0, 60);
    const int64_t last = std::min<int64_t>(65535, first + prng.between(0, 12));
    ranges.push_back({static_cast<uint16_t>(first), static_cast<uint16_t>(last)});
  }
  return PortSet(std::move(ranges));
}

TEST(Ports, BehaveAsASetOfPorts) {
  Prng prng(4);
  for (int i = 0; i < 1'500; ++i) {
    const PortSet a = random_ports(prng);
    const PortSet b = random_ports(prng);
    const PortBits in_a = bits_of(a);
    const PortBits in_b = bits_of(b);
    const std::string row = to_text(a) + " and " + to_text(b);
    PortSet sum = a;
    sum += b;
    PortSet difference = a;
    difference -= b;
    expect_canonical(a);
    expect_canonical(sum);
    expect_canonical(difference);
    ASSERT_EQ(bits_of(sum), in_a | in_b) << row;
    ASSERT_EQ(bits_of(difference), in_a & ~in_b) << row;
    ASSERT_EQ(a.size(), static_cast<int64_t>(in_a.count())) << row;
    ASSERT_EQ(a.contains(b), (in_b & ~in_a).none()) << row;
    ASSERT_EQ(a.intersects(b), (in_a & in_b).any()) << row;
    ASSERT_EQ(a == b, in_a == in_b) << row;
    const auto port = static_cast<uint16_t>(prng.between(0, 65535));
    ASSERT_EQ(a.contains(port), in_a.test(port)) << row;
    const int64_t wanted = prng.between(0, 20);
    const auto lowest = a.lowest(wanted);
    ASSERT_EQ(lowest.has_value(), wanted <= a.size()) << row;
    if (!lowest) continue;
    ASSERT_EQ(static_cast<int64_t>(lowest->size()), wanted) << row;
    size_t next = in_a._Find_first();
    for (const uint16_t given : *lowest) {
      ASSERT_EQ(given, next) << row;
      next = in_a._Find_next(next);
    }
  }
}

TEST(Ports, TheHighestAndTheLowestWork) {
  PortSet all({{1, 65535}});
  EXPECT_EQ(all.size(), 65535);
  all -= PortSet({{1, 1}, {65535, 65535}});
  EXPECT_EQ(to_text(all), "[2-65534]");
  all += PortSet({{65535, 65535}});
  EXPECT_EQ(to_text(all), "[2-65535]");
  EXPECT_EQ(PortSet({{65535, 65535}}).lowest(1), std::vector<uint16_t>{65535});
  EXPECT_EQ(PortSet().lowest(0), std::vector<uint16_t>{});
  EXPECT_EQ(PortSet().lowest(1), std::nullopt);
  EXPECT_DEATH(PortSet({{0, 5}}), "");
  EXPECT_DEATH(PortSet({{6, 5}}), "");
}

// --- gpus --------------------------------------------------------------------------------------

TEST(Gpus, FitByDevice) {
  struct Row {
    int64_t shape;
    std::vector<GpuDevice> free;
    int64_t times;
  };
  const Row rows[] = {
      {0, {}, 9},
      {500, {{0, 500}, {1, 499}}, 1},
      {500, {{0, 400}, {1, 400}}, 0},  // enough in total, but not on one device
      {300, {{0, 1000}, {1, 700}}, 5},
      {1000, {{0, 1000}, {1, 999}}, 1},
      {1000, {{0, 500}, {1, 500}}, 0},
      {2000, {{0, 1000}, {3, 1000}, {5, 1000}}, 1},
      {2000, {{0, 1000}, {3, 1000}, {5, 1000}, {6, 1000}}, 2},
      {2000, {{0, 1000}, {1, 999}}, 0},
  };
  for (const Row& row : rows) {
    const auto shape = ResourceVector::of(0, 0, 0, row.shape);
    const Resources free = with_gpus(row.free);
    EXPECT_EQ(count_that_fits(shape, free, 9), row.times) << row.shape;
    EXPECT_EQ(fits(shape, free), row.times > 0) << row.shape;
  }
}

TEST(Gpus, AreCarvedByBestFitAndFromTheLowestWholeDevices) {
  const Resources free = with_gpus({{0, 1000}, {1, 300}, {2, 600}, {4, 1000}});
  const auto gpus = [&](int64_t milli) {
    return carve(ResourceVector::of(0, 0, 0, milli), free).gpus;
  };
  EXPECT_EQ(gpus(300), (std::vector<GpuDevice>{{1, 300}}));
  EXPECT_EQ(gpus(301), (std::vector<GpuDevice>{{2, 301}}));
  EXPECT_EQ(gpus(700), (std::vector<GpuDevice>{{0, 700}}));
  EXPECT_EQ(gpus(1000), (std::vector<GpuDevice>{{0, 1000}}));
  EXPECT_EQ(gpus(2000), (std::vector<GpuDevice>{{0, 1000}, {4, 1000}}));
  EXPECT_DEATH(gpus(3000), "");
}

TEST(Gpus, ADeviceIsNeverMoreThanWhole) {
  Resources sum = with_gpus({{0, 600}});
  EXPECT_DEATH(sum += with_gpus({{0, 600}}), "gpu device 0");
}

Resources random_free(Prng& prng) {
  Resources free;
  free.amounts = ResourceVector::of(prng.between(0, 4000), prng.between(0, 4000));
  for (int32_t i = 0; i < 5; ++i) {
    if (prng.chance(1, 2)) continue;
    const auto milli = static_cast<int32_t>(prng.chance(1, 2) ? 1000 : prng.between(1, 1000));
    free.gpus.push_back({i, milli});
    free.amounts[kGpus] += milli;
  }
  free.ports = random_ports(prng);
  return free;
}

ResourceVector random_shape(Prng& prng) {
  ResourceVector shape = ResourceVector::of(prng.between(0, 1500), prng.between(0, 1500));
  if (prng.chance(2, 3)) {
    shape[kGpus] = prng.chance(1, 2) ? prng.between(1, 999) : 1000 * prng.between(1, 3);
  }
  return shape;
}

// Carved resources can be taken and put back, and the count agrees with repeated carving.
TEST(Resources, CountingIsCarvingOneAfterTheOther) {
  Prng prng(8);
  int several = 0;
  for (int i = 0; i < 5'000; ++i) {
    const Resources free = random_free(prng);
    const ResourceVector shape = random_shape(prng);
    const int64_t counted = count_that_fits(shape, free, 6);
    Resources rest = free;
    Resources taken;
    int64_t carved = 0;
    while (carved < 6 && fits(shape, rest)) {
      const Resources one = carve(shape, rest);
      ASSERT_EQ(one.amounts, shape);
      ASSERT_TRUE(rest.contains(one));
      rest -= one;
      taken += one;
      ++carved;
    }
    ASSERT_EQ(counted, carved) << to_text(shape) << " of " << to_text(free);
    several += carved > 1;
    ASSERT_FALSE(rest.amounts.has_negative());
    int64_t devices = 0;
    for (const GpuDevice& device : rest.gpus) devices += device.milli;
    ASSERT_EQ(devices, rest.amounts[kGpus]);
    rest += taken;
    ASSERT_EQ(rest, free) << to_text(shape) << " of " << to_text(free);
  }
  EXPECT_GT(several, 500);
}

TEST(Resources, ContainWhatTheyHaveByAmountDeviceAndPort) {
  Resources all = with_gpus({{0, 500}, {2, 1000}});
  all.amounts[kCpus] = 1000;
  all.ports = PortSet({{10, 20}});
  EXPECT_TRUE(all.contains(all));
  EXPECT_TRUE(all.contains({}));
  EXPECT_TRUE(all.contains(with_gpus({{0, 500}})));
  EXPECT_FALSE(all.contains(with_gpus({{0, 501}})));
  EXPECT_FALSE(all.contains(with_gpus({{1, 1}})));
  EXPECT_FALSE(all.contains({.amounts = ResourceVector::of(1001, 0)}));
  EXPECT_TRUE(all.contains({.ports = PortSet({{20, 20}})}));
  EXPECT_FALSE(all.contains({.ports = PortSet({{20, 21}})}));
  EXPECT_FALSE(all.is_zero());
  EXPECT_DEATH(all -= with_gpus({{1, 1}}), "is not in");
  all -= Resources(all);
  EXPECT_TRUE(all.is_zero());
  EXPECT_EQ(all, Resources{});
}

}  // namespace
}  // namespace proffer::resources_test
