// What docs/ir.md says of each structural node, as one check per kind.
#include "cresset/ir/structure.h"

#include <ATen/core/class_type.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <unordered_map>

#include "cresset/ir/constants.h"
#include "cresset/ir/printer.h"

namespace cresset {

using c10::TypeKind;

namespace {

// A check returns by throwing its complaint; complaintAbout catches it. None of it leaves this file.
struct Complaint {
  std::string text;
};

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

void expectBlocks(const Node& n, size_t count) {
  if (n.blocks().size() != count) {
    complain(
        std::string(n.kind().toQualString()) + " has " + plural(count, "block") + ", not " +
        std::to_string(n.blocks().size()));
  }
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

template <typename T>
std::shared_ptr<T> expectType(const Value* value, const char* what) {
  auto type = value->type()->cast<T>();
  if (!type) complain(name(value) + " must be " + what + ", not " + text(value->type()));
  return type;
}

// ---- one function per kind

void checkConstant(const Node& n) {
  expectInputs(n, 0);
  expectOutputs(n, 1);
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

void checkIf(const Node& n) {
  expectInputs(n, 1);
  expectBlocks(n, 2);
  expectKind(n.inputs()[0], TypeKind::BoolType, "the condition, a bool");
  for (const Block* block : n.blocks()) {
    if (!block->inputs().empty()) complain("the blocks of prim::If take no inputs");
    checkBlockOutputs(*block, n.outputs(), 0, "prim::If");
  }
}

void checkLoop(const Node& n) {
  expectBlocks(n, 1);
  if (n.inputs().size() < 2) complain("prim::Loop takes a trip count, a condition, and the carried values");
  expectKind(n.inputs()[0], TypeKind::IntType, "the trip count, an int");
  expectKind(n.inputs()[1], TypeKind::BoolType, "the condition, a bool");
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
  expectOutputs(n, 1);
  auto tuple = expectType<c10::TupleType>(n.outputs()[0], "a tuple");
  expectInputs(n, tuple->elements().size());
  for (size_t i = 0; i < n.inputs().size(); ++i) {
    expectFits(n.inputs()[i], tuple->elements()[i], "element " + std::to_string(i));
  }
}

void checkTupleUnpack(const Node& n) {
  expectInputs(n, 1);
  auto tuple = expectType<c10::TupleType>(n.inputs()[0], "a tuple");
  expectOutputs(n, tuple->elements().size());
  for (size_t i = 0; i < n.outputs().size(); ++i) {
    if (!fits(tuple->elements()[i], n.outputs()[i]->type())) {
      complain(
          "element " + std::to_string(i) + " of type " + text(tuple->elements()[i]) + " can't be " +
          name(n.outputs()[i]) + " of type " + text(n.outputs()[i]->type()));
    }
  }
}

void checkTupleIndex(const Node& n) {
  expectInputs(n, 2);
  expectOutputs(n, 1);
  auto tuple = expectType<c10::TupleType>(n.inputs()[0], "a tuple");
  expectKind(n.inputs()[1], TypeKind::IntType, "the index, an int");
  auto constant = toIValue(n.inputs()[1]);
  auto size = static_cast<int64_t>(tuple->elements().size());
  if (constant) {
    int64_t i = constant->toInt() < 0 ? constant->toInt() + size : constant->toInt();
    if (i < 0 || i >= size) return;  // raises IndexError when it runs
    if (!fits(tuple->elements()[i], n.outputs()[0]->type())) {
      complain(
          "element " + std::to_string(i) + " of type " + text(tuple->elements()[i]) + " can't be " +
          name(n.outputs()[0]) + " of type " + text(n.outputs()[0]->type()));
    }
    return;
  }
  for (const TypePtr& element : tuple->elements()) {
    if (!fits(element, n.outputs()[0]->type()))
      complain("the index must be a constant, since the elements' types differ");
  }
}

void checkTupleSlice(const Node& n) {
  expectInputs(n, 1);
  expectOutputs(n, 1);
  auto tuple = expectType<c10::TupleType>(n.inputs()[0], "a tuple");
  auto slice = expectType<c10::TupleType>(n.outputs()[0], "a tuple");
  int64_t beg = expectAttribute(n, attr::beg, Attribute::Kind::Int).asInt();
  int64_t end = expectAttribute(n, attr::end, Attribute::Kind::Int).asInt();
  if (beg < 0 || beg > end || end > static_cast<int64_t>(tuple->elements().size())) {
    complain("the slice [" + std::to_string(beg) + ":" + std::to_string(end) + "] is out of range");
  }
  if (static_cast<int64_t>(slice->elements().size()) != end - beg)
    complain("the slice has " + plural(end - beg, "element"));
  for (int64_t i = beg; i < end; ++i) {
    if (!fits(tuple->elements()[i], slice->elements()[i - beg]))
      complain("the slice's types are not those of the tuple's elements");
  }
}

void checkListConstruct(const Node& n) {
  expectOutputs(n, 1);
  auto list = expectType<c10::ListType>(n.outputs()[0], "a list");
  for (const Value* input : n.inputs()) expectFits(input, list->getElementType(), "an element");
}

void checkListUnpack(const Node& n) {
  expectInputs(n, 1);
  auto list = expectType<c10::ListType>(n.inputs()[0], "a list");
  for (const Value* output : n.outputs()) {
    if (!fits(list->getElementType(), output->type())) {
      complain(
          "an element of type " + text(list->getElementType()) + " can't be " + name(output) + " of type " +
          text(output->type()));
    }
  }
}

void checkDictConstruct(const Node& n) {
  expectOutputs(n, 1);
  auto dict = expectType<c10::DictType>(n.outputs()[0], "a dict");
  if (n.inputs().size() % 2 != 0) complain("prim::DictConstruct takes pairs of key and value");
  for (size_t i = 0; i < n.inputs().size(); i += 2) {
    expectFits(n.inputs()[i], dict->getKeyType(), "a key");
    expectFits(n.inputs()[i + 1], dict->getValueType(), "a value");
  }
}

void checkCreateObject(const Node& n) {
  expectInputs(n, 0);
  expectOutputs(n, 1);
  expectKind(n.outputs()[0], TypeKind::ClassType, "of a class type");
}

/// The declared type of the attribute that a node reads or writes; null if only the object itself will tell.
TypePtr attributeType(const Node& n) {
  const std::string& attribute = expectAttribute(n, attr::name, Attribute::Kind::String).asString();
  const Value* object = n.inputs()[0];
  auto type = expectType<c10::ClassType>(object, "an object");
  TypePtr found = type->findAttribute(attribute);
  if (!found) complain(text(object->type()) + " has no attribute '" + attribute + "'");
  return found;
}

void checkGetAttr(const Node& n) {
  expectInputs(n, 1);
  expectOutputs(n, 1);
  TypePtr type = attributeType(n);
  if (!fits(type, n.outputs()[0]->type())) {
    complain(
        "the attribute of type " + text(type) + " can't be " + name(n.outputs()[0]) + " of type " +
        text(n.outputs()[0]->type()));
  }
}

void checkSetAttr(const Node& n) {
  expectInputs(n, 2);
  expectOutputs(n, 0);
  expectFits(n.inputs()[1], attributeType(n), "stored in the attribute");
}

void checkCallFunction(const Node& n) {
  expectOutputs(n, 1);
  if (n.inputs().empty()) complain("prim::CallFunction takes a function");
  expectKind(n.inputs()[0], TypeKind::FunctionType, "a constant of type Function");
  if (!isConstant(n.inputs()[0])) complain(name(n.inputs()[0]) + " must be a constant of type Function");
}

void checkCallMethod(const Node& n) {
  expectOutputs(n, 1);
  expectAttribute(n, attr::name, Attribute::Kind::String);
  if (n.inputs().empty()) complain("prim::CallMethod takes an object");
  TypeKind kind = n.inputs()[0]->type()->kind();
  if (kind != TypeKind::ClassType && kind != TypeKind::InterfaceType) {
    complain(name(n.inputs()[0]) + " must be an object, not " + text(n.inputs()[0]->type()));
  }
}

void checkIsinstance(const Node& n) {
  expectInputs(n, 1);
  expectOutputs(n, 1);
  expectKind(n.outputs()[0], TypeKind::BoolType, "a bool");
  if (expectAttribute(n, attr::types, Attribute::Kind::Types).asTypes().empty())
    complain("prim::isinstance needs types");
}

/// The types that a value of the type may have: the members of a Union, what is optional and None.
std::vector<TypePtr> membersOf(const TypePtr& type) {
  if (auto optional = type->cast<c10::OptionalType>()) {
    std::vector<TypePtr> members = membersOf(optional->getElementType());
    members.push_back(c10::NoneType::get());
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
    case TypeKind::FutureType: {
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

void checkUncheckedCast(const Node& n) {
  expectInputs(n, 1);
  expectOutputs(n, 1);
  // A cast that can never be right may stand where it is never reached: in a function that was inlined for an argument
  // of which more is known. So types are compared where the program itself says them.
  if (n.inlinedCall() || mayBeUnreached(n)) return;
  const TypePtr &from = n.inputs()[0]->type(), &to = n.outputs()[0]->type();
  if (!mayMeet(from, to)) complain("a value of type " + from->repr_str() + " can never be of type " + to->repr_str());
}

void checkUninitialized(const Node& n) {
  expectInputs(n, 0);
  expectOutputs(n, 1);
}

void checkEnter(const Node& n) {
  expectInputs(n, 1);
  expectOutputs(n, 1);
  expectKind(n.inputs()[0], TypeKind::ClassType, "an object");
}

void checkFork(const Node& n) {
  expectOutputs(n, 1);
  auto future = expectType<c10::FutureType>(n.outputs()[0], "a Future");
  const Graph& graph = *expectAttribute(n, attr::Subgraph, Attribute::Kind::Graph).asGraph();
  if (graph.inputs().size() != n.inputs().size()) {
    complain(
        "the subgraph takes " + plural(graph.inputs().size(), "input") + ", not " + std::to_string(n.inputs().size()));
  }
  for (size_t i = 0; i < n.inputs().size(); ++i) {
    expectFits(n.inputs()[i], graph.inputs()[i]->type(), "the subgraph's input " + name(graph.inputs()[i]));
  }
  if (graph.outputs().size() != 1)
    complain("the subgraph of prim::fork has 1 output, not " + std::to_string(graph.outputs().size()));
  expectFits(graph.outputs()[0], future->getElementType(), "the result of a Future");
}

void checkWait(const Node& n) {
  expectInputs(n, 1);
  expectOutputs(n, 1);
  if (n.inputs()[0]->type()->kind() != TypeKind::FutureType)
    complain(name(n.inputs()[0]) + " must be a Future, not " + text(n.inputs()[0]->type()));
}

using Check = void (*)(const Node&);

void checkBailOut(const Node& n) {
  if (n.outputs().empty() || n.inputs().size() < n.outputs().size())
    complain("prim::BailOut takes the values that it looks at, and gives them");
  if (!n.hasAttribute(attr::index)) complain("prim::BailOut needs its index");
}

struct Structure {
  Check check;
  bool has_blocks;
};

const std::unordered_map<Symbol, Structure>& structures() {
  static const std::unordered_map<Symbol, Structure> table = {
      {prim::Constant, {checkConstant, false}},
      {prim::If, {checkIf, true}},
      {prim::Loop, {checkLoop, true}},
      {prim::TupleConstruct, {checkTupleConstruct, false}},
      {prim::TupleUnpack, {checkTupleUnpack, false}},
      {prim::TupleIndex, {checkTupleIndex, false}},
      {prim::TupleSlice, {checkTupleSlice, false}},
      {prim::ListConstruct, {checkListConstruct, false}},
      {prim::ListUnpack, {checkListUnpack, false}},
      {prim::DictConstruct, {checkDictConstruct, false}},
      {prim::CreateObject, {checkCreateObject, false}},
      {prim::GetAttr, {checkGetAttr, false}},
      {prim::SetAttr, {checkSetAttr, false}},
      {prim::CallFunction, {checkCallFunction, false}},
      {prim::CallMethod, {checkCallMethod, false}},
      {prim::isinstance, {checkIsinstance, false}},
      {prim::unchecked_cast, {checkUncheckedCast, false}},
      {prim::Uninitialized, {checkUninitialized, false}},
      {prim::Enter, {checkEnter, false}},
      {prim::Exit, {checkEnter, false}},
      {prim::fork, {checkFork, false}},
      {prim::BailOut, {checkBailOut, false}},
      {aten::wait, {checkWait, false}},
  };
  return table;
}

}  // namespace

std::optional<std::string> complaintAbout(const Node& node) {
  static const auto& table = structures();
  auto found = table.find(node.kind());
  if (found == table.end()) return std::nullopt;  // operators of other kinds may have blocks of their own meaning
  try {
    if (!found->second.has_blocks) expectBlocks(node, 0);
    found->second.check(node);
  } catch (const Complaint& complaint) {
    return complaint.text;
  }
  return std::nullopt;
}

}  // namespace cresset
