#include "common/constraint_matcher.h"

#include <algorithm>

#include <re2/re2.h>

#include "common/check.h"
#include "common/printable.h"
#include "common/text.h"

namespace proffer {
namespace {

using Operator = Constraint::Operator;
constexpr int64_t kExpressionMemory = 64 * 1024;

bool is_met(const Constraint& constraint, const re2::RE2* expression, const std::string* value) {
  const auto listed = [&] {
    return std::find(constraint.values.begin(), constraint.values.end(), *value) !=
           constraint.values.end();
  };
  switch (constraint.op) {
    case Operator::kEquals:
    case Operator::kIn:
      return value != nullptr && listed();
    case Operator::kNotEquals:
    case Operator::kNotIn:
      return value == nullptr || !listed();
    case Operator::kMatches:
      return value != nullptr && re2::RE2::FullMatch(*value, *expression);
    case Operator::kExists:
      return value != nullptr;
  }
  LOG(FATAL) << "constraint operator " << static_cast<int>(constraint.op);
  return false;
}

}  // namespace

Result<ConstraintMatcher> ConstraintMatcher::compile(std::vector<Constraint> constraints) {
  ConstraintMatcher matcher;
  for (const Constraint& constraint : constraints) {
    if (Result<void> checked = check_constraint(constraint); !checked) {
      return std::move(checked).error().in(text("constraint on ", quoted(constraint.attribute)));
    }
    std::shared_ptr<const re2::RE2> expression;
    if (constraint.op == Operator::kMatches) {
      re2::RE2::Options options(re2::RE2::Quiet);
      options.set_max_mem(kExpressionMemory);
      expression = std::make_shared<const re2::RE2>(constraint.values.front(), options);
      if (!expression->ok()) {
        return Error::invalid_argument(
            text("constraint ", quoted(to_text(constraint)),
                 " is not an expression of RE2: ", printable(expression->error())));
      }
    }
    matcher.expressions_.push_back(std::move(expression));
  }
  matcher.constraints_ = std::move(constraints);
  return matcher;
}

bool ConstraintMatcher::matches(const AgentId& host, const Attributes& attributes) const {
  return first_unmet(host, attributes) == nullptr;
}

const Constraint* ConstraintMatcher::first_unmet(const AgentId& host,
                                                 const Attributes& attributes) const {
  for (size_t i = 0; i < constraints_.size(); ++i) {
    const std::string* value = nullptr;
    if (constraints_[i].attribute == "host") {
      value = &host.str();
    } else if (const auto at = attributes.find(constraints_[i].attribute); at != attributes.end()) {
      value = &at->second;
    }
    if (!is_met(constraints_[i], expressions_[i].get(), value)) return &constraints_[i];
  }
  return nullptr;
}

}  // namespace proffer
