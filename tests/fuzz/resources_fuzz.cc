// Texts of resources: any resources, an agent's, a task's shape.

#include "common/check.h"
#include "common/resources.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {

void fuzz_resources(Input input) {
  const std::string_view whole = text_of(input);
  const Result<Resources> any = parse_resources(whole);
  if (!any) {
    check_told(any.error());
  } else {
    CHECK(!any->amounts.has_negative());
    for (const ResourceKind kind : kResourceKinds) CHECK_LE(any->amounts[kind], kAmountMax);
    const Result<Resources> again = parse_resources(to_text(*any));
    CHECK(again && *again == *any) << to_text(*any);
    CHECK_EQ(any->ports.empty(), any->ports.size() == 0);
  }

  const Result<Resources> agent = parse_agent_resources(whole);
  if (!agent) {
    check_told(agent.error());
  } else {
    // Only an agent's resources may list devices.
    CHECK(!any || (any->amounts == agent->amounts && any->ports == agent->ports));
    CHECK(!agent->amounts.is_zero());
    const Result<Resources> again = parse_agent_resources(print_agent_resources(*agent));
    CHECK(again && *again == *agent) << print_agent_resources(*agent);
  }

  const Result<ResourceVector> shape = parse_shape(whole);
  if (!shape) return check_told(shape.error());
  CHECK(any && any->amounts == *shape);
  CHECK(check_shape(*shape));
  const Result<ResourceVector> again = parse_shape(to_text(*shape));
  CHECK(again && *again == *shape) << to_text(*shape);
  if (!agent) return;
  // A carved part is available, equals the request, and leaves the rest.
  CHECK_EQ(fits(*shape, *agent), count_that_fits(*shape, *agent, 1) == 1);
  if (!fits(*shape, *agent)) return;
  const Resources taken = carve(*shape, *agent);
  CHECK(taken.amounts == *shape && agent->contains(taken));
  Resources rest = *agent;
  rest -= taken;
  rest += taken;
  CHECK(rest == *agent);
}

}  // namespace proffer::fuzz
