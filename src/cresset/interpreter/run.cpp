// The loop: one handler per instruction, expanded from instructions.def for scalars.
//
// Dispatch is threaded where the compiler knows labels as values: each handler jumps to the next one itself, which
// gives the processor's branch predictor one place per instruction to learn. pc, the registers and the constants live
// in local variables; whatever may throw or look at the frame stores pc first.
#include "cresset/interpreter/run.h"
#include "cresset/interpreter/bailout.h"

#include <ATen/core/class_type.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "cresset/interpreter/container_meter.h"
#include "cresset/interpreter/futures.h"
#include "cresset/ops/nesting.h"
#include "cresset/ops/object_slots.h"
#include "cresset/ops/row_helpers.h"
#include "cresset/support/dict_entries.h"

namespace cresset {

namespace {

int64_t wrap(uint64_t x) {
  return static_cast<int64_t>(x);
}

// Divisors are powers of two more often than not, and a shift is many times faster than a division.
int64_t floorDivide(int64_t x, int64_t y) {
  if (y > 0 && (y & (y - 1)) == 0) return x >> std::countr_zero(static_cast<uint64_t>(y));
  const int64_t q = x / y;
  return (x % y != 0 && (x < 0) != (y < 0)) ? q - 1 : q;
}

int64_t floorRemainder(int64_t x, int64_t y) {
  if (y > 0 && (y & (y - 1)) == 0) return x & (y - 1);
  const int64_t r = x % y;
  return (r != 0 && (r < 0) != (y < 0)) ? r + y : r;
}

/// Symbolic numbers, whose values c10 asks for by virtual calls; kept out of the handlers.
[[gnu::noinline, gnu::cold]] int64_t symbolicInt(const c10::IValue& value) {
  return value.toInt();
}
[[gnu::noinline, gnu::cold]] double symbolicFloat(const c10::IValue& value) {
  return value.toDouble();
}
[[gnu::noinline, gnu::cold]] bool symbolicBool(const c10::IValue& value) {
  return value.toBool();
}

/// The payload of an IValue whose tag was checked. IValue's own accessors are too large for the compiler to inline, and
/// a call costs as much as the rest of a scalar instruction. interpreter_test.cpp checks that this layout is
/// libtorch's.
template <class T>
[[gnu::always_inline]] inline T payloadOf(const c10::IValue& value) {
  T payload;
  std::memcpy(&payload, static_cast<const void*>(&value), sizeof(T));
  return payload;
}

[[gnu::always_inline]] inline int64_t getInt(const c10::IValue& value) {
  return value.isInt() ? payloadOf<int64_t>(value) : symbolicInt(value);
}
[[gnu::always_inline]] inline double getFloat(const c10::IValue& value) {
  return value.isDouble() ? payloadOf<double>(value) : symbolicFloat(value);
}
[[gnu::always_inline]] inline bool getBool(const c10::IValue& value) {
  return value.isBool() ? payloadOf<bool>(value) : symbolicBool(value);
}

bool isNone(const c10::IValue& value) {
  return value.isNone() || (value.isTensor() && !value.toTensor().defined());
}

}  // namespace

#if defined(__GNUC__)
#define CRESSET_THREADED 1
#else
#define CRESSET_THREADED 0
#endif

#if CRESSET_THREADED
#define CASE(Name) L_##Name:
#define DISPATCH() goto* kLabels[static_cast<size_t>(pc->op)]
#else
#define CASE(Name) case Op::Name:
#define DISPATCH() continue
#endif
#define NEXT()  \
  do {          \
    ++pc;       \
    DISPATCH(); \
  } while (false)
// Registers that are written hold no reference before, so nothing is released.
#define WRITE(Register, Value) new (&regs[Register]) c10::IValue(Value)
#define READ(Operand) (((Operand)&kConstantBit) ? constants[(Operand)&kIndexMask] : regs[(Operand)&kIndexMask])
#define SAVE() frames_.back().pc = pc
#define LOAD()                                    \
  do {                                            \
    const Frame& top = frames_.back();            \
    pc = top.pc;                                  \
    regs = registers_.data() + top.base;          \
    constants = top.code->constants.data();       \
    pool = top.code->pool.data();                 \
    instructions = top.code->instructions.data(); \
  } while (false)
#define POLL()                        \
  do {                                \
    if (--budget <= 0) [[unlikely]] { \
      SAVE();                         \
      budget = poll(interrupt);       \
    }                                 \
  } while (false)
/// What unobserved runs pay for the others.
#define OBSERVED (observed_) [[unlikely]]
/// Jumps; backwards only at the end of a loop.
#define JUMP_TO(Target)                                          \
  do {                                                           \
    const Instruction* jump_target = instructions + (Target);    \
    if (jump_target <= pc && --budget <= 0) [[unlikely]] {       \
      SAVE();                                                    \
      budget = poll(interrupt);                                  \
      if (frames_.back().code->hot_loops && enterPlan(Target)) { \
        LOAD();                                                  \
        DISPATCH();                                              \
      }                                                          \
    }                                                            \
    pc = jump_target;                                            \
    DISPATCH();                                                  \
  } while (false)

bool Run::interpret() {
#if CRESSET_THREADED
  static const void* const kLabels[] = {
#define INST(Name, ...) &&L_##Name,
#define SCALAR1(Name, ...) &&L_##Name,
#define SCALAR2(Name, ...) &&L_##Name,
#define COMPARE_JUMP(Name, ...) &&L_##Name,
#define FLOAT_JUMP(Name, Compare, Negation, Relation) &&L_##Name, &&L_##Negation,
#include "cresset/interpreter/instructions.def"
  };
#endif
  const Instruction* pc;
  const Instruction* instructions;
  c10::IValue* regs;
  const c10::IValue* constants;
  const uint32_t* pool;
  InterruptPoll& interrupt = InterruptPoll::current();
  // In a register between polls; a run that ends by an exception leaves the thread's budget as the last poll set it.
  int budget = interrupt.budget;
  LOAD();

#if CRESSET_THREADED
  DISPATCH();
#else
  while (true) switch (pc->op) {
#endif

  CASE(Copy) {
    WRITE(pc->a, READ(pc->b));
    NEXT();
  }
  CASE(Move) {
    WRITE(pc->a, std::move(regs[pc->b]));
    NEXT();
  }
  CASE(Drop) {
    release(regs[pc->a]);
    NEXT();
  }
  CASE(DropBorrowed) {
    memory_->restore(pc->a & kIndexMask);
    NEXT();
  }
  CASE(Jump) {
    JUMP_TO(pc->a);
  }
  CASE(JumpIf) {
    if (getBool(READ(pc->b))) JUMP_TO(pc->a);
    NEXT();
  }
  CASE(JumpIfNot) {
    if (!getBool(READ(pc->b))) JUMP_TO(pc->a);
    NEXT();
  }
  CASE(JumpIfNone) {
    if (isNone(READ(pc->b))) JUMP_TO(pc->a);
    NEXT();
  }
  CASE(JumpIfNotNone) {
    if (!isNone(READ(pc->b))) JUMP_TO(pc->a);
    NEXT();
  }
#define COMPARE_JUMP(Name, Compare, Inverse, Relation, Doc)               \
  CASE(Name) {                                                            \
    if (getInt(READ(pc->b)) Relation getInt(READ(pc->c))) JUMP_TO(pc->a); \
    NEXT();                                                               \
  }
#define FLOAT_JUMP(Name, Compare, Negation, Relation)                            \
  CASE(Name) {                                                                   \
    if (getFloat(READ(pc->b)) Relation getFloat(READ(pc->c))) JUMP_TO(pc->a);    \
    NEXT();                                                                      \
  }                                                                              \
  CASE(Negation) {                                                               \
    if (!(getFloat(READ(pc->b)) Relation getFloat(READ(pc->c)))) JUMP_TO(pc->a); \
    NEXT();                                                                      \
  }
#include "cresset/interpreter/instructions.def"
  CASE(Loop) {
    const int64_t i = getInt(regs[pc->b]) + 1;
    WRITE(pc->b, i);
    if (i < getInt(READ(pc->c))) {
      JUMP_TO(pc->a);
      pc = instructions + pc->a;
      DISPATCH();
    }
    NEXT();
  }
  CASE(Return) {
    const Frame frame = frames_.back();
    if (frame.is_exit) [[unlikely]] {
      SAVE();
      throw ExitDone();
    }
    if OBSERVED
      leaveObserved();
    if (frames_.size() == 1) {
      for (uint32_t i = 0; i < pc->c; ++i) results_.push_back(take(pool[pc->a + i]));
      frames_.pop_back();
      interrupt.budget = budget;
      return true;
    }
    const uint32_t from = pool[pc->a];
    if (frame.result != kNoRegister) {
      c10::IValue* target = registers_.data() + frame.result;
      if (from & kMoveBit)
        new (target) c10::IValue(std::move(regs[from & kIndexMask]));
      else
        new (target) c10::IValue(READ(from));
    } else if (from & kMoveBit) {
      release(regs[from & kIndexMask]);
    }
    frames_.pop_back();
    LOAD();
    NEXT();
  }

  CASE(CallKernel) {
    SAVE();
    POLL();
    if OBSERVED {
      callOperator(*pc);
      NEXT();
    }
    const uint32_t* operands = pool + pc->a;
    const uint32_t n = pc->n;
    pushOperands(operands + n, pc->c);
    frames_.back().code->operators[pc->b]->kernel()(stack_, pc->c);
    popResults(operands, n);
    NEXT();
  }
  CASE(CallBoxed) {
    SAVE();
    budget -= InterruptPoll::kOperatorCost - 1;
    POLL();
    if OBSERVED {
      callOperator(*pc);
      NEXT();
    }
    const uint32_t* operands = pool + pc->a;
    const uint32_t n = pc->n;
    const Operator& op = *frames_.back().code->operators[pc->b];
    const c10::OperatorHandle* handle = op.handle();
    if (!handle) [[unlikely]]
      op.throwUnregistered();
    pushOperands(operands + n, pc->c);
    handle->callBoxed(stack_);
    popResults(operands, n);
    NEXT();
  }
  CASE(CallWithoutAutocast) {
    SAVE();
    budget -= InterruptPoll::kOperatorCost - 1;
    POLL();
    {
      const c10::impl::ExcludeDispatchKeyGuard without(c10::autocast_dispatch_keyset);
      callOperator(*pc);
    }
    NEXT();
  }
  CASE(CallChecked) {
    SAVE();
    budget -= InterruptPoll::kOperatorCost - 1;
    POLL();
    callOperator(*pc);
    NEXT();
  }
  CASE(CallSubgraph) {
    SAVE();
    budget -= InterruptPoll::kOperatorCost - 1;
    POLL();
    callSubgraph(*pc);
    NEXT();
  }
  CASE(CallOut) {
    SAVE();
    budget -= InterruptPoll::kOperatorCost - 1;
    POLL();
    callOut(*pc);
    NEXT();
  }
  CASE(CallView) {
    SAVE();
    POLL();
    callView(*pc);
    NEXT();
  }
  CASE(Warn) {
    SAVE();
    warn(*pc);
    NEXT();
  }
  CASE(CallFunction) {
    SAVE();
    POLL();
    callFunction(*pc);
    LOAD();
    DISPATCH();
  }
  CASE(CallMethod) {
    SAVE();
    POLL();
    callMethod(*pc);
    LOAD();
    DISPATCH();
  }
  CASE(PushExit) {
    handlers_.push_back(READ(pc->b));
    NEXT();
  }
  CASE(PopExit) {
    handlers_.pop_back();
    NEXT();
  }
  CASE(BailOut) {
    const uint32_t* operands = pool + pc->a;
    const uint32_t n = pc->n;
    bool passes = true;
    {
      BailOutSite& site = *frames_.back().code->guards[pc->b];
      for (uint32_t i = 0; i < n; ++i) passes &= site.passes(i, READ(operands[n + i]));
      passes &= !site.mustFail();
      // A result may take the register of a scalar that is looked at, its own or another's.
      if (n == 1) {
        if (passes && operands[0] != kNoRegister && operands[0] != operands[1]) WRITE(operands[0], READ(operands[1]));
      } else {
        c10::SmallVector<c10::IValue, 4> values;
        for (uint32_t i = 0; i < n && passes; ++i) values.push_back(READ(operands[n + i]));
        for (uint32_t i = 0; i < n && passes; ++i) {
          if (operands[i] != kNoRegister) WRITE(operands[i], std::move(values[i]));
        }
      }
    }
    if (passes) [[likely]]
      NEXT();
    SAVE();
    bailOut(*pc);
    LOAD();
    DISPATCH();
  }
  CASE(Fork) {
    SAVE();
    budget -= InterruptPoll::kOperatorCost - 1;
    POLL();
    fork(*pc);
    NEXT();
  }
  CASE(MakeAwaitable) {
    SAVE();
    makeAwaitable(*pc);
    NEXT();
  }
  CASE(Wait) {
    SAVE();
    {
      auto future = READ(pc->b).toFuture();
      if (!future->completed()) {
        if (may_suspend_) {
          awaited_ = std::move(future);
          interrupt.budget = budget;
          return false;
        }
        blockOn(*future);
        budget = 1;  // How long that took is unknown.
      }
      WRITE(pc->a, future->value());
    }
    NEXT();
  }

  CASE(GetSlot) {
    const c10::ivalue::Object& object = READ(pc->b).toObjectRef();
    new (&regs[pc->a]) c10::IValue(readSlot(object, pc->c));
    if (pc->n && regs[pc->a].isNone()) [[unlikely]] {
      SAVE();
      throw ScriptRaise(
          "builtins.AttributeError", frames_.back().code->attributeName(pc) + " is read before it was set");
    }
    NEXT();
  }
  CASE(SetSlot) {
    SAVE();
    setSlot(*pc);
    NEXT();
  }
  CASE(CreateObject) {
    SAVE();
    {
      const auto& type = frames_.back().code->types[pc->c];
      const auto& cls = type->expectRef<c10::ClassType>();
      if OBSERVED
        charge(ContainerMeter::kHeader + cls.numAttributes() * sizeof(c10::IValue));
      auto object = c10::ivalue::Object::create(
          c10::StrongTypePtr(const_cast<c10::ClassType&>(cls).compilation_unit(), type), cls.numAttributes());
      if (pc->a != kNoRegister) WRITE(pc->a, std::move(object));
    }
    NEXT();
  }
  CASE(MakeTuple) {
    if OBSERVED {
      SAVE();
      charge(ContainerMeter::kHeader + pc->c * sizeof(c10::IValue));
    }
    makeTuple(*pc);
    NEXT();
  }
  CASE(MakeList) {
    if OBSERVED {
      SAVE();
      charge(ContainerMeter::kHeader + pc->c * sizeof(c10::IValue));
    }
    makeList(*pc);
    NEXT();
  }
  CASE(MakeDict) {
    SAVE();
    if OBSERVED
      charge(ContainerMeter::kHeader + 2 * pc->c * kDictSlotBytes);
    makeDict(*pc);
    NEXT();
  }
  CASE(UnpackTuple) {
    SAVE();
    unpackTuple(*pc);
    NEXT();
  }
  CASE(UnpackList) {
    SAVE();
    unpackList(*pc);
    NEXT();
  }
  CASE(BorrowTuple) {
    SAVE();
    borrowElements(*pc);
    NEXT();
  }
  CASE(BorrowList) {
    SAVE();
    borrowElements(*pc);
    NEXT();
  }
  CASE(SliceTuple) {
    SAVE();
    sliceTuple(*pc);
    NEXT();
  }
  CASE(TupleGet) {
    SAVE();
    const auto& elements = READ(pc->b).toTupleRef().elements();
    CRESSET_CHECK(pc->c < elements.size(), "a tuple with fewer elements than its type has");
    WRITE(pc->a, elements[pc->c]);
    NEXT();
  }
  CASE(TupleIndex) {
    SAVE();
    WRITE(pc->a, tupleElement(READ(pc->b), READ(pc->c).toInt()));
    NEXT();
  }
  CASE(IsInstance) {
    SAVE();
    WRITE(pc->a, isInstance(READ(pc->b), frames_.back().code->type_lists[pc->c]));
    NEXT();
  }
  CASE(IsNone) {
    WRITE(pc->a, isNone(READ(pc->b)));
    NEXT();
  }
  CASE(IsNotNone) {
    WRITE(pc->a, !isNone(READ(pc->b)));
    NEXT();
  }
  CASE(ListLen) {
    WRITE(pc->a, static_cast<int64_t>(READ(pc->b).toListRef().size()));
    NEXT();
  }
  CASE(ListGet) {
    const auto list = READ(pc->b).toListRef();
    int64_t i = getInt(READ(pc->c));
    const auto size = static_cast<int64_t>(list.size());
    if (i < 0) i += size;
    if (i < 0 || i >= size) [[unlikely]]
      goto slow2;
    WRITE(pc->a, list[static_cast<size_t>(i)]);
    NEXT();
  }
  CASE(ListAppend) {
    SAVE();
    {
      auto& list = listOf(READ(pc->b)).list;
      if (list.size() == list.capacity()) [[unlikely]] {
        if (meter_) charge((list.capacity() + 1) * sizeof(c10::IValue));
      }
      list.push_back(READ(pc->c));
    }
    NEXT();
  }
  CASE(ListSet) {
    auto& list = listOf(READ(pc->a)).list;
    int64_t i = getInt(READ(pc->b));
    const auto size = static_cast<int64_t>(list.size());
    if (i < 0) i += size;
    if (i < 0 || i >= size) [[unlikely]]
      goto slow3;
    // What was there may be an object whose destruction runs anything, so it dies when the list is whole again.
    release(std::exchange(list[static_cast<size_t>(i)], READ(pc->c)));
    NEXT();
  }
  CASE(DictLen) {
    WRITE(pc->a, static_cast<int64_t>(dictOf(READ(pc->b)).dict.size()));
    NEXT();
  }
  CASE(DictGet) {
    SAVE();
    auto& dict = dictOf(READ(pc->b)).dict;
    const auto found = dict.find(READ(pc->c));
    if (found == dict.end()) [[unlikely]]
      goto slow2;
    WRITE(pc->a, found->second);
    NEXT();
  }
  CASE(DictContains) {
    SAVE();
    auto& dict = dictOf(READ(pc->b)).dict;
    WRITE(pc->a, dict.find(READ(pc->c)) != dict.end());
    NEXT();
  }
  CASE(DictSet) {
    SAVE();
    auto& dict = dictOf(READ(pc->a));
    const auto slots = dict.dict.bucket_count();
    size_t charged = 0;
    if OBSERVED
      charged = chargeMovedTable(dict.dict, READ(pc->b));
    if (auto [entry, is_new] = emplaceEntry(dict.dict, READ(pc->b), READ(pc->c)); !is_new) {
      release(std::exchange(entry->second, READ(pc->c)));
    }
    if OBSERVED
      charge(std::max(charged, (dictOf(READ(pc->a)).dict.bucket_count() - slots) * kDictSlotBytes) - charged);
    NEXT();
  }

#define SCALAR1(Name, Operator, X, Result, Expression, SlowIf) \
  CASE(Name) {                                                 \
    const auto x = get##X(READ(pc->b));                        \
    if (SlowIf) [[unlikely]]                                   \
      goto slow1;                                              \
    WRITE(pc->a, Expression);                                  \
    NEXT();                                                    \
  }
#define SCALAR2(Name, Operator, X, Y, Result, Expression, SlowIf) \
  CASE(Name) {                                                    \
    const auto x = get##X(READ(pc->b));                           \
    const auto y = get##Y(READ(pc->c));                           \
    if (SlowIf) [[unlikely]]                                      \
      goto slow2;                                                 \
    WRITE(pc->a, Expression);                                     \
    NEXT();                                                       \
  }
#include "cresset/interpreter/instructions.def"

slow1:
  SAVE();
  stack_.push_back(READ(pc->b));
  operatorOfScalar(pc->op).call(stack_, 1);
  popResults(&pc->a, 1);
  NEXT();
slow3:
  SAVE();
  stack_.push_back(READ(pc->a));
  stack_.push_back(READ(pc->b));
  stack_.push_back(READ(pc->c));
  operatorOfScalar(pc->op).call(stack_, 3);
  stack_.clear();
  NEXT();
slow2:
  SAVE();
  stack_.push_back(READ(pc->b));
  stack_.push_back(READ(pc->c));
  operatorOfScalar(pc->op).call(stack_, 2);
  popResults(&pc->a, 1);
  NEXT();

#if !CRESSET_THREADED
  case Op::Count:
    __builtin_unreachable();
}
#endif
}

}  // namespace cresset
