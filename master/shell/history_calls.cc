#include "master/shell/history_calls.h"

#include <algorithm>
#include <utility>

#include "common/text.h"
#include "proto/json/history_json.h"

namespace proffer::master {
namespace {

// A killed master may have lost its last entries, but only from before the next master led.
void end_gaps_at(proto::HistoryPage& page, Time led_until, const std::optional<Time>& since) {
  for (proto::HistoryGap& gap : page.gaps) {
    gap.until = std::max(gap.from, std::min(gap.until, led_until));
  }
  if (!since) return;
  std::erase_if(page.gaps, [&](const proto::HistoryGap& gap) { return gap.until < *since; });
}

}  // namespace

HistoryCalls::HistoryCalls(Loop& loop, std::function<void(PeerId, proto::Call)> send)
    : loop_(loop), send_(std::move(send)), timer_(loop, [this] { end_late(); }) {}

void HistoryCalls::read(const Master& core, History* own, std::string_view arguments,
                        PrincipalPtr by, Done done) {
  Result<proto::HistoryQuery> query = proto::parse_history_query(arguments);
  if (!query) return done(std::move(query).error().in("arguments of history"));
  const Result<HistoryKeeper> keeper = core.keeper_of(query->master);
  if (!keeper) return done(keeper.error());
  query->master = {};
  const std::string user = audit_name(by.get());
  const auto answer = [&core, by = std::move(by), keeper = *keeper, since = query->since,
                       done = std::move(done)](Result<FoundHistory> found) {
    if (!found) return done(std::move(found).error());
    if (keeper.led_until) end_gaps_at(found->page, *keeper.led_until, since);
    for (proto::EndedTask& ended : found->page.tasks) {
      if (core.may_see_tasks_of(ended.user, by.get())) continue;
      ended.command.clear();
      ended.status.message.clear();
    }
    done(Page{.json = proto::history_page_json(found->page), .next = std::move(found->next)});
  };
  if (keeper->standby) return ask(*keeper->standby, user, *query, answer);
  own->read(*std::move(query), answer);
}

void HistoryCalls::ask(PeerId standby, const std::string& user, const proto::HistoryQuery& query,
                       std::function<void(Result<FoundHistory>)> done) {
  const auto of_user = std::count_if(waiting_.begin(), waiting_.end(),
                                     [&](const auto& one) { return one.second.user == user; });
  if (static_cast<size_t>(of_user) >= kStandbyPagesPerUserMax) {
    return done(
        Error::resource_exhausted(text("user ", quoted(user), " waits for ", of_user,
                                       " pages of the history of standbys, which is the maximum"))
            .with_hint("try again in a moment"));
  }
  if (waiting_.size() >= kStandbyPagesMax) {
    return done(Error::resource_exhausted("too many history queries are running")
                    .with_hint("try again in a moment"));
  }
  waiting_[++asked_] = {.standby = standby,
                        .until = loop_.now() + kStandbyAnswersIn,
                        .user = user,
                        .done = std::move(done)};
  if (waiting_.size() == 1) timer_.arm(waiting_.begin()->second.until);
  send_(standby, {.id = asked_, .method = "history", .json = proto::history_query_json(query)});
}

void HistoryCalls::on_reply(PeerId standby, const proto::Reply& reply) {
  const auto found = waiting_.find(reply.id);
  if (found == waiting_.end() || found->second.standby != standby) return;
  auto done = std::move(found->second.done);
  waiting_.erase(found);
  if (reply.error) {
    return done(Error(reply.error->code, reply.error->message).with_hint(reply.error->hint));
  }
  parse(reply, std::move(done));
}

// A page is long, so it is not parsed in the loop's thread.
void HistoryCalls::parse(proto::Reply reply, std::function<void(Result<FoundHistory>)> done) {
  const auto result = std::make_shared<Result<FoundHistory>>(FoundHistory());
  loop_.work(
      [reply = std::move(reply), result] {
        Result<proto::HistoryPage> page = proto::parse_history_page(reply.json);
        if (page) {
          *result = FoundHistory{.page = *std::move(page), .next = reply.next};
        } else {
          *result = std::move(page).error().in("the answer of a standby");
        }
      },
      [alive = alive_, result, done = std::move(done)] {
        if (*alive) done(std::move(*result));
      });
}

void HistoryCalls::on_lost(PeerId standby) {
  std::vector<std::function<void(Result<FoundHistory>)>> ended;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    if (at->second.standby != standby) {
      ++at;
      continue;
    }
    ended.push_back(std::move(at->second.done));
    at = waiting_.erase(at);
  }
  for (const auto& done : ended) done(Error::unavailable("the connection of the standby ended"));
}

void HistoryCalls::end_late() {
  while (!waiting_.empty() && waiting_.begin()->second.until <= loop_.now()) {
    const auto done = std::move(waiting_.begin()->second.done);
    waiting_.erase(waiting_.begin());
    done(Error::timeout(text("the standby did not answer within ", to_text(kStandbyAnswersIn))));
  }
  if (!waiting_.empty()) timer_.arm(waiting_.begin()->second.until);
}

}  // namespace proffer::master
