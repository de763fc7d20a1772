#pragma once

// A std::map whose elements are found by key in O(1). For tables of ids, which are looked up far
// more often than they are iterated: a search in a tree of strings takes a dozen comparisons, each
// of memory that is not in the cache.

#include <cstddef>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "common/check.h"

namespace proffer {

// As std::map: ordered keys, and iterators that stay valid. Keys with equal hashes, which an
// attacker could choose, make it as slow as a std::map, but no slower.
template <class Key, class Value, class Hash = std::hash<Key>>
class IndexedMap {
 public:
  using Map = std::map<Key, Value>;
  using iterator = typename Map::iterator;
  using const_iterator = typename Map::const_iterator;

  IndexedMap() = default;
  IndexedMap(const IndexedMap&) = delete;
  IndexedMap& operator=(const IndexedMap&) = delete;

  const Map& map() const { return map_; }
  iterator begin() { return map_.begin(); }
  iterator end() { return map_.end(); }
  const_iterator begin() const { return map_.begin(); }
  const_iterator end() const { return map_.end(); }
  bool empty() const { return map_.empty(); }
  size_t size() const { return map_.size(); }
  const_iterator lower_bound(const Key& key) const { return map_.lower_bound(key); }
  iterator lower_bound(const Key& key) { return map_.lower_bound(key); }
  const_iterator upper_bound(const Key& key) const { return map_.upper_bound(key); }

  const_iterator find(const Key& key) const { return look_up(key); }
  iterator find(const Key& key) { return look_up(key); }
  // The key must exist.
  const Value& at(const Key& key) const { return there(key)->second; }
  Value& at(const Key& key) { return there(key)->second; }
  bool contains(const Key& key) const { return look_up(key) != map_.end(); }
  size_t count(const Key& key) const { return contains(key) ? 1 : 0; }

  template <class... Arguments>
  std::pair<iterator, bool> try_emplace(const Key& key, Arguments&&... arguments) {
    const auto result = map_.try_emplace(key, std::forward<Arguments>(arguments)...);
    if (result.second) added(result.first);
    return result;
  }
  template <class Of>
  std::pair<iterator, bool> emplace(const Key& key, Of&& value) {
    return try_emplace(key, std::forward<Of>(value));
  }
  template <class Of>
  std::pair<iterator, bool> insert_or_assign(const Key& key, Of&& value) {
    const auto result = map_.insert_or_assign(key, std::forward<Of>(value));
    if (result.second) added(result.first);
    return result;
  }
  Value& operator[](const Key& key) {
    const iterator known = look_up(key);
    return known != map_.end() ? known->second : try_emplace(key).first->second;
  }
  iterator erase(iterator at) {
    if (!slots_.empty()) forget(at);
    return map_.erase(at);
  }
  size_t erase(const Key& key) {
    const iterator at = look_up(key);
    if (at == map_.end()) return 0;
    erase(at);
    return 1;
  }
  void clear() {
    map_.clear();
    slots_.clear();
    unindexed_ = 0;
  }

 private:
  // A map with fewer elements is as fast without an index.
  static constexpr size_t kIndexedMin = 8;
  // The most slots that a search visits. An element that finds no free slot among them is not in
  // the index.
  static constexpr size_t kProbesMax = 32;

  struct Slot {
    size_t hash = 0;  // zero: empty
    iterator at = {};
  };

  static size_t hash_of(const Key& key) {
    const size_t hash = Hash()(key);
    return hash == 0 ? 1 : hash;
  }
  size_t home_of(size_t hash) const { return hash & (slots_.size() - 1); }
  size_t after(size_t slot) const { return (slot + 1) & (slots_.size() - 1); }

  // Only finds. The type of the map's own iterators decides whether an element may be changed.
  iterator look_up(const Key& key) const {
    Map& map = const_cast<Map&>(map_);
    if (slots_.empty()) return map.find(key);
    const size_t hash = hash_of(key);
    size_t slot = home_of(hash);
    for (size_t i = 0; i < kProbesMax; ++i, slot = after(slot)) {
      if (slots_[slot].hash == 0) break;
      if (slots_[slot].hash == hash && slots_[slot].at->first == key) return slots_[slot].at;
    }
    return unindexed_ == 0 ? map.end() : map.find(key);
  }

  iterator there(const Key& key) const {
    const iterator at = look_up(key);
    CHECK(at != const_cast<Map&>(map_).end()) << "nothing of that key is here";
    return at;
  }

  void added(iterator at) {
    if (slots_.empty() && map_.size() < kIndexedMin) return;
    if (map_.size() * 3 > slots_.size() * 2) return build();
    put(at);
  }

  void build() {
    size_t slots = kIndexedMin * 2;
    while (slots < map_.size() * 2) slots *= 2;
    slots_.assign(slots, Slot());
    unindexed_ = 0;
    for (iterator at = map_.begin(); at != map_.end(); ++at) put(at);
  }

  void put(iterator at) {
    const size_t hash = hash_of(at->first);
    size_t slot = home_of(hash);
    for (size_t i = 0; i < kProbesMax; ++i, slot = after(slot)) {
      if (slots_[slot].hash != 0) continue;
      slots_[slot] = {hash, at};
      return;
    }
    ++unindexed_;
  }

  // Moves the following displaced elements up, so that no search ends too early.
  void forget(iterator at) {
    const size_t hash = hash_of(at->first);
    size_t hole = home_of(hash);
    bool is_here = false;
    for (size_t i = 0; i < kProbesMax && slots_[hole].hash != 0; ++i) {
      is_here = slots_[hole].hash == hash && slots_[hole].at == at;
      if (is_here) break;
      hole = after(hole);
    }
    if (!is_here) {
      --unindexed_;
      return;
    }
    const size_t mask = slots_.size() - 1;
    for (size_t next = after(hole); slots_[next].hash != 0; next = after(next)) {
      const size_t away = (next - home_of(slots_[next].hash)) & mask;
      if (away < ((next - hole) & mask)) continue;  // the hole is before the element's home slot
      slots_[hole] = slots_[next];
      hole = next;
    }
    slots_[hole] = Slot();
  }

  Map map_;
  std::vector<Slot> slots_;  // their number is a power of two, a third of them empty; or no slots
  size_t unindexed_ = 0;
};

}  // namespace proffer
