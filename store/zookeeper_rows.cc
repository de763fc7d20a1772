#include "store/zookeeper_rows.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "common/text.h"

namespace proffer {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";
constexpr char kWhole = 'v';  // followed by the value
constexpr char kSplit = 'p';  // followed by the number of parts

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

std::string hex_of(unsigned char byte) {
  return {kHex[static_cast<size_t>(byte >> 4)], kHex[static_cast<size_t>(byte & 15)]};
}

// FNV-1a, reduced to one byte.
unsigned char shard_of(std::string_view key) {
  uint32_t hash = 2166136261u;
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return static_cast<unsigned char>(hash ^ (hash >> 8) ^ (hash >> 16) ^ (hash >> 24));
}

void add_length(std::string& out, size_t length) {
  for (int i = 0; i < 8; ++i) out += static_cast<char>((length >> (8 * i)) & 0xff);
}

void add_bytes(std::string& out, std::string_view bytes) {
  add_length(out, bytes.size());
  out += bytes;
}

// Removes from the front a text that add_bytes() has written.
std::optional<std::string> take_bytes(std::string_view& bytes) {
  if (bytes.size() < 8) return std::nullopt;
  uint64_t length = 0;
  for (size_t i = 0; i < 8; ++i) {
    length |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  bytes.remove_prefix(8);
  if (length > bytes.size()) return std::nullopt;
  std::string taken(bytes.substr(0, length));
  bytes.remove_prefix(length);
  return taken;
}

}  // namespace

std::string zookeeper_name(std::string_view key) {
  std::string name = "k";
  for (const char c : key) {
    if (is_plain(c)) {
      name += c;
    } else {
      name += '%';
      name += hex_of(static_cast<unsigned char>(c));
    }
  }
  return name;
}

std::optional<std::string> key_of_zookeeper_name(std::string_view name) {
  if (name.empty() || name.front() != 'k') return std::nullopt;
  std::string key;
  for (size_t i = 1; i < name.size(); ++i) {
    if (name[i] != '%') {
      if (!is_plain(name[i])) return std::nullopt;
      key += name[i];
      continue;
    }
    if (i + 2 >= name.size()) return std::nullopt;
    const size_t high = kHex.find(name[i + 1]);
    const size_t low = kHex.find(name[i + 2]);
    if (high == kHex.npos || low == kHex.npos) return std::nullopt;
    key += static_cast<char>(high << 4 | low);
    i += 2;
  }
  return key;
}

std::string zookeeper_shard(std::string_view table, std::string_view key) {
  return text(table, "/", hex_of(shard_of(key)));
}

std::string zookeeper_path(std::string_view table, std::string_view key) {
  return text(zookeeper_shard(table, key), "/", zookeeper_name(key));
}

std::string to_text(const ZooKeeperEpoch& epoch) {
  return text("epoch ", epoch.epoch, " commits ", epoch.commits, " writer ", epoch.writer, "\n");
}

std::optional<ZooKeeperEpoch> parse_zookeeper_epoch(std::string_view given) {
  if (!given.ends_with('\n')) return std::nullopt;
  given.remove_suffix(1);
  const std::vector<std::string_view> words = split(given, ' ');
  if (words.size() != 6 || words[0] != "epoch" || words[2] != "commits" || words[4] != "writer") {
    return std::nullopt;
  }
  const Result<int64_t> epoch = parse_whole("epoch", words[1], 0, INT64_MAX);
  const Result<int64_t> commits = parse_whole("commits", words[3], 0, INT64_MAX);
  if (!epoch || !commits) return std::nullopt;
  return ZooKeeperEpoch{.epoch = *epoch, .commits = *commits, .writer = std::string(words[5])};
}

std::string to_zookeeper_leader(const MasterPlace& place) {
  return text(place.address, "\n", place.http_port, "\n");
}

std::optional<MasterPlace> parse_zookeeper_leader(std::string_view given) {
  const std::vector<std::string_view> lines = split(given, '\n');
  if (lines.size() != 3 || lines[0].empty() || !lines[2].empty()) return std::nullopt;
  return MasterPlace{.address = std::string(lines[0]), .http_port = std::string(lines[1])};
}

ZooKeeperValue to_zookeeper_value(std::string_view value) {
  ZooKeeperValue out;
  if (value.size() <= kZooKeeperNodeBytesMax) {
    out.node = text(std::string_view(&kWhole, 1), value);
    return out;
  }
  for (size_t at = 0; at < value.size(); at += kZooKeeperNodeBytesMax) {
    out.parts.emplace_back(value.substr(at, kZooKeeperNodeBytesMax));
  }
  out.node = text(std::string_view(&kSplit, 1), out.parts.size());
  return out;
}

std::optional<size_t> zookeeper_parts(std::string_view node) {
  if (node.empty()) return std::nullopt;
  if (node.front() == kWhole) return 0;
  if (node.front() != kSplit) return std::nullopt;
  const Result<int64_t> parts = parse_whole("parts", node.substr(1), 1, 1'000);
  if (!parts) return std::nullopt;
  return static_cast<size_t>(*parts);
}

std::optional<std::string> zookeeper_value(std::string_view node,
                                           const std::vector<std::string>& parts) {
  const std::optional<size_t> wanted = zookeeper_parts(node);
  if (!wanted || *wanted != parts.size()) return std::nullopt;
  if (*wanted == 0) return std::string(node.substr(1));
  std::string value;
  for (const std::string& part : parts) value += part;
  return value;
}

std::string to_journal(const std::vector<StoreRecord>& batch) {
  std::string out;
  for (const StoreRecord& record : batch) {
    add_bytes(out, record.table);
    add_bytes(out, record.key);
    out += record.value ? '1' : '0';
    add_bytes(out, record.value.value_or(""));
  }
  return out;
}

std::optional<std::vector<StoreRecord>> parse_journal(std::string_view bytes) {
  std::vector<StoreRecord> batch;
  while (!bytes.empty()) {
    std::optional<std::string> table = take_bytes(bytes);
    std::optional<std::string> key = table ? take_bytes(bytes) : std::nullopt;
    if (!key || table->empty() || bytes.empty()) return std::nullopt;
    const char has_value = bytes.front();
    bytes.remove_prefix(1);
    std::optional<std::string> value = take_bytes(bytes);
    if (!value || (has_value != '0' && has_value != '1')) return std::nullopt;
    StoreRecord record{.table = std::move(*table), .key = std::move(*key)};
    if (has_value == '1') record.value = std::move(value);
    batch.push_back(std::move(record));
  }
  return batch;
}

}  // namespace proffer
