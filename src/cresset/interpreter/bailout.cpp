#include "cresset/interpreter/bailout.h"

#include <ATen/core/Tensor.h>

#include <cstdlib>

#include "cresset/interpreter/run.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

constexpr uint64_t kVaries = ~uint64_t(0);

std::atomic<uint64_t>& failingGuardWord() {
  static std::atomic<uint64_t> word = [] {
    FailingGuard failing;
    if (const char* text = std::getenv("CRESSET_FAIL_GUARD")) {
      char* end = nullptr;
      failing.index = static_cast<int>(std::strtol(text, &end, 10));
      if (*end == ':') failing.every = std::max(1, static_cast<int>(std::strtol(end + 1, nullptr, 10)));
    }
    return uint64_t(uint32_t(failing.index)) << 32 | uint32_t(failing.every);
  }();
  return word;
}

}  // namespace

FailingGuard failingGuard() {
  const uint64_t word = failingGuardWord().load(std::memory_order_relaxed);
  return {static_cast<int>(word >> 32), static_cast<int>(word & 0xffffffff)};
}

void setFailingGuard(FailingGuard failing) {
  failingGuardWord() = uint64_t(uint32_t(failing.index)) << 32 | uint32_t(failing.every);
}

const Code& Continuation::code() const {
  const std::lock_guard lock(mutex_);
  if (!code_) code_ = emitCode(*graph_, name_, program_);
  return *code_;
}

std::optional<ValueKind> BailOutSite::promised() const {
  return promised_ ? std::optional(ValueKind::of(promised_)) : std::nullopt;
}

bool BailOutSite::passes(const c10::IValue& value) {
  if (const FailingGuard failing = failingGuard(); failing.index == static_cast<int>(index_)) [[unlikely]] {
    if ((visits_.fetch_add(1, std::memory_order_relaxed) + 1) % failing.every == 0) return false;
  }
  uint64_t word = kVaries;
  if (value.isTensor() && isPlain(value.toTensor()) && value.toTensor().dim() <= 255)
    word = ValueKind::of(value.toTensor()).word();
  if (promised_) return word == promised_;
  uint64_t seen = 0;
  if (!seen_.compare_exchange_strong(seen, word, std::memory_order_relaxed) && seen != word)
    seen_.store(kVaries, std::memory_order_relaxed);
  return true;
}

std::optional<ValueKind> BailOutSite::observed() const {
  const uint64_t seen = seen_.load(std::memory_order_relaxed);
  if (seen == 0 || seen == kVaries) return std::nullopt;
  return ValueKind::of(seen);
}

const Code& BailOutSite::fail() {
  if (failures_.fetch_add(1, std::memory_order_relaxed) + 1 == kMaxFailures && promised_)
    revise_->store(true, std::memory_order_release);
  return continuation_->code();
}

void Run::bailOut(const Instruction& instruction) {
  Frame& frame = frames_.back();
  const Code& target = frame.code->guards[instruction.b]->fail();
  const uint32_t* operands = frame.code->pool.data() + instruction.a + 1;
  CRESSET_CHECK(target.num_inputs == instruction.c, target.name);
  for (uint32_t i = 0; i < instruction.c; ++i) stack_.push_back(take(operands[i]));
  clearRegisters(frame);
  registers_.require(frame.base + target.num_registers);
  c10::IValue* regs = registers_.data() + frame.base;
  for (uint32_t i = 0; i < instruction.c; ++i) new (&regs[i]) c10::IValue(std::move(stack_[i]));
  stack_.clear();
  frame.code = &target;
  frame.pc = target.instructions.data();
}

}  // namespace cresset
