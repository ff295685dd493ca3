// Runs that are observed: by a profiler, a memory limit, or who measures operations. What others pay for it is a look
// at a flag per operator.
#include <utility>

#include "cresset/interpreter/container_meter.h"
#include "cresset/interpreter/futures.h"
#include "cresset/interpreter/operation_times.h"
#include "cresset/interpreter/operator_call.h"
#include "cresset/interpreter/profile.h"
#include "cresset/interpreter/run.h"
#include "cresset/support/print_handler.h"

namespace cresset {

namespace {
thread_local OperationTimes* current_times = nullptr;
}  // namespace

OperationTimes::OperationTimes() : outer_(std::exchange(current_times, this)) {}

OperationTimes::~OperationTimes() {
  current_times = outer_;
}

OperationTimes* OperationTimes::current() {
  return current_times;
}

void OperationTimes::add(
    const Code& code, const Instruction& instruction, std::chrono::nanoseconds passed,
    const AllocationCount& allocations_before) {
  std::vector<Time>& times = times_[&code];
  times.resize(code.instructions.size());
  Time& time = times[static_cast<size_t>(&instruction - code.instructions.data())];
  ++time.calls;
  time.total += passed;
  if (const AllocationCounter* counter = AllocationCounter::current())
    time.allocations += counter->count() - allocations_before;
}

void Run::startObserving(bool is_profiled) {
  if (is_profiled) [[unlikely]] {
    profile_ = std::make_unique<ScriptProfile>();
    for (const Frame& frame : frames_) profile_->enter(*frame.code);
  }
  // A run that comes back from a suspension has its meter already.
  if (RunBudget* budget = RunBudget::current(); budget && budget->limitsMemory() && !meter_) [[unlikely]] {
    meter_ = std::make_unique<ContainerMeter>(budget->shared_from_this());
  }
  times_ = OperationTimes::current();
  observed_ = profile_ || meter_ || times_;
}

void Run::stopObserving() {
  profile_ = nullptr;
  times_ = nullptr;
  if (frames_.empty()) meter_ = nullptr;
  observed_ = false;
}

void Run::leaveObserved() {
  if (profile_) profile_->leave();
}

int Run::poll(InterruptPoll& interrupt) {
  const int next = countHotPoll(interrupt.poll());
  // Tensors count where they are allocated, so the sum may have grown since a container was last charged.
  if (meter_) [[unlikely]]
    charge(0);
  return next;
}

void Run::charge(size_t bytes) {
  if (!meter_) return;
  meter_->add(bytes);
  if (!meter_->isDue()) [[likely]]
    return;
  std::vector<const c10::IValue*> roots;
  for (const Frame& frame : frames_) {
    const c10::IValue* regs = registers_.data() + frame.base;
    for (size_t i = 0; i < frame.code->num_registers; ++i) roots.push_back(&regs[i]);
  }
  for (const auto* values : {&stack_, &handlers_, &results_}) {
    for (const c10::IValue& value : *values) roots.push_back(&value);
  }
  // What is charged now is not held yet.
  meter_->audit(roots, bytes + registers_.size() * sizeof(c10::IValue) + frames_.capacity() * sizeof(Frame));
}

size_t Run::chargeMovedTable(const DictMap& dict, const c10::IValue& key) {
  // The old table lives until the new one is filled; the next audit sees that it is gone.
  const size_t bytes = meter_ ? movedTableBytes(dict, key) : 0;
  if (bytes) charge(bytes);
  return bytes;
}

void Run::callOperator(const Instruction& instruction) {
  const Code& code = *frames_.back().code;
  const Operator& op = *code.operators[instruction.b];
  const uint32_t* operands = code.pool.data() + instruction.a;
  pushOperands(operands + instruction.n, instruction.c);

  // Containers that the operator may grow. Their elements are no matter: they were built, and charged, before.
  std::vector<std::pair<c10::IValue, size_t>> containers;
  if (meter_) {
    meter_->requireResult(op, stack_);
    for (const c10::IValue& value : stack_) {
      if (value.isList() || value.isGenericDict()) containers.emplace_back(value, ContainerMeter::ownWeight(value));
    }
  }
  {
    std::optional<ScriptProfile::Operation> event;
    if (profile_) event.emplace(*profile_, code, instruction, op, std::span<const c10::IValue>(stack_));
    const OperationTimes::Operation timed(times_, code, instruction);
    if (const OperatorCall* by_kernel = code.operator_calls[instruction.b]; !by_kernel)
      op.call(stack_, instruction.c);
    else if (op.isFunctionalCall())
      op.callOnCopies(stack_, [by_kernel](Stack& stack, size_t count) { by_kernel->call(stack, count); });
    else
      by_kernel->call(stack_, instruction.c);
    timed.end();
  }
  if (meter_) {
    ContainerMeter::requireFewDimensions(stack_);
    size_t grown = 0;
    for (const auto& [value, before] : containers) {
      const size_t now = ContainerMeter::ownWeight(value);
      if (now > before) grown += now - before;
    }
    for (const c10::IValue& result : stack_) {
      bool is_argument = false;
      for (const auto& [value, before] : containers) is_argument |= value.is(result);
      if (!is_argument) grown += ContainerMeter::weightOfResult(result);
    }
    containers.clear();
    if (grown) charge(grown);
  }
  popResults(operands, instruction.n);
}

void Run::warn(const Instruction& instruction) {
  const Code& code = *frames_.back().code;
  pushOperands(code.pool.data() + instruction.a + instruction.n, instruction.c);
  const ScriptWarning warning = warningAt(stack_[0].toStringRef(), code.origin(&instruction));
  stack_.clear();
  cresset::warn(warning);
}

}  // namespace cresset
