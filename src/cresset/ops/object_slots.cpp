// Waiting for a slot that another thread is reading or writing.
#include "cresset/ops/object_slots.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <thread>

namespace cresset::detail {

SlotStripe slot_stripes[kSlotStripes];

void SlotStripe::lockSlowly() {
  for (int attempt = 0;; ++attempt) {
    while (locked_.load(std::memory_order_relaxed)) {
      if (attempt++ > 100) {
        std::this_thread::yield();
        continue;
      }
#if defined(__x86_64__)
      _mm_pause();
#endif
    }
    if (!locked_.exchange(true, std::memory_order_acquire)) return;
  }
}

}  // namespace cresset::detail
