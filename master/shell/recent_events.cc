#include "master/shell/recent_events.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "proto/event_block.h"

namespace proffer::master {

void RecentEvents::add(std::vector<std::string>&& blocks, std::vector<proto::EventLines>&& lines) {
  CHECK(lines.empty() || lines.size() == blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i) {
    const std::optional<proto::EventBlockReader> block = proto::EventBlockReader::open(blocks[i]);
    CHECK(block);
    bytes_ += blocks[i].size();
    blocks_.push_back(
        {.bytes = std::move(blocks[i]), .first = block->first(), .last = block->last()});
    if (!lines.empty()) blocks_.back().lines = std::move(lines[i]);
  }
  while (!blocks_.empty() && bytes_ - blocks_.front().bytes.size() >= bytes_max_) {
    bytes_ -= blocks_.front().bytes.size();
    blocks_.pop_front();
  }
}

bool RecentEvents::has(const proto::EventPlace& from) const {
  return !blocks_.empty() && from >= blocks_.front().first;
}

std::deque<RecentEvents::Block>::const_iterator RecentEvents::first_with(
    const proto::EventPlace& from) const {
  return std::lower_bound(
      blocks_.begin(), blocks_.end(), from,
      [](const Block& block, const proto::EventPlace& place) { return block.last < place; });
}

}  // namespace proffer::master
