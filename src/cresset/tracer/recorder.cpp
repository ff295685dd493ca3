// What each tensor, number and container is in the graph. See recorder.h.
#include "cresset/tracer/recorder.h"

#include <torch/csrc/autograd/function.h>

#include <ATen/core/Formatting.h>
#include <ATen/core/class_type.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/clone_ops.h>

#include <algorithm>
#include <atomic>
#include <sstream>

#include "cresset/analysis/alias.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/nesting.h"
#include "cresset/ops/object_slots.h"
#include "cresset/ops/operator.h"
#include "cresset/support/error.h"

namespace cresset::tracer {

namespace {

constexpr const char* kTracing = "tracing a value";

std::atomic<uint64_t> next_serial{1};

const void* storageOf(const at::Tensor& tensor) {
  return tensor.defined() && tensor.unsafeGetTensorImpl()->has_storage() ? tensor.storage().unsafeGetStorageImpl()
                                                                         : nullptr;
}

const void* identityOf(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl();
}

std::string dotted(const AttributePath& path, size_t size) {
  std::string result;
  for (size_t i = 0; i < size; ++i) result += (i ? "." : "") + path[i];
  return result;
}

bool isPrefix(const AttributePath& prefix, const AttributePath& path) {
  return prefix.size() <= path.size() && std::equal(prefix.begin(), prefix.end(), path.begin());
}

/// Whether two tensors over one storage are the same part of it, read in the same way.
bool sameGeometry(const at::Tensor& a, const at::Tensor& b) {
  return a.dtype() == b.dtype() && a.layout() == b.layout() && a.storage_offset() == b.storage_offset() &&
         a.sizes() == b.sizes() && a.strides() == b.strides() && a.is_conj() == b.is_conj() && a.is_neg() == b.is_neg();
}

}  // namespace

std::string textOf(const at::Tensor& tensor) {
  const ClientPause pause;  // printing computes
  std::ostringstream text;
  at::print(text, tensor, 80);
  return text.str();
}

Recorder::Recorder(Environment environment, bool force_outplace)
    : environment_(std::move(environment)), force_outplace_(force_outplace), serial_(next_serial++) {
  scopes_.push_back({{}, nullptr, graph_->block(), nullptr, {}});
}

Recorder::~Recorder() = default;

SourceRange Recorder::location() const {
  return environment_.location ? environment_.location() : SourceRange();
}

void Recorder::warn(const std::string& message, bool in_backward) const {
  num_frozen_in_backward_ += in_backward;
  if (environment_.warn) environment_.warn(message, in_backward);
}

void Recorder::pushUserScope(const std::string& name) {
  InlinedCallPtr outer = user_scopes_.empty() ? nullptr : user_scopes_.back();
  user_scopes_.push_back(std::make_shared<InlinedCall>(InlinedCall{std::move(outer), name, location(), name}));
}

void Recorder::popUserScope() {
  if (user_scopes_.empty()) throw UserError("no scope is open that could be popped");
  user_scopes_.pop_back();
}

Value* Recorder::insert(Symbol kind, std::span<Value* const> inputs, const TypePtr& type) {
  Node* node = graph_->insertNode(graph_->create(kind, inputs));
  return node->output()->setType(type);
}

Value* Recorder::listOf(std::vector<Value*> elements, const TypePtr& element_type) {
  return insert(prim::ListConstruct, elements, c10::ListType::create(element_type));
}

// ---- Inputs

void Recorder::setSelf(const ObjectPtr& self) {
  self_ = self;
  scopes_[0].self = graph_->addInput("self")->setType(self->type());
  registerObject(IValue(self), {});
}

/// Recursion is over the nesting of modules, which Python's own recursion has bounded already.
void Recorder::registerObject(const IValue& value, const AttributePath& path) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) return;
    if (!attributes_.emplace(identityOf(tensor), std::pair(value, path)).second) return;
    if (const void* storage = storageOf(tensor)) storages_[storage].push_back(tensor);
    return;
  }
  if (!value.isObject()) return;
  const ObjectPtr object = value.toObject();
  if (!attributes_.emplace(object.get(), std::pair(value, path)).second) return;
  if (!object->type()->is_module()) return;
  for (size_t slot = 0; slot < object->type()->numAttributes(); ++slot) {
    AttributePath inner = path;
    inner.push_back(object->type()->getAttributeName(slot));
    registerObject(readSlot(*object, slot), inner);
  }
}

namespace {

/// Recursion is over the nesting of types.
bool isTraceable(const TypePtr& type) {
  const auto contained = type->containedTypes();
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
      return true;
    case c10::TypeKind::ListType:
    case c10::TypeKind::TupleType:
      return std::all_of(contained.begin(), contained.end(), isTraceable);
    case c10::TypeKind::DictType:
      return isTraceable(contained[1]);  // keys are constants of the trace
    default:
      return false;
  }
}

}  // namespace

void checkTraceable(const TypePtr& type) {
  if (isTraceable(type)) return;
  throw UserError(
      "Type '" + type->repr_str() +
      "' cannot be traced. Only Tensors and (possibly nested) Lists, Dicts, and Tuples of Tensors can be traced");
}

void Recorder::addInput(const std::string& name, const IValue& value, const TypePtr& type) {
  checkTraceable(type);
  Value* input = graph_->addInput(name)->setType(type);
  setValue(value, input);
}

void Recorder::setTensorValue(const at::Tensor& tensor, Value* value) {
  if (!tensor.defined()) return;
  auto [it, is_new] = known_.insert_or_assign(identityOf(tensor), Known{tensor, value});
  if (!tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) {
    c10::TensorTypePtr& seen = seen_types_[value];
    if (!seen) seen = c10::TensorType::create(tensor);
  }
  const void* storage = storageOf(tensor);
  if (!storage) return;
  auto& sharing = storages_[storage];
  if (is_new || sharing.empty() || !sharing.back().is_same(tensor)) sharing.push_back(tensor);
}

bool Recorder::isKnown(const at::Tensor& tensor) const {
  return known_.contains(identityOf(tensor)) || attributes_.contains(identityOf(tensor));
}

bool Recorder::isComputed(const at::Tensor& tensor) const {
  const auto it = known_.find(identityOf(tensor));
  return it != known_.end() && !literals_.contains(storageOf(tensor)) &&
         it->second.value->node()->kind() != kindOf(Basic::ToTensor);
}

bool Recorder::hasMemoryOf(const at::Tensor& tensor) const {
  if (isKnown(tensor)) return true;
  const auto it = storages_.find(storageOf(tensor));
  if (it == storages_.end()) return false;
  return std::any_of(it->second.begin(), it->second.end(), [&](const at::Tensor& other) {
    return storageOf(other) == storageOf(tensor) && sameGeometry(other, tensor);
  });
}

size_t Recorder::liveReferences(const at::Tensor& tensor) const {
  const void* storage = storageOf(tensor);
  if (!storage) return 0;
  size_t count = tensor.storage().use_count();
  const auto it = storages_.find(storage);
  if (it == storages_.end()) return count;
  std::unordered_map<const void*, size_t> owned;  // references of this recorder's, by TensorImpl
  for (const at::Tensor& other : it->second) ++owned[identityOf(other)];
  for (const at::Tensor& other : it->second) {
    size_t& references = owned[identityOf(other)];
    if (references == 0) continue;  // a second entry of the same tensor
    references += known_.count(identityOf(other));
    const bool is_ours = other.use_count() == references;
    // The language's object, if there is one, has a reference too.
    const bool may_be_ours = other.use_count() == references + 1 && environment_.isForgotten;
    if (storageOf(other) == storage && !attributes_.contains(identityOf(other)) &&
        (is_ours || (may_be_ours && environment_.isForgotten(other)))) {
      --count;
    }
    references = 0;
  }
  return count;
}

void Recorder::setValue(const IValue& value, Value* computed) {
  if (value.isTensor()) return setTensorValue(value.toTensor(), computed);
  if (value.isObject()) objects_.insert_or_assign(value.toObject().get(), std::pair(value, computed));
  if (!value.isTuple() && !value.isList() && !value.isGenericDict()) return;
  requireShallow(value, kTracing);
  bindContainer(value, computed);
}

namespace {

bool holdsTensors(const IValue& value) {
  if (value.isTensor()) return value.toTensor().defined();
  if (value.isTensorList()) return !value.toTensorList().empty();
  if (value.isTuple()) {
    const auto& elements = value.toTupleRef().elements();
    return std::any_of(elements.begin(), elements.end(), holdsTensors);
  }
  if (value.isList()) {
    for (const IValue& element : value.toListRef()) {
      if (holdsTensors(element)) return true;
    }
  }
  if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      if (holdsTensors(entry.value())) return true;
    }
  }
  return false;
}

}  // namespace

/// Recursion is over the nesting of containers.
void Recorder::bindContainer(const IValue& value, Value* container) {
  if (!holdsTensors(value)) return;
  graph_->setLocation(location());
  if (value.isGenericDict()) {
    auto type = container->type()->cast<c10::DictType>();
    const TypePtr element = type ? type->getValueType() : value.toGenericDict().valueType();
    for (const auto& entry : value.toGenericDict()) {
      Value* key = graph_->insertConstant(entry.key());
      setValue(entry.value(), insert(kindOf(Basic::Element), std::array{container, key}, element));
    }
    return;
  }
  std::vector<IValue> elements;
  std::vector<TypePtr> types;
  if (value.isTuple()) {
    elements = value.toTupleRef().elements().vec();
    const auto type = container->type()->expect<c10::TupleType>();
    types.assign(type->elements().begin(), type->elements().end());
  } else {
    elements = value.toListRef().vec();
    types.assign(elements.size(), container->type()->expect<c10::ListType>()->getElementType());
  }
  Node* node = graph_->create(value.isTuple() ? prim::TupleUnpack : prim::ListUnpack, {container}, elements.size());
  graph_->insertNode(node);
  for (size_t i = 0; i < elements.size(); ++i) {
    Value* element = node->output(i)->setType(types[i]);
    if (types[i]->kind() == c10::TypeKind::OptionalType && elements[i].isTensor() && elements[i].toTensor().defined()) {
      element = insert(prim::unchecked_cast, std::array{element}, c10::TensorType::get());
    }
    setValue(elements[i], element);
  }
}

// ---- Values

void Recorder::nameValue(Value* value, const at::Tensor& tensor) {
  // Names are for people; a value is looked for once.
  if (!environment_.nameOf || value->hasDebugName() || !asked_for_name_.insert(value).second) return;
  const std::string name = environment_.nameOf(tensor);
  if (!name.empty() && name != "self") value->setDebugName(name);
}

Value* Recorder::tensorValue(const at::Tensor& tensor) {
  if (!tensor.defined()) return constantValue(IValue(), c10::NoneType::get());
  Value* value = findTensor(tensor);
  return value ? value : tensorConstant(tensor);
}

Value* Recorder::findTensor(const at::Tensor& tensor) {
  if (auto it = known_.find(identityOf(tensor)); it != known_.end()) {
    nameValue(it->second.value, tensor);
    return it->second.value;
  }
  if (auto it = attributes_.find(identityOf(tensor)); it != attributes_.end()) return attributeValue(it->second.second);
  return sameMemory(tensor);
}

/// The value of another tensor that reads the same memory in the same way. Such pairs come from `x.data`, from what
/// autograd saved for a backward pass, from Python wrappers of one tensor.
Value* Recorder::sameMemory(const at::Tensor& tensor) {
  const void* storage = storageOf(tensor);
  if (!storage) return nullptr;
  auto it = storages_.find(storage);
  if (it == storages_.end()) return nullptr;
  const auto isTransposed = [&](const at::Tensor& a) {
    return a.dim() == 2 && tensor.dim() == 2 && a.size(0) == tensor.size(1) && a.size(1) == tensor.size(0) &&
           a.stride(0) == tensor.stride(1) && a.stride(1) == tensor.stride(0) &&
           a.storage_offset() == tensor.storage_offset() && a.scalar_type() == tensor.scalar_type();
  };
  const auto isSame = [&](const at::Tensor& a) { return storageOf(a) == storage && sameGeometry(a, tensor); };
  if (std::none_of(it->second.begin(), it->second.end(), isSame)) {
    // What a linear layer saves of its weight.
    const auto found = std::find_if(it->second.rbegin(), it->second.rend(), isTransposed);
    if (found == it->second.rend() || !torch::autograd::get_current_node()) return nullptr;
    static const Symbol kTranspose = Symbol::fromQualString("aten::t");
    const at::Tensor whole = *found;
    return insert(kTranspose, std::array{tensorValue(whole)}, c10::TensorType::get());
  }
  for (auto other = it->second.rbegin(); other != it->second.rend(); ++other) {
    if (!isSame(*other)) continue;
    const at::Tensor twin = *other;  // tensorValue may add to the list
    Value* value = tensorValue(twin);
    if (twin.requires_grad() && !tensor.requires_grad()) {
      graph_->setLocation(location());
      value = compute(Basic::Detach, {value});
    }
    setTensorValue(tensor, value);
    return value;
  }
  return nullptr;
}

Value* Recorder::tensorConstant(const at::Tensor& tensor) {
  if (tensor.requires_grad()) {
    throw UserError(
        "Cannot insert a Tensor that requires grad as a constant. Consider making it a parameter or input, or "
        "detaching the gradient\nTensor:\n" +
            textOf(tensor),
        location());
  }
  const void* storage = storageOf(tensor);
  if (!torch::autograd::get_current_node()) {
    constants_.insert(storage);
  } else if (tensor.numel() > 0 && !constants_.contains(storage)) {
    warn(kFrozenSaved, /*in_backward=*/true);
  }
  return constantValue(IValue(tensor), c10::TensorType::get());
}

Value* Recorder::constantValue(const IValue& value, const TypePtr& type) {
  if (value.isGenerator()) {
    warn(
        "A torch.Generator can't be part of a traced program. The program will draw its random numbers from the "
        "default generator.");
    return graph_->insertConstant(IValue());
  }
  if (value.isStream() || value.isStorage() || value.isPyObject() || value.isCapsule()) {
    throw UserError("A value of type '" + value.tagKind() + "' can't be part of a traced program.", location());
  }
  return graph_->insertConstant(value, value.isNone() ? TypePtr(c10::NoneType::get()) : type);
}

Value* Recorder::numberValue(const c10::SymNode& number) {
  if (const TracedNumber* traced = asTraced(number)) {
    if (Value* value = traced->valueIn(serial_)) return value;
  }
  return std::visit([&](auto v) { return graph_->insertConstant(IValue(v)); }, numberOf(number));
}

Value* Recorder::valueOf(const IValue& value, const TypePtr& type) {
  if (value.isTensor()) return tensorValue(value.toTensor());
  if (value.isSymInt()) return numberValue(value.toSymInt().toSymNode());
  if (value.isTuple() || value.isList() || value.isGenericDict()) requireShallow(value, kTracing);
  if (value.isSymFloat()) return numberValue(value.toSymFloat().toSymNodeImpl());
  TypePtr formal = type;
  if (auto optional = formal ? formal->cast<c10::OptionalType>() : nullptr) {
    if (!value.isNone()) formal = optional->getElementType();
  }
  if (value.isObject()) {
    if (auto it = attributes_.find(value.toObjectRef().type() ? value.toObject().get() : nullptr);
        it != attributes_.end()) {
      return attributeValue(it->second.second);
    }
    if (auto it = objects_.find(value.toObject().get()); it != objects_.end()) return it->second.second;
  }
  if (value.isList()) {
    auto list_type = formal ? formal->cast<c10::ListType>() : nullptr;
    const TypePtr element = list_type ? list_type->getElementType() : value.toList().elementType();
    std::vector<Value*> elements;
    for (const IValue& item : value.toListRef()) elements.push_back(valueOf(item, element));
    return listOf(std::move(elements), element);
  }
  if (value.isTuple()) {
    std::vector<Value*> elements;
    std::vector<TypePtr> types;
    auto tuple_type = formal ? formal->cast<c10::TupleType>() : nullptr;
    const auto& items = value.toTupleRef().elements();
    for (size_t i = 0; i < items.size(); ++i) {
      elements.push_back(valueOf(items[i], tuple_type ? tuple_type->elements()[i] : TypePtr()));
      types.push_back(elements.back()->type());
    }
    const TypePtr result = tuple_type && tuple_type->schema() ? TypePtr(tuple_type) : c10::TupleType::create(types);
    return insert(prim::TupleConstruct, elements, result);
  }
  if (value.isGenericDict()) {
    auto dict_type = formal ? formal->cast<c10::DictType>() : nullptr;
    const auto dict = value.toGenericDict();
    const TypePtr element = dict_type ? dict_type->getValueType() : dict.valueType();
    const TypePtr key = dict_type ? dict_type->getKeyType() : dict.keyType();
    std::vector<Value*> items;
    for (const auto& entry : dict) {
      items.push_back(valueOf(entry.key(), key));
      items.push_back(valueOf(entry.value(), element));
    }
    return insert(prim::DictConstruct, items, c10::DictType::create(key, element));
  }
  return constantValue(value, TypePtr());
}

c10::SymNode Recorder::size(const at::Tensor& tensor, int64_t dim) {
  return size(tensor, c10::SymNode(c10::make_intrusive<TracedNumber>(dim, nullptr, serial_)));
}

c10::SymNode Recorder::size(const at::Tensor& tensor, const c10::SymNode& dim) {
  const auto plain_dim = std::get<int64_t>(numberOf(dim));
  const Measured of = measured(tensor);
  Value* value = tensorValue(of.tensor);
  graph_->setLocation(location());
  const bool is_moved = !of.tensor.is_same(tensor) && !of.dims.empty();
  Value* dim_value =
      is_moved
          ? graph_->insertConstant(IValue(of.dims[static_cast<size_t>(c10::maybe_wrap_dim(plain_dim, tensor.dim()))]))
          : numberValue(dim);
  Value* size = compute(Basic::Size, {value, dim_value});
  return c10::make_intrusive<TracedNumber>(tensor.size(plain_dim), size, serial_);
}

c10::SymInt Recorder::sizeOf(const at::Tensor& tensor, int64_t dim) {
  return hasMemoryOf(tensor) ? c10::SymInt(size(tensor, dim)) : tensor.sym_size(dim);
}

c10::SymInt Recorder::argumentOf(const at::Tensor& tensor, const std::string& name, int64_t number) {
  Value* value = findTensor(tensor);
  if (!value) return number;
  Node* node = value->node();
  if (node->kind() == prim::ListUnpack || isBasic(node, Basic::Element)) node = node->input(0)->node();
  const Operator* op = operatorOf(*node);
  const auto index = op ? op->schema().argumentIndexWithName(name) : std::nullopt;
  if (!index) return number;
  Value* argument = node->input(static_cast<size_t>(*index));
  if (isConstant(argument) || argument->type()->kind() != c10::TypeKind::IntType) return number;
  return c10::SymInt(c10::SymNode(c10::make_intrusive<TracedNumber>(number, argument, serial_)));
}

c10::SymNode Recorder::intOf(Symbol kind, const at::Tensor& tensor, int64_t number) {
  const Measured of = measured(tensor);
  graph_->setLocation(location());
  if (of.tensor.dim() != tensor.dim()) {  // in vmap
    if (kind == kindOf(Basic::Rank) || tensor.dim() == 0)
      return c10::make_intrusive<TracedNumber>(number, graph_->insertConstant(IValue(number)), serial_);
    c10::SymNode count = size(tensor, 0);
    for (int64_t dim = 1; dim < tensor.dim(); ++dim) count = count->mul(size(tensor, dim));
    return count;
  }
  Value* value = tensorValue(of.tensor);
  return c10::make_intrusive<TracedNumber>(number, insert(kind, std::array{value}, c10::IntType::get()), serial_);
}

c10::SymNode Recorder::layoutOf(Symbol kind, const at::Tensor& tensor, std::optional<int64_t> dim, int64_t number) {
  const Measured of = measured(tensor);
  if (!of.tensor.is_same(tensor)) return nullptr;
  graph_->setLocation(location());
  std::vector<Value*> inputs{tensorValue(tensor)};
  if (dim) inputs.push_back(graph_->insertConstant(IValue(*dim)));
  return c10::make_intrusive<TracedNumber>(number, insert(kind, inputs, c10::IntType::get()), serial_);
}

void Recorder::recordResult(Symbol kind, std::span<Value* const> inputs, const IValue& result) {
  graph_->setLocation(location());
  setValue(result, insert(kind, inputs, result.type()));
}

// ---- Memory that is written where the tracer can't see

bool Recorder::hasUnseenContents(const at::Tensor& tensor) const {
  return tensor.defined() && tensor.numel() != 0 && storageOf(tensor) && uninitialized_.contains(storageOf(tensor));
}

Value* Recorder::makeLiteral(const at::Tensor& tensor) {
  at::Tensor contents;
  {
    const ClientPause pause;
    contents = at::_ops::clone::call(tensor.detach(), std::nullopt);
  }
  uninitialized_.erase(storageOf(tensor));
  graph_->setLocation(location());
  Value* constant = graph_->insertConstant(IValue(contents), c10::TensorType::get());
  Value* none = graph_->insertConstant(IValue());
  Value* clone = insert(aten::clone, std::array{constant, none}, c10::TensorType::get());
  if (const void* storage = storageOf(tensor)) literals_[storage] = {constant, clone->node()};
  setTensorValue(tensor, clone);
  return clone;
}

void Recorder::noteWritesAreSeen(const at::Tensor& tensor, bool are_seen) {
  const void* storage = storageOf(tensor);
  if (!storage) return;
  if (are_seen) {
    uninitialized_.erase(storage);
    return;
  }
  const auto known = known_.find(identityOf(tensor));
  if (known == known_.end()) return;
  const Operator* op = knownOperator(*known->second.value->node());
  if (op && op->leavesUninitialized()) uninitialized_.insert(storage);
}

void Recorder::readContents(const at::Tensor& tensor) {
  if (hasUnseenContents(tensor)) makeLiteral(tensor);
}

void Recorder::noteWrite(const at::Tensor& tensor) {
  const void* storage = storageOf(tensor);
  if (!storage) return;
  uninitialized_.erase(storage);
  if (auto it = literals_.find(storage); it != literals_.end()) it->second.escapes = true;
}

/// Recursion is over the nesting of containers.
void Recorder::noteEscape(const IValue& value) {
  if (value.isTensor()) {
    readContents(value.toTensor());
    noteWrite(value.toTensor());
  } else if (value.isTuple()) {
    for (const IValue& element : value.toTupleRef().elements()) noteEscape(element);
  } else if (value.isList()) {
    for (const IValue& element : value.toListRef()) noteEscape(element);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) noteEscape(entry.value());
  }
}

// ---- Attributes and scopes

/// Read in the innermost running module that the attribute lies below; the methods made of the modules inside that one
/// get it as an argument.
Value* Recorder::attributeValue(const AttributePath& path) {
  size_t depth = scopes_.size() - 1;
  while (!isPrefix(scopes_[depth].path, path)) --depth;
  Scope& scope = scopes_[depth];
  InsertPointGuard guard(*graph_, depth + 1 < scopes_.size() ? scopes_[depth + 1].node : graph_->insertPoint());
  Value* value = scope.self;
  TypePtr type = value->type();
  for (size_t i = scope.path.size(); i < path.size(); ++i) {
    type = type->expectRef<c10::ClassType>().getAttribute(path[i]);
    Value*& known = scope.attributes[dotted(path, i + 1)];
    if (!known) {
      Node* node = graph_->create(prim::GetAttr, {value});
      node->setAttribute(attr::name, path[i]);
      graph_->insertNode(node);
      known = node->output()->setType(type);
      if (type->kind() == c10::TypeKind::OptionalType) {
        known = insert(prim::unchecked_cast, std::array{known}, type->expectRef<c10::OptionalType>().getElementType());
      }
      const bool is_name = !path[i].empty() && !isdigit(static_cast<unsigned char>(path[i][0]));
      known->setDebugName(is_name ? path[i] : "_" + path[i]);
    }
    value = known;
  }
  return value;
}

bool Recorder::pushScope(const AttributePath& path) {
  // The objects on the way must be modules of self.
  if (!self_ || path.empty()) return false;
  TypePtr type = self_->type();
  for (const std::string& name : path) {
    auto class_type = type->cast<c10::ClassType>();
    if (!class_type || !class_type->hasAttribute(name)) return false;
    type = class_type->getAttribute(name);
  }
  if (!type->cast<c10::ClassType>()) return false;
  Value* object = attributeValue(path);
  graph_->setLocation(location());
  Node* node = graph_->insertNode(graph_->create(prim::TracedModuleForward, {object}, 0));
  Block* block = node->addBlock();
  Value* self = block->addInput("self")->setType(type);
  scopes_.push_back({path, node, block, self, {}});
  graph_->setInsertPoint(block);
  return true;
}

void Recorder::pushFork() {
  graph_->setLocation(location());
  Node* node = graph_->insertNode(graph_->create(prim::fork, 0));
  Block* block = node->addBlock();
  scopes_.push_back({scopes_.back().path, node, block, scopes_.back().self, {}});
  graph_->setInsertPoint(block);
}

void Recorder::popScope() {
  CRESSET_CHECK(scopes_.size() > 1, "a module ends that began");
  scopes_.pop_back();
  graph_->setInsertPoint(scopes_.back().block);
}

}  // namespace cresset::tracer
