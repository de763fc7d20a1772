#include "common/attributes.h"

#include <algorithm>
#include <ostream>

#include "common/check.h"
#include "common/ids.h"
#include "common/limits.h"
#include "common/text.h"

namespace proffer {
namespace {

using Operator = Constraint::Operator;

// The next step for a constraint of Marathon ("rack:LIKE:r1"), a selector of Kubernetes
// ("disk=ssd"), or a feature of Slurm ("gpu"); else empty.
std::string way_of_constraint(std::string_view whole) {
  const auto write = [](const auto&... parts) { return text("write ", quoted(text(parts...))); };
  const std::vector<std::string_view> parts = split(whole, ':');
  if (parts.size() == 2 || parts.size() == 3) {
    std::string_view name = parts[0];
    if (name == "hostname" || name == "@hostname") name = "host";
    const std::string_view value = parts.size() == 3 ? parts[2] : std::string_view("VALUE");
    if (parts[1] == "CLUSTER" || parts[1] == "IS") return write(name, " == ", value);
    if (parts[1] == "LIKE") return write(name, " =~ ", value);
    if (parts[1] == "UNLIKE") return write(name, " != ", value);
    if (parts[1] == "UNIQUE" || parts[1] == "MAX_PER") {
      const std::string_view count = parts[1] == "UNIQUE" ? std::string_view("1") : value;
      return text("write --max-per ", name, "=", count, ", or in an app file max_per: {", name,
                  ": ", count, "}");
    }
    if (parts[1] == "GROUP_BY") {
      return text("write --spread ", name, ", or in an app file spread: ", name);
    }
  }
  if (is_valid_name(whole)) return write(whole, " exists");
  const size_t equals = whole.find('=');
  if (equals == 0 || equals == whole.npos || whole.find_first_of("!=~", equals + 1) != whole.npos) {
    return {};
  }
  return write(trimmed(whole.substr(0, equals)), " == ", trimmed(whole.substr(equals + 1)));
}

Error wrong_constraint(std::string_view whole, std::string_view why) {
  constexpr std::string_view kForms =
      "constraints are: NAME == VALUE, NAME != VALUE, NAME in [A, B], NAME not in [A, B], "
      "NAME =~ REGEX, NAME exists";
  const std::string way = way_of_constraint(trimmed(whole));
  return Error::invalid_argument(text("constraint ", quoted(whole), ": ", why))
      .with_hint(text(way, way.empty() ? "" : "; ", kForms));
}

bool is_plain_value(std::string_view value) {
  return !value.empty() && value.size() <= kConstraintTextBytesMax &&
         std::none_of(value.begin(), value.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

// The parts of "[a, b]".
Result<std::vector<std::string>> parse_list(std::string_view whole, std::string_view body) {
  if (body.size() < 2 || body.front() != '[' || body.back() != ']') {
    return wrong_constraint(whole, "the values must be a list in brackets, as in [ssd, nvme]");
  }
  std::vector<std::string> values;
  for (const std::string_view value : split(body.substr(1, body.size() - 2), ',')) {
    values.emplace_back(value);
  }
  return values;
}

}  // namespace

Result<Attributes> parse_attributes(std::string_view whole) {
  Attributes attributes;
  if (trimmed(whole).empty()) return attributes;
  for (const std::string_view part : split(whole, ';')) {
    const size_t colon = part.find(':');
    if (colon == std::string_view::npos) {
      return Error::invalid_argument(
          text("attributes must be NAME:VALUE separated by ';', as in rack:r1;disk:ssd, not ",
               quoted(part)));
    }
    const std::string_view name = trimmed(part.substr(0, colon));
    const std::string_view value = trimmed(part.substr(colon + 1));
    if (Result<void> checked = check_attribute(name, value); !checked) {
      return std::move(checked).error();
    }
    if (!attributes.emplace(name, value).second) {
      return Error::invalid_argument(text("attribute ", quoted(name), " is given twice"));
    }
    if (attributes.size() > kAttributesMax) {
      return Error::invalid_argument(text("an agent has at most ", kAttributesMax, " attributes"));
    }
  }
  return attributes;
}

Result<void> check_attribute(std::string_view name, std::string_view value) {
  if (Result<void> named = check_name("attribute name", name); !named) return named;
  if (name == "host") {
    return Error::invalid_argument("attribute 'host' is the agent's name and cannot be set")
        .with_hint("give the agent another name with --name");
  }
  if (!is_plain_value(value) || value.size() > kNameBytesMax ||
      value.find(';') != std::string_view::npos || trimmed(value) != value) {
    return Error::invalid_argument(
        text("the value of attribute ", quoted(name),
             " must be 1 to 128 bytes without control characters and ';', and not begin or end "
             "with a space, not ",
             quoted(value)));
  }
  return {};
}

std::string to_text(const Attributes& attributes) {
  std::string out;
  for (const auto& [name, value] : attributes) {
    if (!out.empty()) out += ';';
    out += text(name, ':', value);
  }
  return out;
}

Result<Constraint> parse_constraint(std::string_view whole) {
  const std::string_view body = trimmed(whole);
  const size_t name_end = body.find_first_of(" \t=!");
  if (name_end == std::string_view::npos || name_end == 0) {
    return wrong_constraint(whole, "it needs a name and an operator");
  }
  Constraint constraint{.attribute = std::string(body.substr(0, name_end))};
  std::string_view rest = trimmed(body.substr(name_end));
  const auto consume = [&rest](std::string_view token) {
    if (!rest.starts_with(token)) return false;
    const bool is_word = token.back() >= 'a' && token.back() <= 'z';
    if (is_word && rest.size() > token.size()) {
      const char next = rest[token.size()];
      if (next != ' ' && next != '\t' && next != '[') return false;
    }
    rest = trimmed(rest.substr(token.size()));
    return true;
  };
  if (consume("==")) {
    constraint.op = Operator::kEquals;
  } else if (consume("!=")) {
    constraint.op = Operator::kNotEquals;
  } else if (consume("=~")) {
    constraint.op = Operator::kMatches;
  } else if (consume("in")) {
    constraint.op = Operator::kIn;
  } else if (consume("exists")) {
    constraint.op = Operator::kExists;
    if (!rest.empty()) return wrong_constraint(whole, "nothing may follow 'exists'");
  } else if (consume("not")) {
    if (!consume("in")) return wrong_constraint(whole, "'not' must be followed by 'in'");
    constraint.op = Operator::kNotIn;
  } else {
    return wrong_constraint(whole, "unknown operator");
  }
  if (constraint.op == Operator::kIn || constraint.op == Operator::kNotIn) {
    Result<std::vector<std::string>> values = parse_list(whole, rest);
    if (!values) return std::move(values).error();
    constraint.values = *std::move(values);
  } else if (constraint.op != Operator::kExists) {
    constraint.values.emplace_back(rest);
  }
  if (Result<void> checked = check_constraint(constraint); !checked) {
    return wrong_constraint(whole, checked.error().message());
  }
  return constraint;
}

std::string to_text(const Constraint& constraint) {
  const auto list = [&] {
    std::string out = "[";
    for (const std::string& value : constraint.values) {
      if (out.size() > 1) out += ", ";
      out += value;
    }
    return out + "]";
  };
  const auto only = [&] { return constraint.values.empty() ? "" : constraint.values.front(); };
  switch (constraint.op) {
    case Operator::kEquals:
      return text(constraint.attribute, " == ", only());
    case Operator::kNotEquals:
      return text(constraint.attribute, " != ", only());
    case Operator::kIn:
      return text(constraint.attribute, " in ", list());
    case Operator::kNotIn:
      return text(constraint.attribute, " not in ", list());
    case Operator::kMatches:
      return text(constraint.attribute, " =~ ", only());
    case Operator::kExists:
      return text(constraint.attribute, " exists");
  }
  LOG(FATAL) << "constraint operator " << static_cast<int>(constraint.op);
  return {};
}

Result<void> check_constraint(const Constraint& constraint) {
  if (Result<void> named = check_name("attribute name", constraint.attribute); !named) return named;
  const bool is_list = constraint.op == Operator::kIn || constraint.op == Operator::kNotIn;
  const size_t least = constraint.op == Operator::kExists ? 0 : 1;
  const size_t most = is_list ? kConstraintValuesMax : least;
  if (constraint.values.size() < least || constraint.values.size() > most) {
    return Error::invalid_argument(
        text("it must have ", least, " to ", most, " values, not ", constraint.values.size()));
  }
  for (const std::string& value : constraint.values) {
    if (!is_plain_value(value)) {
      return Error::invalid_argument(text("a value must be 1 to ", kConstraintTextBytesMax,
                                          " bytes without control characters, not ",
                                          quoted(value)));
    }
    const bool has_separator = value.find_first_of(",[]") != std::string::npos;
    if ((is_list && has_separator) || trimmed(value) != value) {
      return Error::invalid_argument(
          text("a value must not begin or end with a space, nor, in a list, have , [ or ] in it, "
               "not ",
               quoted(value)));
    }
  }
  return {};
}

std::ostream& operator<<(std::ostream& out, const Constraint& constraint) {
  return out << to_text(constraint);
}

}  // namespace proffer
