// A page is named NUMBER/INDEX. A snapshot that fits a single reply is not kept.

#include "master/shell/snapshot_pages.h"

#include <algorithm>
#include <charconv>

#include "common/text.h"
#include "proto/json/live_snapshot_json.h"

namespace proffer::master {
namespace {

struct PageName {
  uint64_t number = 0;
  uint64_t index = 0;
};

std::optional<PageName> parse_page_name(std::string_view words) {
  PageName name;
  const char* const end = words.data() + words.size();
  const auto [slash, wrong] = std::from_chars(words.data(), end, name.number);
  if (wrong != std::errc() || slash == end || *slash != '/') return std::nullopt;
  const auto [rest, bad] = std::from_chars(slash + 1, end, name.index);
  if (bad != std::errc() || rest != end) return std::nullopt;
  return name;
}

}  // namespace

Page SnapshotPages::page_of(Kept& kept, size_t index, Time now) {
  kept.used = now;
  Page page{.json = kept.pages[index]};
  if (index + 1 < kept.pages.size()) page.next = text(kept.number, "/", index + 1);
  return page;
}

Result<Page> SnapshotPages::page(const Master& core, std::string_view arguments, Time now) {
  std::erase_if(kept_, [&](const Kept& kept) { return kept.used + kSnapshotKept <= now; });
  Result<std::string> after = proto::parse_live_snapshot_call(arguments);
  if (!after) return std::move(after).error().in("arguments of snapshot");
  if (after->empty()) {
    Kept taken{.number = ++taken_, .pages = proto::live_snapshot_pages(core.live_snapshot(now))};
    if (taken.pages.size() == 1) return page_of(taken, 0, now);
    if (kept_.size() == kSnapshotsKept) kept_.pop_front();
    return page_of(kept_.emplace_back(std::move(taken)), 0, now);
  }
  const std::optional<PageName> name = parse_page_name(*after);
  if (!name) return Error::invalid_argument(text("there is no page ", quoted(*after)));
  const auto kept = std::find_if(kept_.begin(), kept_.end(),
                                 [&](const Kept& one) { return one.number == name->number; });
  if (kept == kept_.end()) {
    return Error::not_found(text("the snapshot of page ", quoted(*after), " has expired"))
        .with_hint("take a new snapshot");
  }
  if (name->index >= kept->pages.size()) {
    return Error::invalid_argument(text("there is no page ", quoted(*after)));
  }
  Page page = page_of(*kept, name->index, now);
  if (page.next.empty()) kept_.erase(kept);
  return page;
}

}  // namespace proffer::master
