// Counting by hooks of AddressSanitizer, or by functions that stand in front of glibc's own. See allocation_counter.h.
#include "allocation_counter.h"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace {
std::atomic<int64_t> live_bytes{0}, peak_bytes{0}, num_calls{0}, num_aligned{0};
std::atomic<bool> counting{false};
std::atomic<size_t> largest_allowed{SIZE_MAX};

[[maybe_unused]] void countAllocation(size_t size) {  // not by ThreadSanitizer
  num_calls.fetch_add(1, std::memory_order_relaxed);
  int64_t now =
      live_bytes.fetch_add(static_cast<int64_t>(size), std::memory_order_relaxed) + static_cast<int64_t>(size);
  if (!counting.load(std::memory_order_relaxed)) return;
  int64_t peak = peak_bytes.load(std::memory_order_relaxed);
  while (now > peak && !peak_bytes.compare_exchange_weak(peak, now)) {
  }
}
[[maybe_unused]] void countFree(size_t size) {
  live_bytes.fetch_sub(static_cast<int64_t>(size), std::memory_order_relaxed);
}
}  // namespace

// Clang tells its sanitizers by other means than g++.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

#if defined(__SANITIZE_THREAD__)
// Its runtime has neither hooks that see sizes nor entry points to stand in front of: nothing is counted.
#elif defined(__SANITIZE_ADDRESS__)
extern "C" {
size_t __sanitizer_get_allocated_size(const volatile void* p);
void __sanitizer_malloc_hook(const volatile void* p, size_t size);
void __sanitizer_free_hook(const volatile void* p);
void __sanitizer_malloc_hook(const volatile void* p, size_t size) {
  if (p) countAllocation(size);
}
void __sanitizer_free_hook(const volatile void* p) {
  if (p) countFree(__sanitizer_get_allocated_size(p));
}
}
#else
// The replaced ones call glibc's own entry points.
extern "C" {
void* __libc_malloc(size_t);
void __libc_free(void*);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

static void* counted(void* p) {
  if (p) countAllocation(malloc_usable_size(p));
  return p;
}
static bool allowed(size_t size) {
  if (size <= largest_allowed.load(std::memory_order_relaxed)) [[likely]]
    return true;
  errno = ENOMEM;
  return false;
}
void* malloc(size_t size) {
  return allowed(size) ? counted(__libc_malloc(size)) : nullptr;
}
void* calloc(size_t count, size_t size) {
  size_t all = 0;
  if (__builtin_mul_overflow(count, size, &all)) all = SIZE_MAX;
  return allowed(all) ? counted(__libc_calloc(count, size)) : nullptr;
}
void* realloc(void* p, size_t size) {
  if (!allowed(size)) return nullptr;
  const size_t before = p ? malloc_usable_size(p) : 0;
  void* moved = __libc_realloc(p, size);
  // A failure leaves the old block as it was; a size of zero frees it.
  if (moved || size == 0) countFree(before);
  return counted(moved);
}
void* memalign(size_t alignment, size_t size) {
  num_aligned.fetch_add(1, std::memory_order_relaxed);
  return allowed(size) ? counted(__libc_memalign(alignment, size)) : nullptr;
}
void* aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}
int posix_memalign(void** out, size_t alignment, size_t size) {
  void* p = memalign(alignment, size);
  if (!p) return ENOMEM;
  *out = p;
  return 0;
}
void free(void* p) {
  if (p) countFree(malloc_usable_size(p));
  __libc_free(p);
}
}
#endif

int64_t startCounting() {
  int64_t before = live_bytes;
  peak_bytes = before;
  counting = true;
  return before;
}

int64_t stopCounting(int64_t before) {
  counting = false;
  return peak_bytes - before;
}

int64_t allocatedBytes() {
  return live_bytes;
}

AllocationCalls allocationCalls() {
#ifdef __SANITIZE_ADDRESS__
  return {num_calls, num_calls};
#else
  return {num_calls, num_aligned};
#endif
}

bool countsAllocations() {
  return num_calls > 0;
}

void refuseAllocationsBeyond(size_t bytes) {
  largest_allowed = bytes;
}
