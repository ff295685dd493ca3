// Moving and copying modules: to, copy, deepcopy, clone.
//
// Tensors keep their sharing: a tensor that occurs twice in a module occurs twice, as one tensor, in its deep copy, and
// tensors of one memory that are no parameters are copied to such, as copy.deepcopy does it.
// Objects whose class says by __getstate__ and __setstate__ how they are saved and restored are deeply copied in that
// way, as torch::jit does it: the state goes from one method to the other as it is, and what it holds is then shared.
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/class_type.h>
#include <ATen/ops/empty.h>

#include <unordered_map>

#include "cresset/module/module.h"
#include "cresset/module/values.h"
#include "cresset/ops/functorch.h"
#include "cresset/ops/nesting.h"
#include "cresset/ops/object_slots.h"
#include "cresset/support/dict_entries.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

void convertTensors(
    const Module& module, std::optional<c10::Device> device, std::optional<c10::ScalarType> dtype, bool non_blocking) {
  // set_data replaces what the tensor object holds, so that everybody who has the tensor (optimizers, views of this
  // module in Python) sees the move.
  auto convert = [&](const at::Tensor& tensor) {
    at::Tensor data =
        tensor.to(device.value_or(tensor.device()), dtype.value_or(tensor.scalar_type()), non_blocking, /*copy=*/false);
    tensor.set_data(data);
  };
  for (const at::Tensor& tensor : module.parameters()) convert(tensor);
  for (const at::Tensor& tensor : module.buffers()) convert(tensor);
}

/// Deep copies of values. Recursion is over the nesting of values: modules nest as deep as their author's classes do,
/// but a script may have left a long chain of objects in an attribute.
class DeepCopier {
 public:
  explicit DeepCopier(std::optional<c10::Device> device) : device_(device) {}

  IValue copy(const IValue& value) {
    if (value.isTensor()) return copyTensor(value.toTensor());
    if (!value.isPtrType()) return value;
    const void* key = value.internalToPointer();
    if (auto done = done_.find(key); done != done_.end()) return done->second;
    if (value.isObject()) return copyByState(value.toObject());
    const Level level(*this);
    if (value.isList()) {
      auto list = value.toList();
      c10::impl::GenericList result(list.elementType());
      done_.emplace(key, IValue(result));  // before the elements, which may refer back to it
      result.reserve(list.size());
      for (size_t i = 0; i < list.size(); ++i) result.push_back(copy(list.get(i)));
      return IValue(result);
    }
    if (value.isGenericDict()) {
      auto dict = value.toGenericDict();
      c10::impl::GenericDict result(dict.keyType(), dict.valueType());
      done_.emplace(key, IValue(result));
      for (const auto& entry : dict) assignEntry(result, copy(entry.key()), copy(entry.value()));
      return IValue(result);
    }
    if (value.isTuple()) {
      const auto& tuple = value.toTupleRef();
      std::vector<IValue> elements;
      elements.reserve(tuple.elements().size());
      for (const IValue& element : tuple.elements()) elements.push_back(copy(element));
      IValue result(c10::ivalue::Tuple::createNamed(std::move(elements), tuple.type()));
      done_.emplace(key, result);
      return result;
    }
    if (value.isString() || value.isEnum() || value.isGenerator() || value.isComplexDouble())
      return value;  // immutable, or shared by meaning
    IValue result = value.deepcopy(device_);
    done_.emplace(key, result);
    return result;
  }

  /// Attribute by attribute, whatever methods the class has.
  ObjectPtr copyObject(const ObjectPtr& object) {
    const Level level(*this);
    auto type = object->type();
    if (programOf(*type)) {
      auto result =
          c10::ivalue::Object::create(c10::StrongTypePtr(object->compilation_unit(), type), object->slots().size());
      done_.emplace(object.get(), IValue(result));
      for (size_t slot = 0; slot < object->slots().size(); ++slot)
        writeSlot(*result, slot, copySlot(*type, slot, readSlot(*object, slot)));
      return result;
    }
    auto result = object->deepcopy(device_);  // a custom C++ class
    done_.emplace(object.get(), IValue(result));
    return result;
  }

 private:
  struct Level {
    explicit Level(DeepCopier& copier) : copier(copier) {
      if (copier.depth_ == kMaxValueNesting) {
        throw ScriptError("maximum recursion depth exceeded while copying a value", "builtins.RecursionError", {});
      }
      ++copier.depth_;
    }
    ~Level() { --copier.depth_; }
    DeepCopier& copier;
  };

  IValue copyByState(const ObjectPtr& object) {
    auto type = object->type();
    torch::jit::Function* getstate = type->findMethod("__getstate__");
    torch::jit::Function* setstate = type->findMethod("__setstate__");
    if (!getstate || !setstate) return IValue(copyObject(object));
    auto result =
        c10::ivalue::Object::create(c10::StrongTypePtr(object->compilation_unit(), type), object->slots().size());
    done_.emplace(object.get(), IValue(result));
    Method(result, setstate)({Method(object, getstate)({})});
    return IValue(result);
  }

  IValue copySlot(const c10::ClassType& type, size_t slot, const IValue& value) {
    const bool alone = value.isTensor() && type.is_module() && type.is_parameter(slot);
    return alone ? copyTensor(value.toTensor(), alone) : copy(value);
  }

  /// A parameter's copy is `alone`: as torch.nn.Parameter's, it has memory of its own.
  IValue copyTensor(const at::Tensor& tensor, bool alone = false) {
    if (!tensor.defined()) return IValue(tensor);
    auto& done = done_[tensor.unsafeGetTensorImpl()];
    if (!done.isNone()) return done;
    // A parameter's copy is a leaf of its own, not a result that autograd would trace back to the original.
    const at::Tensor source = tensor.detach();
    at::Tensor result = !alone && isPlainMemory(source) ? copyOfView(source) : copyAlone(source);
    if (tensor.requires_grad()) result.set_requires_grad(true);
    done = IValue(result);
    return done;
  }

  at::Tensor copyAlone(const at::Tensor& source) const {
    return device_ ? source.to(*device_, source.scalar_type(), false, /*copy=*/true) : source.clone();
  }

  /// Whether sizes, strides and a storage are all there is to it.
  static bool isPlainMemory(const at::Tensor& tensor) {
    return tensor.layout() == c10::kStrided && tensor.has_storage() && !tensor.is_meta() && !tensor.is_quantized() &&
           !tensor.is_nested() && !tensor.is_conj() && !tensor.is_neg() && !tensor.is_inference() &&
           !tensor.key_set().has_any(
               kFunctorchWrappers | c10::DispatchKeySet({c10::DispatchKey::Python, c10::DispatchKey::Functionalize}));
  }

  /// The same view of the copy of its storage, of which each has one.
  at::Tensor copyOfView(const at::Tensor& source) {
    const c10::Storage& storage = source.storage();
    at::Tensor& memory = storages_[storage.unsafeGetStorageImpl()];
    if (!memory.defined()) {
      const auto bytes = at::empty({0}, source.options().dtype(at::kByte))
                             .set_(storage, 0, {static_cast<int64_t>(storage.nbytes())}, {1});
      memory = copyAlone(bytes);
    }
    return at::empty({0}, source.options().device(memory.device()))
        .set_(memory.storage(), source.storage_offset(), source.sizes(), source.strides());
  }

  size_t depth_ = 0;
  std::optional<c10::Device> device_;
  std::unordered_map<const void*, IValue> done_;
  std::unordered_map<const c10::StorageImpl*, at::Tensor> storages_;  // bytes of the copies
};

}  // namespace

IValue deepCopy(const IValue& value, std::optional<c10::Device> device) {
  return DeepCopier(device).copy(value);
}

void Module::to(c10::Device device, c10::ScalarType dtype, bool non_blocking) const {
  convertTensors(*this, device, dtype, non_blocking);
}
void Module::to(c10::ScalarType dtype, bool non_blocking) const {
  convertTensors(*this, std::nullopt, dtype, non_blocking);
}
void Module::to(c10::Device device, bool non_blocking) const {
  convertTensors(*this, device, std::nullopt, non_blocking);
}

Object Object::copy() const {
  const ObjectPtr& object = _ivalue();
  auto type = object->type();
  auto result =
      c10::ivalue::Object::create(c10::StrongTypePtr(object->compilation_unit(), type), object->slots().size());
  for (size_t slot = 0; slot < object->slots().size(); ++slot) writeSlot(*result, slot, readSlot(*object, slot));
  return Object(result);
}

Object Object::deepcopy(std::optional<c10::Device> device) const {
  return Object(DeepCopier(device).copyObject(_ivalue()));
}

Module Module::copy() const {
  return Module(Object::copy()._ivalue());
}

Module Module::deepcopy(std::optional<c10::Device> device) const {
  return Module(Object::deepcopy(device)._ivalue());
}

}  // namespace cresset
