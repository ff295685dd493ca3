// New entries of dicts. c10's hash table doubles whenever a key lies too far from its place, so that a few keys with
// equal hashes (NaN, which equals no other NaN, or keys that were chosen so) would take memory without bound: such a
// key is refused.
#pragma once

#include <ATen/core/Dict.h>
#include <ATen/core/ivalue.h>

#include <utility>

namespace cresset {

using DictMap = decltype(c10::detail::DictImpl::dict);

/// Bytes of a slot of a dict's table, rounded up: key, value, links.
inline constexpr size_t kDictSlotBytes = 64;

/// The bytes of the table that the dict moves to if it gets the key; 0 if it stays where it is.
inline size_t movedTableBytes(const DictMap& dict, const c10::IValue& key) {
  const bool is_full =
      static_cast<float>(dict.size() + 1) > static_cast<float>(dict.bucket_count()) * dict.max_load_factor();
  return is_full && dict.find(key) == dict.end() ? 2 * dict.bucket_count() * kDictSlotBytes : 0;
}

/// Throws std::runtime_error, without the entry, if the table has grown far beyond the number of keys.
void requireDenseTable(DictMap& dict, DictMap::iterator entry);

/// As `dict.emplace`: the key's entry, and whether it is new; an old one keeps its value.
inline std::pair<DictMap::iterator, bool> emplaceEntry(DictMap& dict, c10::IValue key, c10::IValue value) {
  const auto slots = dict.bucket_count();
  const auto result = dict.emplace(std::move(key), std::move(value));
  if (dict.bucket_count() != slots) requireDenseTable(dict, result.first);
  return result;
}

/// Gives the key that value; returns the value that it had, or None.
c10::IValue assignEntry(const c10::impl::GenericDict& dict, c10::IValue key, c10::IValue value);

}  // namespace cresset
