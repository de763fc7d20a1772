#pragma once

// The screen of `proffer top`, as lines; pure. cli/top.cc has the terminal.

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

// The cluster at one moment: the status, and the rows of the present view.
struct TopPicture {
  std::string master = {};  // the master that answered
  proto::MasterStatus status = {};
  std::vector<proto::FrameworkRow> frameworks = {};
  std::vector<proto::RoleRow> roles = {};
  std::vector<proto::AgentRow> agents = {};
  std::vector<proto::TaskRow> tasks = {};
  std::string trouble = {};  // why the data is old; empty: it is up to date
};

// The view that a person has chosen.
struct TopPlace {
  TopView view = TopView::kFrameworks;
  size_t scrolled = 0;  // rows above the screen
  bool operator==(const TopPlace&) const = default;
};

enum class TopKey : uint8_t { kUp, kDown, kLeft, kRight, kPageUp, kPageDown, kQuit, kOther };
// Removes the first key from the typed bytes; none: no key is complete yet.
std::optional<TopKey> take_key(std::string& typed);
// The place after a key, for a view with this many rows on a screen with this many lines.
TopPlace moved(TopPlace place, TopKey key, size_t rows, size_t lines);

// The rows of a view, largest use first; roles as a tree.
Table top_table(const TopPicture& picture, TopView view);
// At most `lines` lines of at most `columns` columns. If it is scrolled too far, because rows have
// gone, it shows the last rows.
std::vector<std::string> top_screen(const TopPicture& picture, const TopPlace& place,
                                    size_t columns, size_t lines);
// The status and all views, for an output that is not a terminal.
std::vector<std::string> top_text(const TopPicture& picture);

}  // namespace proffer::cli
