#pragma once

// Compiled constraints: the only place with RE2.

#include <memory>
#include <vector>

#include "common/attributes.h"

namespace re2 {
class RE2;
}

namespace proffer {

// All of some constraints at once. Copies share the compiled expressions.
class ConstraintMatcher {
 public:
  ConstraintMatcher() = default;  // matches every agent
  // Errors: kInvalidArgument if an expression of =~ is not RE2, or needs more than 64 KiB compiled.
  static Result<ConstraintMatcher> compile(std::vector<Constraint> constraints);

  bool matches(const AgentId& host, const Attributes& attributes) const;
  // The first constraint that this agent does not meet, or nullptr.
  const Constraint* first_unmet(const AgentId& host, const Attributes& attributes) const;
  const std::vector<Constraint>& constraints() const { return constraints_; }

 private:
  std::vector<Constraint> constraints_;
  std::vector<std::shared_ptr<const re2::RE2>> expressions_;  // by constraint; null but for =~
};

}  // namespace proffer
