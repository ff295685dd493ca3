#include "cresset/ir/structure_checks.h"

#include <ATen/core/class_type.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cresset/ir/constants.h"
#include "cresset/ir/messages.h"
#include "cresset/ir/printer.h"
#include "cresset/ir/structure.h"
#include "cresset/ir/subgraph.h"

namespace cresset::structure {

using c10::TypeKind;

[[noreturn]] void complain(std::string text) {
  throw Complaint{std::move(text)};
}

std::string text(const TypePtr& type) {
  return cresset::toString(*type);
}

std::string name(const Value* value) {
  return "%" + value->debugName();
}

std::string plural(size_t n, const char* noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

const Attribute& expectAttribute(const Node& n, Symbol attribute, Attribute::Kind kind) {
  const Attribute* found = n.findAttribute(attribute);
  if (!found)
    complain(std::string(n.kind().toQualString()) + " needs the attribute '" + attribute.toUnqualString() + "'");
  if (found->kind() != kind) {
    complain(
        std::string("the attribute '") + attribute.toUnqualString() + "' must be of kind " + toString(kind) + ", not " +
        toString(found->kind()));
  }
  return *found;
}

namespace {

void expectInputs(const Node& n, size_t count) {
  if (n.inputs().size() != count) {
    complain(
        std::string(n.kind().toQualString()) + " takes " + plural(count, "input") + ", not " +
        std::to_string(n.inputs().size()));
  }
}

void expectOutputs(const Node& n, size_t count) {
  if (n.outputs().size() != count) {
    complain(
        std::string(n.kind().toQualString()) + " has " + plural(count, "output") + ", not " +
        std::to_string(n.outputs().size()));
  }
}

void expectKind(const Value* value, TypeKind kind, const char* what) {
  if (value->type()->kind() != kind) complain(name(value) + " must be " + what + ", not " + text(value->type()));
}

/// Whether a value of type `from` may stand where `to` is expected. A refined tensor type says more about a value, not
/// that it is another; passes lose and find such facts, so any tensor fits any tensor.
bool fits(const TypePtr& from, const TypePtr& to) {
  if (from.get() == to.get() || *from == *to || from->isSubtypeOf(*to)) return true;
  if (from->kind() == TypeKind::TensorType && to->kind() == TypeKind::TensorType) return true;
  if (from->kind() != to->kind()) {
    if (auto optional = to->cast<c10::OptionalType>()) return fits(from, optional->getElementType());
    return false;
  }
  switch (from->kind()) {
    case TypeKind::ListType:
    case TypeKind::OptionalType:
    case TypeKind::FutureType:
    case TypeKind::AwaitType:
    case TypeKind::TupleType:
    case TypeKind::DictType: {
      auto a = from->containedTypes();
      auto b = to->containedTypes();
      if (a.size() != b.size()) return false;
      for (size_t i = 0; i < a.size(); ++i)
        if (!fits(a[i], b[i])) return false;
      return true;
    }
    default:
      return false;
  }
}

void expectFits(const Value* from, const TypePtr& to, const std::string& where) {
  if (!fits(from->type(), to))
    complain(name(from) + " of type " + text(from->type()) + " can't be " + where + " of type " + text(to));
}

}  // namespace

void checkConstant(const Node& n) {
  const Value* output = n.outputs()[0];
  TypePtr type = output->type();
  if (type->kind() == TypeKind::FunctionType) {
    expectAttribute(n, attr::name, Attribute::Kind::String);
    return;
  }
  auto value = toIValue(output);
  if (!value)
    complain(
        "a constant can't hold an attribute of kind " + std::string(toString(n.findAttribute(attr::value)->kind())));
  auto holds = [&](const TypePtr& t) {
    switch (t->kind()) {
      case TypeKind::NoneType:
        return value->isNone();
      case TypeKind::IntType:
        return value->isInt();
      case TypeKind::BoolType:
        return value->isBool();
      case TypeKind::FloatType:
        return value->isDouble();
      case TypeKind::ComplexType:
        return value->isComplexDouble();
      case TypeKind::StringType:
        return value->isString();
      case TypeKind::DeviceObjType:
        return value->isDevice();
      case TypeKind::TensorType:
        return value->isTensor();
      case TypeKind::NumberType:
        return value->isScalar();
      case TypeKind::ListType:
        return value->isList();
      case TypeKind::DictType:
        return value->isGenericDict();
      case TypeKind::TupleType:
        return value->isTuple();
      case TypeKind::EnumType:
        return value->isEnum();
      default:
        return true;
    }
  };
  TypePtr wanted = type;
  if (auto optional = type->cast<c10::OptionalType>(); optional && !value->isNone())
    wanted = optional->getElementType();
  if (wanted->kind() != TypeKind::OptionalType && !holds(wanted)) {
    complain(
        value->isNone() ? "a constant of type " + text(type) + " needs a value"
                        : "a constant of type " + text(type) + " holds a " + value->tagKind());
  }
}

namespace {

void checkBlockOutputs(const Block& block, std::span<Value* const> outputs, size_t skip, const char* kind) {
  if (block.outputs().size() != outputs.size() + skip) {
    complain(
        std::string("each block of ") + kind + " must have " + plural(outputs.size() + skip, "output") + " here, not " +
        std::to_string(block.outputs().size()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    expectFits(block.outputs()[i + skip], outputs[i]->type(), "returned as " + name(outputs[i]));
  }
}

}  // namespace

void checkIf(const Node& n) {
  for (const Block* block : n.blocks()) {
    if (!block->inputs().empty()) complain("the blocks of prim::If take no inputs");
    checkBlockOutputs(*block, n.outputs(), 0, "prim::If");
  }
}

void checkLoop(const Node& n) {
  size_t carried = n.inputs().size() - 2;
  expectOutputs(n, carried);
  const Block& body = *n.blocks()[0];
  if (body.inputs().size() != carried + 1) {
    complain(
        "the block of prim::Loop takes the iteration and " + plural(carried, "carried value") + ", not " +
        plural(body.inputs().size(), "input"));
  }
  expectKind(body.inputs()[0], TypeKind::IntType, "the iteration, an int");
  for (size_t i = 0; i < carried; ++i) {
    const Value* input = body.inputs()[i + 1];
    expectFits(n.inputs()[i + 2], input->type(), "carried into " + name(input));
  }
  checkBlockOutputs(body, n.outputs(), 1, "prim::Loop");
  expectKind(body.outputs()[0], TypeKind::BoolType, "the condition, a bool");
  for (size_t i = 0; i < carried; ++i) {
    const Value* input = body.inputs()[i + 1];
    expectFits(body.outputs()[i + 1], input->type(), "carried into " + name(input));
  }
}

void checkTupleConstruct(const Node& n) {
  const auto tuple = n.outputs()[0]->type()->cast<c10::TupleType>();
  expectInputs(n, tuple->elements().size());
  for (size_t i = 0; i < n.inputs().size(); ++i) {
    expectFits(n.inputs()[i], tuple->elements()[i], "element " + std::to_string(i));
  }
}

namespace {

void expectElement(const c10::TupleType& tuple, size_t i, const Value& output) {
  if (fits(tuple.elements()[i], output.type())) return;
  complain(
      "element " + std::to_string(i) + " of type " + text(tuple.elements()[i]) + " can't be " + name(&output) +
      " of type " + text(output.type()));
}

}  // namespace

void checkTupleUnpack(const Node& n) {
  const auto tuple = n.inputs()[0]->type()->cast<c10::TupleType>();
  expectOutputs(n, tuple->elements().size());
  for (size_t i = 0; i < n.outputs().size(); ++i) {
    expectElement(*tuple, i, *n.outputs()[i]);
  }
}

void checkTupleIndex(const Node& n) {
  const auto tuple = n.inputs()[0]->type()->cast<c10::TupleType>();
  if (toIValue(n.inputs()[1])) {
    if (const auto place = placeInTuple(n)) expectElement(*tuple, *place, *n.outputs()[0]);
    return;
  }
  for (const TypePtr& element : tuple->elements()) {
    if (!fits(element, n.outputs()[0]->type()))
      complain("the index must be a constant, since the elements' types differ");
  }
}

void checkTupleSlice(const Node& n) {
  const auto tuple = n.inputs()[0]->type()->cast<c10::TupleType>();
  const auto slice = n.outputs()[0]->type()->cast<c10::TupleType>();
  const int64_t beg = n.i(attr::beg), end = n.i(attr::end);
  if (beg < 0 || beg > end || end > static_cast<int64_t>(tuple->elements().size())) {
    complain("the slice [" + std::to_string(beg) + ":" + std::to_string(end) + "] is out of range");
  }
  const auto count = static_cast<size_t>(end - beg);
  if (slice->elements().size() != count) complain("the slice has " + plural(count, "element"));
  for (size_t i = 0; i < count; ++i) {
    if (!fits(tuple->elements()[static_cast<size_t>(beg) + i], slice->elements()[i]))
      complain("the slice's types are not those of the tuple's elements");
  }
}

void checkListConstruct(const Node& n) {
  const auto list = n.outputs()[0]->type()->cast<c10::ListType>();
  for (const Value* input : n.inputs()) expectFits(input, list->getElementType(), "an element");
}

void checkListUnpack(const Node& n) {
  const auto list = n.inputs()[0]->type()->cast<c10::ListType>();
  for (const Value* output : n.outputs()) {
    if (!fits(list->getElementType(), output->type())) {
      complain(
          "an element of type " + text(list->getElementType()) + " can't be " + name(output) + " of type " +
          text(output->type()));
    }
  }
}

void checkDictConstruct(const Node& n) {
  const auto dict = n.outputs()[0]->type()->cast<c10::DictType>();
  if (n.inputs().size() % 2 != 0) complain("prim::DictConstruct takes pairs of key and value");
  for (size_t i = 0; i < n.inputs().size(); i += 2) {
    expectFits(n.inputs()[i], dict->getKeyType(), "a key");
    expectFits(n.inputs()[i + 1], dict->getValueType(), "a value");
  }
}

namespace {

/// The declared type of the attribute that a node reads or writes; null if only the object itself will tell.
TypePtr attributeType(const Node& n) {
  const std::string& attribute = n.s(attr::name);
  const Value* object = n.inputs()[0];
  const auto type = object->type()->cast<c10::ClassType>();
  TypePtr found = type->findAttribute(attribute);
  // What a C++ class keeps its object in is not for programs.
  if (!found || found->kind() == c10::TypeKind::CapsuleType)
    complain(messages::noAttribute(text(object->type()), attribute));
  return found;
}

}  // namespace

void checkGetAttr(const Node& n) {
  TypePtr type = attributeType(n);
  if (!fits(type, n.outputs()[0]->type())) {
    complain(
        "the attribute of type " + text(type) + " can't be " + name(n.outputs()[0]) + " of type " +
        text(n.outputs()[0]->type()));
  }
}

void checkSetAttr(const Node& n) {
  expectFits(n.inputs()[1], attributeType(n), "stored in the attribute");
}

void checkCallFunction(const Node& n) {
  if (!isConstant(n.inputs()[0])) complain(name(n.inputs()[0]) + " must be a constant of type Function");
}

void checkIsinstance(const Node& n) {
  if (n.tys(attr::types).empty()) complain("prim::isinstance needs types");
}

namespace {

/// The types that a value of the type may have: the members of a Union, what is optional and None.
std::vector<TypePtr> membersOf(const TypePtr& type) {
  if (auto optional = type->cast<c10::OptionalType>()) {
    std::vector<TypePtr> members = membersOf(optional->getElementType());
    members.emplace_back(c10::NoneType::get());
    return members;
  }
  if (auto all = type->cast<c10::UnionType>()) return {all->containedTypes().begin(), all->containedTypes().end()};
  return {type};
}

/// Whether some value may be of both types, as far as types can tell.
bool mayMeet(const TypePtr& a, const TypePtr& b) {
  if (a->isSubtypeOf(*b) || b->isSubtypeOf(*a)) return true;
  const auto first = membersOf(a), second = membersOf(b);
  if (first.size() > 1 || second.size() > 1) {
    return std::any_of(first.begin(), first.end(), [&](const TypePtr& x) {
      return std::any_of(second.begin(), second.end(), [&](const TypePtr& y) { return mayMeet(x, y); });
    });
  }
  if (a->kind() != b->kind()) return a->hasFreeVariables() || b->hasFreeVariables();
  switch (a->kind()) {
    case TypeKind::ListType:
    case TypeKind::DictType:
    case TypeKind::TupleType:
    case TypeKind::FutureType:
    case TypeKind::AwaitType: {
      const auto of_a = a->containedTypes(), of_b = b->containedTypes();
      return std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), mayMeet);
    }
    case TypeKind::ClassType:
    case TypeKind::EnumType:
      return false;  // two names
    default:
      return true;  // tensors of which different things are known, interfaces
  }
}

/// In a block that a condition guards, or of None, which conditions guard.
bool mayBeUnreached(const Node& n) {
  const Block* block = n.owningBlock();
  return (block && block->owningNode()) || n.inputs()[0]->type()->kind() == TypeKind::NoneType;
}

}  // namespace

void checkUncheckedCast(const Node& n) {
  // A cast that can never be right may stand where it is never reached: in a function that was inlined for an argument
  // of which more is known. So types are compared where the program itself says them.
  if (n.inlinedCall() || mayBeUnreached(n)) return;
  const TypePtr &from = n.inputs()[0]->type(), &to = n.outputs()[0]->type();
  if (!mayMeet(from, to)) complain("a value of type " + from->repr_str() + " can never be of type " + to->repr_str());
}

namespace {

void checkSubgraphInputs(const Node& n, const Graph& graph) {
  if (graph.inputs().size() != n.inputs().size()) {
    complain(
        "the subgraph takes " + plural(graph.inputs().size(), "input") + ", not " + std::to_string(n.inputs().size()));
  }
  for (size_t i = 0; i < n.inputs().size(); ++i) {
    expectFits(n.inputs()[i], graph.inputs()[i]->type(), "the subgraph's input " + name(graph.inputs()[i]));
  }
}

}  // namespace

void checkBailOut(const Node& n) {
  if (n.inputs().size() < n.outputs().size())
    complain("prim::BailOut returns some of the values that it looks at, not " + plural(n.outputs().size(), "value"));
  for (size_t i = 0; i < n.outputs().size() && !mayBeUnreached(n); ++i) {
    const TypePtr &from = n.inputs()[i]->type(), &to = n.outputs()[i]->type();
    if (!mayMeet(from, to))
      complain(name(n.inputs()[i]) + " of type " + from->repr_str() + " can never be of type " + to->repr_str());
  }
}

void checkApart(const Node& n) {
  const TypePtr& type = n.outputs()[0]->type();
  const Graph& graph = *n.g(attr::Subgraph);
  checkSubgraphInputs(n, graph);
  if (graph.outputs().size() != 1) {
    complain(
        std::string("the subgraph of ") + n.kind().toQualString() + " has 1 output, not " +
        std::to_string(graph.outputs().size()));
  }
  const char* where = type->kind() == TypeKind::FutureType ? "the result of a Future" : "the result of an Await";
  expectFits(graph.outputs()[0], type->containedType(0), where);
}

void checkSubgraph(const Node& n) {
  const Graph& graph = *n.g(attr::Subgraph);
  checkSubgraphInputs(n, graph);
  if (graph.outputs().size() != n.outputs().size()) {
    complain(
        "the subgraph has " + plural(graph.outputs().size(), "output") + ", not " + std::to_string(n.outputs().size()));
  }
  for (size_t i = 0; i < n.outputs().size(); ++i)
    expectFits(graph.outputs()[i], n.outputs()[i]->type(), "returned as " + name(n.outputs()[i]));
}

}  // namespace cresset::structure
