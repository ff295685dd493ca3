#include "cresset/codegen/ahead_of_time.h"

#include <dlfcn.h>

#include <algorithm>
#include <span>

#include "cresset/codegen/compiler.h"

namespace cresset::codegen {

namespace {

struct Library {
  std::span<const AheadOfTimeKernel> kernels;
  CpuLevel level = CpuLevel::V3;
  std::string failure;
};

Library load() {
  Library library;
  const auto level = cpuLevel();
  if (!level) {
    library.failure = whyNoCpuLevel();
    return library;
  }
  library.level = *level;
  void* handle = openBesideCresset("libcresset_kernels.so", library.failure);
  if (!handle) return library;
  const auto get =
      reinterpret_cast<decltype(&cresset_ahead_of_time_kernels)>(dlsym(handle, "cresset_ahead_of_time_kernels"));
  if (!get) {
    library.failure = dlerror();
    return library;
  }
  const AheadOfTimeKernels all = get();
  library.kernels = {all.kernels, all.count};
  return library;
}

const Library& library() {
  static const auto* once = new Library(load());
  return *once;
}

}  // namespace

KernelHash KernelHash::of(const Kernel& kernel) {
  // FNV-1a of 128 bits.
  __extension__ using Word = unsigned __int128;
  Word hash = (Word(0x6c62272e07bb0142) << 64) | 0x62b821756295c58d;
  const Word prime = (Word(0x1000000) << 64) | 0x13b;
  for (const char c : kernel.toString()) hash = (hash ^ static_cast<unsigned char>(c)) * prime;
  return {static_cast<uint64_t>(hash >> 64), static_cast<uint64_t>(hash)};
}

std::string KernelHash::toString() const {
  std::string text;
  for (const uint64_t word : {high, low}) {
    for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[(word >> shift) & 15];
  }
  return text;
}

KernelFunction findAheadOfTime(const Kernel& kernel) {
  const Library& all = library();
  if (all.kernels.empty()) return nullptr;
  const KernelHash hash = KernelHash::of(kernel);
  const auto found = std::lower_bound(
      all.kernels.begin(), all.kernels.end(), hash,
      [](const AheadOfTimeKernel& candidate, const KernelHash& wanted) { return candidate.hash < wanted; });
  if (found == all.kernels.end() || found->hash != hash) return nullptr;
  return all.level == CpuLevel::V4 ? found->v4 : found->v3;
}

std::string whyNoneAheadOfTime() {
  return library().failure;
}

}  // namespace cresset::codegen
