// Memory that must not be touched until it is needed again: AddressSanitizer reports who does, in a build with it. In
// others nothing is poisoned.
//
// What shares one allocation is one to AddressSanitizer: without poison between its pieces, what writes beyond one is
// not seen.
#pragma once

#include <cstddef>
#include <span>

#if defined(__has_feature)  // of clang
#if __has_feature(address_sanitizer)
#define CRESSET_POISONS_MEMORY
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define CRESSET_POISONS_MEMORY
#endif
#ifdef CRESSET_POISONS_MEMORY
#include <sanitizer/asan_interface.h>
#endif

namespace cresset {

#ifdef CRESSET_POISONS_MEMORY
inline constexpr bool kPoisonsMemory = true;
inline void poisonMemory(const void* begin, size_t bytes) {
  __asan_poison_memory_region(begin, bytes);
}
inline void unpoisonMemory(const void* begin, size_t bytes) {
  __asan_unpoison_memory_region(begin, bytes);
}
inline bool isPoisoned(const void* address) {
  return __asan_address_is_poisoned(address) != 0;
}
#else
inline constexpr bool kPoisonsMemory = false;
inline void poisonMemory(const void* /*begin*/, size_t /*bytes*/) {}
inline void unpoisonMemory(const void* /*begin*/, size_t /*bytes*/) {}
inline bool isPoisoned(const void* /*address*/) {
  return false;
}
#endif

/// Between pieces of one allocation.
inline constexpr size_t kPoisonedBytes = kPoisonsMemory ? 64 : 0;

struct MemoryPiece {
  size_t offset, bytes;
};
/// Poisons what lies in none of the pieces, and nothing else.
inline void poisonAround(const void* begin, size_t bytes, std::span<const MemoryPiece> pieces) {
  if constexpr (!kPoisonsMemory) return;
  poisonMemory(begin, bytes);
  for (const MemoryPiece& piece : pieces)
    unpoisonMemory(static_cast<const std::byte*>(begin) + piece.offset, piece.bytes);
}

}  // namespace cresset
