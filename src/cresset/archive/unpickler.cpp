// Values from pickle nodes. See unpickler.h.
#include "cresset/archive/unpickler.h"

#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>

#include <map>
#include <tuple>
#include <unordered_map>

#include "cresset/archive/pickle_machine.h"
#include "cresset/archive/pickle_names.h"
#include "cresset/archive/tensor_builder.h"
#include "cresset/archive/unpickled_types.h"
#include "cresset/ir/messages.h"
#include "cresset/ir/parser.h"
#include "cresset/ops/class_state_checks.h"
#include "cresset/program/program.h"
#include "cresset/support/dict_entries.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

using c10::IValue;
using c10::TypePtr;

std::string typeName(const TypePtr& type) {
  return type->annotation_str();
}

/// The type to build for: Optional[T] wants T unless the value is None; Any and Union say nothing.
TypePtr hintOf(const TypePtr& type) {
  if (!type) return nullptr;
  switch (type->kind()) {
    case c10::TypeKind::AnyType:
    case c10::TypeKind::UnionType:
    case c10::TypeKind::VarType:
    case c10::TypeKind::NumberType:
    case c10::TypeKind::AnyListType:
    case c10::TypeKind::AnyTupleType:
    case c10::TypeKind::AnyClassType:
    case c10::TypeKind::AnyEnumType:
      return nullptr;
    case c10::TypeKind::OptionalType:
      return hintOf(type->castRaw<c10::OptionalType>()->getElementType());
    default:
      return type;
  }
}

// What the type of a container takes, which its value keeps or that of a container around it.
constexpr size_t kTypeBytes = 128;

/// Attributes by their names, which the states of objects give in any order.
class AttributeTable {
 public:
  AttributeTable(LoadBudget& budget, const Pickle& pickle) : budget_(budget), pickle_(pickle) {}

  /// The node of each attribute's value; kNone for those that are left out.
  std::vector<uint32_t> nodesOf(uint32_t n, uint32_t state, c10::ClassType& cls) {
    charge(n, at(state).shared ? cls.numAttributes() * sizeof(uint32_t) + 128 : 0);
    const std::vector<uint32_t> elements = pickle_.elements(at(state));
    const auto& slots = slotsOf(n, cls);
    std::vector<uint32_t> nodes(cls.numAttributes(), Pickle::kNone);
    for (size_t i = 0; i + 1 < elements.size(); i += 2) {
      if (at(elements[i]).kind != PickleNode::String) site(elements[i]).fail("an attribute's name is no string");
      const std::string_view name = pickle_.string(at(elements[i]));
      const auto slot = slots.find(name);
      if (slot == slots.end()) {
        site(elements[i])
            .fail("class '" + cls.name()->qualifiedName() + "' has no attribute '" + std::string(name) + "'");
      }
      if (nodes[slot->second] != Pickle::kNone)
        site(elements[i]).fail("an object's state names attribute '" + std::string(name) + "' twice");
      nodes[slot->second] = elements[i + 1];
    }
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i] != Pickle::kNone) continue;
      // torch.jit leaves out what is None by its type.
      if (!c10::NoneType::get()->isSubtypeOf(*cls.getAttribute(i)))
        site(n).fail(
            "the pickle gives no value to attribute '" + cls.getAttributeName(i) + "' of class '" +
            cls.name()->qualifiedName() + "'");
    }
    return nodes;
  }

 private:
  const PickleNode& at(uint32_t node) const { return pickle_[node]; }
  ArchiveSite site(uint32_t node) const { return pickle_.site(pickle_[node]); }
  void charge(uint32_t n, size_t bytes) { budget_.charge(bytes, site(n), "the table of a class's attributes"); }

  const std::map<std::string, size_t, std::less<>>& slotsOf(uint32_t n, const c10::ClassType& cls) {
    const auto [found, is_new] = slots_.try_emplace(&cls);
    if (is_new) {
      charge(n, 80 * cls.numAttributes());
      for (size_t i = 0; i < cls.numAttributes(); ++i) found->second.emplace(cls.getAttributeName(i), i);
    }
    return found->second;
  }

  LoadBudget& budget_;
  const Pickle& pickle_;
  std::map<const c10::ClassType*, std::map<std::string, size_t, std::less<>>> slots_;
};

/// The types that a pickle names. Many values may name one: each place is looked at once.
class NamedTypes {
 public:
  NamedTypes(const UnpickleContext& context, const Pickle& pickle) : cx_(context), pickle_(pickle) {}

  /// Of a tag, a string.
  TypePtr parseTag(uint32_t n) {
    TypePtr& of_node = tag_nodes_[n];
    if (of_node) return of_node;
    if (!cx_.parse_type) site(n).fail("types can't be used here");
    charge(n, 128 + at(n).p.b);
    std::string tag(pickle_.string(at(n)));
    TypePtr& of_text = tags_[tag];
    if (!of_text) of_text = cx_.parse_type(tag, site(n));
    return of_node = of_text;
  }

  TypePtr classNamed(uint32_t global) {
    TypePtr& found = classes_[at(global).p.a];
    if (!found) found = findClass(global);
    return found;
  }
  TypePtr findClass(uint32_t global) {
    const PickleGlobal& g = pickle_.global(at(global));
    std::string name = std::string(g.module) + '.' + std::string(g.name);
    TypePtr type = cx_.find_type ? cx_.find_type(name, site(global)) : nullptr;
    if (!type) site(global).fail("the pickle names class '" + name + "', which the archive's code does not define");
    return type;
  }

  struct HashValue {
    size_t operator()(const IValue& value) const { return IValue::hash(value); }
  };
  using Members = std::unordered_map<IValue, size_t, HashValue>;  // numbers of the first with these values
  const Members& membersOf(const c10::EnumType& type, uint32_t n) {
    auto [it, fresh] = members_.try_emplace(&type);
    if (!fresh) return it->second;
    const auto& all = type.enumNamesValues();
    charge(n, all.size() * 64);
    for (size_t i = 0; i < all.size(); ++i) it->second.try_emplace(all[i].second, i);
    return it->second;
  }

 private:
  const PickleNode& at(uint32_t node) const { return pickle_[node]; }
  ArchiveSite site(uint32_t node) const { return pickle_.site(pickle_[node]); }
  void charge(uint32_t n, size_t bytes) { cx_.budget.charge(bytes, site(n), "the types that this pickle names"); }

  const UnpickleContext& cx_;
  const Pickle& pickle_;
  std::unordered_map<std::string, TypePtr> tags_;
  std::unordered_map<uint32_t, TypePtr> tag_nodes_, classes_;  // by nodes, by numbers of globals
  std::unordered_map<const c10::EnumType*, Members> members_;
};

class ValueBuilder {
 public:
  ValueBuilder(const UnpickleContext& context, const Pickle& pickle, const std::string& prefix)
      : cx_(context),
        pickle_(pickle),
        tensors_(context.tensors, pickle, prefix),
        named_types_(context, pickle),
        types_(pickle),
        attributes_(context.budget, pickle) {}

  IValue build(uint32_t node, const TypePtr& type) { return build(node, type, 0).value; }
  std::vector<IValue> buildAll(uint32_t root, const std::vector<TypePtr>& types) {
    if (at(root).kind != PickleNode::Tuple && at(root).kind != PickleNode::List)
      site(root).fail("the values are no tuple or list");
    std::vector<IValue> values;
    for (uint32_t n : pickle_.elements(at(root)))
      values.push_back(build(n, values.size() < types.size() ? types[values.size()] : nullptr));
    return values;
  }

 private:
  using Built = Unpickled;
  struct Cached {
    bool done = false;
    Built built;
  };

  const PickleNode& at(uint32_t node) const { return pickle_[node]; }
  ArchiveSite site(uint32_t node) const { return pickle_.site(pickle_[node]); }
  PickleName nameOf(const PickleNode& node) const { return static_cast<PickleName>(pickle_.global(node).kind); }

  [[noreturn]] void mismatch(uint32_t node, const TypePtr& type, const std::string& found) const {
    site(node).fail("a value of type " + typeName(type) + " is expected here, but the pickle has " + found);
  }

  Built build(uint32_t n, const TypePtr& type, int depth) {
    if (depth > kMaxNesting) site(n).fail(messages::nestTooDeep("values", kMaxNesting));
    const PickleNode& node = at(n);
    bool compound = node.kind == PickleNode::Tuple || node.kind == PickleNode::List || node.kind == PickleNode::Dict ||
                    node.kind == PickleNode::Call || node.kind == PickleNode::Object;
    Built built;
    bool fits = false;
    if (compound && node.shared) {
      auto [it, fresh] = cache_.try_emplace(n);
      if (!fresh && !it->second.done) site(n).fail("a value contains itself");
      if (fresh) {
        charge(n, sizeof(Cached) + 64);
        built = make(n, node, hintOf(type), depth);
        fits = isMadeFor(node, hintOf(type));
        cache_[n] = {true, built};
      } else {
        built = it->second.built;
        if (depth + built.height > kMaxNesting) site(n).fail(messages::nestTooDeep("values", kMaxNesting));
      }
    } else {
      built = make(n, node, hintOf(type), depth);
      fits = isMadeFor(node, hintOf(type));
    }
    if (type && !fits) types_.require(n, built, type);
    return built;
  }

  /// Whether a value that is made for the type has it, as its elements were built for theirs.
  static bool isMadeFor(const PickleNode& node, const TypePtr& hint) {
    return hint && (node.kind == PickleNode::Tuple || node.kind == PickleNode::List || node.kind == PickleNode::Dict);
  }

  void charge(uint32_t n, size_t bytes) { cx_.budget.charge(bytes, site(n), "the value that this pickle makes"); }

  Built make(uint32_t n, const PickleNode& node, const TypePtr& hint, int depth) {
    switch (node.kind) {
      case PickleNode::None:
        return {IValue()};
      case PickleNode::Bool:
        return {IValue(node.i != 0)};
      case PickleNode::Int:
        return {IValue(node.i)};
      case PickleNode::Float:
        return {IValue(node.f)};
      case PickleNode::String:
        charge(n, sizeof(c10::ivalue::ConstantString) + node.p.b);
        return {IValue(std::string(pickle_.string(node)))};
      case PickleNode::Tuple:
        charge(n, kTypeBytes);
        return makeTuple(n, node, hint, depth);
      case PickleNode::List:
        charge(n, kTypeBytes);
        return makeList(n, node, hint, depth);
      case PickleNode::Dict:
        charge(n, kTypeBytes);
        return makeDict(n, node, hint, depth);
      case PickleNode::Object:
        return makeObject(n, node, depth);
      case PickleNode::Call:
        return makeCall(n, node, hint, depth);
      case PickleNode::Global: {
        int kind = pickle_.global(node).kind;
        if (kind >= static_cast<int>(PickleName::DType) && kind < static_cast<int>(PickleName::Storage))
          return {IValue(int64_t(kind - static_cast<int>(PickleName::DType)))};
        site(n).fail("the name '" + std::string(pickle_.global(node).name) + "' is no value");
      }
      case PickleNode::Persistent:
        site(n).fail("a storage stands here without a tensor");
    }
    CRESSET_CHECK(false, "unknown pickle node");
  }

  Built makeTuple(uint32_t n, const PickleNode& node, const TypePtr& hint, int depth) {
    auto elements = pickle_.elements(node);
    auto type = hint ? hint->cast<c10::TupleType>() : nullptr;
    if (hint && !type) mismatch(n, hint, "a tuple");
    if (type && type->elements().size() != elements.size())
      mismatch(n, hint, "a tuple of " + std::to_string(elements.size()) + " elements");
    charge(n, sizeof(c10::ivalue::Tuple) + elements.size() * sizeof(IValue));
    UnpickledElements built;
    built.values.reserve(elements.size());
    for (size_t i = 0; i < elements.size(); ++i)
      built.add(build(elements[i], type ? type->elements()[i] : nullptr, depth + 1));
    const bool is_named = type && type->schema();
    const size_t parts = is_named ? types_.partsOf(type) : types_.partsOfTuple(n, built);
    const int height = built.height + 1;
    if (is_named) return {c10::ivalue::Tuple::createNamed(std::move(built.values), type), height, parts};
    return {c10::ivalue::Tuple::create(std::move(built.values)), height, parts};
  }

  Built makeList(uint32_t n, const PickleNode& node, const TypePtr& hint, int depth) {
    auto elements = pickle_.elements(node);
    auto type = hint ? hint->cast<c10::ListType>() : nullptr;
    if (hint && !type) mismatch(n, hint, "a list");
    TypePtr element = type ? type->getElementType() : nullptr;
    charge(n, sizeof(c10::detail::ListImpl) + 2 * elements.size() * sizeof(IValue));
    UnpickledElements built;
    built.values.reserve(elements.size());
    for (uint32_t e : elements) built.add(build(e, element, depth + 1));
    size_t parts = element ? types_.partsOf(element) : 0;
    // torch.jit takes untagged empty lists for lists of tensors.
    if (!element) std::tie(element, parts) = types_.common(n, built, c10::TensorType::get());
    c10::impl::GenericList list(element);
    list.reserve(built.values.size());
    for (IValue& value : built.values) list.push_back(std::move(value));
    return {IValue(list), built.height + 1, parts + 1};
  }

  Built makeDict(uint32_t n, const PickleNode& node, const TypePtr& hint, int depth) {
    auto elements = pickle_.elements(node);
    auto type = hint ? hint->cast<c10::DictType>() : nullptr;
    if (hint && !type) mismatch(n, hint, "a dict");
    charge(n, sizeof(c10::detail::DictImpl) + 6 * elements.size() * sizeof(IValue));
    UnpickledElements keys, values;
    for (size_t i = 0; i + 1 < elements.size(); i += 2) {
      Built key = build(elements[i], type ? type->getKeyType() : nullptr, depth + 1);
      // Only these hash by what they say; a tensor's hash is its address, and the rest has none.
      if (!(key.value.isInt() || key.value.isString() || key.value.isDouble() || key.value.isBool() ||
            key.value.isComplexDouble() || key.value.isTensor() || key.value.isDevice()))
        site(elements[i]).fail("a value of type " + typeName(key.value.type()) + " can't be the key of a dict");
      keys.add(std::move(key));
      values.add(build(elements[i + 1], type ? type->getValueType() : nullptr, depth + 1));
    }
    const TypePtr key_type = type ? type->getKeyType() : types_.common(n, keys, c10::StringType::get()).first;
    const auto [value_type, parts] = type ? std::pair(type->getValueType(), types_.partsOf(type->getValueType()))
                                          : types_.common(n, values, c10::TensorType::get());
    if (key_type->kind() == c10::TypeKind::AnyType) site(n).fail("the keys of a dict have different types");
    c10::impl::GenericDict dict(key_type, value_type);
    dict.reserve(keys.values.size());
    try {
      for (size_t i = 0; i < keys.values.size(); ++i)
        assignEntry(dict, std::move(keys.values[i]), std::move(values.values[i]));
    } catch (const std::runtime_error& error) {
      site(n).fail(error.what());
    }
    return {IValue(dict), std::max(keys.height, values.height) + 1, parts + 2};
  }

  // ---- calls ----

  Built makeCall(uint32_t n, const PickleNode& node, const TypePtr& hint, int depth) {
    const PickleNode& callee = at(node.p.a);
    const PickleNode& argument = at(node.p.b);
    PickleName name = nameOf(callee);
    if (name == PickleName::ArchiveClass) return makeEnum(n, node, depth);
    if (argument.kind != PickleNode::Tuple) site(n).fail("a function is called without a tuple of arguments");
    // Calls may share a tuple, so a long one is refused before it is copied.
    constexpr uint32_t kMostArguments = 16;
    if (argument.p.b > kMostArguments)
      site(n).fail(
          "'" + std::string(pickle_.global(callee).name) + "' is called with " + std::to_string(argument.p.b) +
          " arguments");
    auto args = pickle_.elements(argument);
    auto need = [&](size_t count) {
      if (args.size() != count)
        site(n).fail(
            "'" + std::string(pickle_.global(callee).name) + "' takes " + std::to_string(count) + " arguments, not " +
            std::to_string(args.size()));
    };
    switch (name) {
      case PickleName::IntList:
        need(1);
        return build(args[0], c10::ListType::ofInts(), depth);
      case PickleName::FloatList:
        need(1);
        return build(args[0], c10::ListType::ofFloats(), depth);
      case PickleName::BoolList:
        need(1);
        return build(args[0], c10::ListType::ofBools(), depth);
      case PickleName::TensorList:
        need(1);
        return build(args[0], c10::ListType::ofTensors(), depth);
      case PickleName::TypeTag: {
        need(2);
        if (at(args[1]).kind != PickleNode::String) site(args[1]).fail("a type tag is no string");
        return build(args[0], named_types_.parseTag(args[1]), depth);
      }
      case PickleName::TensorFromId:
        need(1);
        return {IValue(fromTable(args[0])), 1};
      case PickleName::Complex: {
        need(2);
        double part[2];
        for (int i : {0, 1}) {
          const PickleNode& p = at(args[static_cast<size_t>(i)]);
          if (p.kind != PickleNode::Float && p.kind != PickleNode::Int)
            site(n).fail("a part of a complex number is no number");
          part[i] = p.kind == PickleNode::Float ? p.f : static_cast<double>(p.i);
        }
        charge(n, 64);
        return {IValue(c10::complex<double>(part[0], part[1]))};
      }
      case PickleName::Device: {
        if (args.empty() || args.size() > 2 || at(args[0]).kind != PickleNode::String)
          site(n).fail("a device has no name");
        std::string text(pickle_.string(at(args[0])));
        if (args.size() == 2) {
          if (at(args[1]).kind != PickleNode::Int) site(n).fail("a device has an index that is no int");
          text += ":" + std::to_string(at(args[1]).i);
        }
        try {
          return {IValue(c10::Device(text))};
        } catch (const c10::Error& error) {
          site(n).fail(error.what_without_backtrace());
        }
      }
      case PickleName::Size:
        need(1);
        if (at(args[0]).kind != PickleNode::Tuple) site(n).fail("a size is no tuple");
        return makeTuple(args[0], at(args[0]), hint, depth);
      case PickleName::RebuildTensor:
      case PickleName::RebuildQuantized:
      case PickleName::RebuildSparse:
      case PickleName::RebuildParameter:
        return {IValue(tensors_.build(n)), 1};
      default:
        site(n).fail("'" + std::string(pickle_.global(callee).name) + "' can't be called");
    }
  }

  at::Tensor fromTable(uint32_t n) {
    if (!cx_.tensor_table)
      site(n).fail("the pickle refers to a table of tensors beside it, which only messages between processes have");
    const PickleNode& id = at(n);
    if (id.kind != PickleNode::Int || id.i < 0 || static_cast<size_t>(id.i) >= cx_.tensor_table->size())
      site(n).fail("the archive's table of tensors has no such tensor");
    return (*cx_.tensor_table)[static_cast<size_t>(id.i)];
  }

  // ---- classes ----

  // Enums are pickled as a call of their class with the bare value.
  Built makeEnum(uint32_t n, const PickleNode& node, int depth) {
    TypePtr type = named_types_.classNamed(node.p.a);
    auto enum_type = type->cast<c10::EnumType>();
    if (!enum_type) site(n).fail("'" + type->repr_str() + "' is called, but only enums are made by a call");
    Built value = build(node.p.b, enum_type->getValueType(), depth + 1);
    const auto& members = named_types_.membersOf(*enum_type, n);
    if (const auto found = members.find(value.value); found != members.end()) {
      const auto& [name, v] = enum_type->enumNamesValues()[found->second];
      charge(n, sizeof(c10::ivalue::EnumHolder) + name.size());
      return {IValue(c10::make_intrusive<c10::ivalue::EnumHolder>(enum_type, name, v)), value.height + 1};
    }
    site(n).fail("the enum '" + enum_type->qualifiedClassName().qualifiedName() + "' has no member of this value");
  }

  Built makeObject(uint32_t n, const PickleNode& node, int depth) {
    if (node.p.b != Pickle::kNone && nameOf(at(node.p.a)) == PickleName::TensorFromId)
      return {IValue(fromTable(node.p.b)), 1};
    if (node.p.b != Pickle::kNone && nameOf(at(node.p.a)) == PickleName::OldIntList)
      return build(node.p.b, c10::ListType::ofInts(), depth);
    if (nameOf(at(node.p.a)) != PickleName::ArchiveClass)
      site(n).fail("'" + std::string(pickle_.global(at(node.p.a)).name) + "' is no class of the archive");
    TypePtr type = named_types_.classNamed(node.p.a);
    auto cls = type->cast<c10::ClassType>();
    if (!cls) site(n).fail("'" + type->repr_str() + "' is no class");
    if (node.p.b == Pickle::kNone) site(n).fail("an object has no state");
    charge(n, sizeof(c10::ivalue::Object) + (cls->numAttributes() + 1) * sizeof(IValue));
    std::shared_ptr<Program> program = programOf(*cls);
    torch::jit::Function* setstate = cls->findMethod("__setstate__");
    if (!program) return makeCustom(n, node, cls, setstate, depth);

    auto object =
        c10::ivalue::Object::create(c10::StrongTypePtr(program->asCompilationUnit(), cls), cls->numAttributes());
    if (setstate) {
      if (!cx_.pending)
        site(n).fail("class '" + cls->name()->qualifiedName() + "' restores its objects" + setstateRefusal(cx_.door));
      const auto& arguments = setstate->getSchema().arguments();
      if (arguments.size() != 2) refuseState(n, *cls);
      Built state = build(node.p.b, arguments[1].type(), depth + 1);
      cx_.pending->push_back({object, std::move(state.value)});
      return {IValue(std::move(object)), state.height + 1};
    }
    int height = fillAttributes(n, node.p.b, *cls, *object, depth);
    return {IValue(std::move(object)), height + 1};
  }

  int fillAttributes(uint32_t n, uint32_t state, c10::ClassType& cls, c10::ivalue::Object& object, int depth) {
    if (at(state).kind != PickleNode::Dict) site(n).fail("an object's state is no dict of attributes");
    // Names are looked up once for all objects that share a state.
    std::vector<uint32_t> own;
    std::vector<uint32_t>* nodes = &own;
    if (at(state).shared) nodes = &states_[{state, &cls}];
    if (nodes->empty()) *nodes = attributes_.nodesOf(n, state, cls);
    int height = 0;
    for (size_t slot = 0; slot < nodes->size(); ++slot) {
      if ((*nodes)[slot] == Pickle::kNone) continue;
      Built value = build((*nodes)[slot], cls.getAttribute(slot), depth + 1);
      height = std::max(height, value.height);
      object.setSlot(slot, std::move(value.value));
    }
    return height;
  }

  [[noreturn]] void refuseState(uint32_t n, const c10::ClassType& cls) const {
    site(n).fail("__setstate__ of '" + cls.name()->qualifiedName() + "' does not take one state");
  }

  // A registered C++ class: its own __setstate__ is the user's compiled code, not the archive's.
  Built makeCustom(
      uint32_t n, const PickleNode& node, const c10::ClassTypePtr& cls, torch::jit::Function* setstate, int depth) {
    if (!setstate)
      site(n).fail(
          "the custom class '" + cls->name()->qualifiedName() + "' was registered without a __setstate__ (def_pickle)");
    const auto& arguments = setstate->getSchema().arguments();
    if (arguments.size() != 2) refuseState(n, *cls);
    Built state = build(node.p.b, arguments[1].type(), depth + 1);
    auto object = c10::ivalue::Object::create(c10::StrongTypePtr(nullptr, cls), 1);
    try {
      charge(n, checkClassState(cls->name()->qualifiedName(), state.value));
      (*setstate)({IValue(object), std::move(state.value)});
    } catch (const ArchiveError&) {
      throw;
    } catch (const std::exception& error) {
      site(n).fail("__setstate__ of the custom class '" + cls->name()->qualifiedName() + "' failed: " + error.what());
    }
    return {IValue(std::move(object)), state.height + 1};
  }

  const UnpickleContext& cx_;
  const Pickle& pickle_;
  TensorBuilder tensors_;
  NamedTypes named_types_;
  std::unordered_map<uint32_t, Cached> cache_;
  UnpickledTypes types_;
  AttributeTable attributes_;
  // Nodes of attributes in shared states.
  std::map<std::pair<uint32_t, const c10::ClassType*>, std::vector<uint32_t>> states_;
};

}  // namespace

namespace {

/// Reads the pickle and gives it to `make`, with a builder of its values.
template <typename Make>
auto readPickle(const UnpickleContext& context, const std::string& prefix, const Make& make) {
  std::string record = prefix + ".pkl";
  const ZipEntry* entry = context.zip.find(record);
  if (!entry) throw ArchiveError(context.zip.file(), record, ArchiveError::kNoOffset, "the archive has no such record");
  Record bytes = context.zip.read(*entry, context.budget);
  ArchiveSite site{context.zip.file(), record, 0};
  Pickle pickle(bytes.bytes(), site, context.budget, judgePickleName);
  try {
    return make(ValueBuilder(context, pickle, prefix + "/"), pickle.root());
  } catch (const Error&) {
    throw;
  } catch (const c10::Error& error) {
    // Types and containers of c10 check what they are given, too.
    site.at(ArchiveError::kNoOffset).fail(error.what_without_backtrace());
  }
}

}  // namespace

std::string setstateRefusal(Door door) {
  return " by its own __setstate__, which is code of the archive: loading runs none of that, unless you trust where "
         "the "
         "archive comes from and say so with " +
         howToTrust(door);
}

c10::IValue unpickle(const UnpickleContext& context, const std::string& prefix, const c10::TypePtr& type) {
  return readPickle(context, prefix, [&](ValueBuilder builder, uint32_t root) { return builder.build(root, type); });
}

std::vector<c10::IValue> unpickleAll(
    const UnpickleContext& context, const std::string& prefix, const std::vector<c10::TypePtr>& types) {
  return readPickle(
      context, prefix, [&](ValueBuilder builder, uint32_t root) { return builder.buildAll(root, types); });
}

}  // namespace cresset
