// Records as bytes: a tag, then fields in a fixed order. Numbers are decimal and end with a ';';
// texts have their length before them. After a malformed value a Reader returns zeros, and reports
// the fault at the end.

#include "frameworks/service/core/records.h"

#include <array>
#include <charconv>
#include <limits>
#include <vector>

#include "common/check.h"
#include "common/text.h"

namespace proffer::service {
namespace {

// Tags by version. Additions: 2, spread and max_per; 3, an owner and a kill signal; 4, files to
// fetch; 5, readiness; 6, the update policy and the history of versions; 7, the apps that it waits
// for and finds, daemon, and files; 8, static ports and secrets; 9, init steps, sidecars, scaling,
// and neighbours.
constexpr std::array<std::string_view, 9> kAppTags = {"app1 ", "app2 ", "app3 ", "app4 ", "app5 ",
                                                      "app6 ", "app7 ", "app8 ", "app9 "};
// 2: the additions of 7; 3: those of 8; 4: those of 9.
constexpr std::array<std::string_view, 4> kVersionsTags = {"ver1 ", "ver2 ", "ver3 ", "ver4 "};
constexpr std::string_view kBlockTag = "blk1 ";
// 2: whether it was reported as ready.
constexpr std::array<std::string_view, 2> kInstanceTags = {"ins1 ", "ins2 "};
constexpr int64_t kSignalMax = 64;
constexpr int64_t kNumberMax = std::numeric_limits<int64_t>::max();

class Writer {
 public:
  explicit Writer(std::string_view tag) : out_(tag) {}
  void number(int64_t value) { out_ += text(value, ';'); }
  void truth(bool value) { number(value ? 1 : 0); }
  void bytes(std::string_view value) {
    number(static_cast<int64_t>(value.size()));
    out_ += value;
  }
  std::string take() && { return std::move(out_); }

 private:
  std::string out_;
};

class Reader {
 public:
  Reader(std::string_view bytes, std::string_view tag) : rest_(bytes) {
    if (rest_.substr(0, tag.size()) != tag) {
      fail();
    } else {
      rest_.remove_prefix(tag.size());
    }
  }

  int64_t number(int64_t max = kNumberMax) {
    const size_t end = rest_.find(';');
    if (end == std::string_view::npos || end == 0) return fail();
    if (rest_[0] == '-' || (rest_[0] == '0' && end > 1)) return fail();
    int64_t value = 0;
    const auto [stop, error] = std::from_chars(rest_.data(), rest_.data() + end, value);
    if (error != std::errc() || stop != rest_.data() + end || value > max) {
      return fail();
    }
    rest_.remove_prefix(end + 1);
    return value;
  }
  bool truth() { return number(1) == 1; }
  std::string bytes() {
    const auto size = static_cast<size_t>(number());
    if (size > rest_.size()) {
      fail();
      return {};
    }
    std::string value(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return value;
  }
  // The number of entries that follow, each of at least two bytes.
  int64_t count() { return number(static_cast<int64_t>(rest_.size()) / 2); }
  int64_t fail() {
    ok_ = false;
    rest_ = {};
    return 0;
  }
  bool ok() const { return ok_; }
  bool ended_well() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

void write(Writer& out, const proto::HealthCheck& check) {
  out.number(static_cast<int64_t>(check.kind));
  out.bytes(check.port);
  out.bytes(check.path);
  out.bytes(check.command);
  for (const Duration span : {check.interval, check.timeout, check.grace}) out.number(span.nanos());
  out.number(check.failures);
}

proto::HealthCheck read_health(Reader& in) {
  proto::HealthCheck check;
  check.kind = static_cast<proto::HealthCheck::Kind>(
      in.number(static_cast<int64_t>(proto::kHealthCheckKindCount) - 1));
  check.port = in.bytes();
  check.path = in.bytes();
  check.command = in.bytes();
  for (Duration* span : {&check.interval, &check.timeout, &check.grace}) {
    *span = Duration::nanos(in.number());
  }
  check.failures = in.number();
  return check;
}

// An optional boolean as a digit: 0, 1 or 2.
int64_t digit_of(const std::optional<bool>& truth) { return !truth ? 0 : *truth ? 2 : 1; }
std::optional<bool> truth_of(int64_t digit) {
  return digit == 0 ? std::nullopt : std::optional(digit == 2);
}

constexpr int64_t kOperatorMax = static_cast<int64_t>(Constraint::Operator::kExists);

Constraint read_constraint(Reader& in) {
  Constraint constraint;
  constraint.attribute = in.bytes();
  constraint.op = static_cast<Constraint::Operator>(in.number(kOperatorMax));
  for (int64_t left = in.count(); in.ok() && left > 0; --left) {
    constraint.values.push_back(in.bytes());
  }
  return constraint;
}

void write(Writer& out, const proto::FetchedFile& file) {
  for (const std::string* one : {&file.uri, &file.sha256, &file.name}) out.bytes(*one);
  for (const bool one : {file.is_executable, file.is_extracted, file.is_cached}) {
    out.truth(one);
  }
}

proto::FetchedFile read_fetched_file(Reader& in) {
  proto::FetchedFile file;
  for (std::string* one : {&file.uri, &file.sha256, &file.name}) *one = in.bytes();
  for (bool* one : {&file.is_executable, &file.is_extracted, &file.is_cached}) *one = in.truth();
  return file;
}

// The original fields of a spec, and the added ones in the order of their addition.
void write_first(Writer& out, const AppSpec& spec) {
  out.bytes(spec.name);
  out.number(spec.instances);
  out.bytes(spec.command);
  for (const ResourceKind kind : kResourceKinds) out.number(spec.resources[kind]);
  out.number(static_cast<int64_t>(spec.env.size()));
  for (const auto& [name, value] : spec.env) {
    out.bytes(name);
    out.bytes(value);
  }
  out.number(static_cast<int64_t>(spec.ports.size()));
  for (const std::string& name : spec.ports) out.bytes(name);
  out.number(static_cast<int64_t>(spec.constraints.size()));
  for (const Constraint& constraint : spec.constraints) {
    out.bytes(constraint.attribute);
    out.number(static_cast<int64_t>(constraint.op));
    out.number(static_cast<int64_t>(constraint.values.size()));
    for (const std::string& value : constraint.values) out.bytes(value);
  }
  out.truth(spec.health.has_value());
  if (spec.health) write(out, *spec.health);
  out.number(spec.update.max_unavailable);
  out.number(spec.kill_grace.nanos());
  out.bytes(spec.spread);
  out.number(static_cast<int64_t>(spec.max_per.size()));
  for (const MaxPer& most : spec.max_per) {
    out.bytes(most.attribute);
    out.number(most.count);
  }
}

void read_first(Reader& in, size_t version, AppSpec& spec) {
  spec.name = in.bytes();
  spec.instances = in.number();
  spec.command = in.bytes();
  for (const ResourceKind kind : kResourceKinds) spec.resources[kind] = in.number(kAmountMax);
  for (int64_t left = in.count(); in.ok() && left > 0; --left) {
    std::string name = in.bytes();
    // Names must rise, so that a map has one encoding.
    if (!spec.env.empty() && name <= spec.env.rbegin()->first) in.fail();
    spec.env.emplace_hint(spec.env.end(), std::move(name), in.bytes());
  }
  for (int64_t left = in.count(); in.ok() && left > 0; --left) spec.ports.push_back(in.bytes());
  for (int64_t left = in.count(); in.ok() && left > 0; --left) {
    spec.constraints.push_back(read_constraint(in));
  }
  if (in.truth()) spec.health = read_health(in);
  spec.update.max_unavailable = in.number();
  spec.kill_grace = Duration::nanos(in.number());
  if (version < 2) return;
  spec.spread = in.bytes();
  for (int64_t left = in.count(); in.ok() && left > 0; --left) {
    MaxPer& most = spec.max_per.emplace_back();
    most.attribute = in.bytes();
    most.count = in.number();
  }
}

void write_later(Writer& out, const AppSpec& spec) {
  out.number(spec.kill_signal);
  out.number(static_cast<int64_t>(spec.fetch.size()));
  for (const proto::FetchedFile& file : spec.fetch) write(out, file);
  out.truth(spec.ready.has_value());
  if (!spec.ready) return;
  out.number(static_cast<int64_t>(spec.ready->ports.size()));
  for (const std::string& port : spec.ready->ports) out.bytes(port);
  out.number(spec.ready->after.nanos());
}

void read_later(Reader& in, size_t version, AppSpec& spec) {
  if (version >= 3) spec.kill_signal = static_cast<int32_t>(in.number(kSignalMax));
  if (version >= 4) {
    for (int64_t left = in.count(); in.ok() && left > 0; --left) {
      spec.fetch.push_back(read_fetched_file(in));
    }
  }
  if (version < 5 || !in.truth()) return;
  proto::Readiness& ready = spec.ready.emplace();
  for (int64_t left = in.count(); in.ok() && left > 0; --left) ready.ports.push_back(in.bytes());
  ready.after = Duration::nanos(in.number());
}

// Without max_unavailable, which is older.
void write_update(Writer& out, const AppSpec& spec) {
  const UpdatePolicy& update = spec.update;
  out.number(spec.drain_delay.nanos());
  out.number(update.max_surge);
  out.number(update.canary);
  out.number(update.healthy_for.nanos());
  out.number(update.progress_deadline.nanos());
  out.truth(update.rolls_back);
}

void read_update(Reader& in, AppSpec& spec) {
  UpdatePolicy& update = spec.update;
  spec.drain_delay = Duration::nanos(in.number());
  update.max_surge = in.number();
  update.canary = in.number();
  update.healthy_for = Duration::nanos(in.number());
  update.progress_deadline = Duration::nanos(in.number());
  update.rolls_back = in.truth();
}

void write_newest(Writer& out, const AppSpec& spec) {
  out.number(static_cast<int64_t>(spec.find.size()));
  for (const std::string& app : spec.find) out.bytes(app);
  out.truth(spec.daemon);
  out.number(static_cast<int64_t>(spec.files.size()));
  for (const auto& [name, content] : spec.files) {
    out.bytes(name);
    out.bytes(content);
  }
  out.number(static_cast<int64_t>(spec.static_ports.size()));
  for (const auto& [name, port] : spec.static_ports) {
    out.bytes(name);
    out.number(port);
  }
  out.number(static_cast<int64_t>(spec.secrets.size()));
  for (const proto::SecretUse& use : spec.secrets) {
    for (const std::string* one : {&use.name, &use.variable, &use.file}) out.bytes(*one);
  }
  out.number(static_cast<int64_t>(spec.init.size()));
  for (const std::string& command : spec.init) out.bytes(command);
  out.number(static_cast<int64_t>(spec.sidecars.size()));
  for (const auto& [name, command] : spec.sidecars) {
    out.bytes(name);
    out.bytes(command);
  }
  for (const auto* names : {&spec.with, &spec.apart_from}) {
    out.number(static_cast<int64_t>(names->size()));
    for (const std::string& name : *names) out.bytes(name);
  }
  out.truth(spec.scale.has_value());
  if (!spec.scale) return;
  out.number(spec.scale->min);
  out.number(spec.scale->max);
  out.number(static_cast<int64_t>(spec.scale->source));
  out.number(spec.scale->target);
  out.bytes(spec.scale->port);
  out.bytes(spec.scale->path);
  out.number(spec.scale->up_after.nanos());
  out.number(spec.scale->down_after.nanos());
  out.truth(spec.scale->is_dry_run);
}

// `version`: of an app's record.
void read_newest(Reader& in, size_t version, AppSpec& spec) {
  for (int64_t left = in.count(); in.ok() && left > 0; --left) spec.find.push_back(in.bytes());
  spec.daemon = in.truth();
  for (int64_t left = in.count(); in.ok() && left > 0; --left) {
    std::string name = in.bytes();
    if (!spec.files.empty() && name <= spec.files.rbegin()->first) in.fail();
    spec.files[std::move(name)] = in.bytes();
  }
  if (version < 8) return;
  for (int64_t left = in.count(); in.ok() && left > 0; --left) {
    std::string name = in.bytes();
    if (!spec.static_ports.empty() && name <= spec.static_ports.rbegin()->first) in.fail();
    spec.static_ports[std::move(name)] = static_cast<uint16_t>(in.number(65'535));
  }
  for (int64_t left = in.count(); in.ok() && left > 0; --left) {
    proto::SecretUse& use = spec.secrets.emplace_back();
    for (std::string* one : {&use.name, &use.variable, &use.file}) *one = in.bytes();
  }
  if (version < 9) return;
  for (int64_t left = in.count(); in.ok() && left > 0; --left) spec.init.push_back(in.bytes());
  for (int64_t left = in.count(); in.ok() && left > 0; --left) {
    std::string name = in.bytes();
    if (!spec.sidecars.empty() && name <= spec.sidecars.rbegin()->first) in.fail();
    spec.sidecars[std::move(name)] = in.bytes();
  }
  for (auto* names : {&spec.with, &spec.apart_from}) {
    for (int64_t left = in.count(); in.ok() && left > 0; --left) names->push_back(in.bytes());
  }
  if (!in.truth()) return;
  ScalePolicy& scale = spec.scale.emplace();
  scale.min = in.number();
  scale.max = in.number();
  scale.source = static_cast<LoadSource>(in.number(kLoadSourceCount - 1));
  scale.target = in.number();
  scale.port = in.bytes();
  scale.path = in.bytes();
  scale.up_after = Duration::nanos(in.number());
  scale.down_after = Duration::nanos(in.number());
  scale.is_dry_run = in.truth();
}

// encode() of a checked spec cannot have written a spec that the rules refuse.
Error corrupt(std::string_view what) { return Error::corruption(std::string(what)); }

}  // namespace

std::string app_key(const std::string& name) { return text(kAppsPrefix, name); }
std::string versions_key(const std::string& name) { return text(kVersionsPrefix, name); }
std::string block_key(const BlockName& name) {
  return text(kBlocksPrefix, name.app, '/', name.number);
}

std::optional<BlockName> parse_block_key(std::string_view key) {
  if (!key.starts_with(kBlocksPrefix)) return std::nullopt;
  key.remove_prefix(kBlocksPrefix.size());
  const size_t slash = key.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const Result<int64_t> number =
      parse_whole("block", key.substr(slash + 1), 0, kNumberMax / kSlotsPerBlock);
  if (!number) return std::nullopt;
  return BlockName{.app = std::string(key.substr(0, slash)), .number = *number};
}

std::string encode(const AppRecord& record) {
  Writer out(kAppTags.back());
  out.number(static_cast<int64_t>(record.version));
  out.truth(record.stopping);
  write_first(out, record.spec);
  out.bytes(record.owner);
  write_later(out, record.spec);
  write_update(out, record.spec);
  out.number(record.applied_at.nanos());
  out.bytes(record.applied_by);
  out.truth(record.was_ready);
  out.bytes(record.failed);
  out.number(static_cast<int64_t>(record.last_version));
  out.number(static_cast<int64_t>(record.ready_version));
  out.truth(record.hold.has_value());
  if (record.hold) {
    out.number(record.hold->slots);
    out.truth(record.hold->is_canary);
  }
  out.bytes(record.rolled_back);
  out.number(static_cast<int64_t>(record.spec.after.size()));
  for (const std::string& app : record.spec.after) out.bytes(app);
  out.truth(record.waits);
  write_newest(out, record.spec);
  return std::move(out).take();
}

Result<AppRecord> decode_app(std::string_view bytes) {
  size_t version = kAppTags.size();
  while (version > 1 && !bytes.starts_with(kAppTags[version - 1])) --version;
  Reader in(bytes, kAppTags[version - 1]);
  AppRecord record;
  record.version = static_cast<uint64_t>(in.number());
  record.stopping = in.truth();
  read_first(in, version, record.spec);
  if (version >= 3) record.owner = in.bytes();
  read_later(in, version, record.spec);
  record.last_version = record.version;
  if (version >= 6) {
    read_update(in, record.spec);
    record.applied_at = Time::from_nanos(in.number());
    record.applied_by = in.bytes();
    record.was_ready = in.truth();
    record.failed = in.bytes();
    record.last_version = static_cast<uint64_t>(in.number());
    record.ready_version = static_cast<uint64_t>(in.number());
    if (in.truth()) {
      record.hold.emplace();
      record.hold->slots = in.number(kInstancesMax);
      record.hold->is_canary = in.truth();
    }
    record.rolled_back = in.bytes();
  }
  if (version >= 7) {
    for (int64_t left = in.count(); in.ok() && left > 0; --left) {
      record.spec.after.push_back(in.bytes());
    }
    record.waits = in.truth();
    read_newest(in, version, record.spec);
  }
  if (!in.ended_well() || record.version == 0 || record.version > record.last_version ||
      record.ready_version > record.last_version) {
    return corrupt("not an app's record");
  }
  if (Result<void> ok = check_app(record.spec); !ok) return corrupt(ok.error().message());
  return record;
}

std::string encode(const Versions& versions) {
  Writer out(kVersionsTags.back());
  out.number(static_cast<int64_t>(versions.size()));
  for (const auto& [number, version] : versions) {
    out.number(static_cast<int64_t>(number));
    write_first(out, version.spec);
    write_later(out, version.spec);
    write_update(out, version.spec);
    write_newest(out, version.spec);
    out.number(version.applied_at.nanos());
    out.bytes(version.applied_by);
    out.truth(version.was_ready);
    out.bytes(version.failed);
  }
  return std::move(out).take();
}

Result<Versions> decode_versions(std::string_view bytes) {
  size_t tag = kVersionsTags.size() - 1;
  while (tag > 0 && !bytes.starts_with(kVersionsTags[tag])) --tag;
  Reader in(bytes, kVersionsTags[tag]);
  Versions versions;
  for (int64_t left = in.count(); in.ok() && left > 0; --left) {
    const auto number = static_cast<uint64_t>(in.number());
    if (number == 0 || (!versions.empty() && number <= versions.rbegin()->first)) in.fail();
    Version& version = versions[number];
    read_first(in, kAppTags.size(), version.spec);
    read_later(in, kAppTags.size(), version.spec);
    read_update(in, version.spec);
    if (tag >= 1) read_newest(in, tag + 6, version.spec);
    version.applied_at = Time::from_nanos(in.number());
    version.applied_by = in.bytes();
    version.was_ready = in.truth();
    version.failed = in.bytes();
    if (!in.ok()) break;
    if (Result<void> ok = check_app(version.spec); !ok) return corrupt(ok.error().message());
  }
  if (!in.ended_well()) return corrupt("no versions of an app");
  return versions;
}

std::string encode(const InstanceBlock& block) {
  std::map<std::string, int64_t> names;  // to their indices in the block
  for (const auto& [task, record] : block) {
    for (const std::string& name : {record.agent.str(), record.host}) names[name] = 0;
    for (const auto& [name, port] : record.ports) names[name] = 0;
  }
  Writer out(kBlockTag);
  out.number(static_cast<int64_t>(names.size()));
  int64_t place = 0;
  for (auto& [name, at] : names) {
    at = place++;
    out.bytes(name);
  }
  out.number(static_cast<int64_t>(block.size()));
  for (const auto& [task, record] : block) {
    const std::optional<InstanceId> id = parse_task_id(task);
    CHECK(id.has_value()) << task.str();
    out.number(static_cast<int64_t>(id->version));
    out.number(id->slot);
    out.bytes(id->unique);
    out.number(names.at(record.agent.str()));
    out.number(names.at(record.host));
    out.number(record.launched_at.nanos());
    out.number((record.has_health_check ? 9 : 0) + 3 * digit_of(record.healthy) +
               digit_of(record.told_ready));
    out.number(static_cast<int64_t>(record.ports.size()));
    for (const auto& [name, port] : record.ports) {
      out.number(names.at(name));
      out.number(port);
    }
  }
  return std::move(out).take();
}

Result<InstanceBlock> decode_block(const std::string& app, std::string_view bytes) {
  Reader in(bytes, kBlockTag);
  std::vector<std::string> names;
  for (int64_t left = in.count(); in.ok() && left > 0; --left) names.push_back(in.bytes());
  const auto name = [&]() -> std::string {
    const auto at = static_cast<size_t>(in.number());
    if (at < names.size()) return names[at];
    in.fail();
    return "";
  };
  InstanceBlock block;
  for (int64_t left = in.count(); in.ok() && left > 0; --left) {
    InstanceId id{.app = app};
    id.version = static_cast<uint64_t>(in.number());
    id.slot = in.number();
    id.unique = in.bytes();
    InstanceRecord record;
    record.agent = AgentId(name());
    record.host = name();
    record.launched_at = Time::from_nanos(in.number());
    const int64_t digits = in.number(17);
    record.has_health_check = digits / 9 == 1;
    record.healthy = truth_of(digits / 3 % 3);
    record.told_ready = truth_of(digits % 3);
    for (int64_t ports = in.count(); in.ok() && ports > 0; --ports) {
      std::string port = name();
      record.ports[std::move(port)] = static_cast<uint16_t>(in.number(65'535));
    }
    if (!in.ok()) break;
    const TaskId task = to_task_id(id);
    if (parse_task_id(task) != id || !is_valid_name(record.agent.str())) in.fail();
    block[task] = std::move(record);
  }
  // Another order or a repetition is not our encoding either.
  if (!in.ended_well() || encode(block) != bytes) return corrupt("not a block of instances");
  return block;
}

Result<InstanceRecord> decode_instance(std::string_view bytes) {
  size_t version = kInstanceTags.size();
  while (version > 1 && !bytes.starts_with(kInstanceTags[version - 1])) --version;
  Reader in(bytes, kInstanceTags[version - 1]);
  InstanceRecord record;
  record.agent = AgentId(in.bytes());
  record.launched_at = Time::from_nanos(in.number());
  record.has_health_check = in.truth();
  record.healthy = truth_of(in.number(2));
  for (int64_t left = in.count(); in.ok() && left > 0; --left) {
    std::string name = in.bytes();
    if (!record.ports.empty() && name <= record.ports.rbegin()->first) in.fail();
    record.ports.emplace_hint(record.ports.end(), std::move(name),
                              static_cast<uint16_t>(in.number(65'535)));
  }
  if (version >= 2) record.told_ready = truth_of(in.number(2));
  if (!in.ended_well() || !is_valid_name(record.agent.str())) {
    return corrupt("not an instance's record");
  }
  return record;
}

}  // namespace proffer::service
