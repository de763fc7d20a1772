// External merge sort. `ExternalSort::put` fills the buffer, `spill` writes it to disk as a run,
// and `finish` merges the runs.

#include "frameworks/batch/executor/sort.h"

#include <algorithm>

#include <unistd.h>

#include "common/check.h"
#include "common/text.h"

namespace proffer::batch {
namespace {

constexpr size_t kMergeWidthMin = 8;
constexpr size_t kMergeWidthMax = 128;  // of descriptors
// Bytes of key_prefix().
constexpr size_t kPrefixBytes = 8;
// Keys with a longer common prefix are compared as a whole.
constexpr size_t kDepthMax = 64;
// A reader holds one block, both stored and unpacked.
constexpr int64_t kReaderBytes = 2 * static_cast<int64_t>(kBlockBytes) + 8 * 1'024;

Result<std::unique_ptr<LineSource>> open_run(const Run& run, Unpacker& unpacker) {
  Result<Fd> file = open_to_read(run.path);
  if (!file) return std::move(file).error();
  if (!run.is_packed) {
    return std::unique_ptr<LineSource>(
        std::make_unique<PlainReader>(*std::move(file), run.partition));
  }
  return std::unique_ptr<LineSource>(
      std::make_unique<BlockReader>(*std::move(file), run.path, unpacker));
}

Result<void> merge_files(const Run* runs, size_t count, const KeyRule& keys, LineSink& out) {
  Unpacker unpacker;
  std::vector<std::unique_ptr<LineSource>> sources;
  for (size_t i = 0; i < count; ++i) {
    Result<std::unique_ptr<LineSource>> source = open_run(runs[i], unpacker);
    if (!source) return std::move(source).error();
    sources.push_back(*std::move(source));
  }
  if (Result<void> ok = merge(std::move(sources), keys, out); !ok) return ok;
  for (size_t i = 0; i < count; ++i) ::unlink(runs[i].path.c_str());
  return {};
}

}  // namespace

size_t merge_width(int64_t bytes) {
  return std::clamp(static_cast<size_t>(bytes / kReaderBytes), kMergeWidthMin, kMergeWidthMax);
}

Result<void> merge(std::vector<std::unique_ptr<LineSource>> sources, const KeyRule& keys,
                   LineSink& out) {
  const LineOrder order(keys);
  struct Head {
    LineOrder::Place place = {};
    size_t source = 0;
  };
  // The first of the heap's elements has the next line.
  const auto is_behind = [&order](const Head& a, const Head& b) {
    const int result = order.compare(a.place, b.place);
    return result != 0 ? result > 0 : a.source > b.source;
  };
  const auto place = [&](size_t source) {
    return order.place(sources[source]->partition(), sources[source]->line());
  };
  std::vector<Head> heap;
  for (size_t i = 0; i < sources.size(); ++i) {
    const Result<bool> more = sources[i]->next();
    if (!more) return more.error();
    if (*more) heap.push_back({place(i), i});
  }
  std::make_heap(heap.begin(), heap.end(), is_behind);
  while (!heap.empty()) {
    const size_t source = heap.front().source;
    // While its lines come before those of the others, no other is examined.
    const Head* second = nullptr;
    if (heap.size() > 1) {
      second = &heap[1];
      if (heap.size() > 2 && is_behind(heap[1], heap[2])) second = &heap[2];
    }
    bool more = true;
    do {
      const Result<bool> wants = out.put(sources[source]->partition(), sources[source]->line());
      if (!wants) return wants.error();
      if (!*wants) return {};
      const Result<bool> next = sources[source]->next();
      if (!next) return next.error();
      more = *next;
      if (more) heap.front().place = place(source);
    } while (more && (second == nullptr || !is_behind(heap.front(), *second)));
    std::pop_heap(heap.begin(), heap.end(), is_behind);
    if (more) {
      heap.back() = {place(source), source};
      std::push_heap(heap.begin(), heap.end(), is_behind);
    } else {
      heap.pop_back();
    }
  }
  return {};
}

Result<void> merge_runs(std::vector<Run> runs, const KeyRule& keys, size_t width,
                        const std::string& directory, LineSink& out) {
  CHECK_GE(width, size_t{2});
  // Neighbours are merged, so that the order of equal keys stays.
  for (int pass = 0; runs.size() > width; ++pass) {
    std::vector<Run> merged;
    for (size_t first = 0; first < runs.size(); first += width) {
      const size_t count = std::min(width, runs.size() - first);
      if (count == 1) {
        merged.push_back(runs[first]);
        continue;
      }
      Run run{.path = text(directory, "/pass-", pass, "-", merged.size())};
      Result<Fd> file = open_to_write(run.path);
      if (!file) return std::move(file).error();
      BlockWriter writer(file->get());
      if (Result<void> ok = merge_files(&runs[first], count, keys, writer); !ok) return ok;
      if (Result<void> ok = writer.finish(); !ok) return ok;
      merged.push_back(std::move(run));
    }
    runs = std::move(merged);
  }
  return merge_files(runs.data(), runs.size(), keys, out);
}

// --- the buffer --------------------------------------------------------------------------------

SortBuffer::SortBuffer(int64_t bytes, const KeyRule& keys)
    : order_(keys),
      entries_max_(static_cast<size_t>(bytes) / sizeof(Entry)),
      memory_(new Entry[entries_max_]) {  // not touched: unused memory is never resident
  CHECK(bytes <= kSortBytesMax);
}

SortBuffer::Entry* SortBuffer::first() const { return memory_.get() + entries_max_ - count_; }

bool SortBuffer::add(uint32_t partition, std::string_view line) {
  // One more byte, so that no two lines have the same offset.
  const size_t used = text_bytes_ + 1 + (count_ + 1) * sizeof(Entry);
  if (used > entries_max_ * sizeof(Entry) || line.size() > entries_max_ * sizeof(Entry) - used) {
    return false;
  }
  char* texts = reinterpret_cast<char*>(memory_.get());
  std::copy(line.begin(), line.end(), texts + text_bytes_);
  const LineOrder::Place place = order_.place(partition, line);
  ++count_;
  *first() = {.prefix = place.prefix,
              .partition = partition,
              .offset = static_cast<uint32_t>(text_bytes_),
              .size = static_cast<uint32_t>(line.size()),
              .key_size = static_cast<uint32_t>(place.key.size())};
  text_bytes_ += line.size() + 1;
  return true;
}

std::string_view SortBuffer::key(const Entry& entry) const {
  return {reinterpret_cast<const char*>(memory_.get()) + entry.offset, entry.key_size};
}

void SortBuffer::sort_by_rule(Entry* begin, Entry* end) const {
  const auto place = [this](const Entry& entry) {
    return LineOrder::Place{
        .partition = entry.partition, .prefix = entry.prefix, .key = key(entry)};
  };
  std::sort(begin, end, [&](const Entry& a, const Entry& b) {
    const int result = order_.compare(place(a), place(b));
    return result != 0 ? result < 0 : a.offset < b.offset;
  });
}

// Keys are equal up to `depth`, and `prefix` has the next bytes. Eight bytes are compared as one
// number, without reading the texts, which are scattered over the memory. Only keys that are equal
// in these, and that continue after them, are sorted by the next eight. After Bentley & Sedgewick,
// "Fast Algorithms for Sorting and Searching Strings", SODA 1997, section 4, with cached bytes.
void SortBuffer::sort_by_bytes(Entry* begin, Entry* end, size_t depth) const {
  // The number of bytes of the prefix that belong to the key; one more if the key continues.
  const auto reach = [depth](const Entry& entry) {
    return std::min(entry.key_size - depth, kPrefixBytes + 1);
  };
  std::sort(begin, end, [&](const Entry& a, const Entry& b) {
    if (a.partition != b.partition) return a.partition < b.partition;
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    if (reach(a) != reach(b)) return reach(a) < reach(b);
    return a.offset < b.offset;
  });
  while (begin != end) {
    Entry* const same = begin;
    const auto is_same = [&](const Entry& entry) {
      return entry.partition == same->partition && entry.prefix == same->prefix &&
             reach(entry) == reach(*same);
    };
    begin = std::find_if_not(same, end, is_same);
    if (begin - same < 2 || reach(*same) <= kPrefixBytes) continue;
    const size_t next = depth + kPrefixBytes;
    if (next >= kDepthMax) {
      sort_by_rule(same, begin);
      continue;
    }
    for (Entry* entry = same; entry != begin; ++entry) {
      entry->prefix = key_prefix(key(*entry).substr(next));
    }
    sort_by_bytes(same, begin, next);
  }
}

Result<void> SortBuffer::drain(LineSink& out) {
  Entry* const begin = first();
  Entry* const end = begin + count_;
  if (order_.rule().sort.empty()) {
    sort_by_bytes(begin, end, 0);
  } else {
    sort_by_rule(begin, end);
  }
  const char* texts = reinterpret_cast<const char*>(memory_.get());
  count_ = 0;
  text_bytes_ = 0;
  for (const Entry* entry = begin; entry != end; ++entry) {
    const Result<bool> wants =
        out.put(entry->partition, std::string_view(texts + entry->offset, entry->size));
    if (!wants) return wants.error();
    if (!*wants) break;
  }
  return {};
}

void SortBuffer::release() {
  CHECK(empty());
  memory_.reset();
  entries_max_ = 0;
}

// --- the sort ----------------------------------------------------------------------------------

ExternalSort::ExternalSort(std::string directory, int64_t bytes, const KeyRule& keys)
    : directory_(std::move(directory)), bytes_(bytes), keys_(keys), buffer_(bytes, keys) {}

ExternalSort::~ExternalSort() {
  for (const Run& run : runs_) ::unlink(run.path.c_str());
}

Result<bool> ExternalSort::put(uint32_t partition, std::string_view line) {
  if (buffer_.add(partition, line)) return true;
  const auto drain = [this](LineSink& out) { return buffer_.drain(out); };
  if (!buffer_.empty()) {
    if (Result<void> ok = spill(drain); !ok) return std::move(ok).error();
    if (buffer_.add(partition, line)) return true;
  }
  // it is longer than the buffer
  const auto alone = [&](LineSink& out) -> Result<void> {
    const Result<bool> wants = out.put(partition, line);
    if (!wants) return wants.error();
    return {};
  };
  if (Result<void> ok = spill(alone); !ok) return std::move(ok).error();
  return true;
}

Result<void> ExternalSort::spill(const std::function<Result<void>(LineSink&)>& lines) {
  Run run{.path = text(directory_, "/run-", runs_.size())};
  Result<Fd> file = open_to_write(run.path);
  if (!file) return std::move(file).error();
  runs_.push_back(std::move(run));
  BlockWriter writer(file->get());
  if (Result<void> ok = lines(writer); !ok) return ok;
  return writer.finish();
}

Result<void> ExternalSort::finish(LineSink& out) {
  if (runs_.empty()) return buffer_.drain(out);
  if (!buffer_.empty()) {
    const auto drain = [this](LineSink& to) { return buffer_.drain(to); };
    if (Result<void> ok = spill(drain); !ok) return ok;
  }
  buffer_.release();
  return merge_runs(runs_, keys_, merge_width(bytes_), directory_, out);
}

}  // namespace proffer::batch
