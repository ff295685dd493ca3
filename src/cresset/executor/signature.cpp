#include "cresset/executor/signature.h"

#include <ATen/Context.h>
#include <ATen/SavedTensorHooks.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/jit_type.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <functional>
#include <tuple>

#include "cresset/ops/object_slots.h"
#include "cresset/ops/row_helpers.h"

namespace cresset {

namespace {

using Kind = ValueKind::Kind;

using Tensors = c10::SmallVector<const c10::TensorImpl*, 16>;

/// Appends the words of `value`, which is of `type`, and its tensors; false if it can't be described.
bool describe(
    const c10::IValue& value, const c10::Type& type, bool with_layout, Signature& signature, Tensors& tensors) {
  switch (type.kind()) {
    case c10::TypeKind::TensorType:
      if (!value.isTensor() || !isPlain(value.toTensor()) || value.toTensor().dim() > 255) return false;
      {
        ValueKind kind = ValueKind::of(value.toTensor());
        if (with_layout) kind.layout = layoutOf(value.toTensor());
        signature.push_back(kind.word());
      }
      tensors.push_back(value.toTensor().unsafeGetTensorImpl());
      return true;
    case c10::TypeKind::BoolType:
      signature.push_back(uint64_t(value.toBool() ? Kind::True : Kind::False));
      return true;
    case c10::TypeKind::StringType:
      signature.push_back(ValueKind::ofText(value.toStringRef()).word());
      return true;
    case c10::TypeKind::OptionalType: {
      if (value.isNone()) {
        signature.push_back(uint64_t(Kind::None));
        return true;
      }
      const c10::Type& inner = *type.expectRef<c10::OptionalType>().getElementType();
      if (inner.kind() == c10::TypeKind::TensorType) return describe(value, inner, with_layout, signature, tensors);
      signature.push_back(uint64_t(Kind::Other));
      return true;
    }
    case c10::TypeKind::TupleType: {
      const auto& types = type.expectRef<c10::TupleType>().elements();
      const auto& elements = value.toTupleRef().elements();
      for (size_t i = 0; i < types.size(); ++i) {
        if (isSpecialized(*types[i]) && !describe(elements[i], *types[i], with_layout, signature, tensors))
          return false;
      }
      return true;
    }
    default:
      return true;
  }
}

/// Appends 0 if no two of the tensors share memory; else 1 and, for each, the first that it shares memory with.
void describeMemory(const Tensors& tensors, Signature& signature) {
  struct Range {
    uintptr_t begin, end;
    const c10::StorageImpl* storage;
    size_t tensor;
  };
  // Storages may overlap: several can be made of one buffer. Empty ones are the same if they are one.
  c10::SmallVector<Range, 16> ranges;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const c10::StorageImpl* storage = tensors[i]->unsafe_storage().unsafeGetStorageImpl();
    const auto begin = reinterpret_cast<uintptr_t>(storage ? storage->data() : nullptr);
    ranges.push_back({begin, begin + (storage ? storage->nbytes() : 0), storage, i});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return std::tie(a.begin, a.storage, a.tensor) < std::tie(b.begin, b.storage, b.tensor);
  });
  bool shares = false;
  c10::SmallVector<uint64_t, 16> first(tensors.size());
  size_t group = 0;
  uintptr_t end = 0;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (i > 0 && (ranges[i].begin < end || ranges[i].storage == ranges[i - 1].storage)) {
      shares = true;
    } else {
      group = i;
    }
    end = std::max(end, ranges[i].end);
    first[ranges[i].tensor] = ranges[group].tensor;
  }
  signature.push_back(uint64_t(shares));
  if (!shares) return;
  // The first of a group by order of memory stands for it; make it the first by order of tensors.
  c10::SmallVector<uint64_t, 16> by_order(tensors.size(), tensors.size());
  for (size_t i = 0; i < first.size(); ++i) {
    uint64_t& found = by_order[first[i]];
    found = std::min<uint64_t>(found, i);
    signature.push_back(found);
  }
}

/// Whether gradients that come to the tensor show nowhere but in a call that asks for them.
bool isPlainLeaf(const c10::TensorImpl& tensor) {
  const auto* meta = static_cast<torch::autograd::AutogradMeta*>(tensor.autograd_meta());
  if (!meta || !meta->requires_grad()) return true;
  const auto* view = meta->is_view_ ? static_cast<const torch::autograd::DifferentiableViewMeta*>(meta) : nullptr;
  if (meta->grad_fn_ || (view && view->has_bw_view()) || !meta->hooks_.empty() || meta->post_acc_grad_hooks_)
    return false;
  const auto accumulator = meta->grad_accumulator_.lock();
  return !accumulator || (accumulator->pre_hooks().empty() && accumulator->post_hooks().empty() &&
                          accumulator->tensor_pre_hooks().empty());
}

bool havePlainLeaves(const Tensors& tensors) {
  Tensors sorted = tensors;
  std::sort(sorted.begin(), sorted.end(), std::less<>());
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() &&
         std::all_of(
             tensors.begin(), tensors.end(), [](const c10::TensorImpl* tensor) { return isPlainLeaf(*tensor); });
}

}  // namespace

bool isSpecialized(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::TensorType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::OptionalType:
      return true;
    case c10::TypeKind::TupleType: {
      const auto& types = type.expectRef<c10::TupleType>().elements();
      return std::any_of(types.begin(), types.end(), [](const auto& element) { return isSpecialized(*element); });
    }
    default:
      return false;
  }
}

size_t numWords(const c10::Type& type) {
  if (!isSpecialized(type)) return 0;
  if (type.kind() != c10::TypeKind::TupleType) return 1;
  size_t count = 0;
  for (const auto& element : type.expectRef<c10::TupleType>().elements()) count += numWords(*element);
  return count;
}

size_t numWordsOfAttribute(const c10::Type& type) {
  return type.kind() == c10::TypeKind::StringType ? 1 : numWords(type);
}

uint64_t AmbientState::word() const {
  return uint64_t(grad_mode) | uint64_t(inference_mode) << 1 | uint64_t(plain) << 2;
}

AmbientState AmbientState::of(uint64_t word) {
  return {(word & 1) != 0, (word & 2) != 0, (word & 4) != 0};
}

std::string AmbientState::toString() const {
  std::string text = inference_mode ? "inference mode" : grad_mode ? "gradients on" : "gradients off";
  return plain ? text : text + ", autocast or deterministic algorithms";
}

namespace {

/// Why calls of the thread have no signature, whatever they are given.
std::optional<Unreadable> unreadableState() {
  const auto local = c10::impl::tls_local_dispatch_key_set();
  static constexpr auto kUsual =
      c10::DispatchKeySet({c10::DispatchKey::BackendSelect, c10::DispatchKey::ADInplaceOrView});
  if (!(local.included_ - kUsual).empty()) return Unreadable::Transformed;
  // Hooks see each tensor that operators save, and count them: regions save others.
  if (!at::SavedTensorDefaultHooks::get_tls_state().stack.empty()) return Unreadable::Hooked;
  // It names the operators of the tape that give NaN.
  if (torch::autograd::AnomalyMode::is_enabled()) return Unreadable::Hooked;
  return std::nullopt;
}

uint64_t ambientWord() {
  const auto local = c10::impl::tls_local_dispatch_key_set();
  AmbientState state;
  state.inference_mode = c10::InferenceMode::is_enabled();
  state.grad_mode = c10::GradMode::is_enabled();
  const bool usual = local.excluded_ == c10::default_excluded_set || state.inference_mode;
  state.plain = usual && !at::autocast::is_autocast_enabled(at::kCPU) &&
                !at::autocast::is_autocast_enabled(at::kCUDA) && !at::globalContext().deterministicAlgorithms();
  const auto dtype = uint64_t(c10::typeMetaToScalarType(c10::get_default_dtype()));
  return state.word() | dtype << 8;
}

/// What stands at a key of a dict or at an index of a list; None if nothing does.
c10::IValue entryOf(const c10::IValue& container, const c10::IValue& key) {
  if (container.isGenericDict()) {
    const auto& entries = dictOf(container).dict;
    const auto found = entries.find(key);
    return found == entries.end() ? c10::IValue() : found->second;
  }
  const auto& elements = listOf(container).list;
  const auto size = static_cast<int64_t>(elements.size());
  const int64_t index = key.toInt() < 0 ? key.toInt() + size : key.toInt();
  return index >= 0 && index < size ? elements[static_cast<size_t>(index)] : c10::IValue();
}

}  // namespace

SignatureReader::SignatureReader(
    std::vector<c10::TypePtr> arguments, std::vector<AttributePath> attributes, SignatureInterest interest)
    : arguments_(std::move(arguments)), attributes_(std::move(attributes)), interest_(interest) {}

std::vector<int64_t> SignatureReader::sharedMemory(const Signature& signature) const {
  std::vector<int64_t> first;
  if (!interest_.memory) return first;
  size_t num_words = 1;
  for (const auto& type : arguments_) num_words += numWords(*type);
  for (const AttributePath& path : attributes_) num_words += numWordsOfAttribute(*path.type);
  for (size_t i = 1; i < num_words; ++i) {
    if (ValueKind::of(signature[i]).kind != Kind::Tensor) continue;
    const size_t tensor = first.size();
    first.push_back(static_cast<int64_t>(signature[num_words] ? signature[num_words + 1 + tensor] : tensor));
  }
  return first;
}

std::optional<Unreadable> SignatureReader::read(Stack& stack, Signature& signature) const {
  if (const auto why = unreadableState()) return why;
  signature.push_back(ambientWord());
  Tensors tensors;
  const size_t first = stack.size() - arguments_.size();
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (isSpecialized(*arguments_[i]) &&
        !describe(stack[first + i], *arguments_[i], interest_.layout, signature, tensors))
      return Unreadable::NotPlain;
  }
  // The objects on the way to the attribute before, so that those of one object are found once.
  c10::SmallVector<c10::IValue, 8> objects;
  const AttributePath* previous = nullptr;
  const size_t end = stack.size();
  for (const AttributePath& path : attributes_) {
    if (path.key) {
      stack.push_back(entryOf(stack[first + path.argument], *path.key));
      if (describe(stack.back(), *path.type, interest_.layout, signature, tensors)) continue;
      stack.resize(end);
      return Unreadable::NotPlain;
    }
    size_t shared = 0;
    if (previous && previous->argument == path.argument) {
      while (shared + 1 < path.slots.size() && shared + 1 < previous->slots.size() &&
             path.slots[shared] == previous->slots[shared])
        ++shared;
    }
    objects.resize(shared);
    const auto holder = [&](size_t depth) -> const c10::ivalue::Object& {
      return depth == 0 ? stack[first + path.argument].toObjectRef() : objects[depth - 1].toObjectRef();
    };
    bool readable = true;
    for (size_t depth = shared; depth + 1 < path.slots.size() && readable; ++depth) {
      objects.push_back(readSlot(holder(depth), path.slots[depth]));
      readable = objects.back().isObject();
    }
    if (readable) {
      stack.push_back(readSlot(holder(path.slots.size() - 1), path.slots.back()));
      readable = describe(stack.back(), *path.type, interest_.layout, signature, tensors);
    }
    if (!readable) {
      stack.resize(end);
      return Unreadable::NotPlain;
    }
    previous = &path;
  }
  if (interest_.memory) describeMemory(tensors, signature);
  if (interest_.tape) signature.push_back(uint64_t(havePlainLeaves(tensors)));
  return std::nullopt;
}

}  // namespace cresset
