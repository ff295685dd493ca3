// A small map that forgets: what was asked for the longest time ago makes room for what is new. For caches that the
// data of callers would make grow without end otherwise.
//
// Looking something up takes time in proportion to the number of entries. Whoever uses a value while others may add
// some holds it by a pointer of its own: forgetting drops the map's only.
//
// Thread-safety: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace cresset {

template <typename Key, typename T>
class RecentMap {
 public:
  explicit RecentMap(size_t capacity) : capacity_(capacity) {}

  /// Null if it is not there. Stays valid until the next call of either.
  T* find(const Key& key) {
    const auto found =
        std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) { return entry.first == key; });
    if (found == entries_.end()) return nullptr;
    std::rotate(entries_.begin(), found, found + 1);
    return &entries_.front().second;
  }

  /// Adds what is not there.
  T& insert(Key key, T value) {
    if (isFull()) entries_.pop_back();
    entries_.emplace(entries_.begin(), std::move(key), std::move(value));
    return entries_.front().second;
  }

  bool isFull() const { return entries_.size() >= capacity_; }
  size_t size() const { return entries_.size(); }

 private:
  size_t capacity_;
  std::vector<std::pair<Key, T>> entries_;  // the last that was asked for first
};

/// Which of the things that a full cache does not hold are worth making and holding instead of another: one in many, so
/// that callers who bring ever new ones do not pay for making each.
class Admission {
 public:
  static constexpr uint32_t kOneIn = 32;
  /// To be asked for each of them.
  bool admits() { return ++misses_ % kOneIn == 0; }

 private:
  uint32_t misses_ = 0;
};

}  // namespace cresset
