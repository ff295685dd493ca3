// An allocator whose blocks end, or begin, at memory that nobody may touch, to be preloaded (LD_PRELOAD) into a process
// that calls kernels: those are built without a sanitizer, and a write past the end of a small block harms nothing
// there.
//
// While guarding is on, each block of the guarding thread has pages of its own, with pages without access around them.
// Where a block can't end at the page because of its alignment, what follows it is filled and looked at again when the
// block is freed. Tensors' blocks get less than the alignment that PyTorch asks for, as views begin anywhere; the
// packed weights of fbgemm and oneDNN get theirs, which their kernels believe. Long blocks return their pages when they
// are freed, and their addresses are not used again; those of a page are used again late. New and freed blocks hold no
// zeros: what a kernel reads there is as wild as can be.
//
// wild_arguments.py turns it on around each call. Everything else is the C library's allocator.
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>

// The C library's own names of what this file replaces.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* block);
}

namespace {

constexpr size_t kPage = 4096, kArena = size_t{1} << 42, kFilled = size_t{1} << 16;
constexpr unsigned char kNew = 0xA5, kSlack = 0xC3;

/// The first page of a mapping, before the block's.
struct Header {
  size_t total;  // bytes of the mapping that can be used, this page included
  size_t size;   // as asked for
  unsigned char* block;
};

enum Placement : int { Off, AtEnd, AtStart };

thread_local int placement = Off;
std::mutex lock;
char* arena = nullptr;
size_t used = 0, live = 0, most = 0, blocks = 0, unguarded = 0;

/// Freed blocks of one page, with their headers, the first to be used again first: changing what may be accessed costs
/// more than most kernels.
constexpr size_t kWaiting = 4096;
Header* waiting[kWaiting];
size_t oldest = 0, num_waiting = 0;

bool isOurs(const void* block) {
  return arena && block >= arena && block < arena + kArena;
}

struct Range {
  uintptr_t begin = 0, end = 0;
};
Range libc10;  // which allocates tensors; empty until that is loaded

int findLibc10(dl_phdr_info* library, size_t, void*) {
  if (!strstr(library->dlpi_name, "libc10.so")) return 0;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const auto& segment = library->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
    libc10.begin = library->dlpi_addr + segment.p_vaddr;
    libc10.end = libc10.begin + segment.p_memsz;
  }
  return 1;
}

/// Is this code that allocates tensors?
bool isOfTensors(const void* code) {
  if (!libc10.end) dl_iterate_phdr(findLibc10, nullptr);
  const auto address = reinterpret_cast<uintptr_t>(code);
  return libc10.begin <= address && address < libc10.end;
}

size_t roundUp(size_t n, size_t to) {
  return (n + to - 1) / to * to;
}

Header* headerOf(void* block) {
  // A block begins in the first page after its header.
  return reinterpret_cast<Header*>(static_cast<char*>(block) - reinterpret_cast<uintptr_t>(block) % kPage - kPage);
}

[[noreturn]] void damaged() {
  constexpr char kText[] = "guard_allocator: a write beside a block\n";
  (void)!write(2, kText, sizeof kText - 1);
  __builtin_trap();
}

void* guarded(size_t alignment, size_t size, bool isOfTensor) {
  if (size > most) {
    errno = ENOMEM;
    return nullptr;
  }
  const size_t asked = alignment;
  alignment = alignment < 16 || isOfTensor ? 16 : alignment;
  if (alignment > kPage) return __libc_memalign(asked, size);
  const size_t data = roundUp(roundUp(size, alignment), kPage), total = kPage + (data ? data : kPage);
  std::lock_guard hold(lock);
  if (!arena) {
    void* mapped = mmap(nullptr, kArena, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    arena = static_cast<char*>(mapped);
  }
  char* start = nullptr;
  if (total == 2 * kPage && num_waiting > kWaiting / 8) {
    start = reinterpret_cast<char*>(waiting[oldest++ % kWaiting]);
    --num_waiting;
    --blocks;
  } else if (live + total > most) {
    errno = ENOMEM;
    return nullptr;
  } else if (used + total + kPage > kArena || mprotect(arena + used, total, PROT_READ | PROT_WRITE) != 0) {
    ++unguarded;  // the kernel counts mappings
    return __libc_memalign(asked, size);
  } else {
    start = arena + used;
    used += total + kPage;
  }
  live += total;
  ++blocks;
  unsigned char* first = reinterpret_cast<unsigned char*>(start) + kPage;
  // What begins beyond the first page of a long block would not find its header.
  const size_t shift = placement == AtEnd ? (total - kPage - size) / alignment * alignment : 0;
  unsigned char* block = first + (shift < kPage ? shift : 0);
  new (start) Header{total, size, block};
  memset(block, kNew, size < kFilled ? size : kFilled);
  const size_t slack = static_cast<size_t>(reinterpret_cast<unsigned char*>(start) + total - (block + size));
  memset(block + size, kSlack, slack < kPage ? slack : kPage);
  return block;
}

void release(void* pointer) {
  Header* header = headerOf(pointer);
  const unsigned char* slack = header->block + header->size;
  const size_t total = header->total;
  const auto length = static_cast<size_t>(reinterpret_cast<unsigned char*>(header) + total - slack);
  if (length > 0 && (*slack != kSlack || memcmp(slack, slack + 1, length - 1) != 0)) damaged();
  std::lock_guard hold(lock);
  live -= total;
  if (total == 2 * kPage && num_waiting < kWaiting) {
    memset(header->block, kNew, header->size);
    waiting[(oldest + num_waiting++) % kWaiting] = header;
    return;
  }
  --blocks;
  // A new mapping in its place has no pages, and is one with its neighbours again.
  (void)mmap(header, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

}  // namespace

extern "C" {

/// Guards what this thread allocates from now on: 1, so that blocks end at a guard; 2, so that they begin at one; 0, no
/// more. At most `bytes` at a time: then allocations fail.
void guard_allocations(int where, size_t bytes);
void guard_allocations(int where, size_t bytes) {
  most = bytes;
  placement = where;
}

/// Blocks whose pages have bounds of their own, and how many had to do without since the process began: the kernel
/// gives a process only so many mappings, two for each block.
size_t guarded_blocks();
size_t guarded_blocks() {
  return blocks;
}
size_t unguarded_blocks();
size_t unguarded_blocks() {
  return unguarded;
}

void* malloc(size_t size) {
  return placement == Off ? __libc_malloc(size) : guarded(16, size, false);
}
void* calloc(size_t count, size_t size) {
  if (placement == Off) return __libc_calloc(count, size);
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) return nullptr;
  void* block = guarded(16, bytes, false);
  if (block) memset(block, 0, bytes);
  return block;
}
void free(void* block) {
  if (!block) return;
  const int saved = errno;
  isOurs(block) ? release(block) : __libc_free(block);
  errno = saved;
}
void* realloc(void* block, size_t size) {
  if (!block) return malloc(size);
  if (!isOurs(block)) return __libc_realloc(block, size);
  void* other = malloc(size);
  if (!other) return nullptr;
  const size_t before = headerOf(block)->size;
  memcpy(other, block, before < size ? before : size);
  free(block);
  return other;
}
void* memalign(size_t alignment, size_t size) {
  return placement == Off ? __libc_memalign(alignment, size) : guarded(alignment, size, false);
}
void* aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}
int posix_memalign(void** block, size_t alignment, size_t size) {
  void* made = placement == Off ? __libc_memalign(alignment, size)
                                : guarded(alignment, size, isOfTensors(__builtin_return_address(0)));
  if (!made) return ENOMEM;
  *block = made;
  return 0;
}
void* valloc(size_t size) {
  return memalign(kPage, size);
}
size_t malloc_usable_size(void* block) {
  if (!block) return 0;
  if (isOurs(block)) return headerOf(block)->size;
  static const auto libc = reinterpret_cast<size_t (*)(void*)>(dlsym(RTLD_NEXT, "malloc_usable_size"));
  return libc(block);
}
}
