// Tuples, lists, dicts, attributes, and what a value is an instance of.
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/class_type.h>

#include <new>
#include <utility>

#include "cresset/interpreter/run.h"
#include "cresset/ops/object_slots.h"
#include "cresset/ops/type_parts.h"
#include "cresset/support/dict_entries.h"

namespace cresset {

namespace {

/// The elements' type as values carry it: shapes are facts about one tensor, not about a list.
c10::TypePtr runtimeElement(const c10::TypePtr& type) {
  return type->kind() == c10::TypeKind::TensorType ? c10::TypePtr(c10::TensorType::get()) : type;
}

bool isInstanceOf(const c10::IValue& value, const c10::Type& type, c10::TypePtr& value_type) {
  switch (type.kind()) {
    case c10::TypeKind::AnyType:
      return true;
    case c10::TypeKind::NoneType:
      return value.isNone();
    case c10::TypeKind::IntType:
      return value.isInt();
    case c10::TypeKind::FloatType:
      return value.isDouble();
    case c10::TypeKind::BoolType:
      return value.isBool();
    case c10::TypeKind::ComplexType:
      return value.isComplexDouble();
    case c10::TypeKind::StringType:
      return value.isString();
    case c10::TypeKind::DeviceObjType:
      return value.isDevice();
    case c10::TypeKind::NumberType:
      return value.isScalar() && !value.isBool();
    case c10::TypeKind::AnyListType:
      return value.isList();
    case c10::TypeKind::AnyTupleType:
      return value.isTuple();
    case c10::TypeKind::TensorType:
      if (type == *c10::TensorType::get()) return value.isTensor();
      break;
    default:
      break;
  }
  if (!value_type) value_type = typeOf(value, "looking for the type of a value");
  return value_type->isSubtypeOf(type);
}

}  // namespace

bool isInstance(const c10::IValue& value, const std::vector<c10::TypePtr>& types) {
  c10::TypePtr value_type;  // computed when a type needs it
  for (const auto& type : types) {
    if (isInstanceOf(value, *type, value_type)) return true;
  }
  return false;
}

c10::IValue tupleElement(const c10::IValue& tuple, int64_t index) {
  const auto& elements = tuple.toTupleRef().elements();
  const auto size = static_cast<int64_t>(elements.size());
  if (index < 0) index += size;
  if (index < 0 || index >= size) throw ScriptRaise("builtins.IndexError", "Tuple list index out of range");
  return elements[static_cast<size_t>(index)];
}

void Run::setOutput(const Instruction& instruction, c10::IValue value) {
  const Frame& frame = frames_.back();
  const uint32_t reg = frame.code->pool[instruction.a];
  if (reg != kNoRegister)
    new (&registers_.data()[frame.base + reg]) c10::IValue(std::move(value));
  else
    release(value);
}

void Run::makeTuple(const Instruction& instruction) {
  const Code& code = *frames_.back().code;
  const uint32_t* inputs = code.pool.data() + instruction.a + 1;
  std::vector<c10::IValue> elements;
  elements.reserve(instruction.c);
  for (uint32_t i = 0; i < instruction.c; ++i) elements.push_back(take(inputs[i]));
  if (instruction.b == 0) return setOutput(instruction, c10::ivalue::Tuple::create(std::move(elements)));
  setOutput(
      instruction,
      c10::ivalue::Tuple::createNamed(std::move(elements), code.types[instruction.b - 1]->expect<c10::TupleType>()));
}

void Run::makeList(const Instruction& instruction) {
  const Code& code = *frames_.back().code;
  const uint32_t* inputs = code.pool.data() + instruction.a + 1;
  c10::impl::GenericList list(runtimeElement(code.types[instruction.b]->expectRef<c10::ListType>().getElementType()));
  list.reserve(instruction.c);
  for (uint32_t i = 0; i < instruction.c; ++i) list.push_back(take(inputs[i]));
  setOutput(instruction, list);
}

void Run::makeDict(const Instruction& instruction) {
  const Code& code = *frames_.back().code;
  const uint32_t* inputs = code.pool.data() + instruction.a + 1;
  const auto& type = code.types[instruction.b]->expectRef<c10::DictType>();
  c10::impl::GenericDict dict(type.getKeyType(), runtimeElement(type.getValueType()));
  dict.reserve(instruction.c / 2);
  for (uint32_t i = 0; i + 1 < instruction.c; i += 2) {
    c10::IValue key = take(inputs[i]);
    c10::IValue item = take(inputs[i + 1]);
    c10::IValue old = assignEntry(dict, std::move(key), std::move(item));
    release(old);
  }
  setOutput(instruction, dict);
}

namespace {

[[noreturn]] void raiseWrongLength(size_t expected, size_t found) {
  throw ScriptRaise(
      "", "Expected " + std::to_string(expected) + " elements in a list but found " + std::to_string(found));
}

}  // namespace

void Run::unpackTuple(const Instruction& instruction) {
  const uint32_t* outputs = frames_.back().code->pool.data() + instruction.a;
  const c10::IValue tuple = take(outputs[instruction.n]);
  auto& elements = const_cast<c10::ivalue::TupleElements&>(tuple.toTupleRef().elements());
  CRESSET_CHECK(elements.size() == instruction.n, "a tuple of " + std::to_string(elements.size()) + " elements");
  // Nothing else sees a tuple with one reference, so its elements can leave it.
  const bool is_last = tuple.use_count() == 1;
  c10::IValue* regs = registers_.data() + frames_.back().base;
  for (uint32_t i = 0; i < instruction.n; ++i) {
    if (outputs[i] == kNoRegister) {
      if (is_last) release(elements[i]);
      continue;
    }
    if (is_last)
      new (&regs[outputs[i]]) c10::IValue(std::move(elements[i]));
    else
      new (&regs[outputs[i]]) c10::IValue(elements[i]);
  }
}

void Run::unpackList(const Instruction& instruction) {
  const uint32_t* outputs = frames_.back().code->pool.data() + instruction.a;
  c10::IValue list = take(outputs[instruction.n]);
  const auto elements = list.toListRef();
  if (const size_t size = elements.size(); size != instruction.n) {
    release(list);
    raiseWrongLength(instruction.n, size);
  }
  c10::IValue* regs = registers_.data() + frames_.back().base;
  for (uint32_t i = 0; i < instruction.n; ++i) {
    if (outputs[i] != kNoRegister) new (&regs[outputs[i]]) c10::IValue(elements[i]);
  }
  release(list);
}

void Run::borrowElements(const Instruction& instruction) {
  const uint32_t* outputs = frames_.back().code->pool.data() + instruction.a;
  const size_t count = instruction.n - 1;
  c10::IValue& holder = registers_.data()[frames_.back().base + outputs[0]];
  c10::IValue taken = take(outputs[instruction.n]);  // which may have been in the same register
  new (&holder) c10::IValue(std::move(taken));
  const bool is_list = instruction.op == Op::BorrowList;
  const auto elements = is_list ? holder.toListRef() : holder.toTupleRef().elements().asArrayRef();
  if (elements.size() != count) {
    CRESSET_CHECK(is_list, "a tuple of " + std::to_string(elements.size()) + " elements");
    raiseWrongLength(count, elements.size());
  }
  for (size_t i = 0; i < count; ++i) {
    if (outputs[i + 1] != kNoRegister) memory_->borrow(outputs[i + 1] & kIndexMask, elements[i]);
  }
}

void Run::sliceTuple(const Instruction& instruction) {
  const uint32_t* operands = frames_.back().code->pool.data() + instruction.a;
  c10::IValue tuple = take(operands[1]);
  const auto& elements = tuple.toTupleRef().elements();
  std::vector<c10::IValue> result;
  result.reserve(instruction.c - instruction.b);
  for (size_t i = instruction.b; i < instruction.c; ++i) result.push_back(elements.at(i));
  release(tuple);
  setOutput(instruction, c10::ivalue::Tuple::create(std::move(result)));
}

void Run::setSlot(const Instruction& instruction) {
  const uint32_t* operands = frames_.back().code->pool.data() + instruction.a;
  c10::IValue object = take(operands[0]);
  release(exchangeSlot(object.toObjectRef(), instruction.b, take(operands[1])));
  release(object);
}

}  // namespace cresset
