// Impl::queue contains the next reads; each read leads to one read_done(), and possibly to more
// reads.

#include "store/zookeeper_reader.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "common/text.h"
#include "store/zookeeper_rows.h"

namespace proffer {
namespace {

using Status = ZooKeeperSession::Status;

// Concurrent reads. Each may return kZooKeeperNodeBytesMax.
constexpr size_t kReadsUnderWayMax = 64;

}  // namespace

Error not_written_by_masters(const std::string& root, const std::string& path) {
  return Error::corruption(text("the data in ZooKeeper at ", quoted(path), " below ", quoted(root),
                                " was not written by a master, or cannot be read"))
      .with_hint(kZooKeeperDamagedHint);
}

struct ZooKeeperReader::Impl : std::enable_shared_from_this<ZooKeeperReader::Impl> {
  using Key = std::pair<std::string, std::string>;  // table, key

  ZooKeeperSession& session;
  const std::string root;
  bool is_abandoned = false;  // the reader is destroyed
  std::function<void(Result<ZooKeeperRows>)> done;
  std::map<Key, std::string> rows;
  // Rows with missing parts, with their paths: valid only if the journal replaces them.
  std::map<Key, std::string> incomplete;
  ZooKeeperRows found;
  std::deque<std::function<void()>> queue;
  size_t under_way = 0;
  std::optional<Error> failed;

  Impl(ZooKeeperSession& s, std::string where) : session(s), root(std::move(where)) {}

  template <class Fn>
  auto if_alive(Fn fn) {
    return [weak = weak_from_this(), fn = std::move(fn)](auto&&... answer) mutable {
      const auto self = weak.lock();
      if (self != nullptr && !self->is_abandoned) fn(std::forward<decltype(answer)>(answer)...);
    };
  }

  void read(std::function<void()> start) { queue.push_back(std::move(start)); }

  void read_more() {
    while (under_way < kReadsUnderWayMax && !queue.empty()) {
      const std::function<void()> start = std::move(queue.front());
      queue.pop_front();
      ++under_way;
      start();
    }
    if (under_way == 0) all_read();
  }

  void read_done() {
    --under_way;
    if (failed) queue.clear();
    read_more();
  }

  void fail(const std::string& path) { failed = not_written_by_masters(root, path); }

  void list(const std::string& path, std::function<void(const std::string& name)> each) {
    session.list(path, if_alive([=, this](const ZooKeeperSession::Children& names) {
                   if (names.status != Status::kOk) fail(path);
                   for (const std::string& name : names.names) each(name);
                   read_done();
                 }));
  }

  void read_tables() {
    list(root + "/rows", [this](const std::string& table) {
      found.folders.insert(table);
      read([this, table] { read_table(table); });
    });
  }

  void read_table(const std::string& table) {
    list(text(root, "/rows/", table), [this, table](const std::string& shard) {
      const std::string folder = text(table, "/", shard);
      found.folders.insert(folder);
      read([this, table, folder] {
        list(text(root, "/rows/", folder), [this, table, folder](const std::string& name) {
          read([this, table, folder, name] { read_row(table, folder, name); });
        });
      });
    });
  }

  void read_row(const std::string& table, const std::string& folder, const std::string& name) {
    const std::string path = text(root, "/rows/", folder, "/", name);
    session.get(path, if_alive([=, this](const ZooKeeperSession::Node& node) {
                  const std::optional<std::string> key = key_of_zookeeper_name(name);
                  if (node.status != Status::kOk || !key || !zookeeper_parts(node.data)) {
                    fail(path);
                    return read_done();
                  }
                  const auto parts = static_cast<size_t>(node.children);
                  found.parts_of[path] = parts;
                  if (parts == 0) {
                    took_row({table, *key}, path, node.data, {});
                  } else {
                    read_parts({table, *key}, path, node.data, parts);
                  }
                  read_done();
                }));
  }

  void read_parts(const Key& key, const std::string& path, const std::string& node, size_t parts) {
    auto collected = std::make_shared<std::pair<size_t, std::vector<std::string>>>();
    collected->second.resize(parts);
    for (size_t i = 0; i < parts; ++i) {
      const std::string part_path = text(path, "/", i);
      read([=, this] {
        session.get(part_path, if_alive([=, this](const ZooKeeperSession::Node& part) {
                      if (part.status != Status::kOk) fail(part_path);
                      collected->second[i] = part.data;
                      if (++collected->first == parts) took_row(key, path, node, collected->second);
                      read_done();
                    }));
      });
    }
  }

  void took_row(const Key& key, const std::string& path, const std::string& node,
                const std::vector<std::string>& parts) {
    std::optional<std::string> value = zookeeper_value(node, parts);
    if (value) {
      rows[key] = *std::move(value);
    } else {
      incomplete[key] = path;
    }
  }

  void read_journal() {
    session.list(root + "/journal", if_alive([this](const ZooKeeperSession::Children& nodes) {
                   if (nodes.status != Status::kOk) fail("journal");
                   found.journal_nodes = nodes.names;
                   const bool is_whole = std::find(nodes.names.begin(), nodes.names.end(),
                                                   "commit") != nodes.names.end();
                   if (is_whole) read_batch(nodes.names);
                   read_done();
                 }));
  }

  void read_batch(const std::vector<std::string>& names) {
    auto chunks = std::make_shared<std::map<std::string, std::string>>();
    const size_t count = names.size() - 1;
    for (const std::string& name : names) {
      if (name == "commit") continue;
      read([=, this] {
        session.get(text(root, "/journal/", name),
                    if_alive([=, this](const ZooKeeperSession::Node& node) {
                      if (node.status != Status::kOk) fail("journal");
                      (*chunks)[name] = node.data;
                      if (chunks->size() == count) took_batch(*chunks);
                      read_done();
                    }));
      });
    }
  }

  void took_batch(const std::map<std::string, std::string>& chunks) {
    std::string bytes;
    for (size_t i = 0; i < chunks.size(); ++i) {
      const auto at = chunks.find(text(i));
      if (at != chunks.end()) bytes += at->second;
    }
    found.journal = parse_journal(bytes);
    if (!found.journal) fail("journal");
  }

  void apply_journal() {
    if (!found.journal) return;
    for (const StoreRecord& record : *found.journal) {
      const Key key{record.table, record.key};
      incomplete.erase(key);
      if (record.value) {
        rows[key] = *record.value;
      } else {
        rows.erase(key);
      }
    }
  }

  void all_read() {
    if (failed) return done(*std::move(failed));
    apply_journal();
    if (!incomplete.empty()) {
      const auto& [key, path] = *incomplete.begin();
      return done(Error::corruption(text("of ", key.first, " ", quoted(key.second), ", ",
                                         quoted(path), ", some parts are missing"))
                      .with_hint(kZooKeeperDamagedHint));
    }
    found.rows.reserve(rows.size());
    for (auto& [key, value] : rows) {
      found.rows.push_back({.table = key.first, .key = key.second, .value = std::move(value)});
    }
    done(std::move(found));
  }
};

ZooKeeperReader::ZooKeeperReader(ZooKeeperSession& session, std::string root)
    : impl_(std::make_shared<Impl>(session, std::move(root))) {}

ZooKeeperReader::~ZooKeeperReader() { impl_->is_abandoned = true; }

void ZooKeeperReader::read(std::function<void(Result<ZooKeeperRows>)> done) {
  impl_->done = std::move(done);
  impl_->read([impl = impl_.get()] { impl->read_journal(); });
  impl_->read([impl = impl_.get()] { impl->read_tables(); });
  impl_->read_more();
}

}  // namespace proffer
