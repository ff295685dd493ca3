// The compiler of libcresset_llvm: LLVM's passes and code generator, and its linker for code in memory.
#include "cresset/codegen/compiler.h"

#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Instrumentation/AddressSanitizer.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <atomic>
#include <stdexcept>

#include "cresset/codegen/llvm/emit.h"

namespace cresset::codegen {

namespace {

namespace orc = llvm::orc;

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";

template <class T>
T valueOrThrow(llvm::Expected<T> expected) {
  if (!expected) throw std::runtime_error(llvm::toString(expected.takeError()));
  return std::move(*expected);
}

void orThrow(llvm::Error error) {
  if (error) throw std::runtime_error(llvm::toString(std::move(error)));
}

std::unique_ptr<llvm::TargetMachine> makeMachine(CpuLevel level) {
  std::string problem;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(kTriple, problem);
  if (!target) throw std::runtime_error(problem);
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      kTriple, cpuName(level), "", llvm::TargetOptions(), llvm::Reloc::PIC_, llvm::CodeModel::Small,
      llvm::CodeGenOptLevel::Default));
}

/// What passes know of a module.
struct Analyses {
  explicit Analyses(llvm::TargetMachine& machine) : builder(&machine) {
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
  }

  llvm::PassBuilder builder;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
};

/// Kernels come with their vectors; what is left is to clean up.
void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  Analyses analyses(machine);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(
      llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true, /*UseBlockFrequencyInfo=*/false));
  passes.addPass(llvm::SimplifyCFGPass());
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) passes.run(function, analyses.functions);
  }
}

#ifdef CRESSET_SANITIZED_KERNELS
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

/// In a build with AddressSanitizer kernels check their loads and stores, too.
void sanitize(llvm::Module& module, llvm::TargetMachine& machine) {
  if (!kIsSanitized) return;
  Analyses analyses(machine);
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) function.addFnAttr(llvm::Attribute::SanitizeAddress);
  }
  llvm::AddressSanitizerOptions options;
  options.UseAfterReturn = llvm::AsanDetectStackUseAfterReturnMode::Never;
  options.InsertVersionCheck = false;  // by a constructor, which the linker of code in memory does not run
  llvm::AddressSanitizerPass(options, true, true, llvm::AsanDtorKind::None, llvm::AsanCtorKind::None)
      .run(module, analyses.modules);
}

llvm::SmallVector<char, 0> emitFile(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, out, nullptr, type, /*DisableVerify=*/true))
    throw std::runtime_error("LLVM can't emit code for this machine");
  passes.run(module);
  return bytes;
}

/// Kernels as LLVM's, optimized.
struct Compilation {
  /// As emitModule.
  template <class... Arguments>
  explicit Compilation(CpuLevel level, const Arguments&... arguments)
      : machine(makeMachine(level)), module(emitModule(context, arguments...)) {
    module->setTargetTriple(kTriple);
    module->setDataLayout(machine->createDataLayout());
    optimize(*module, *machine);
  }

  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;
};

/// Of the function of this name in the object, in bytes.
size_t sizeOfFunction(const llvm::SmallVector<char, 0>& object, const std::string& name) {
  const auto file = valueOrThrow(llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(object.data(), object.size()), name)));
  for (const llvm::object::SymbolRef symbol : file->symbols()) {
    if (valueOrThrow(symbol.getType()) == llvm::object::SymbolRef::ST_Function &&
        valueOrThrow(symbol.getName()) == name)
      return llvm::object::ELFSymbolRef(symbol).getSize();
  }
  return 0;
}

/// Links objects into memory of this process that is written first and executed then, never both.
class Linker {
 public:
  Linker()
      : session_(valueOrThrow(orc::SelfExecutorProcessControl::Create())),
        layer_(session_, valueOrThrow(llvm::jitlink::InProcessMemoryManager::Create())),
        library_(session_.createBareJITDylib("kernels")) {
    if (kIsSanitized) library_.addGenerator(valueOrThrow(orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(0)));
    session_.setErrorReporter([](llvm::Error error) { llvm::consumeError(std::move(error)); });
  }

  struct Linked {
    orc::ResourceTrackerSP tracker;
    void* address;
  };

  Linked link(llvm::SmallVector<char, 0> object, const std::string& name) {
    // The session keeps the names of kernels that are gone until it is told to look for them.
    constexpr uint64_t kLinksPerCleanup = 256;
    if (num_links_.fetch_add(1, std::memory_order_relaxed) % kLinksPerCleanup == kLinksPerCleanup - 1)
      session_.getSymbolStringPool()->clearDeadEntries();
    auto tracker = library_.createResourceTracker();
    auto buffer = std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(object), name, false);
    orThrow(layer_.add(tracker, std::move(buffer)));
    auto symbol = session_.lookup({&library_}, session_.intern(name));
    if (!symbol) {
      llvm::consumeError(tracker->remove());
      throw std::runtime_error(llvm::toString(symbol.takeError()));
    }
    return {std::move(tracker), symbol->getAddress().toPtr<void*>()};
  }

 private:
  orc::ExecutionSession session_;
  orc::ObjectLinkingLayer layer_;
  orc::JITDylib& library_;
  std::atomic<uint64_t> num_links_{0};
};

class LinkedCode : public MachineCode {
 public:
  LinkedCode(Linker::Linked linked, size_t size) : tracker_(std::move(linked.tracker)) {
    function_ = reinterpret_cast<KernelFunction>(linked.address);
    size_ = size;
  }
  ~LinkedCode() override { llvm::consumeError(tracker_->remove()); }

 private:
  orc::ResourceTrackerSP tracker_;
};

class LlvmCompiler : public KernelCompiler {
 public:
  explicit LlvmCompiler(CpuLevel level) : level_(level) {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  }

  std::shared_ptr<const MachineCode> compile(const Kernel& kernel) const override {
    const std::string name = "cresset_kernel_" + std::to_string(next_.fetch_add(1, std::memory_order_relaxed));
    Compilation compilation(level_, kernel, level_, name);
    sanitize(*compilation.module, *compilation.machine);
    auto object = emitFile(*compilation.module, *compilation.machine, llvm::CodeGenFileType::ObjectFile);
    const size_t size = sizeOfFunction(object, name);
    return std::make_shared<LinkedCode>(linker_.link(std::move(object), name), size);
  }

  std::vector<char> object(std::span<const NamedKernel> kernels, CpuLevel level) const override {
    const Compilation compilation(level, kernels, level);
    sanitize(*compilation.module, *compilation.machine);
    const auto bytes = emitFile(*compilation.module, *compilation.machine, llvm::CodeGenFileType::ObjectFile);
    return {bytes.begin(), bytes.end()};
  }

  std::string llvmText(const Kernel& kernel, CpuLevel level) const override {
    const Compilation compilation(level, kernel, level, "kernel");
    std::string text;
    llvm::raw_string_ostream out(text);
    compilation.module->print(out, nullptr);
    return text;
  }

  std::string assembly(const Kernel& kernel, CpuLevel level) const override {
    Compilation compilation(level, kernel, level, "kernel");
    const auto text = emitFile(*compilation.module, *compilation.machine, llvm::CodeGenFileType::AssemblyFile);
    return {text.begin(), text.end()};
  }

 private:
  const CpuLevel level_;
  mutable std::atomic<uint64_t> next_{0};
  mutable Linker linker_;
};

}  // namespace

}  // namespace cresset::codegen

extern "C" __attribute__((visibility("default"))) cresset::codegen::KernelCompiler* cresset_create_kernel_compiler(
    cresset::codegen::CpuLevel level) {
  return new cresset::codegen::LlvmCompiler(level);  // never deleted: threads may compile while the process ends
}
