#include "cresset/codegen/compiler.h"

#include <dlfcn.h>

#include <filesystem>
#include <stdexcept>

namespace cresset::codegen {

namespace {

struct Loaded {
  const KernelCompiler* compiler = nullptr;
  std::string failure;
};

Loaded load(std::optional<CpuLevel> level) {
  if (!level) return {nullptr, whyNoCpuLevel()};
  Loaded loaded;
  void* library = openBesideCresset("libcresset_llvm.so", loaded.failure);
  if (!library) return loaded;
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
  static const auto* once = new Loaded(load(cpuLevel()));  // outlives threads that compile while the process ends
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

std::string whyNoCpuLevel() {
  return "this processor has neither AVX2 with FMA and F16C nor AVX-512";
}

void* openBesideCresset(const char* name, std::string& failure) {
  Dl_info self{};
  if (!dladdr(reinterpret_cast<void*>(&kernelCompiler), &self) || !self.dli_fname) {
    failure = "libcresset does not know where it is";
    return nullptr;
  }
  const auto path = std::filesystem::path(self.dli_fname).replace_filename(name);
  // Never unloaded: its code, or code that it made, may run until the process ends.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) failure = dlerror();
  return library;
}

const KernelCompiler& compilerOfObjects() {
  static const auto* once = new Loaded(load(CpuLevel::V3));
  if (!once->compiler) throw std::runtime_error(once->failure);
  return *once->compiler;
}

const KernelCompiler* kernelCompiler() {
  return loaded().compiler;
}

std::string whyNoCompiler() {
  return loaded().failure;
}

}  // namespace cresset::codegen
