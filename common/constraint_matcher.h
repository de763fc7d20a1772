#pragma once

// Compiled constraints. RE2 is used only here.

#include <memory>
#include <vector>

#include "common/attributes.h"

namespace re2 {
class RE2;
}

namespace proffer {

// Matches if all of its constraints match. Copies share the compiled expressions.
class ConstraintMatcher {
 public:
  ConstraintMatcher() = default;  // matches every agent
  // Errors: kInvalidArgument if the expression of a =~ is not valid RE2, or needs more than 64 KiB
  // compiled.
  static Result<ConstraintMatcher> compile(std::vector<Constraint> constraints);

  bool matches(const AgentId& host, const Attributes& attributes) const;
  // The first constraint that this agent does not meet, or nullptr.
  const Constraint* first_unmet(const AgentId& host, const Attributes& attributes) const;
  const std::vector<Constraint>& constraints() const { return constraints_; }

 private:
  std::vector<Constraint> constraints_;
  std::vector<std::shared_ptr<const re2::RE2>> expressions_;  // by constraint; null except for =~
};

}  // namespace proffer
