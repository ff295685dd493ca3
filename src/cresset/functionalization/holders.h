// Which values may be certain memory or hold it, in the order of the graph: asked about a write, the answer takes
// logarithmic time, however many values and memories there are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "cresset/analysis/alias.h"

namespace cresset {

/// A value, from where it is made to where it is used for the last time.
struct Holder {
  const Value* value;
  const Value* root;  // in whose memory it has a place; null if it has none
  uint32_t made, last;
};

class Holders {
 public:
  /// Values with this key will be asked about.
  void expect(MemoryKey key) { by_key_[key]; }
  bool isExpected(MemoryKey key) const { return by_key_.contains(key); }
  void add(MemoryKey key, const Holder& holder) { by_key_.at(key).all.push_back(holder); }
  /// Once all were added.
  void sort();

  /// One that is made before the position and used after it, and has no place in the memory of `root`; null if there
  /// is none.
  const Holder* across(MemoryKey key, const Value* root, uint32_t position) const;
  /// The first one that is made at the position or later and has no place in the memory of `root`; null if there is
  /// none.
  const Holder* firstFrom(MemoryKey key, const Value* root, uint32_t position) const;

 private:
  static constexpr size_t kNone = SIZE_MAX;
  struct Longest {
    size_t first, second;  // used longest, and longest of those of other roots
  };
  struct List {
    std::vector<Holder> all;         // by where they are made
    std::vector<Longest> longest;    // of those up to this one
    std::vector<size_t> other_root;  // where the next one of another root is
  };
  static size_t numBefore(const List& list, uint32_t position);

  std::unordered_map<MemoryKey, List> by_key_;
};

inline void Holders::sort() {
  for (auto& [key, list] : by_key_) {
    auto& all = list.all;
    std::ranges::stable_sort(all, {}, &Holder::made);
    Longest longest{kNone, kNone};
    for (size_t i = 0; i < all.size(); ++i) {
      const auto isLonger = [&](size_t other) { return other == kNone || all[i].last > all[other].last; };
      if (longest.first == kNone || all[i].root == all[longest.first].root) {
        if (isLonger(longest.first)) longest.first = i;
      } else if (isLonger(longest.first)) {
        longest = {i, longest.first};
      } else if (isLonger(longest.second)) {
        longest.second = i;
      }
      list.longest.push_back(longest);
    }
    list.other_root.assign(all.size(), all.size());
    for (size_t i = all.size(); i-- > 1;)
      list.other_root[i - 1] = all[i - 1].root == all[i].root ? list.other_root[i] : i;
  }
}

inline size_t Holders::numBefore(const List& list, uint32_t position) {
  return static_cast<size_t>(std::ranges::lower_bound(list.all, position, {}, &Holder::made) - list.all.begin());
}

inline const Holder* Holders::across(MemoryKey key, const Value* root, uint32_t position) const {
  const List& list = by_key_.at(key);
  const size_t count = numBefore(list, position);
  if (count == 0) return nullptr;
  const auto& [first, second] = list.longest[count - 1];
  const size_t found = list.all[first].root == root ? second : first;
  return found == kNone || list.all[found].last <= position ? nullptr : &list.all[found];
}

inline const Holder* Holders::firstFrom(MemoryKey key, const Value* root, uint32_t position) const {
  const List& list = by_key_.at(key);
  size_t found = numBefore(list, position);
  if (found < list.all.size() && list.all[found].root == root) found = list.other_root[found];
  return found < list.all.size() ? &list.all[found] : nullptr;
}

}  // namespace cresset
