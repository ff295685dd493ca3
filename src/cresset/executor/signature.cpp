#include "cresset/executor/signature.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <ATen/Context.h>
#include <ATen/SavedTensorHooks.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/jit_type.h>
#include <c10/core/AutogradState.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <array>
#include <functional>
#include <tuple>

#include "cresset/ops/object_slots.h"
#include "cresset/ops/row_helpers.h"

namespace cresset {

namespace {

using Tensors = c10::SmallVector<const c10::TensorImpl*, 16>;

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

}  // namespace

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

namespace {

bool havePlainLeaves(const Tensors& tensors) {
  Tensors sorted = tensors;
  std::sort(sorted.begin(), sorted.end(), std::less<>());
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() &&
         std::all_of(
             tensors.begin(), tensors.end(), [](const c10::TensorImpl* tensor) { return isPlainLeaf(*tensor); });
}

}  // namespace

namespace {

/// Which keys of the dispatcher autocast has switched off for the thread: all, as long as it is off.
uint64_t autocastDtype(const c10::impl::LocalDispatchKeySet& local, c10::DeviceType device) {
  const auto key = at::autocast::get_autocast_dispatch_key_from_device_type(device);
  return local.excluded_.has(key) ? 0 : 1 + uint64_t(at::autocast::get_autocast_dtype(device));
}

bool isAutocastOn(const c10::impl::LocalDispatchKeySet& local) {
  return !local.excluded_.has_all(c10::DispatchKeySet({c10::DispatchKey::AutocastCPU, c10::DispatchKey::AutocastCUDA}));
}

/// Whether code runs as calls from outside do, not below a part of the dispatcher.
bool runsFromOutside(const c10::impl::LocalDispatchKeySet& local, const c10::AutogradState& autograd) {
  return autograd.get_inference_mode() || (local.excluded_ | c10::autocast_dispatch_keyset) ==
                                              (c10::default_excluded_set | c10::autocast_dispatch_keyset);
}

uint64_t deterministicMode() {
  const at::Context& context = at::globalContext();
  return !context.deterministicAlgorithms() ? 0 : context.deterministicAlgorithmsWarnOnly() ? 2 : 1;
}

/// What the processor makes of results and operands that are denormal (torch.set_flush_denormal).
uint64_t denormalMode() {
#if defined(__x86_64__)
  const unsigned control = _mm_getcsr();
  return (control >> 15 & 1) | (control >> 6 & 1) << 1;
#elif defined(__aarch64__)
  uint64_t control = 0;
  __asm__("mrs %0, fpcr" : "=r"(control));
  return control >> 24 & 1;
#else
  return 0;
#endif
}

std::string nameOfDtype(uint64_t dtype) {
  return c10::toString(static_cast<at::ScalarType>(dtype));
}

constexpr std::array kAmbientBits = {
#define AMBIENT(Name, bits, read, text) bits,
#include "cresset/interpreter/guards.def"
};

constexpr int shiftOf(AmbientState::Field field) {
  int shift = 0;
  for (size_t i = 0; i < size_t(field); ++i) shift += kAmbientBits[i];
  return shift;
}
static_assert(shiftOf(AmbientState::Field(kAmbientBits.size())) <= 64);

}  // namespace

AmbientState AmbientState::now() {
  return now(c10::impl::tls_local_dispatch_key_set());
}

AmbientState AmbientState::now([[maybe_unused]] const c10::impl::LocalDispatchKeySet& local) {
  [[maybe_unused]] const c10::AutogradState& autograd = c10::AutogradState::get_tls_state();
  uint64_t word = 0;
#define AMBIENT(Name, bits, read, text) word |= uint64_t(read) << shiftOf(Field::Name);
#include "cresset/interpreter/guards.def"
  return AmbientState(word);
}

uint64_t AmbientState::get(Field field) const {
  return word_ >> shiftOf(field) & ((uint64_t(1) << kAmbientBits[size_t(field)]) - 1);
}

AutocastState AmbientState::autocast() const {
  const auto dtypeOf = [this](Field field) {
    const uint64_t value = get(field);
    return value ? std::optional(static_cast<at::ScalarType>(value - 1)) : std::nullopt;
  };
  return {dtypeOf(Field::AutocastCpu), dtypeOf(Field::AutocastCuda), get(Field::AutocastCache) != 0};
}

std::string AmbientState::toString() const {
  std::string all;
  const auto add = [&all](const std::string& text) {
    if (text.empty()) return;
    if (!all.empty()) all += ", ";
    all += text;
  };
#define AMBIENT(Name, bits, read, text)                       \
  {                                                           \
    [[maybe_unused]] const uint64_t value = get(Field::Name); \
    add(text);                                                \
  }
#include "cresset/interpreter/guards.def"
  return all;
}

namespace {

/// Why calls of the thread have no signature, whatever they are given.
std::optional<Unreadable> unreadableState(const c10::impl::LocalDispatchKeySet& local) {
  static constexpr auto kUsual =
      c10::DispatchKeySet({c10::DispatchKey::BackendSelect, c10::DispatchKey::ADInplaceOrView});
  if (!(local.included_ - kUsual).empty()) return Unreadable::Transformed;
  // Hooks see each tensor that operators save, and count them: regions save others.
  if (!at::SavedTensorDefaultHooks::get_tls_state().stack.empty()) return Unreadable::Hooked;
  // It names the operators of the tape that give NaN.
  if (torch::autograd::AnomalyMode::is_enabled()) return Unreadable::Hooked;
  return std::nullopt;
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

bool isSpecialized(const c10::Type& type) {
  if (type.kind() != c10::TypeKind::TupleType) return guardFor(type).has_value();
  const auto& types = type.expectRef<c10::TupleType>().elements();
  return std::any_of(types.begin(), types.end(), [](const auto& element) { return isSpecialized(*element); });
}

SignatureReader::SignatureReader(
    std::vector<c10::TypePtr> arguments, std::vector<AttributePath> attributes, SignatureInterest interest)
    : arguments_(std::move(arguments)), attributes_(std::move(attributes)), interest_(interest) {
  std::vector<size_t> elements;
  for (size_t i = 0; i < arguments_.size(); ++i) addArgument(i, *arguments_[i], elements);
  for (size_t i = 0; i < attributes_.size(); ++i) addAttribute(i, i > 0 ? &attributes_[i - 1] : nullptr);
  if (interest_.memory) add(Instruction::Op::Memory);
  if (interest_.tape) add(Instruction::Op::Tape);
}

void SignatureReader::add(Instruction::Op op, size_t index, size_t depth) {
  program_.push_back({op, static_cast<uint8_t>(depth), static_cast<uint32_t>(index)});
}

uint64_t FewKinds::note(uint64_t word) {
  const auto isKnown = [word](std::atomic<uint64_t>& slot) {
    uint64_t known = slot.load(std::memory_order_relaxed);
    if (known == 0) slot.compare_exchange_strong(known, word, std::memory_order_relaxed);
    return known == word || known == 0;
  };
  if (!are_many_.load(std::memory_order_relaxed)) {
    if (std::any_of(words_.begin(), words_.end(), isKnown)) return word;
    are_many_.store(true, std::memory_order_relaxed);
  }
  return ValueKind().word();
}

void SignatureReader::addGuard(Guard guard, size_t input) {
  struct Row {
    Instruction::Op op;
    bool is_for_few;
  };
  static constexpr Row kRows[] = {
#define GUARD(Name, fits, read) {Instruction::Op::Name, false},
#define FEW_GUARD(Name, fits, read) {Instruction::Op::Name, true},
#include "cresset/interpreter/guards.def"
  };
  const Row& row = kRows[size_t(guard)];
  if (row.is_for_few) few_->emplace_back();
  add(row.op, row.is_for_few ? few_->size() - 1 : 0);
  inputs_.push_back(input);
}

void SignatureReader::addArgument(size_t argument, const c10::Type& type, std::vector<size_t>& elements) {
  if (type.kind() == c10::TypeKind::TupleType) {
    const auto& types = type.expectRef<c10::TupleType>().elements();
    for (size_t i = 0; i < types.size(); ++i) {
      elements.push_back(i);
      addArgument(argument, *types[i], elements);
      elements.pop_back();
    }
  } else if (const auto guard = guardFor(type, interest_.layout)) {
    add(Instruction::Op::Argument, argument);
    for (size_t element : elements) add(Instruction::Op::Element, element);
    addGuard(*guard, argument);
  }
}

/// Objects on the way that `previous` has read too are read once.
void SignatureReader::addAttribute(size_t index, const AttributePath* previous) {
  const AttributePath& path = attributes_[index];
  const size_t input = arguments_.size() + index;
  if (path.key) {
    add(Instruction::Op::Entry, index);
  } else {
    const size_t last = path.slots.size() - 1;
    size_t shared = 0;
    if (previous && !previous->key && previous->argument == path.argument) {
      while (shared < last && shared + 1 < previous->slots.size() && path.slots[shared] == previous->slots[shared])
        ++shared;
    } else {
      add(Instruction::Op::Self, path.argument);
    }
    for (size_t depth = shared; depth < last; ++depth) add(Instruction::Op::Object, path.slots[depth], depth + 1);
    add(Instruction::Op::Attribute, path.slots[last], last);
    max_depth_ = std::max(max_depth_, last);
  }
  if (const auto guard = guardFor(*path.type, interest_.layout, /*of_attribute=*/true)) addGuard(*guard, input);
}

std::vector<SignatureReader::Described> SignatureReader::describe(const Signature& signature) const {
  std::vector<Described> described;
  for (size_t i = 0; i < inputs_.size(); ++i) described.push_back({inputs_[i], ValueKind::of(signature[i + 1])});
  return described;
}

std::vector<int64_t> SignatureReader::sharedMemory(const Signature& signature) const {
  std::vector<int64_t> first;
  if (!interest_.memory) return first;
  const size_t after = inputs_.size() + 1;
  for (const Described& value : describe(signature)) {
    if (value.kind.kind != ValueKind::Kind::Tensor) continue;
    const size_t tensor = first.size();
    first.push_back(static_cast<int64_t>(signature[after] ? signature[after + 1 + tensor] : tensor));
  }
  return first;
}

bool SignatureReader::readObject(
    const Instruction& step, c10::SmallVectorImpl<const c10::ivalue::Object*>& objects,
    c10::SmallVectorImpl<c10::IValue>& owners) {
  c10::IValue& owner = owners[step.depth];
  owner = readSlot(*objects[step.depth - 1], step.index);
  if (!owner.isObject()) return false;
  objects[step.depth] = &owner.toObjectRef();
  return true;
}

std::optional<Unreadable> SignatureReader::read(Stack& stack, Signature& signature) const {
  const auto local = c10::impl::tls_local_dispatch_key_set();
  if (const auto why = unreadableState(local)) return why;
  signature.push_back(AmbientState::now(local).word());
  Tensors tensors;
  const size_t first = stack.size() - arguments_.size(), end = stack.size();
  // The objects on the way to attributes, by depth, and what keeps them alive.
  c10::SmallVector<const c10::ivalue::Object*, 8> objects(max_depth_ + 1);
  c10::SmallVector<c10::IValue, 8> owners;
  if (max_depth_ > 0) owners.resize(max_depth_ + 1);
  const bool wants_tensors = interest_.memory || interest_.tape;
  const c10::IValue* value = nullptr;
  bool readable = true;
  const auto push = [&](uint64_t word) {
    readable = word != kUnreadable;
    signature.push_back(word);
    if (wants_tensors && readable && ValueKind::Kind(word & 0xff) == ValueKind::Kind::Tensor)
      tensors.push_back(value->toTensor().unsafeGetTensorImpl());
  };
  for (const Instruction& step : program_) {
    switch (step.op) {
#define LOAD(Name, instruction) \
  case Instruction::Op::Name:   \
    instruction;                \
    break;
#define GUARD(Name, fits, read)           \
  case Instruction::Op::Name:             \
    push(readGuard(Guard::Name, *value)); \
    break;
#define FEW_GUARD(Name, fits, read)                                 \
  case Instruction::Op::Name:                                       \
    push((*few_)[step.index].note(readGuard(Guard::Name, *value))); \
    break;
#define TENSORS_GUARD(Name, read) \
  case Instruction::Op::Name:     \
    read;                         \
    break;
#include "cresset/interpreter/guards.def"
    }
    if (!readable) [[unlikely]] {
      stack.resize(end);
      return Unreadable::NotPlain;
    }
  }
  return std::nullopt;
}

}  // namespace cresset
