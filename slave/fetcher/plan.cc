#include "slave/fetcher/plan.h"

#include <algorithm>
#include <map>

#include "common/text.h"
#include "slave/fetcher/sha256.h"

namespace proffer::fetcher {
namespace {

constexpr std::string_view kItemPrefix = "PROFFER_FETCH_";
constexpr std::string_view kCache = "PROFFER_FETCHES_CACHE";
constexpr std::string_view kBytesMax = "PROFFER_FETCHES_BYTES_MAX";
constexpr std::string_view kReserve = "PROFFER_FETCHES_DISK_RESERVE";
constexpr std::string_view kAgent = "PROFFER_FETCHES_AGENT";
constexpr size_t kItemsMax = 1'024;
constexpr size_t kUriDigits = 16;

// Separates the fields of an item, which cannot contain it.
constexpr char kBetween = '\t';

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

Result<Item> decode_item(std::string_view value) {
  std::vector<std::string> fields(1);
  for (const char c : value) {
    if (c == kBetween) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  if (fields.size() != 6) return Error::invalid_argument("a file to fetch has six fields");
  return Item{.uri = fields[0],
              .sha256 = fields[1],
              .name = fields[2],
              .executable = fields[3] == "1",
              .extract = fields[4] == "1",
              .key = fields[5]};
}

}  // namespace

std::string cache_key(std::string_view sha256, std::string_view uri) {
  return text(sha256, "-", sha256_of(uri).substr(0, kUriDigits));
}

Result<std::vector<std::string>> encode_plan(const Plan& plan) {
  std::vector<std::string> variables = {
      text(kCache, "=", plan.cache), text(kBytesMax, "=", plan.bytes_max),
      text(kReserve, "=", plan.disk_reserve), text(kAgent, "=", plan.agent)};
  size_t number = 0;
  for (const Item& item : plan.items) {
    for (const std::string* field : {&item.uri, &item.sha256, &item.name, &item.key}) {
      if (has_control(*field)) {
        return Error::invalid_argument(
            text("a file to fetch has a control character: ", quoted(*field)));
      }
    }
    variables.push_back(text(kItemPrefix, number++, "=", item.uri, kBetween, item.sha256, kBetween,
                             item.name, kBetween, item.executable ? 1 : 0, kBetween,
                             item.extract ? 1 : 0, kBetween, item.key));
  }
  return variables;
}

Result<Plan> decode_plan(const std::vector<std::string_view>& environment) {
  Plan plan;
  std::map<int64_t, Item> items;
  for (const std::string_view variable : environment) {
    const size_t equals = variable.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = variable.substr(0, equals);
    const std::string_view value = variable.substr(equals + 1);
    if (name == kCache) {
      plan.cache = value;
    } else if (name == kBytesMax || name == kReserve || name == kAgent) {
      const Result<int64_t> number =
          parse_whole(name, value, 0, name == kAgent ? INT32_MAX : INT64_MAX);
      if (!number) return number.error();
      if (name == kAgent) {
        plan.agent = static_cast<int32_t>(*number);
      } else {
        (name == kBytesMax ? plan.bytes_max : plan.disk_reserve) = *number;
      }
    } else if (name.starts_with(kItemPrefix)) {
      const Result<int64_t> number =
          parse_whole("file", name.substr(kItemPrefix.size()), 0, kItemsMax);
      if (!number) return number.error();
      Result<Item> item = decode_item(value);
      if (!item) return std::move(item).error();
      items[*number] = *std::move(item);
    }
  }
  for (auto& [number, item] : items) plan.items.push_back(std::move(item));
  return plan;
}

}  // namespace proffer::fetcher
