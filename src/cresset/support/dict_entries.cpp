#include "cresset/support/dict_entries.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace cresset {

void requireDenseTable(DictMap& dict, DictMap::iterator entry) {
  // At most half of a table is used: keys with different hashes take two to four slots each.
  constexpr uint64_t kMinSlots = 256, kMaxSlotsPerKey = 32;
  if (dict.bucket_count() <= std::max(kMinSlots, kMaxSlotsPerKey * dict.size())) return;
  dict.erase(entry);
  const size_t size = dict.size();
  dict.rehash(0);
  throw std::runtime_error(
      "a dict of " + std::to_string(size) +
      " keys can't take another one: too many of them have equal hashes. Each nan is a key of its own; use other keys");
}

c10::IValue assignEntry(const c10::impl::GenericDict& dict, c10::IValue key, c10::IValue value) {
  const c10::IValue holder(dict);
  auto& impl = *static_cast<c10::detail::DictImpl*>(
      static_cast<c10::intrusive_ptr_target*>(const_cast<void*>(holder.internalToPointer())));
  const auto [entry, is_new] = emplaceEntry(impl.dict, std::move(key), value);
  return is_new ? c10::IValue() : std::exchange(entry->second, std::move(value));
}

}  // namespace cresset
