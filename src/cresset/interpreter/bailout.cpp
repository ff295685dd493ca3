#include "cresset/interpreter/bailout.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdlib>

#include "cresset/interpreter/run.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

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

BailOutSite::BailOutSite(
    size_t index, const std::vector<GuardedValue>& values, std::shared_ptr<const Continuation> continuation,
    std::shared_ptr<std::atomic<bool>> revise)
    : index_(index), continuation_(std::move(continuation)), revise_(std::move(revise)) {
  for (const GuardedValue& value : values) values_.emplace_back(value);
}

std::optional<ValueKind> BailOutSite::promised(size_t value) const {
  const uint64_t word = values_[value].promised;
  return word == kNothing ? std::nullopt : std::optional(ValueKind::of(word));
}

bool BailOutSite::promisesAny() const {
  return std::any_of(values_.begin(), values_.end(), [](const Watched& value) { return value.promised != kNothing; });
}

bool BailOutSite::mustFail() {
  const FailingGuard failing = failingGuard();
  return failing.index == static_cast<int>(index_) &&
         (visits_.fetch_add(1, std::memory_order_relaxed) + 1) % failing.every == 0;
}

void BailOutSite::Watched::see(uint64_t word) {
  uint64_t before = kNothing;
  if (!seen.compare_exchange_strong(before, word, std::memory_order_relaxed) && before != word)
    seen.store(kVaries, std::memory_order_relaxed);
}

std::optional<ValueKind> BailOutSite::observed(size_t value) const {
  const uint64_t seen = values_[value].seen.load(std::memory_order_relaxed);
  if (seen == kNothing || seen == kVaries) return std::nullopt;
  return ValueKind::of(seen);
}

const Code& BailOutSite::fail() {
  if (failures_.fetch_add(1, std::memory_order_relaxed) + 1 == kMaxFailures && promisesAny())
    revise_->store(true, std::memory_order_release);
  return continuation_->code();
}

void Run::bailOut(const Instruction& instruction) {
  Frame& frame = frames_.back();
  const Code& target = frame.code->guards[instruction.b]->fail();
  const uint32_t* operands = frame.code->pool.data() + instruction.a + instruction.n;
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
