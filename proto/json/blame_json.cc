#include "proto/json/blame_json.h"

#include "proto/json/json_values.h"

namespace proffer::proto {

template <class F>
void fields(F& f, typename F::template Of<WaitingAsk>& ask) {
  f.text("framework", ask.framework);
  f.text("ask", ask.ask);
  f.text("role", ask.role);
  f.whole("lacking", ask.lacking);
  f.word("reason", parse_wait_reason, ask.reason);
  f.whole("offered", ask.offered);
  f.seconds("since_s", ask.since);
}

template <class F>
void fields(F& f, typename F::template Of<Blame>& blame) {
  f.text("answer", blame.answer);
  f.seconds("now_s", blame.now);
  f.text_if_any("framework", blame.framework);
  f.text_if_any("role", blame.role);
  f.text_if_any("task", blame.task);
  f.text_if_any("ask", blame.ask);
  f.word("state", parse_task_state, blame.state);
  f.seconds("asked_at_s", blame.asked_at);
  f.seconds("launched_at_s", blame.launched_at);
  f.rows_if_any("waited", blame.waited);
  f.seconds("since_s", blame.since);
  f.rows_if_any("sums", blame.sums);
  f.rows_if_any("asks", blame.asks);
  f.whole("asks_all", blame.asks_all);
}

JsonShape blame_shape() { return shape_of<Blame>(); }
std::string blame_json(const Blame& blame) { return print_value(blame); }
Result<Blame> parse_blame(std::string_view json) { return parse_value<Blame>(json); }

}  // namespace proffer::proto
