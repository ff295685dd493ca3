// Exceptions: the one place where what operators throw becomes a ScriptError, and where frames are left.
#include <ATen/core/Tensor.h>
#include <ATen/core/class_type.h>
#include <c10/util/Exception.h>
#include <c10/util/safe_numerics.h>

#include <atomic>
#include <new>
#include <utility>

#include "cresset/interpreter/compiled_subgraph.h"
#include "cresset/interpreter/run.h"
#include "cresset/ops/functorch.h"
#include "cresset/ops/host_callable.h"
#include "cresset/program/class_methods.h"

namespace cresset {

namespace {

/// Of a deep stack, the outermost and innermost frames tell what happened.
constexpr size_t kShownOutermost = 20, kShownInnermost = 80;

std::atomic<HostExceptionFilter> host_exception_filter{nullptr};

void shorten(std::vector<ScriptFrame>& frames) {
  if (frames.size() <= kShownOutermost + kShownInnermost + 1) return;
  const size_t left_out = frames.size() - kShownOutermost - kShownInnermost;
  const auto first = frames.begin() + kShownOutermost;
  frames.erase(first, first + static_cast<std::ptrdiff_t>(left_out - 1));
  frames[kShownOutermost] = {"… " + std::to_string(left_out) + " more calls …", SourceRange()};
}

/// A resize that fails, because a size is negative, their product is too large or there is no memory, leaves the tensor
/// with those sizes and with the memory that it had: later kernels would read and write beside it.
bool isBeyondItsMemory(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.layout() != at::kStrided || !tensor.is_cpu() || tensor.is_nested()) return false;
  const at::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  if (impl.is_python_dispatch() || impl.has_symbolic_sizes_strides() || !impl.has_storage() ||
      tensor._is_zerotensor() || isOfFunctorch(tensor))
    return false;
  uint64_t count = 1, last = static_cast<uint64_t>(impl.storage_offset()), bytes = 0;
  for (int64_t i = 0; i < impl.dim(); ++i) {
    const int64_t size = impl.sizes()[i];
    if (size < 0) return true;
    if (size == 0) return impl.numel() != 0;
    uint64_t step = 0;
    if (c10::mul_overflows(count, static_cast<uint64_t>(size), &count) ||
        c10::mul_overflows(static_cast<uint64_t>(size - 1), static_cast<uint64_t>(impl.strides()[i]), &step) ||
        c10::add_overflows(last, step, &last))
      return true;
  }
  if (count != static_cast<uint64_t>(impl.numel())) return true;
  return c10::mul_overflows(last + 1, static_cast<uint64_t>(impl.itemsize()), &bytes) ||
         bytes > impl.storage().nbytes();
}

/// Of what a failed operator of an untrusted program was given: tensors that are larger than their memory now have no
/// elements.
void mendTensors(const Stack& arguments) {
  const auto mend = [](const at::Tensor& tensor) {
    if (isBeyondItsMemory(tensor)) tensor.unsafeGetTensorImpl()->set_sizes_contiguous({0});
  };
  for (const c10::IValue& value : arguments) {
    if (value.isTensor()) mend(value.toTensor());
    if (!value.isList()) continue;
    for (const c10::IValue& element : value.toListRef())
      if (element.isTensor()) mend(element.toTensor());
  }
}

}  // namespace

std::vector<ScriptFrame> Run::stackOfFrames(size_t count) const {
  std::vector<ScriptFrame> result;
  for (size_t i = 0; i < count; ++i) {
    const Frame& frame = frames_[i];
    const Code::Location& location = frame.code->location(frame.pc);
    // The chain of inlined calls is innermost first; each names the function that it went into.
    std::vector<const InlinedCall*> calls;
    for (const InlinedCall* call = location.inlined.get(); call; call = call->caller.get()) calls.push_back(call);
    std::string function = frame.code->name;
    while (!calls.empty()) {
      result.push_back({std::move(function), calls.back()->call_site});
      function = calls.back()->function;  // qualified, where frames have plain names
      function.erase(0, function.rfind('.') + 1);
      calls.pop_back();
    }
    result.push_back({std::move(function), location.range});
  }
  return result;
}

void setHostExceptionFilter(HostExceptionFilter filter) {
  host_exception_filter.store(filter, std::memory_order_release);
}

std::exception_ptr Run::describe(const std::exception_ptr& error) const {
  auto make = [&](const std::string& message, const std::string& python_class, const std::vector<ScriptFrame>& inner,
                  bool in_place = false) {
    std::vector<ScriptFrame> frames = stackOfFrames(frames_.size() - in_place);
    frames.insert(frames.end(), inner.begin(), inner.end());
    shorten(frames);
    if (python_class == kLimitErrorClass)
      return std::make_exception_ptr(LimitError(message, python_class, std::move(frames)));
    return std::make_exception_ptr(ScriptError(message, python_class, std::move(frames)));
  };
  try {
    std::rethrow_exception(error);
  } catch (const ScriptError& e) {  // of a run inside this one, or of a fork
    return make(e.message(), e.pythonClass(), e.frames());
  } catch (const ErrorInPlace& part) {
    try {
      std::rethrow_exception(part.error);
    } catch (const ScriptError& e) {
      std::vector<ScriptFrame> inner = e.frames();
      if (!inner.empty()) inner.front().function = frames_.back().code->name;
      return make(e.message(), e.pythonClass(), inner, true);
    }
  } catch (const ScriptRaise& e) {
    return make(e.what(), e.pythonClass(), {});
  } catch (const Error&) {  // a callee does not compile, an archive is damaged, a bug: not the script's doing
    return error;
  } catch (const c10::NotImplementedError& e) {
    return make(e.what_without_backtrace(), "builtins.NotImplementedError", {});
  } catch (const c10::OutOfMemoryError& e) {
    return make(e.what_without_backtrace(), "torch.OutOfMemoryError", {});
  } catch (const c10::Error& e) {
    return make(e.what_without_backtrace(), "", {});
  } catch (const std::bad_alloc&) {
    return make("out of memory", "builtins.MemoryError", {});
  } catch (const HostException&) {
    return error;
  } catch (const std::exception& e) {
    std::string message = e.what();
    if (const auto filter = host_exception_filter.load(std::memory_order_acquire)) {
      if (auto of_host = filter(error, message)) return std::make_exception_ptr(HostException(std::move(of_host)));
    }
    return make(message, "", {});
  } catch (...) {
    return make("an operator threw something that is no std::exception", "", {});
  }
}

void Run::clearRegisters(const Frame& frame) {
  c10::IValue* regs = registers_.data() + frame.base;
  for (size_t i = 0; i < frame.code->num_registers; ++i) release(regs[i]);
}

void Run::enterExit(const c10::IValue& object) {
  torch::jit::Function* function = findMethodOf(*object.toObjectRef().type(), "__exit__");
  if (!function) throw ScriptRaise("builtins.AttributeError", "__exit__");
  Stack arguments{object, c10::IValue(), c10::IValue(), c10::IValue()};
  auto* ours = dynamic_cast<Function*>(function);
  const Code* code = ours ? ours->executable().code() : nullptr;
  if (!code) {
    function->run(arguments);
    return;
  }
  CRESSET_CHECK(code->num_inputs == arguments.size(), code->name);
  pushFrame(*code, kNoRegister, true);
  c10::IValue* regs = registers_.data() + frames_.back().base;
  for (size_t i = 0; i < arguments.size(); ++i) new (&regs[i]) c10::IValue(std::move(arguments[i]));
}

void Run::unwind(std::exception_ptr error) {
  while (!frames_.empty()) {
    if (handlers_.size() > frames_.back().num_handlers) {
      const c10::IValue object = std::move(handlers_.back());
      handlers_.pop_back();
      const size_t depth = frames_.size();
      try {
        enterExit(object);
      } catch (...) {
        error = describe(std::current_exception());
        continue;
      }
      if (frames_.size() == depth) continue;  // it ran outside of the interpreter
      pending_.push_back(std::move(error));
      return;
    }
    const Frame frame = frames_.back();
    clearRegisters(frame);
    if (observed_) leaveObserved();
    frames_.pop_back();
    if (frame.is_exit) pending_.pop_back();  // what __exit__ raises replaces the exception that it ran for
  }
  std::rethrow_exception(error);
}

bool Run::resume(bool is_profiled) {
  awaited_ = nullptr;
  struct Observing {
    Observing(Run& run, bool is_profiled) : run(run) { run.startObserving(is_profiled); }
    ~Observing() {
      if (run.observed_) run.stopObserving();
    }
    Run& run;
  } observing(*this, is_profiled);
  std::exception_ptr error;
  while (true) {
    try {
      return interpret();
    } catch (const ExitDone&) {
      clearRegisters(frames_.back());
      if (observed_) leaveObserved();
      frames_.pop_back();
      error = std::exchange(pending_.back(), nullptr);
      pending_.pop_back();
    } catch (...) {
      error = describe(std::current_exception());
    }
    // What a failed operator left on the stack is of no use. Of a program that is trusted, tensors without their memory
    // may be meant so: hosts free that of parameters.
    if (frames_.back().code->serial_forks) mendTensors(stack_);
    stack_.clear();
    results_.clear();
    unwind(std::move(error));
  }
}

}  // namespace cresset
