// Runs: their start and end, frames of calls, calls that leave the interpreter, forks.
#include <ATen/core/class_type.h>
#include <ATen/core/function.h>
#include <c10/util/SmallVector.h>

#include <exception>
#include <new>
#include <utility>

#include "cresset/interpreter/container_meter.h"
#include "cresset/interpreter/forks.h"
#include "cresset/interpreter/futures.h"
#include "cresset/interpreter/operation_times.h"
#include "cresset/interpreter/profile.h"
#include "cresset/interpreter/run.h"
#include "cresset/interpreter/run_thread.h"
#include "cresset/ops/awaitables.h"
#include "cresset/ops/class_state_checks.h"
#include "cresset/ops/entered_modes.h"
#include "cresset/ops/limits.h"
#include "cresset/ops/object_slots.h"

namespace cresset {

namespace {

[[noreturn]] void raiseRecursionError() {
  throw ScriptRaise("builtins.RecursionError", "maximum recursion depth exceeded");
}

/// Runs inside runs (an operator or a custom class calls back) use C++ stack.
constexpr int kMaxNestedRuns = 500;

class CallOfCode final : public AwaitedCall {
 public:
  CallOfCode(std::shared_ptr<const Code> code, c10::TypePtr type)
      : AwaitedCall(std::move(type)), code_(std::move(code)) {}
  c10::IValue run(std::vector<c10::IValue> inputs) const override {
    runCode(*code_, inputs);
    return std::move(inputs.at(0));
  }
  std::shared_ptr<void> owner() const override { return code_->program.lock(); }

 private:
  std::shared_ptr<const Code> code_;
};

/// Null if the function is not one of ours, or does not run as Code.
const Code* codeOf(torch::jit::Function& function, uint32_t num_inputs) {
  auto* ours = dynamic_cast<Function*>(&function);
  if (!ours) return nullptr;
  const Code* code = ours->executable().code();
  if (code && (code->num_inputs != num_inputs || code->num_outputs != 1)) {
    throw UserError(
        "'" + code->name + "' takes " + std::to_string(code->num_inputs) + " arguments and returns " +
        std::to_string(code->num_outputs) + " results, but is called with " + std::to_string(num_inputs) +
        " for one result");
  }
  return code;
}

}  // namespace

RunThread::RunThread() = default;
RunThread::~RunThread() = default;

RunThread& RunThread::current() {
  // A variable with a destructor is looked up twice: whether it is there, and where.
  static constinit thread_local RunThread* known = nullptr;
  if (!known) [[unlikely]] {
    static thread_local RunThread thread;
    known = &thread;
  }
  return *known;
}

RegisterStack::~RegisterStack() {
  for (size_t i = 0; i < size_; ++i) data_[i].~IValue();
  ::operator delete(data_);
}

void RegisterStack::grow(size_t size) {
  size = std::max({size, size_ * 2, size_t(32)});
  auto* data = static_cast<c10::IValue*>(::operator new(size * sizeof(c10::IValue)));
  for (size_t i = 0; i < size_; ++i) {
    new (&data[i]) c10::IValue(std::move(data_[i]));
    data_[i].~IValue();
  }
  for (size_t i = size_; i < size; ++i) new (&data[i]) c10::IValue();
  ::operator delete(data_);
  data_ = data;
  size_ = size;
}

Run::Run() = default;

Run::~Run() {
  // Of a suspended run that is no longer wanted, or one that was interrupted before its results were taken.
  for (const Frame& frame : frames_) clearRegisters(frame);
  releaseAll(handlers_);
  releaseAll(results_);
}

void Run::start(const Code& code, Stack& stack, RunMemory* memory) {
  memory_ = memory;
  if (memory_) memory_->requireBorrowed(code.num_borrowed);
  if (stack.size() < code.num_inputs) {
    throw UserError(
        "'" + code.name + "' takes " + std::to_string(code.num_inputs) + " arguments, but only " +
        std::to_string(stack.size()) + " are on the stack");
  }
  registers_.require(code.num_registers);
  const size_t first = stack.size() - code.num_inputs;
  for (size_t i = 0; i < code.num_inputs; ++i) new (&registers_.data()[i]) c10::IValue(std::move(stack[first + i]));
  stack.resize(first);
  frames_.push_back({&code, code.instructions.data(), 0, kNoRegister, 0, false});
}

void Run::start(std::shared_ptr<const Code> code, Stack& stack, RunMemory* memory) {
  may_suspend_ = true;
  kept_program_ = code->program.lock();
  kept_code_ = std::move(code);
  start(*kept_code_, stack, memory);
}

void Run::takeResults(Stack& stack) {
  for (c10::IValue& result : results_) stack.push_back(std::move(result));
  results_.clear();
  entered_.clear();  // a run that is kept for the next call keeps no plans of functions that may be dropped
}

c10::IValue Run::takeResult() {
  if (results_.size() == 1) {
    c10::IValue result = std::move(results_[0]);
    results_.clear();
    return result;
  }
  return c10::ivalue::Tuple::create(std::exchange(results_, {}));
}

namespace {

void runNow(RunThread& thread, const Code& code, Stack& stack, bool is_profiled, RunMemory* memory = nullptr) {
  std::unique_ptr<Run> run = std::move(thread.spare_run);
  if (!run) run = std::make_unique<Run>();
  struct Nesting {
    explicit Nesting(RunThread& of) : thread(of) { ++thread.nested_runs; }
    ~Nesting() {
      if (--thread.nested_runs != 0) return;
      if (thread.serial_forks) [[unlikely]]
        SerialForks::endCall();
      if (thread.cancellation && !thread.runs_fork) [[unlikely]]
        thread.cancellation = nullptr;
      EnteredModes::exitAll();
    }
    RunThread& thread;
  } nesting(thread);
  // A run that throws has left all its frames, but is not used again: exceptions are rare.
  run->start(code, stack, memory);
  try {
    run->resume(is_profiled);
    if (thread.nested_runs == 1 && thread.serial_forks) [[unlikely]]
      SerialForks::finishCall();
  } catch (...) {
    if (thread.nested_runs == 1 && thread.cancellation && !thread.runs_fork)
      thread.cancellation->cancelIfEnding(std::current_exception());
    throw;
  }
  run->takeResults(stack);
  if (!run->isLarge()) thread.spare_run = std::move(run);
}

/// What the thread allows holds for the outermost run, and so for those inside it; what the program allows for each.
void runWithinLimits(RunThread& thread, const Code& code, Stack& stack, bool is_profiled) {
  const Limits limits = thread.nested_runs == 0 ? tightest(code.limits, threadLimits()) : code.limits;
  const BudgetScope scope(std::make_shared<RunBudget>(limits, RunBudget::currentShared()));
  thread.interrupt.budget = 1;
  runNow(thread, code, stack, is_profiled);
}

}  // namespace

void runCode(const Code& code, Stack& stack) {
  runCode(code, stack, ScriptProfile::isWanted());
}

void runCode(const Code& code, Stack& stack, bool is_profiled) {
  RunThread& thread = RunThread::current();
  if (thread.nested_runs >= kMaxNestedRuns) raiseRecursionError();
  if (code.limits.any() || (thread.nested_runs == 0 && threadLimits().any())) [[unlikely]]
    return runWithinLimits(thread, code, stack, is_profiled);
  runNow(thread, code, stack, is_profiled);
}

void runCodeInMemory(const Code& code, Stack& stack, RunMemory& memory) {
  RunThread& thread = RunThread::current();
  if (thread.nested_runs >= kMaxNestedRuns) raiseRecursionError();
  runNow(thread, code, stack, /*is_profiled=*/false, &memory);
}

void Run::callSubgraph(const Instruction& instruction) {
  const Code& code = *frames_.back().code;
  const uint32_t* operands = code.pool.data() + instruction.a;
  pushOperands(operands + instruction.n, instruction.c);
  const OperationTimes::Operation timed(times_, code, instruction);
  code.subgraphs[instruction.b]->call(stack_, instruction.c);
  timed.end();
  popResults(operands, instruction.n);
}

void Run::callView(const Instruction& instruction) {
  if (profile_ || meter_) [[unlikely]]
    return callOperator(instruction);
  const Code& code = *frames_.back().code;
  const uint32_t* operands = code.pool.data() + instruction.a;
  c10::IValue* regs = registers_.data() + frames_.back().base;
  const BorrowedOperands inputs = borrowOperands(operands + 1, instruction.c);
  const OperationTimes::Operation timed(times_, code, instruction);
  c10::IValue view;
  if (code.views[instruction.b](inputs, view)) {
    timed.end();
    if (operands[0] != kNoRegister) new (&regs[operands[0]]) c10::IValue(std::move(view));
    return;
  }
  pushOperands(operands + 1, instruction.c);
  code.operators[instruction.b]->call(stack_, instruction.c);
  timed.end();
  popResults(operands, 1);
}

c10::IValue Run::take(uint32_t operand) {
  const Frame& frame = frames_.back();
  const uint32_t index = operand & kIndexMask;
  if (operand & kConstantBit) return frame.code->constants[index];
  c10::IValue& reg = registers_.data()[frame.base + index];
  return operand & kMoveBit ? std::move(reg) : reg;
}

void Run::reportResults(uint32_t count) const {
  CRESSET_CHECK(
      stack_.size() == count, "an operator left " + std::to_string(stack_.size()) + " results instead of " +
                                  std::to_string(count) + " in " + frames_.back().code->name);
}

void Run::pushFrame(const Code& callee, uint32_t result, bool is_exit) {
  const Frame& caller = frames_.back();
  const size_t base = caller.base + caller.code->num_registers;
  // An __exit__ that runs because of a recursion error needs a frame too.
  if (!is_exit && (frames_.size() >= kMaxCallDepth || base + callee.num_registers > kMaxRegisters))
    raiseRecursionError();
  if (base + callee.num_registers > registers_.size()) [[unlikely]] {
    // Registers double, and both old and new ones are there for a moment.
    charge(2 * (base + callee.num_registers) * sizeof(c10::IValue));
    registers_.require(base + callee.num_registers);
  }
  frames_.push_back(
      {&callee, callee.instructions.data(), static_cast<uint32_t>(base), result,
       static_cast<uint32_t>(handlers_.size()), is_exit});
  if (profile_) [[unlikely]]
    profile_->enter(callee);
}

/// A function of a program with limits of its own, which hold for this call. It runs in a run of its own.
void Run::callWithinLimits(const Code& callee, const uint32_t* operands, uint32_t num_inputs) {
  pushOperands(operands + 1, num_inputs);
  runCode(callee, stack_, /*is_profiled=*/false);
  popResults(operands, 1);
  ++frames_.back().pc;
}

void Run::call(const Code& callee, const uint32_t* operands, uint32_t num_inputs) {
  if (callee.limits.any()) [[unlikely]] {
    if (callee.limits != frames_.back().code->limits) return callWithinLimits(callee, operands, num_inputs);
  }
  const uint32_t caller_base = frames_.back().base;
  const c10::IValue* constants = frames_.back().code->constants.data();
  pushFrame(callee, operands[0] == kNoRegister ? kNoRegister : caller_base + operands[0], false);
  c10::IValue* from = registers_.data() + caller_base;
  c10::IValue* to = registers_.data() + frames_.back().base;
  for (uint32_t i = 0; i < num_inputs; ++i) {
    const uint32_t operand = operands[1 + i];
    const uint32_t index = operand & kIndexMask;
    if (operand & kMoveBit)
      new (&to[i]) c10::IValue(std::move(from[index]));
    else
      new (&to[i]) c10::IValue(operand & kConstantBit ? constants[index] : from[index]);
  }
}

/// A method of a custom C++ class, or a function with another kind of Executable.
void Run::callOutside(torch::jit::Function& function, const Instruction& instruction) {
  const uint32_t* operands = frames_.back().code->pool.data() + instruction.a;
  pushOperands(operands + 1, instruction.c);
  if (function.name() == "__setstate__" && instruction.c == 2)  // of a C++ class
    requireMemory(checkClassState(function.qualname().prefix(), stack_.back()));
  function.run(stack_);
  if (stack_.empty()) stack_.emplace_back();  // a C++ method that returns nothing
  popResults(operands, 1);
  ++frames_.back().pc;
}

void Run::callFunction(const Instruction& instruction) {
  const Code& code = *frames_.back().code;
  const FunctionSite& site = *code.functions[instruction.b];
  const Code* callee = site.code.load(std::memory_order_acquire);
  if (!callee) [[unlikely]] {
    callee = codeOf(*site.function, instruction.c);
    if (!callee) return callOutside(*site.function, instruction);
    site.code.store(callee, std::memory_order_release);
  }
  call(*callee, code.pool.data() + instruction.a, instruction.c);
}

void Run::callMethod(const Instruction& instruction) {
  const Frame& frame = frames_.back();
  const uint32_t* operands = frame.code->pool.data() + instruction.a;
  const uint32_t self = operands[1] & kIndexMask;
  const c10::IValue& object =
      operands[1] & kConstantBit ? frame.code->constants[self] : registers_.data()[frame.base + self];
  const auto found = frame.code->methods[instruction.b]->find(object.toObjectRef());
  const Code* callee = found.target ? found.target->code.load(std::memory_order_acquire) : nullptr;
  if (!callee) [[unlikely]] {
    callee = codeOf(*found.function, instruction.c);
    if (!callee) return callOutside(*found.function, instruction);
    if (found.target) found.target->code.store(callee, std::memory_order_release);
  }
  call(*callee, operands, instruction.c);
}

std::vector<c10::IValue> Run::takeInputs(const Instruction& instruction) {
  const uint32_t* operands = frames_.back().code->pool.data() + instruction.a;
  std::vector<c10::IValue> inputs;
  inputs.reserve(instruction.c);
  for (uint32_t i = 0; i < instruction.c; ++i) inputs.push_back(take(operands[1 + i]));
  return inputs;
}

void Run::fork(const Instruction& instruction) {
  const Code& code = *frames_.back().code;
  setOutput(
      instruction, startFork(code.apart[instruction.b], takeInputs(instruction), code.apart_types[instruction.b]));
  charge(ContainerMeter::kFuture);  // the fork itself counts while it lives
}

void Run::makeAwaitable(const Instruction& instruction) {
  if (meter_) charge(ContainerMeter::kFuture + instruction.c * sizeof(c10::IValue));
  const Code& code = *frames_.back().code;
  auto call = c10::make_intrusive<CallOfCode>(code.apart[instruction.b], code.apart_types[instruction.b]);
  setOutput(instruction, cresset::makeAwaitable(std::move(call), takeInputs(instruction)));
}

}  // namespace cresset
