// Uses nlohmann within bounds: this file handles depth, size, duplicate members, invalid UTF-8 and
// exceptions. Read parse_object first.

#include "proto/json/json_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <set>

#include "common/limits.h"
#include "common/printable.h"
#include "common/text.h"
#include "proto/json/arguments.h"

namespace proffer::proto {
namespace {

constexpr int64_t kMilliMax = int64_t{1} << 52;  // seconds go up to the year 144,683

// Checks a document while it is parsed: nlohmann's parser has no depth limit, but copies, prints
// and destroys recursively, and it takes the last of several members with the same name.
class Watch {
 public:
  bool operator()(int depth, ParsedJson::parse_event_t event, ParsedJson& parsed) {
    using Event = ParsedJson::parse_event_t;
    if (depth > kJsonDepthMax) {
      too_deep_ = true;
      return false;
    }
    if (event == Event::object_start) names_.emplace_back();
    if (event == Event::object_end && !names_.empty()) names_.pop_back();
    if (event == Event::key && !names_.empty()) {
      const auto& name = parsed.get_ref<const std::string&>();
      if (!names_.back().insert(name).second && !doubled_) doubled_ = name;
    }
    return true;
  }

  Result<void> verdict() const {
    if (too_deep_) {
      return Error::invalid_argument(
          text("JSON must not be nested more than ", kJsonDepthMax, " deep"));
    }
    if (doubled_) {
      return Error::invalid_argument(text("JSON names the member ", quoted(*doubled_), " twice"));
    }
    return {};
  }

 private:
  bool too_deep_ = false;
  std::optional<std::string> doubled_;
  std::vector<std::set<std::string>> names_;
};

Result<ParsedJson> parse(std::string_view json) {
  if (json.size() > kJsonBytesMax) {
    return Error::invalid_argument(
        text("JSON has ", json.size(), " bytes; at most ", kJsonBytesMax, " are allowed"));
  }
  Watch watch;
  try {
    ParsedJson parsed = ParsedJson::parse(json, std::ref(watch));
    if (Result<void> verdict = watch.verdict(); !verdict) return std::move(verdict).error();
    return parsed;
  } catch (const ParsedJson::parse_error& thrown) {
    if (Result<void> verdict = watch.verdict(); !verdict) return std::move(verdict).error();
    return Error::invalid_argument(text("not JSON, at byte ", thrown.byte));
  } catch (const ParsedJson::exception&) {
    return Error::invalid_argument("JSON with a number that is too large");
  }
}

}  // namespace

std::string to_json_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<std::string> to_json_text_if_utf8(const Json& json) {
  try {
    return json.dump(-1, ' ', false, Json::error_handler_t::strict);
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

void append_text(std::string& out, std::string_view text) {
  const bool is_plain = std::all_of(text.begin(), text.end(), [](char each) {
    return each >= ' ' && each <= '~' && each != '"' && each != '\\';
  });
  if (!is_plain) {
    out += to_json_text(std::string(text));
    return;
  }
  out += '"';
  out += text;
  out += '"';
}

namespace {

template <class Whole>
void append_digits(std::string& out, Whole value) {
  char digits[24];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), value).ptr;
  out.append(digits, static_cast<size_t>(end - digits));
}

}  // namespace

void append_whole(std::string& out, int64_t value) { append_digits(out, value); }
void append_whole(std::string& out, uint64_t value) { append_digits(out, value); }

void append_milli(std::string& out, int64_t milli) {
  if (milli < 0 && milli > -1000) out += '-';  // The whole part is 0 and has no sign.
  append_digits(out, milli / 1000);
  const int64_t rest = milli % 1000 < 0 ? -(milli % 1000) : milli % 1000;
  if (rest == 0) return;
  char decimals[] = {'.', static_cast<char>('0' + rest / 100),
                     static_cast<char>('0' + rest / 10 % 10), static_cast<char>('0' + rest % 10)};
  size_t size = std::size(decimals);
  while (decimals[size - 1] == '0') --size;
  out.append(decimals, size);
}

Json print_number(int64_t milli) {
  if (milli % 1000 == 0) return milli / 1000;
  return static_cast<double>(milli) / 1000;  // for printing
}

Json print_seconds(Time time) { return print_number(time.nanos() / 1'000'000); }
Json print_seconds(Duration duration) { return print_number(duration.millis()); }

void JsonFields::refuse(std::string_view name, std::string_view why) const {
  if (error_) return;
  // Names may come from the document.
  error_ = Error::invalid_argument(proffer::text(printable(path_ + std::string(name)), ": ", why));
}

void JsonFields::refuse_word(std::string_view name, std::string_view word) const {
  refuse(name, proffer::text("unknown word ", quoted(word)));
}

const ParsedJson* JsonFields::find(std::string_view name) const {
  const auto at = object_.find(std::string(name));
  return at == object_.end() ? nullptr : &*at;
}

void JsonFields::require(std::string_view name) const {
  if (!has(name)) refuse(name, "is missing");
}

void JsonFields::only(std::initializer_list<std::string_view> names) const {
  only(std::vector<std::string_view>(names));
}

void JsonFields::only(const JsonShape& shape) const {
  std::vector<std::string_view> names;
  for (const JsonShape& member : shape.members) {
    if (!member.is_hidden || has(member.name)) names.emplace_back(member.name);
  }
  only(names);
}

void JsonFields::only(const std::vector<std::string_view>& known) const {
  for (auto at = object_.begin(); at != object_.end(); ++at) {
    if (std::find(known.begin(), known.end(), at.key()) != known.end()) continue;
    if (error_) return;
    Error error = unknown_name("member", at.key(), known);
    error_ = path_.empty() ? std::move(error) : std::move(error).in(printable(path_));
    return;
  }
}

void JsonFields::text(std::string_view name, std::string& out) const {
  const ParsedJson* value = find(name);
  if (value == nullptr) return;
  if (!value->is_string()) return refuse(name, "must be a text");
  out = value->get_ref<const std::string&>();
}

void JsonFields::truth(std::string_view name, bool& out) const {
  const ParsedJson* value = find(name);
  if (value == nullptr) return;
  if (!value->is_boolean()) return refuse(name, "must be true or false");
  out = value->get<bool>();
}

std::optional<int64_t> JsonFields::to_whole(const ParsedJson& value) const {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() &&
      value.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()}) {
    return std::nullopt;
  }
  return value.get<int64_t>();
}

void JsonFields::whole(std::string_view name, int64_t min, int64_t max, int64_t& out) const {
  const ParsedJson* value = find(name);
  if (value == nullptr) return;
  const std::optional<int64_t> number = to_whole(*value);
  if (!number || *number < min || *number > max) {
    return refuse(name, proffer::text("must be a whole number from ", min, " to ", max));
  }
  out = *number;
}

void JsonFields::number(std::string_view name, uint64_t& out) const {
  const ParsedJson* value = find(name);
  if (value == nullptr) return;
  if (!value->is_number_unsigned()) {
    return refuse(name, "must be a whole number, not below zero");
  }
  out = value->get<uint64_t>();
}

std::optional<int64_t> JsonFields::to_milli(const ParsedJson& value) const {
  if (const std::optional<int64_t> number = to_whole(value)) {
    if (*number > kMilliMax / 1000 || *number < -kMilliMax / 1000) return std::nullopt;
    return *number * 1000;
  }
  if (!value.is_number_float()) return std::nullopt;
  const double milli = value.get<double>() * 1000;  // print_number() prints a double
  if (!(std::fabs(milli) <= static_cast<double>(kMilliMax))) return std::nullopt;
  return std::llround(milli);
}

void JsonFields::milli(std::string_view name, int64_t min, int64_t max, int64_t& out) const {
  const ParsedJson* value = find(name);
  if (value == nullptr) return;
  const std::optional<int64_t> number = to_milli(*value);
  if (!number || *number < min || *number > max) {
    return refuse(
        name, proffer::text("must be a number from ", print_milli(min), " to ", print_milli(max)));
  }
  out = *number;
}

void JsonFields::seconds(std::string_view name, Time& out) const {
  int64_t millis = out.nanos() / 1'000'000;
  milli(name, 0, Time::far_future().nanos() / 1'000'000, millis);
  if (has(name)) out = Time::from_nanos(millis * 1'000'000);
}

void JsonFields::seconds(std::string_view name, Duration& out) const {
  int64_t millis = out.millis();
  milli(name, 0, kDurationMax.millis(), millis);
  if (has(name)) out = milliseconds(millis);
}

void JsonFields::object(std::string_view name,
                        const std::function<void(const JsonFields&)>& read) const {
  const ParsedJson* value = find(name);
  if (value == nullptr) return;
  if (!value->is_object()) return refuse(name, "must be an object");
  read(JsonFields(*value, proffer::text(path_, name, '.'), error_));
}

void JsonFields::list(std::string_view name,
                      const std::function<void(const JsonFields&)>& read) const {
  const ParsedJson* value = find(name);
  if (value == nullptr) return;
  if (!value->is_array()) return refuse(name, "must be a list");
  for (size_t i = 0; i < value->size() && !error_; ++i) {
    if (!(*value)[i].is_object())
      return refuse(proffer::text(name, '[', i, ']'), "must be an object");
    read(JsonFields((*value)[i], proffer::text(path_, name, '[', i, "]."), error_));
  }
}

void JsonFields::each(std::string_view name,
                      const std::function<void(const std::string&)>& read) const {
  const ParsedJson* value = find(name);
  if (value == nullptr) return;
  if (!value->is_array()) return refuse(name, "must be a list");
  for (size_t i = 0; i < value->size() && !error_; ++i) {
    if (!(*value)[i].is_string()) return refuse(name, "must be a list of texts");
    read((*value)[i].get_ref<const std::string&>());
  }
}

void JsonFields::each_text(
    std::string_view name,
    const std::function<void(const std::string&, const std::string&)>& read) const {
  object(name, [&](const JsonFields& in) {
    for (auto at = in.object_.begin(); at != in.object_.end(); ++at) {
      if (!at->is_string()) return in.refuse(at.key(), "must be a text");
      read(at.key(), at->get_ref<const std::string&>());
    }
  });
}

void JsonFields::each_whole(std::string_view name, int64_t min, int64_t max,
                            const std::function<void(const std::string&, int64_t)>& read) const {
  object(name, [&](const JsonFields& in) {
    for (auto at = in.object_.begin(); at != in.object_.end(); ++at) {
      int64_t number = min;
      in.whole(at.key(), min, max, number);
      read(at.key(), number);
    }
  });
}

void JsonFields::each_value(std::map<std::string, JsonValue>& out) const {
  for (auto at = object_.begin(); at != object_.end(); ++at) {
    if (at->is_string()) {
      out[at.key()] = at->get<std::string>();
    } else if (at->is_boolean()) {
      out[at.key()] = at->get<bool>();
    } else if (const std::optional<int64_t> whole = to_whole(*at)) {
      out[at.key()] = *whole;
    } else if (const std::optional<int64_t> milli = to_milli(*at)) {
      if (*milli % 1000 == 0) {  // 1.0 and 1e3 are whole.
        out[at.key()] = *milli / 1000;
      } else {
        out[at.key()] = MilliNumber{*milli};
      }
    } else if (at->is_array()) {
      std::vector<std::string> texts;
      for (const ParsedJson& entry : *at) {
        if (!entry.is_string()) return refuse(at.key(), "must be a list of texts");
        texts.push_back(entry.get<std::string>());
      }
      out[at.key()] = std::move(texts);
    } else {
      return refuse(at.key(), "must be a text, a number, a boolean or a list of texts");
    }
  }
}

Result<void> parse_object(std::string_view json,
                          const std::function<void(const JsonFields&)>& read) {
  Result<ParsedJson> parsed = parse(json);
  if (!parsed) return std::move(parsed).error();
  if (!parsed->is_object()) return Error::invalid_argument("JSON must be an object, as in {}");
  std::optional<Error> error;
  read(JsonFields(*parsed, "", error));
  if (error) return *std::move(error);
  return {};
}

}  // namespace proffer::proto
