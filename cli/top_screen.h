#pragma once

// What `proffer top` shows, as lines; pure. cli/top.cc has the terminal.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/output.h"
#include "proto/status.h"

namespace proffer::cli {

enum class TopView : uint8_t { kFrameworks, kRoles, kAgents, kTasks };
inline constexpr size_t kTopViews = 4;

// The cluster at one moment: the status, and the rows of the view that is shown.
struct TopPicture {
  std::string master = {};  // the one that answered
  proto::MasterStatus status = {};
  std::vector<proto::FrameworkRow> frameworks = {};
  std::vector<proto::RoleRow> roles = {};
  std::vector<proto::AgentRow> agents = {};
  std::vector<proto::TaskRow> tasks = {};
  std::string trouble = {};  // why it is an old picture; empty: it is new
};

// What a person has chosen.
struct TopPlace {
  TopView view = TopView::kFrameworks;
  size_t scrolled = 0;  // rows that are above the screen
  bool operator==(const TopPlace&) const = default;
};

enum class TopKey : uint8_t { kUp, kDown, kLeft, kRight, kPageUp, kPageDown, kQuit, kOther };
// Takes the first key of what was typed; none: there is no whole one yet.
std::optional<TopKey> take_key(std::string& typed);
// Where a key leads, of a view with so many rows on a screen with so many lines.
TopPlace moved(TopPlace place, TopKey key, size_t rows, size_t lines);

// The rows of a view, those that use most first; roles as a tree.
Table top_table(const TopPicture& picture, TopView view);
// At most `lines` lines of at most `columns` columns. Scrolled too far (rows have gone), it shows
// the last rows.
std::vector<std::string> top_screen(const TopPicture& picture, const TopPlace& place,
                                    size_t columns, size_t lines);
// All of it, for an output that is no terminal.
std::vector<std::string> top_text(const TopPicture& picture);

}  // namespace proffer::cli
