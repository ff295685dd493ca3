// Values. See pickler.h.
#include "cresset/archive/pickler.h"

#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>

#include "cresset/ir/parser.h"
#include "cresset/ops/object_slots.h"
#include "cresset/program/program.h"
#include "cresset/support/error.h"

namespace cresset {

size_t StorageTable::number(const c10::Storage& storage) {
  const auto [it, fresh] = numbers_.try_emplace(storage.unsafeGetStorageImpl(), storages_.size());
  if (fresh) storages_.push_back(storage);
  return it->second;
}

namespace {

const void* identityOf(const c10::IValue& value) {
  if (value.isTensor()) return value.toTensor().unsafeGetTensorImpl();
  const bool shared = value.isList() || value.isGenericDict() || value.isTuple() || value.isObject();
  return shared ? value.internalToPointer() : nullptr;
}

/// The function of torch.jit._pickle that marks a list of these.
const char* listFunction(const c10::Type& element) {
  switch (element.kind()) {
    case c10::TypeKind::IntType:
      return "build_intlist";
    case c10::TypeKind::FloatType:
      return "build_doublelist";
    case c10::TypeKind::BoolType:
      return "build_boollist";
    case c10::TypeKind::TensorType:
      return "build_tensorlist";
    default:
      return nullptr;
  }
}

constexpr const char* kPickleModule = "torch.jit._pickle";

}  // namespace

void Pickler::fail(const std::string& what) const {
  std::string place;
  constexpr size_t kShown = 6;  // of the names at either end
  for (size_t i = 0; i < path_.size(); ++i) {
    const bool skipped = i >= kShown && i + kShown < path_.size();
    if (!skipped || i == kShown) place += (place.empty() ? "" : ".") + (skipped ? "…" : path_[i]);
  }
  throw UserError((place.empty() ? "This value" : "The attribute '" + place + "'") + " can't be saved: " + what);
}

void Pickler::push(const c10::IValue& value) {
  const void* identity = identityOf(value);
  if (!identity || (value.isTensor() && !value.toTensor().defined())) return pushShared(value);
  if (auto it = memo_.find(identity); it != memo_.end()) return out_.get(it->second);
  if (!open_.insert(identity).second) fail("it contains itself.");
  if (open_.size() > static_cast<size_t>(kMaxNesting))
    fail(
        "values (modules, lists, …) nest more than " + std::to_string(kMaxNesting) +
        " levels deep in it, which archives can't hold.");
  pushShared(value);
  open_.erase(identity);
  kept_.push_back(value);
  memo_.emplace(identity, out_.put());
}

void Pickler::pushShared(const c10::IValue& value) {
  if (value.isNone()) return out_.none();
  if (value.isBool()) return out_.boolean(value.toBool());
  if (value.isInt()) return out_.integer(value.toInt());
  if (value.isDouble()) return out_.number(value.toDouble());
  if (value.isString()) return out_.string(value.toStringRef());
  if (value.isTensor()) {
    if (!value.toTensor().defined()) return out_.none();
    return tensor_writer_ ? tensor_writer_(out_, value.toTensor()) : pushTensor(value.toTensor());
  }
  if (value.isComplexDouble()) {
    out_.global("builtins", "complex");
    out_.mark();
    out_.number(value.toComplexDouble().real());
    out_.number(value.toComplexDouble().imag());
    out_.tuple();
    return out_.reduce();
  }
  if (value.isDevice()) {
    out_.global("torch", "device");
    out_.mark();
    out_.string(value.toDevice().str());
    out_.tuple();
    return out_.reduce();
  }
  if (value.isTuple()) {
    const auto& elements = value.toTupleRef().elements();
    if (elements.empty()) return out_.emptyTuple();
    out_.mark();
    for (const c10::IValue& element : elements) push(element);
    return out_.tuple();
  }
  if (value.isEnum()) {
    const auto holder = value.toEnumHolder();
    pushType(holder->type());
    push(holder->value());
    return out_.reduce();
  }
  if (value.isList()) return pushList(value);
  if (value.isGenericDict()) return pushDict(value);
  if (value.isObject()) return pushObject(value);
  fail("a value of type " + value.tagKind() + " belongs to this process.");
}

void Pickler::pushType(const c10::TypePtr& type) {
  const c10::QualifiedName name(names_.ofType(namedType(type)));
  out_.global(name.prefix(), name.name());
}

void Pickler::pushList(const c10::IValue& value) {
  const c10::TypePtr type = value.type();
  const c10::TypePtr element = type->expectRef<c10::ListType>().getElementType();
  const char* function = listFunction(*element);
  const bool tagged = function || type_tags_;
  if (tagged) {
    out_.global(kPickleModule, function ? function : "restore_type_tag");
    out_.mark();
  }
  out_.emptyList();
  out_.mark();
  for (const c10::IValue& item : value.toListRef()) push(item);
  out_.appends();
  if (!tagged) return;
  if (!function) out_.string(names_.annotation(type));
  out_.tuple();
  out_.reduce();
}

void Pickler::pushDict(const c10::IValue& value) {
  if (type_tags_) {
    out_.global(kPickleModule, "restore_type_tag");
    out_.mark();
  }
  out_.emptyDict();
  out_.mark();
  for (const auto& entry : value.toGenericDict()) {
    push(entry.key());
    push(entry.value());
  }
  out_.setItems();
  if (!type_tags_) return;
  out_.string(names_.annotation(value.type()));
  out_.tuple();
  out_.reduce();
}

void Pickler::pushObject(const c10::IValue& value) {
  const auto object = value.toObject();
  const auto type = object->type();
  torch::jit::Function* getstate = type->findMethod("__getstate__");
  const bool restores = getstate && type->findMethod("__setstate__");
  if (!programOf(*type) && !restores) {
    fail(
        "it is an object of the C++ class '" + type->name()->qualifiedName() +
        "', which was registered without __getstate__ and __setstate__. Please define serialization methods via "
        "def_pickle() for this class.");
  }
  pushType(type);
  out_.emptyTuple();
  out_.newObject();
  if (restores) {
    Stack stack{value};
    getstate->run(stack);
    push(stack.back());
    kept_.push_back(stack.back());
  } else {
    out_.emptyDict();
    out_.mark();
    for (size_t i = 0; i < type->numAttributes(); ++i) {
      path_.push_back(type->getAttributeName(i));
      out_.string(type->getAttributeName(i));
      push(readSlot(*object, i));
      path_.pop_back();
    }
    out_.setItems();
  }
  out_.build();
}

}  // namespace cresset
