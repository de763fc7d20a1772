// Constraints, and whether an agent meets them. Input: a line of attributes, then one constraint
// per line.

#include <optional>
#include <tuple>
#include <vector>

#include "common/check.h"
#include "common/constraint_matcher.h"
#include "common/limits.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {
namespace constraint_fuzz {
namespace {

using Operator = Constraint::Operator;

std::optional<Operator> opposite(Operator op) {
  switch (op) {
    case Operator::kEquals:
      return Operator::kNotEquals;
    case Operator::kNotEquals:
      return Operator::kEquals;
    case Operator::kIn:
      return Operator::kNotIn;
    case Operator::kNotIn:
      return Operator::kIn;
    case Operator::kMatches:
    case Operator::kExists:
      return std::nullopt;
  }
  return std::nullopt;
}

// One constraint against one agent.
void check_match(const Constraint& constraint, const AgentId& host, const Attributes& attributes) {
  const Result<ConstraintMatcher> matcher = ConstraintMatcher::compile({constraint});
  if (!matcher) {
    CHECK(constraint.op == Operator::kMatches) << to_text(constraint);
    return check_told(matcher.error());
  }
  const bool met = matcher->matches(host, attributes);
  const bool there = constraint.attribute == "host" || attributes.contains(constraint.attribute);
  if (!there) {
    CHECK_EQ(met, constraint.op == Operator::kNotEquals || constraint.op == Operator::kNotIn)
        << to_text(constraint);
  }
  if (constraint.op == Operator::kExists) CHECK_EQ(met, there);
  if (const auto op = opposite(constraint.op)) {
    Constraint other = constraint;
    other.op = *op;
    const Result<ConstraintMatcher> opposed = ConstraintMatcher::compile({other});
    CHECK(opposed && opposed->matches(host, attributes) != met) << to_text(constraint);
  }
}

}  // namespace
}  // namespace constraint_fuzz

void fuzz_constraint(Input input) {
  const AgentId host("agent-1");
  auto [line, rest] = first_line(text_of(input));
  const Result<Attributes> given = parse_attributes(line);
  const Attributes attributes = given ? *given : Attributes{{"rack", "r1"}, {"disk", "ssd"}};
  std::vector<Constraint> all;
  while (!rest.empty() && all.size() < kConstraintsMax) {
    std::tie(line, rest) = first_line(rest);
    const Result<Constraint> constraint = parse_constraint(line);
    if (!constraint) {
      check_told(constraint.error());
      continue;
    }
    CHECK(check_constraint(*constraint)) << to_text(*constraint);
    const Result<Constraint> again = parse_constraint(to_text(*constraint));
    CHECK(again && *again == *constraint) << to_text(*constraint);
    constraint_fuzz::check_match(*constraint, host, attributes);
    all.push_back(*constraint);
  }

  const Result<ConstraintMatcher> together = ConstraintMatcher::compile(all);
  if (!together) return check_told(together.error());
  CHECK(together->constraints() == all);
  bool each = true;
  for (const Constraint& constraint : all) {
    each = each && ConstraintMatcher::compile({constraint})->matches(host, attributes);
  }
  CHECK_EQ(each, together->matches(host, attributes));
  CHECK_EQ(each, together->first_unmet(host, attributes) == nullptr);
}

}  // namespace proffer::fuzz
