#include "cresset/codegen/compiler.h"

#include <dlfcn.h>

#include <filesystem>

namespace cresset::codegen {

namespace {

struct Loaded {
  const KernelCompiler* compiler = nullptr;
  std::string failure;
};

Loaded load() {
  const auto level = cpuLevel();
  if (!level) return {nullptr, "this processor has neither AVX2 with FMA and F16C nor AVX-512"};
  Dl_info self{};
  if (!dladdr(reinterpret_cast<void*>(&kernelCompiler), &self) || !self.dli_fname)
    return {nullptr, "libcresset does not know where it is"};
  const auto path = std::filesystem::path(self.dli_fname).replace_filename("libcresset_llvm.so");
  // Never unloaded: code that it made may run until the process ends.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) return {nullptr, dlerror()};
  const auto create =
      reinterpret_cast<decltype(&cresset_create_kernel_compiler)>(dlsym(library, "cresset_create_kernel_compiler"));
  if (!create) return {nullptr, dlerror()};
  try {
    return {create(*level), ""};
  } catch (const std::exception& error) {
    return {nullptr, error.what()};
  }
}

const Loaded& loaded() {
  static const auto* once = new Loaded(load());  // outlives threads that compile while the process ends
  return *once;
}

}  // namespace

std::optional<CpuLevel> cpuLevel() {
  static const auto level = []() -> std::optional<CpuLevel> {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v4")) return CpuLevel::V4;
    if (__builtin_cpu_supports("x86-64-v3")) return CpuLevel::V3;
#endif
    return std::nullopt;
  }();
  return level;
}

const KernelCompiler* kernelCompiler() {
  return loaded().compiler;
}

std::string whyNoCompiler() {
  return loaded().failure;
}

}  // namespace cresset::codegen
