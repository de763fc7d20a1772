#include "sdk/shell/history.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <set>
#include <tuple>

#include "proto/json/history_json.h"
#include "proto/json/masters_json.h"
#include "sdk/shell/master_call.h"

namespace proffer::sdk {
namespace {

template <class Entry>
void add(std::vector<Entry>& to, std::vector<Entry>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

// A master of an earlier version does not support the call: it is the only one, and answers for
// itself.
Result<std::vector<proto::MasterRow>> fetch_masters(const Masters& master) {
  const Result<MasterReply> answer = call_master(master, "masters", "", seconds(5));
  if (!answer && answer.error().code() == ErrorCode::kNotFound) {
    return std::vector<proto::MasterRow>{{.role = proto::MasterRole::kLeads}};
  }
  if (!answer) return answer.error();
  return proto::parse_masters_list(answer->json);
}

// Returns one page, and sets `query.before` for the next page; empty: there is none.
Result<proto::HistoryPage> fetch_page(const Masters& master, proto::HistoryQuery& query) {
  const Result<MasterReply> answer =
      call_master(master, "history", proto::history_query_json(query), seconds(30));
  if (!answer) return answer.error();
  query.before = answer->next;
  return proto::parse_history_page(answer->json);
}

// The rows of one master, newest first.
Result<HistoryRows> fetch_part(const Masters& master, proto::HistoryQuery query, size_t rows_max) {
  HistoryRows all;
  while (true) {
    const size_t rows = all.page.tasks.size() + all.page.roles.size();
    if (rows >= rows_max) break;
    query.limit = std::min(rows_max - rows, kReplyRowsMax);
    Result<proto::HistoryPage> page = fetch_page(master, query);
    if (!page) return std::move(page).error();
    add(all.page.tasks, page->tasks);
    add(all.page.roles, page->roles);
    add(all.page.gaps, page->gaps);
    all.page.damaged_bytes += page->damaged_bytes;
    all.more = !query.before.empty();
    if (!all.more) break;
  }
  return all;
}

Result<void> visit_part(const Masters& master, proto::HistoryQuery query,
                        const std::function<void(const proto::HistoryPage&)>& see) {
  do {
    const Result<proto::HistoryPage> page = fetch_page(master, query);
    if (!page) return page.error();
    see(*page);
  } while (!query.before.empty());
  return {};
}

// True if the master may have matching rows.
bool is_asked_for(const proto::MasterRow& one, const proto::HistoryQuery& query) {
  if (!one.last) return false;
  return !query.since || !one.led_until || *one.led_until >= *query.since;
}

Time time_of(const proto::EndedTask& ended) { return ended.status.at; }
Time time_of(const proto::RoleUse& use) { return use.until; }
Time time_of(const proto::HistoryGap& gap) { return gap.until; }

// Merges two lists, newest first.
template <class Entry>
std::vector<Entry> merged(std::vector<Entry> a, std::vector<Entry> b) {
  std::vector<Entry> all;
  all.reserve(a.size() + b.size());
  std::merge(std::make_move_iterator(a.begin()), std::make_move_iterator(a.end()),
             std::make_move_iterator(b.begin()), std::make_move_iterator(b.end()),
             std::back_inserter(all),
             [](const Entry& x, const Entry& y) { return time_of(x) > time_of(y); });
  return all;
}

}  // namespace

namespace {

// Queries each master that is available; returns the others.
Result<std::vector<proto::MasterRow>> ask_each(
    const Masters& master, proto::HistoryQuery query,
    const std::function<Result<void>(const proto::HistoryQuery&)>& ask) {
  const Result<std::vector<proto::MasterRow>> masters = fetch_masters(master);
  if (!masters) return masters.error();
  std::vector<proto::MasterRow> missing;
  for (const proto::MasterRow& one : *masters) {
    query.master = one.id;
    Result<void> asked =
        one.role == proto::MasterRole::kAway ? Error::unavailable("it is away") : ask(query);
    if (!asked && one.role == proto::MasterRole::kLeads) return std::move(asked).error();
    if (!asked && is_asked_for(one, query)) missing.push_back(one);
  }
  return missing;
}

}  // namespace

Result<std::vector<proto::MasterRow>> visit_history(
    const Masters& master, proto::HistoryQuery query,
    const std::function<void(const proto::HistoryPage&)>& see) {
  return ask_each(master, std::move(query), [&](const proto::HistoryQuery& of_one) {
    return visit_part(master, of_one, see);
  });
}

Result<HistoryRows> fetch_history(const Masters& master, proto::HistoryQuery query,
                                  size_t rows_max) {
  std::vector<HistoryRows> parts;
  Result<std::vector<proto::MasterRow>> missing =
      ask_each(master, std::move(query), [&](const proto::HistoryQuery& of_one) -> Result<void> {
        Result<HistoryRows> part = fetch_part(master, of_one, rows_max);
        if (!part) return std::move(part).error();
        parts.push_back(*std::move(part));
        return {};
      });
  if (!missing) return std::move(missing).error();
  HistoryRows all = merge_history(std::move(parts), *std::move(missing), rows_max);
  std::reverse(all.page.tasks.begin(), all.page.tasks.end());
  std::reverse(all.page.roles.begin(), all.page.roles.end());
  std::reverse(all.page.gaps.begin(), all.page.gaps.end());
  return all;
}

HistoryRows merge_history(std::vector<HistoryRows> parts, std::vector<proto::MasterRow> missing,
                          size_t rows_max) {
  HistoryRows all;
  all.page.missing = std::move(missing);
  for (HistoryRows& part : parts) {
    all.page.tasks = merged(std::move(all.page.tasks), std::move(part.page.tasks));
    all.page.roles = merged(std::move(all.page.roles), std::move(part.page.roles));
    all.page.gaps = merged(std::move(all.page.gaps), std::move(part.page.gaps));
    all.page.damaged_bytes += part.page.damaged_bytes;
    all.more |= part.more;
  }
  all.more |= all.page.tasks.size() > rows_max || all.page.roles.size() > rows_max;
  if (all.page.tasks.size() > rows_max) all.page.tasks.resize(rows_max);
  if (all.page.roles.size() > rows_max) all.page.roles.resize(rows_max);
  // The first report of its end stays; the other master has only what the agent sent again.
  std::set<std::tuple<FrameworkId, TaskId, Time>> known;
  const auto is_known = [&](const proto::EndedTask& ended) {
    return !known.emplace(ended.framework, ended.status.task, ended.launched_at).second;
  };
  if (parts.size() > 1) {
    all.page.tasks.erase(
        all.page.tasks.begin(),
        std::remove_if(all.page.tasks.rbegin(), all.page.tasks.rend(), is_known).base());
  }
  if (!all.more) return all;
  // Rows before the oldest shown row are not missing.
  Time oldest = {};
  if (!all.page.tasks.empty()) oldest = time_of(all.page.tasks.back());
  if (!all.page.roles.empty()) oldest = time_of(all.page.roles.back());
  std::erase_if(all.page.gaps, [&](const proto::HistoryGap& gap) { return gap.until < oldest; });
  std::erase_if(all.page.missing, [&](const proto::MasterRow& one) {
    return one.led_until && *one.led_until < oldest;
  });
  return all;
}

std::string local_time(Time time) {
  const std::time_t seconds = time.nanos() / 1'000'000'000;
  std::tm parts = {};
  std::array<char, 32> words = {};
  if (::localtime_r(&seconds, &parts) == nullptr) return "?";
  const size_t size = std::strftime(words.data(), words.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return {words.data(), size};
}

}  // namespace proffer::sdk
