// A Run: one execution of Code, its frames and registers.
//
// Frames lie on one register stack, each after its caller's, so that arguments move from the caller's registers to the
// callee's without passing anywhere else. Between instructions, registers without a live value hold no references (see
// code.h); a frame that an exception leaves is cleared.
//
// Exceptions: what an operator throws becomes a ScriptError with the script's own stack, once, where it was thrown.
// Then frames are left from the innermost outwards; `__exit__` of each open `with` runs in a frame of its own, on top
// of the frame that opened it, and when it returns the exception propagates.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "cresset/interpreter/code.h"
#include "cresset/interpreter/profile.h"
#include "cresset/ops/nesting.h"
#include "cresset/support/dict_entries.h"
#include "cresset/support/error.h"

namespace cresset {

class ContainerMeter;
class InterruptPoll;
class OperationTimes;

/// Registers in one piece of memory that grows. All of it always holds constructed values.
class RegisterStack {
 public:
  RegisterStack() = default;
  ~RegisterStack();
  RegisterStack(const RegisterStack&) = delete;
  RegisterStack& operator=(const RegisterStack&) = delete;
  c10::IValue* data() { return data_; }
  size_t size() const { return size_; }
  /// Makes room for `size` registers; what data() returned before is invalid then.
  void require(size_t size) {
    if (size > size_) [[unlikely]]
      grow(size);
  }

 private:
  void grow(size_t size);
  c10::IValue* data_ = nullptr;
  size_t size_ = 0;
};

class Run {
 public:
  Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run();

  /// Takes the inputs from the end of `stack`. `code` must outlive the run.
  /// `memory`: what out variants compute into, for code that calls any; it must outlive the run.
  void start(const Code& code, Stack& stack, RunMemory* memory = nullptr);
  /// A run that may be suspended; it keeps alive what it runs.
  void start(std::shared_ptr<const Code> code, Stack& stack, RunMemory* memory = nullptr);
  /// Runs to the end (true) or, if it was started so that it may be suspended, until it waits for a future that is not
  /// done (false; call again when awaited() is). Throws if the script raises; the run is over then.
  bool resume(bool is_profiled = ScriptProfile::isWanted());
  const c10::intrusive_ptr<c10::ivalue::Future>& awaited() const { return awaited_; }
  /// Appends the results to `stack`.
  void takeResults(Stack& stack);
  /// The result; a tuple if there are several.
  c10::IValue takeResult();
  /// Whether keeping this run for later use would hold on to much memory.
  bool isLarge() const { return registers_.size() > 4096; }

 private:
  struct Frame {
    const Code* code;
    const Instruction* pc;
    uint32_t base;          // of its registers
    uint32_t result;        // the caller's register, absolute, or kNoRegister
    uint32_t num_handlers;  // open `with`s of the callers
    bool is_exit;           // runs __exit__ while pending_.back() is on its way
  };

  bool interpret();
  // observe.cpp: runs that a profiler watches, that have a memory limit, or whose operations are measured
  void startObserving(bool is_profiled);
  void stopObserving();
  int poll(InterruptPoll& interrupt);
  /// For runs that are observed, and operators whose arguments are checked.
  [[gnu::cold]] void callOperator(const Instruction& instruction);
  /// `bytes` of containers have been built, or are about to be.
  [[gnu::cold]] void charge(size_t bytes);
  /// Charges for the table that a dict moves to if it gets the key; returns what was charged.
  size_t chargeMovedTable(const DictMap& dict, const c10::IValue& key);
  [[gnu::cold]] void leaveObserved();
  void warn(const Instruction& instruction);
  // calls.cpp
  void pushFrame(const Code& callee, uint32_t result, bool is_exit);
  void call(const Code& callee, const uint32_t* operands, uint32_t num_inputs);
  void callOutside(torch::jit::Function& function, const Instruction& instruction);
  void callFunction(const Instruction& instruction);
  void callWithinLimits(const Code& callee, const uint32_t* operands, uint32_t num_inputs);
  void callMethod(const Instruction& instruction);
  std::vector<c10::IValue> takeInputs(const Instruction& instruction);
  void fork(const Instruction& instruction);
  void makeAwaitable(const Instruction& instruction);
  void callSubgraph(const Instruction& instruction);
  void callOut(const Instruction& instruction);  // out_calls.cpp
  void callAnyOut(const Instruction& instruction);
  void popOutResults(const uint32_t* results, uint32_t count);
  void callView(const Instruction& instruction);
  /// Counts a poll towards hot loops; returns the budget until the next.
  [[gnu::cold]] int countHotPoll(int budget);
  /// At a back-edge to the instruction `target`: whether a plan for the rest of the function has taken the innermost
  /// frame's place (hot_loops.h).
  [[gnu::cold]] bool enterPlan(uint32_t target);
  /// Lets the deoptimization target take the innermost frame's place.
  [[gnu::cold]] void bailOut(const Instruction& instruction);
  /// The operand of the innermost frame.
  c10::IValue take(uint32_t operand);
  using BorrowedOperands = c10::SmallVector<const c10::IValue*, 12>;
  void pushOperands(const uint32_t* operands, uint32_t count);
  /// Where the operands of the innermost frame are; they stay there.
  BorrowedOperands borrowOperands(const uint32_t* operands, uint32_t count);
  void popResults(const uint32_t* outputs, uint32_t count);
  [[gnu::cold]] void reportResults(uint32_t count) const;
  // containers.cpp
  void makeTuple(const Instruction& instruction);
  void makeList(const Instruction& instruction);
  void makeDict(const Instruction& instruction);
  void unpackTuple(const Instruction& instruction);
  void unpackList(const Instruction& instruction);
  void borrowElements(const Instruction& instruction);
  void sliceTuple(const Instruction& instruction);
  void setSlot(const Instruction& instruction);
  void setOutput(const Instruction& instruction, c10::IValue value);
  // unwind.cpp
  /// Leaves frames until an `__exit__` is to run; if none is left, the error leaves the run.
  void unwind(std::exception_ptr error);
  void enterExit(const c10::IValue& object);
  /// Of the first `count` frames.
  std::vector<ScriptFrame> stackOfFrames(size_t count) const;
  std::exception_ptr describe(const std::exception_ptr& error) const;
  void clearRegisters(const Frame& frame);

  std::vector<Frame> frames_;
  RegisterStack registers_;
  Stack stack_;                              // arguments and results of operators; empty between instructions
  std::vector<c10::IValue> handlers_;        // objects whose __exit__ an exception must run
  std::vector<std::exception_ptr> pending_;  // exceptions that wait for an __exit__
  std::vector<c10::IValue> results_;
  std::vector<std::shared_ptr<const Code>> entered_;  // plans that took a frame's place
  uint32_t hot_polls_ = 0;                            // since a plan for a loop was last asked for
  c10::intrusive_ptr<c10::ivalue::Future> awaited_;
  std::shared_ptr<const Code> kept_code_;
  std::shared_ptr<Program> kept_program_;
  RunMemory* memory_ = nullptr;
  bool may_suspend_ = false;
  // Null in most runs; operators and frames look at one flag for all.
  bool observed_ = false;
  std::unique_ptr<ScriptProfile> profile_;
  std::unique_ptr<ContainerMeter> meter_;
  OperationTimes* times_ = nullptr;
};

// Inline, since every operator goes through these.

inline void Run::pushOperands(const uint32_t* operands, uint32_t count) {
  const Frame& frame = frames_.back();
  c10::IValue* regs = registers_.data() + frame.base;
  const c10::IValue* constants = frame.code->constants.data();
  if (stack_.capacity() < count) [[unlikely]]
    stack_.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t operand = operands[i];
    const uint32_t index = operand & kIndexMask;
    if (operand & kMoveBit)
      stack_.push_back(std::move(regs[index]));
    else if (operand & kBorrowedBit)
      stack_.push_back(memory_->borrowed(index));
    else
      stack_.push_back(operand & kConstantBit ? constants[index] : regs[index]);
  }
}

inline Run::BorrowedOperands Run::borrowOperands(const uint32_t* operands, uint32_t count) {
  const Frame& frame = frames_.back();
  const c10::IValue* regs = registers_.data() + frame.base;
  const c10::IValue* constants = frame.code->constants.data();
  BorrowedOperands borrowed;
  borrowed.resize_for_overwrite(count);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t index = operands[i] & kIndexMask;
    borrowed[i] = operands[i] & kBorrowedBit   ? &memory_->borrowed(index)
                  : operands[i] & kConstantBit ? &constants[index]
                                               : &regs[index];
  }
  return borrowed;
}

inline void Run::popResults(const uint32_t* outputs, uint32_t count) {
  if (stack_.size() != count) [[unlikely]]
    reportResults(count);
  c10::IValue* regs = registers_.data() + frames_.back().base;
  for (uint32_t i = 0; i < count; ++i) {
    if (outputs[i] != kNoRegister)
      new (&regs[outputs[i]]) c10::IValue(std::move(stack_[i]));
    else
      release(stack_[i]);
  }
  stack_.clear();
}

/// Thrown by the Return of an `__exit__` frame: the exception that it ran for propagates.
struct ExitDone {};

/// Registers of all frames of one run together; more is a recursion error too.
inline constexpr size_t kMaxRegisters = size_t(1) << 24;

// containers.cpp
bool isInstance(const c10::IValue& value, const std::vector<c10::TypePtr>& types);
c10::IValue tupleElement(const c10::IValue& tuple, int64_t index);

}  // namespace cresset
