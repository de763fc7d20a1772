#include "cli/top_screen.h"

#include <algorithm>
#include <array>

#include "cli/role_tree.h"
#include "common/printable.h"
#include "common/text.h"

namespace proffer::cli {
namespace {

constexpr std::array<std::string_view, kTopViews> kTitles = {"Frameworks", "Roles", "Agents",
                                                             "Tasks"};
constexpr size_t kBarColumns = 20;
constexpr size_t kLinesAbove = 7;  // lines above the rows of a view

// Cuts a line to `columns` columns; continuation bytes of UTF-8 take none.
std::string cut(const std::string& line, size_t columns) {
  size_t width = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(line[i]) & 0xC0) != 0x80;
    if (begins && ++width > columns) return line.substr(0, i);
  }
  return line;
}

// A bar such as "[#####---------------]".
std::string bar(int64_t used, int64_t total) {
  const int64_t part = total <= 0 ? 0 : std::clamp<int64_t>(used, 0, total);
  const auto full = total <= 0
                        ? size_t{0}
                        : static_cast<size_t>(static_cast<int64_t>(kBarColumns) * (part / 1000) /
                                              std::max<int64_t>(1, total / 1000));
  const size_t filled = std::min(full, kBarColumns);
  return text('[', std::string(filled, '#'), std::string(kBarColumns - filled, '-'), ']');
}

std::string use_line(const proto::MasterStatus& status, ResourceKind kind) {
  const int64_t used = status.allocated[kind];
  const int64_t total = status.total[kind];
  if (kind == ResourceKind::kMem) {
    return text("mem    ", bar(used, total), ' ', mebibytes(used), " of ", mebibytes(total));
  }
  return text("cpus   ", bar(used, total), ' ', print_milli(used), " of ", print_milli(total));
}

int64_t wanted_of(const proto::FrameworkRow& row) {
  int64_t wanted = 0;
  for (const proto::AskRow& ask : row.asks) wanted += ask.wanted;
  return wanted;
}

// Use of the most used kind, in millionths of the agent's total.
int64_t use_of_agent(const proto::AgentRow& row) {
  int64_t most = 0;
  for (const ResourceKind kind : kResourceKinds) {
    const int64_t total = row.total.amounts[kind] / 1000;
    if (total > 0) most = std::max(most, row.allocated[kind] / 1000 * 1'000'000 / total);
  }
  return most;
}

std::string or_dash(const std::string& words) { return words.empty() ? "-" : words; }

Table frameworks_of(std::vector<proto::FrameworkRow> rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.dominant_share_millionths > b.dominant_share_millionths;
  });
  Table table({"SHARE", "TASKS", "WANTS", "STATE", "ALLOCATED", "ROLE", "FRAMEWORK"});
  for (const proto::FrameworkRow& row : rows) {
    table.row({percent(row.dominant_share_millionths), std::to_string(row.tasks),
               std::to_string(wanted_of(row)), std::string(to_text(row.state)),
               or_dash(to_text(row.allocated)), row.role.str(), row.framework.str()});
  }
  return table;
}

Table agents_of(std::vector<proto::AgentRow> rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return use_of_agent(a) > use_of_agent(b); });
  Table table({"USE", "TASKS", "STATE", "ALLOCATED", "FREE", "AGENT"});
  for (const proto::AgentRow& row : rows) {
    const std::string state = text(to_text(row.state), row.drained_by ? ", draining" : "",
                                   row.trouble.empty() ? "" : ", in trouble");
    table.row({percent(use_of_agent(row)), std::to_string(row.tasks), state,
               or_dash(to_text(row.allocated)), or_dash(to_text(row.free)), row.agent.str()});
  }
  return table;
}

Table tasks_of(std::vector<proto::TaskRow> rows, Time now) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.launched_at > b.launched_at; });
  Table table({"AGE", "STATE", "AGENT", "RESOURCES", "TASK"});
  for (const proto::TaskRow& row : rows) {
    table.row({age(now - row.launched_at), std::string(to_text(row.state)),
               or_dash(row.agent.str()), to_text(row.resources),
               row.framework.str() + "/" + row.task.str()});
  }
  return table;
}

std::vector<std::string> head(const TopPicture& picture) {
  const proto::MasterStatus& status = picture.status;
  const std::string held_back = status.agents_held_back > 0
                                    ? text("; ", status.agents_held_back, " held back by the brake")
                                    : std::string();
  return {text("master ", picture.master, ", leader epoch ", status.leader.value(), ", up ",
               age(status.now - status.started_at)),
          text("agents ", status.agents_connected, " connected, ",
               status.agents_disconnected + status.agents_unreachable, " away", held_back,
               "; frameworks ", status.frameworks_connected, " connected, ",
               status.frameworks_disconnected, " away"),
          text("tasks  ", status.tasks_running, " running, ", status.tasks_staging, " staging, ",
               status.tasks_killing, " killing, ", status.tasks_unreachable, " unreachable"),
          use_line(status, ResourceKind::kCpus), use_line(status, ResourceKind::kMem)};
}

// "Frameworks [Roles] Agents Tasks" and the keys; or the current error.
std::string menu(const TopPicture& picture, TopView view) {
  if (!picture.trouble.empty()) return text("! ", picture.trouble);
  std::string line;
  for (size_t i = 0; i < kTopViews; ++i) {
    const bool is_shown = i == static_cast<size_t>(view);
    line += is_shown ? text('[', kTitles.at(i), "] ") : text(' ', kTitles.at(i), "  ");
  }
  return line + " arrows: view, rows; q: quit";
}

}  // namespace

std::optional<TopKey> take_key(std::string& typed) {
  if (typed.empty()) return std::nullopt;
  struct Sequence {
    std::string_view bytes;
    TopKey key;
  };
  // The codes that terminals send in normal mode and in application mode.
  constexpr Sequence kSequences[] = {
      {"\x1b[A", TopKey::kUp},        {"\x1bOA", TopKey::kUp},    {"\x1b[B", TopKey::kDown},
      {"\x1bOB", TopKey::kDown},      {"\x1b[C", TopKey::kRight}, {"\x1bOC", TopKey::kRight},
      {"\x1b[D", TopKey::kLeft},      {"\x1bOD", TopKey::kLeft},  {"\x1b[5~", TopKey::kPageUp},
      {"\x1b[6~", TopKey::kPageDown}, {"\t", TopKey::kRight},     {" ", TopKey::kPageDown},
      {"q", TopKey::kQuit},           {"Q", TopKey::kQuit},       {"\x03", TopKey::kQuit},
      {"\x04", TopKey::kQuit}};
  for (const auto& [bytes, key] : kSequences) {
    if (!typed.starts_with(bytes)) continue;
    typed.erase(0, bytes.size());
    return key;
  }
  for (const auto& [bytes, key] : kSequences) {
    if (bytes.starts_with(typed)) return std::nullopt;  // The sequence is incomplete.
  }
  typed.erase(0, 1);
  return TopKey::kOther;
}

TopPlace moved(TopPlace place, TopKey key, size_t rows, size_t lines) {
  const size_t room = lines > kLinesAbove ? lines - kLinesAbove : 1;
  const size_t page = std::max<size_t>(room, 2) - 1;
  const size_t last = rows > room ? rows - room : 0;
  const auto view_at = [&](size_t steps) {
    return static_cast<TopView>((static_cast<size_t>(place.view) + steps) % kTopViews);
  };
  switch (key) {
    case TopKey::kLeft:
      return {.view = view_at(kTopViews - 1)};
    case TopKey::kRight:
      return {.view = view_at(1)};
    case TopKey::kUp:
      place.scrolled -= std::min<size_t>(place.scrolled, 1);
      return place;
    case TopKey::kPageUp:
      place.scrolled -= std::min(place.scrolled, page);
      return place;
    case TopKey::kDown:
      place.scrolled = std::min(place.scrolled + 1, last);
      return place;
    case TopKey::kPageDown:
      place.scrolled = std::min(place.scrolled + page, last);
      return place;
    default:
      return place;
  }
}

Table top_table(const TopPicture& picture, TopView view) {
  switch (view) {
    case TopView::kRoles:
      return role_tree(picture.roles);
    case TopView::kAgents:
      return agents_of(picture.agents);
    case TopView::kTasks:
      return tasks_of(picture.tasks, picture.status.now);
    default:
      return frameworks_of(picture.frameworks);
  }
}

std::vector<std::string> top_screen(const TopPicture& picture, const TopPlace& place,
                                    size_t columns, size_t lines) {
  std::vector<std::string> screen = head(picture);
  screen.push_back(menu(picture, place.view));
  const std::vector<std::string> table = top_table(picture, place.view).lines();
  screen.push_back(table.front());
  const size_t room = lines > screen.size() ? lines - screen.size() : 0;
  const size_t rows = table.size() - 1;
  const size_t first = std::min(place.scrolled, rows > room ? rows - room : 0);
  for (size_t i = first; i < rows && i < first + room; ++i) screen.push_back(table[i + 1]);
  if (screen.size() > lines) screen.resize(lines);
  // Cut after escaping, which makes a line longer.
  for (std::string& line : screen) line = cut(printable_line(line), columns);
  return screen;
}

std::vector<std::string> top_text(const TopPicture& picture) {
  std::vector<std::string> all = head(picture);
  for (size_t i = 0; i < kTopViews; ++i) {
    all.emplace_back();
    all.emplace_back(kTitles.at(i));
    const Table table = top_table(picture, static_cast<TopView>(i));
    for (std::string& line : table.lines()) all.push_back(std::move(line));
  }
  return all;
}

}  // namespace proffer::cli
