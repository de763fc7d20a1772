// The hosts near each task. Read `locate` first; then LocalityBuckets, which divides tasks into
// asks.

#include "frameworks/batch/core/locality.h"

#include <algorithm>
#include <set>

#include "common/limits.h"
#include "common/text.h"
#include "frameworks/batch/core/bytes.h"
#include "frameworks/batch/core/job.h"

namespace proffer::batch {
namespace {

std::vector<uint32_t> only_if_any(std::vector<uint32_t> groups) {
  const bool any = std::any_of(groups.begin(), groups.end(), [](uint32_t one) { return one > 0; });
  return any ? groups : std::vector<uint32_t>();
}

Result<std::vector<std::string>> parse_hosts(std::string_view given) {
  std::set<std::string> hosts;
  for (const std::string_view host : split(given, ',')) {
    if (Result<void> ok = check_name("host", host); !ok) return std::move(ok).error();
    hosts.emplace(host);
  }
  if (hosts.size() > kHostsOfTaskMax) {
    return Error::invalid_argument(
        text(hosts.size(), " hosts are named; at most ", kHostsOfTaskMax, " are allowed"));
  }
  return std::vector<std::string>(hosts.begin(), hosts.end());
}

// The hosts of the file, or of the nearest directory above it that has any.
const std::vector<std::string>* hosts_of(const HostsOfPaths& hosts, std::string_view path) {
  for (std::string place(path); !place.empty(); place.resize(place.rfind('/'))) {
    const auto found = hosts.find(place);
    if (found != hosts.end()) return &found->second;
  }
  const auto root = hosts.find("/");
  return root == hosts.end() ? nullptr : &root->second;
}

std::vector<std::string> hosts_of(const HostsOfPaths& hosts, const Split& split) {
  std::map<std::string_view, int64_t> bytes;
  int64_t most = 0;
  for (const Chunk& chunk : split.chunks) {
    const std::vector<std::string>* of_file = hosts_of(hosts, chunk.path);
    if (of_file == nullptr) continue;
    for (const std::string& host : *of_file) most = std::max(most, bytes[host] += chunk.length);
  }
  std::vector<std::string> near;
  for (const auto& [host, amount] : bytes) {
    if (amount >= most - most / 2 && near.size() < kHostsOfTaskMax) near.emplace_back(host);
  }
  return near;
}

}  // namespace

std::vector<uint32_t> Locality::of_maps(size_t count) const {
  std::vector<uint32_t> of_tasks;
  for (const Run& run : maps) {
    const size_t left = count - of_tasks.size();
    of_tasks.insert(of_tasks.end(), std::min<size_t>(run.count, left),
                    run.group > 0 ? run.group : all);
  }
  of_tasks.resize(count, all);
  return only_if_any(std::move(of_tasks));
}

std::vector<uint32_t> Locality::of_others(size_t count) const {
  return only_if_any(std::vector<uint32_t>(count, all));
}

Result<void> check_locality(const Locality& locality, int64_t maps) {
  if (locality == Locality()) return {};
  if (locality.groups.empty() || locality.groups.size() > kHostGroupsMax) {
    return Error::invalid_argument(text("the inputs lie on ", locality.groups.size(),
                                        " different sets of hosts; at most ", kHostGroupsMax,
                                        " are allowed"))
        .with_hint("name directories in the locality file instead of single files");
  }
  for (const std::vector<std::string>& hosts : locality.groups) {
    if (hosts.empty() || hosts.size() > kHostsOfTaskMax) {
      return Error::invalid_argument(
          text("a task prefers from 1 to ", kHostsOfTaskMax, " hosts, not ", hosts.size()));
    }
    for (size_t i = 0; i < hosts.size(); ++i) {
      if (Result<void> ok = check_name("preferred host", hosts[i]); !ok) return ok;
      if (i > 0 && hosts[i] <= hosts[i - 1]) {
        return Error::invalid_argument(
            text("preferred host ", quoted(hosts[i]), " is given twice, or out of order"));
      }
    }
  }
  int64_t count = 0;
  const auto is_group = [&](uint32_t group) { return group <= locality.groups.size(); };
  for (const Locality::Run& run : locality.maps) {
    count += run.count;
    if (run.count == 0 || !is_group(run.group)) {
      return Error::invalid_argument("the list of the map tasks' hosts is invalid");
    }
  }
  if (count > maps || !is_group(locality.all)) {
    return Error::invalid_argument(
        text("hosts are listed for ", count, " map tasks, but the job has ", maps));
  }
  if (locality.wait < Duration() || locality.wait > kLocalityWaitMax) {
    return Error::invalid_argument(text("locality_wait must be from 0s to ",
                                        to_text(kLocalityWaitMax), ", not ",
                                        to_text(locality.wait)));
  }
  return {};
}

void write(ByteWriter& out, const Locality& locality) {
  out.number(locality.groups.size());
  for (const std::vector<std::string>& hosts : locality.groups) {
    out.number(hosts.size());
    for (const std::string& host : hosts) out.bytes(host);
  }
  out.number(locality.all);
  out.number(locality.maps.size());
  for (const Locality::Run& run : locality.maps) {
    out.number(run.group);
    out.number(run.count);
  }
  out.signed_number(locality.wait.nanos());
}

Locality read_locality(ByteReader& in) {
  Locality locality;
  const size_t groups = in.count(kHostGroupsMax);
  for (size_t i = 0; in.ok() && i < groups; ++i) {
    std::vector<std::string>& hosts = locality.groups.emplace_back();
    const size_t count = in.count(kHostsOfTaskMax);
    for (size_t k = 0; in.ok() && k < count; ++k) hosts.emplace_back(in.bytes(kNameBytesMax));
  }
  locality.all = in.number32(kHostGroupsMax);
  const size_t runs = in.count(kMapsMax);
  for (size_t i = 0; in.ok() && i < runs; ++i) {
    Locality::Run run;
    run.group = in.number32(kHostGroupsMax);
    run.count = in.number32(kMapsMax);
    locality.maps.push_back(run);
  }
  locality.wait = nanoseconds(in.amount(kLocalityWaitMax.nanos()));
  if (locality.empty()) in.fail();  // there is only one encoding of no hosts
  return locality;
}

Result<HostsOfPaths> parse_hosts_of_paths(std::string_view given) {
  HostsOfPaths hosts;
  int64_t number = 0;
  for (std::string_view line : split(given, '\n')) {
    ++number;
    line = trimmed(line);
    if (line.empty() || line.front() == '#') continue;
    const size_t gap = line.find_first_of(" \t");
    std::string path(gap == std::string_view::npos ? "" : trimmed(line.substr(gap)));
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    if (path.empty() || path.front() != '/') {
      return Error::invalid_argument(text("line ", number, ": write hosts and an absolute ",
                                          "path, not ", quoted(line)))
          .with_hint("for example: agent-1,agent-2 /data/logs");
    }
    Result<std::vector<std::string>> parsed = parse_hosts(line.substr(0, gap));
    if (!parsed) return std::move(parsed).error().in(text("line ", number));
    if (!hosts.emplace(path, *std::move(parsed)).second) {
      return Error::invalid_argument(text("line ", number, ": ", quoted(path), " is given twice"));
    }
  }
  if (hosts.empty()) return Error::invalid_argument("no line names a host");
  return hosts;
}

std::string to_text(const HostsOfPaths& hosts) {
  std::string lines;
  for (const auto& [path, near] : hosts) {
    for (size_t i = 0; i < near.size(); ++i) lines += text(i == 0 ? "" : ",", near[i]);
    lines += text(" ", path, "\n");
  }
  return lines;
}

Locality planned_locality(const Locality& known, Locality planned) {
  if (planned.empty()) return known;
  if (known.all > 0) {
    planned.groups.push_back(known.groups[known.all - 1]);
    planned.all = static_cast<uint32_t>(planned.groups.size());
  }
  return planned;
}

Result<Locality> locate(const std::vector<Split>& splits, const HostsOfPaths& hosts,
                        const std::vector<std::string>& all, Duration wait) {
  Locality locality;
  std::map<std::vector<std::string>, uint32_t> known;
  const auto group_of = [&](const std::vector<std::string>& of_task) {
    if (of_task.empty()) return uint32_t{0};
    const auto [found, is_new] =
        known.emplace(of_task, static_cast<uint32_t>(locality.groups.size() + 1));
    if (is_new) locality.groups.push_back(of_task);
    return found->second;
  };
  const std::set<std::string> sorted(all.begin(), all.end());
  locality.all = group_of({sorted.begin(), sorted.end()});
  for (const Split& split : splits) {
    if (hosts.empty()) break;
    const uint32_t group = group_of(hosts_of(hosts, split));
    if (locality.maps.empty() || locality.maps.back().group != group) {
      locality.maps.push_back({.group = group, .count = 0});
    }
    ++locality.maps.back().count;
  }
  if (locality.empty()) return Locality();
  locality.wait = wait;
  if (Result<void> ok = check_locality(locality, static_cast<int64_t>(splits.size())); !ok) {
    return std::move(ok).error();
  }
  return locality;
}

// --- asks ------------------------------------------------------------------------------------

LocalityBuckets::LocalityBuckets(const Locality& locality, const std::vector<uint32_t>& groups)
    : buckets_(locality.groups.size() + 1, kRest) {
  buckets_[0] = kNone;
  std::vector<std::pair<int64_t, uint32_t>> sizes(buckets_.size());
  for (uint32_t group = 0; group < sizes.size(); ++group) sizes[group].second = group;
  for (const uint32_t group : groups) --sizes[group].first;
  sizes.erase(sizes.begin());
  std::sort(sizes.begin(), sizes.end());  // the largest first
  for (size_t i = 0; i < std::min(sizes.size(), kOwnMax); ++i) {
    buckets_[sizes[i].second] = i + 1;
    own_groups_[i + 1] = sizes[i].second;
  }
  std::set<std::string> rest;
  for (uint32_t group = 1; group < buckets_.size(); ++group) {
    const std::vector<std::string>& hosts = locality.groups[group - 1];
    for (const std::string& host : hosts) near_[AgentId(host)].push_back(group);
    if (buckets_[group] != kRest) {
      hosts_[buckets_[group]] = hosts;
    } else {
      for (const std::string& host : hosts) {
        if (rest.size() < kPreferredMax) rest.insert(host);
      }
    }
  }
  hosts_[kRest].assign(rest.begin(), rest.end());
}

const std::vector<uint32_t>& LocalityBuckets::near(const AgentId& agent) const {
  static const std::vector<uint32_t> kNowhere;
  const auto found = near_.find(agent);
  return found == near_.end() ? kNowhere : found->second;
}

}  // namespace proffer::batch
