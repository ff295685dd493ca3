#include "cresset/functionalization/level.h"

#include <ATen/core/grad_mode.h>
#include <ATen/functorch/DynamicLayer.h>
#include <ATen/ops/_conj_ops.h>
#include <ATen/ops/_has_compatible_shallow_copy_type_ops.h>
#include <ATen/ops/_make_dual_ops.h>
#include <ATen/ops/_neg_view_ops.h>
#include <ATen/ops/clone_ops.h>
#include <ATen/ops/copy_ops.h>
#include <ATen/ops/detach_ops.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/lift_fresh_ops.h>
#include <ATen/ops/resize_ops.h>
#include <ATen/ops/set_ops.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "cresset/functionalization/each_tensor.h"
#include "cresset/functionalization/sharing.h"
#include "cresset/functionalization/tape.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_forms.h"
#include "cresset/support/error.h"

namespace cresset::live {

namespace {

using c10::IValue;

int64_t depthOfFunctorch() {
  const auto layer = at::functorch::maybeCurrentDynamicLayer();
  return layer ? layer->layerId() : 0;
}

/// A gradient for a tensor from outside.
at::Tensor leaveGradient(const at::Tensor& gradient) {
  const Wrapper* wrapper = wrapperOf(gradient);
  if (!wrapper) return gradient;
  at::Tensor plain;
  {
    const Emission emission(*wrapper->memory().level);
    plain = at::_ops::clone::call(current(wrapper->part()), std::nullopt);
  }
  if (gradient.requires_grad()) sharePlace(gradient, plain);
  return plain;
}

/// Whether a composite operator passes autograd, which decomposes it, as inference tensors do: then a backend's kernel
/// would be that of its parts, but the wrappers' is for all operators.
bool reachesBackend(const c10::OperatorHandle& op, c10::DispatchKeySet keys) {
  constexpr c10::DispatchKeySet kAbove =
      kTransforms | c10::autograd_dispatch_keyset | c10::autocast_dispatch_keyset | kFunctorchWrappers |
      c10::DispatchKeySet({c10::DispatchKey::Batched, c10::DispatchKey::Functionalize});
  return !keys.has_any(kAbove) && !op.hasKernelForDispatchKey(c10::DispatchKey::CPU);
}

bool isComposite(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
}

/// Without the keys at which the dispatcher has nothing to call: where the operator has a kernel that says so, or no
/// kernel and there is none for all operators.
c10::DispatchKeySet withKernels(const c10::OperatorHandle& op, c10::DispatchKeySet keys) {
  const auto skips = [&](c10::DispatchKey key) {
    return op.hasKernelForDispatchKey(key) && op.isKernelFallthroughKernel(key);
  };
  c10::DispatchKeySet result = keys;
  for (const c10::DispatchKey key : keys) {
    const bool only_own = key == c10::DispatchKey::ADInplaceOrView || c10::autocast_dispatch_keyset.has(key);
    const bool of_autograd = c10::autograd_dispatch_keyset.has(key);
    if (skips(key) || (only_own && !op.hasKernelForDispatchKey(key)) ||
        (of_autograd && !op.hasKernelForDispatchKey(key) && skips(c10::DispatchKey::Autograd)))
      result = result.remove(key);
  }
  return result;
}

/// Those of a call with wrappers, of which `wrappers` are the keys. PyTorch leaves their own out while torch.tensor
/// reads the numbers that it is given.
c10::DispatchKeySet keysWith(const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::DispatchKeySet wrappers) {
  const c10::DispatchKeySet excluded = c10::impl::tls_local_dispatch_key_set().excluded_.remove(c10::DispatchKey::Fake);
  return ((keys - kPython) | withKernels(op, wrappers)) - excluded;
}

/// torch.tensor fills what it gets from an operator without one, and says so by the keys that it excludes.
bool isMadeForLiteral() {
  return !HiddenFromModes::active() && c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::Python) &&
         c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::ADInplaceOrView);
}

/// The mode of make_fx, if one is on: Python's object, as each time it is switched on has another one around it.
const void* recordingMode() {
  const auto mode = c10::impl::TorchDispatchModeTLS::get_mode(c10::impl::TorchDispatchModeKey::PROXY);
  return mode ? (*mode)->ptr(&(*mode)->pyinterpreter()) : nullptr;
}

/// What is called before tensors are written while modes of Python are on.
std::function<void(const at::Tensor&)>& writeObserver() {
  static auto* observer = new std::function<void(const at::Tensor&)>();
  return *observer;
}

}  // namespace

Level::Level(bool copies_views) : state_(std::make_shared<LevelState>()) {
  state_->client = this;
  state_->copies_views = copies_views;
  recording_mode_ = recordingMode();
  if (c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::PreDispatch)) {
    throw UserError(
        "make_fx(…, pre_dispatch=True) records calls before cresset.functionalize sees them: leave pre_dispatch out");
  }
  const detail::ClientFrame* around = detail::activeClients();
  if (depthOfFunctorch() != 0 && around && !dynamic_cast<const Level*>(around->client)) {
    throw UserError(
        "A trace can't record a transform of torch.func around cresset.functionalize, whose tensors it would take for "
        "constants: "
        "functionalize all that is traced, cresset.trace(cresset.functionalize(torch.vmap(f)), …)");
  }
  registerWrapperKernel();
}

Level::~Level() {
  state_->open = false;
  state_->client = nullptr;
}

/// Whether a transform of functorch, torch.func.functionalize or a batched backward pass has wrapped it: then the level
/// sees what these call with the tensors that they have wrapped.
bool Level::isOfTransform(const at::Tensor& tensor) const {
  return isOfFunctorch(tensor) ||
         tensor.key_set().has_any(c10::DispatchKeySet({c10::DispatchKey::Functionalize, c10::DispatchKey::Batched}));
}

bool Level::isFromOutside(const at::Tensor& tensor) const {
  if (!tensor.defined() || isOfTransform(tensor)) return false;
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) return false;
  if (const Wrapper* wrapper = wrapperOf(tensor)) return wrapper->memory().level != state_;
  return isPlain(tensor) && tensor.unsafeGetTensorImpl()->has_storage();
}

at::Tensor Level::lift(const at::Tensor& given) {
  const at::Tensor tensor = standingFor(given);
  return isFromOutside(tensor) ? enter(tensor).wrapper : tensor;
}

bool Level::isOfNested(const Wrapper* wrapper) const {
  return wrapper && wrapper->memory().level != state_ && !wrapper->memory().level->open;
}

/// Of a wrapper of a nested level that is closed: the tensor of this level's program, or a view of one, for which it
/// stands. Others know of its memory, and may have written it.
at::Tensor Level::standingFor(const at::Tensor& tensor) {
  const Wrapper* wrapper = wrapperOf(tensor);
  if (!isOfNested(wrapper) || tensor.requires_grad()) return tensor;
  if (const auto known = standing_.find(tensor.unsafeGetTensorImpl());
      known != standing_.end() && known->second.second.defined())
    return known->second.second;
  at::Tensor standing;
  {
    // The views that lead to it are this program's.
    const c10::impl::ExcludeDispatchKeyGuard plain(kTransforms | c10::autocast_dispatch_keyset);
    const at::AutoDispatchBelowADInplaceOrView below;
    standing = current(wrapper->part());
  }
  standing = standingFor(standing);
  standing_[tensor.unsafeGetTensorImpl()] = {tensor, standing};
  return standing;
}

namespace {

c10::StorageImpl* storageOf(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
}

/// Whether its storage has elements after those of the tensor.
bool hasMoreThan(const at::Tensor& tensor) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  if (impl.has_symbolic_sizes_strides()) return true;
  const auto end = static_cast<size_t>(impl.storage_offset() + impl.numel()) * impl.itemsize();
  return storageBytes(tensor) > c10::SymInt(static_cast<int64_t>(end));
}

}  // namespace

/// What the level around has for the tensor, which enters that level if it comes from outside of it, too. The tensor
/// itself if there is no level around.
at::Tensor Level::enterAround(const at::Tensor& tensor) const {
  const detail::ClientFrame* frame = frameAround();
  Level* around = levelOf(frame);
  if (!around) return tensor;
  const detail::ActiveClients active(frame);
  const at::AutoGradMode off(false);  // nothing is recorded there by this: autograd need not know the tensor's place
  return around->lift(tensor);
}

/// Where the level around has the tensor's memory: others that share it may be wrappers of that level. Null if it has
/// none of it.
const c10::StorageImpl* Level::storageAround(const at::Tensor& tensor) const {
  const detail::ClientFrame* frame = frameAround();
  Level* around = levelOf(frame);
  if (!around) return storageOf(tensor);
  const detail::ActiveClients active(frame);
  const at::AutoGradMode off(false);
  if (!around->isFromOutside(tensor)) return storageOf(around->lift(tensor));
  const auto known = around->by_storage_.find(around->storageAround(tensor));
  return known == around->by_storage_.end() ? nullptr : storageOf(known->second.front()->wrapper);
}

namespace {

/// The part of a storage, with the conj and neg bits of the tensor, which is there.
PartPtr withBitsOf(const at::Tensor& tensor, PartPtr part) {
  const at::Tensor& whole = part->memory->value;
  const auto flip = [&](const char* view) {
    auto flipped = std::make_shared<Part>(part->memory);
    flipped->op = c10::Dispatcher::singleton().findSchemaOrThrow(view, "");
    flipped->arguments.resize(1);
    flipped->parent = std::move(part);
    part = std::move(flipped);
  };
  if (tensor.is_conj() != whole.is_conj()) flip(at::_ops::_conj::name);
  if (tensor.is_neg() != whole.is_neg()) flip(at::_ops::_neg_view::name);
  return part;
}

bool hasBits(const at::Tensor& tensor) {
  return tensor.is_conj() || tensor.is_neg();
}

}  // namespace

/// A wrapper of a tensor from outside that shares memory with another one, which has entered first.
at::Tensor Level::wrapShared(const at::Tensor& tensor, const at::Tensor& around, const Entry& first) {
  PartPtr whole = wrapperOf(first.wrapper)->part();
  Memory& memory = *whole->memory;
  if (first.wrapper.grad_fn() && !isEntered(first.wrapper)) {
    throw UserError(
        "Within cresset.functionalize, a tensor from outside shares memory with another one that was written where "
        "gradients are recorded: pass one of them, and view it within");
  }
  const bool has_whole_around = levelOf(frameAround()) && wrapperOf(around);
  if (memory.around.defined()) {
    // Tensors from outside of the level around may have become parts of more since then.
    while (whole->parent) whole = whole->parent;
    if (const PartPtr known = wrapperOf(memory.around)->part(); known->parent) shareAround(whole, known);
  } else if (has_whole_around && !memory.shared && !(whole->repeats && memory.written)) {
    shareAround(whole, wrapperOf(enterAround(first.tensor))->part());
  } else {
    if (first.tensor.scalar_type() != tensor.scalar_type()) {
      throw UserError(
          "Within cresset.functionalize, two tensors from outside that share memory have different dtypes: pass one of "
          "them, and view it within");
    }
    if (first.tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides() ||
        tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) {
      throw UserError(
          "Within cresset.functionalize, two tensors from outside that share memory have symbolic sizes: pass one of "
          "them, and view it within");
    }
    if (state_->copies_views && (hasBits(first.tensor) || hasBits(tensor))) {
      throw UserError(
          "Within cresset.functionalize, a conjugate or negative view from outside shares memory with another tensor "
          "from outside, which can't be where views are removed: pass x.resolve_conj() or x.resolve_neg()");
    }
    if (!memory.shared) flatten(whole, wholeOf(first));
  }
  while (whole->parent) whole = whole->parent;
  if (memory.around.defined())
    return wrapperFor(partLike(wrapperOf(around)->part(), whole), tensor, tensor.is_inference());
  auto part = std::make_shared<Part>(whole->memory);
  part->parent = whole;
  part->sizes = tensor.sizes().vec();
  part->strides = tensor.strides().vec();
  part->offset = tensor.storage_offset();
  return wrapperFor(withBitsOf(tensor, std::move(part)), tensor, tensor.is_inference());
}

/// The clients that see what the program does that has the tensor.
const detail::ClientFrame* Level::clientsOf(const at::Tensor& tensor) {
  const Wrapper* wrapper = wrapperOf(tensor);
  const detail::ClientFrame* frame = wrapper ? detail::activeClients() : nullptr;
  while (frame && !(levelOf(frame) && levelOf(frame)->state_ == wrapper->memory().level)) frame = frame->outer;
  return frame;
}

/// Autograd makes the place of a view again by the view's operator, after a write to its base: as the program does that
/// has the tensor. Raises where autograd can't.
void Level::makePlaceAgain(const at::Tensor& tensor) {
  if (!tensor.is_view()) return;
  const detail::ActiveClients active(clientsOf(tensor));
  static_cast<void>(tensor.grad_fn());
}

Level::Entry& Level::enter(const at::Tensor& tensor) {
  if (const auto found = entries_.find(tensor.unsafeGetTensorImpl()); found != entries_.end()) {
    checkMemory(*found->second);
    followTape(*found->second);
    return *found->second;
  }
  if (isRecording()) makePlaceAgain(tensor);  // may raise: see hasKnownPlace
  auto entry = std::make_unique<Entry>();
  entry->tensor = tensor;
  entry->storage = storageOf(tensor);
  const at::Tensor around = enterAround(tensor);
  const auto sharing = by_storage_.find(storageOf(around));
  if (sharing == by_storage_.end()) {
    entry->wrapper = wrapFresh(tensor, state_, tensor.is_inference());
    Memory& memory = wrapperOf(entry->wrapper)->memory();
    memory.foreign = true;
    memory.has_more = hasMoreThan(tensor);
    // Memory that is not PyTorch's: an array's, say, which the program may look at without an operator.
    if (!tensor.storage().resizable() && !isSeenBeyondLevels()) memory.exposed = detachedHidden(tensor, *state_);
    if (given_away_.contains(entry->storage)) {
      memory.exposed = memory.value = detachedHidden(tensor, *state_);
      tellClientsOfWrites(memory.exposed, false);
    }
  } else {
    entry->wrapper = wrapShared(tensor, around, *sharing->second.front());
  }
  if (!tensor.is_inference() && !entry->wrapper.is_inference())
    entry->wrapper.unsafeGetTensorImpl()->set_version_counter(tensor.unsafeGetTensorImpl()->version_counter());
  link(*entry);
  Entry& result = *entry;
  by_storage_[storageOf(around)].push_back(&result);
  by_wrapper_[result.wrapper.unsafeGetTensorImpl()] = &result;
  in_order_.push_back(&result);
  entries_[tensor.unsafeGetTensorImpl()] = std::move(entry);
  return result;
}

void Level::link(Entry& entry) {
  if (!isRecording() && !hasKnownPlace(entry.tensor)) return;  // a call that is recorded will raise
  makePlaceAgain(entry.tensor);
  entry.requires_grad = entry.tensor.requires_grad();
  entry.node = entry.tensor.grad_fn().get();
  if (entry.requires_grad) enterTape(entry.tensor, entry.wrapper, &leaveGradient);
  const at::Tensor tangent = tangentOf(entry.tensor);
  if (tangent.defined()) refuseFakeTangents();
  if (tangent.defined() && !tangentOf(entry.wrapper).defined())
    setTangent(entry.wrapper, lift(tangent), /*replaces=*/false);
}

bool Level::takeStorageOf(const Memory& memory) {
  const Entry* owner = ownerOf(memory);
  const bool is_plain = owner && !owner->tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides() &&
                        !owner->whole.defined() && !owner->tensor.requires_grad() && !owner->wrapper.requires_grad();
  const PartPtr root = is_plain ? wrapperOf(owner->wrapper)->part() : nullptr;
  if (!root || root->parent) return false;
  flatten(root, owner->tensor);
  root->memory->reaches_beyond = true;
  return true;
}

/// What became of a tensor's place on the tape without an operator: requires_grad_(), an autograd.Function that wrote
/// it.
void Level::followTape(Entry& entry) {
  const bool requires_grad = entry.tensor.requires_grad();
  if (!requires_grad && !entry.requires_grad) return;
  if (!isRecording() && !hasKnownPlace(entry.tensor)) return;
  makePlaceAgain(entry.tensor);
  const void* node = entry.tensor.grad_fn().get();
  if (requires_grad == entry.requires_grad && node == entry.node) return;
  const bool own_tape = entry.wrapper.grad_fn() && !isEntered(entry.wrapper);
  if (own_tape || !requires_grad) {
    throw UserError(
        "Within cresset.functionalize, a tensor from outside was given another place in autograd (`requires_grad_`, "
        "`detach_`, an autograd.Function that writes to it) after it was used: do that before, or outside");
  }
  link(entry);
}

bool Level::isSeen() const {
  return outer() || isSeenBeyondLevels();
}

bool Level::isSeenBeyondLevels() const {
  const detail::ClientFrame* frame = frameAround();
  while (levelOf(frame)) frame = frame->outer;
  return frame || c10::impl::TorchDispatchModeTLS::any_modes_set() || depthOfFunctorch() != 0;
}

/// Whether an operator may give the tensor other sizes and strides at once: nothing else sees it than this program.
bool Level::mayFollow(const Entry& entry) const {
  const at::Tensor& tensor = entry.tensor;
  const Memory& memory = wrapperOf(entry.wrapper)->memory();
  const bool is_plain = !wrapperOf(tensor) && !isOfFunctorch(tensor) && !tensor.key_set().has_any(kPython) &&
                        !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
  const bool is_shared = memory.exposed.defined() && tensor.storage().resizable();
  return is_plain && !isSeen() && !memory.shared && !is_shared && !tensor.requires_grad() &&
         !entry.wrapper.requires_grad();
}

/// Gives the tensor the sizes and strides that an operator has given its wrapper: they are read of it past the
/// operators. Its elements come when the level is closed.
void Level::followPlace(Entry& entry) {
  const Wrapper& wrapper = *wrapperOf(entry.wrapper);
  c10::TensorImpl& impl = *entry.tensor.unsafeGetTensorImpl();
  Memory& memory = wrapper.memory();
  if (!std::exchange(memory.follows, false)) return;
  if (wrapper.sizes() == impl.sizes() && wrapper.strides() == impl.strides() &&
      wrapper.storage_offset() == impl.storage_offset())
    return;
  if (wrapper.part()->parent) {
    if (!entry.whole.defined()) entry.whole = detachedHidden(entry.tensor, *state_);
    if (memory.value.is_same(entry.tensor)) memory.value = entry.whole;
  } else {
    const ClientPause pause;
    const at::AutoDispatchBelowADInplaceOrView below;
    at::_ops::resize_::call(entry.tensor, wrapper.sym_sizes(), std::nullopt);
    entry.whole = at::Tensor();
    if (memory.exposed.defined()) memory.exposed = memory.value = detachedHidden(entry.tensor, *state_);
  }
  impl.set_sizes_and_strides(wrapper.sizes(), wrapper.strides(), wrapper.storage_offset());
}

/// The tensor as the memory's value stands for it.
at::Tensor Level::wholeOf(const Entry& entry) const {
  return entry.whole.defined() ? entry.whole : entry.tensor;
}

void Level::checkMemory(const Entry& entry) const {
  if (storageOf(entry.tensor) == entry.storage) return;
  throw UserError(
      "Within cresset.functionalize, a tensor from outside was given other memory (`x.data = y`) after it was used: "
      "assign the elements with `x.copy_(y)`, or use y itself");
}

/// Raises what autograd does where the tensor of the program for which the wrapper stands is written, or a view of it.
void Level::checkWritten(const at::Tensor& wrapper, bool through_view) const {
  auto entry = by_wrapper_.find(wrapper.unsafeGetTensorImpl());
  if (entry == by_wrapper_.end()) {
    if (!wrapper.requires_grad() || !wrapper.is_view()) return;
    entry = by_wrapper_.find(wrapper._base().unsafeGetTensorImpl());
    if (entry == by_wrapper_.end() || !isEntered(entry->second->wrapper)) return;
    through_view = true;
  }
  const at::Tensor& tensor = entry->second->tensor;
  TORCH_CHECK(
      !(through_view && tensor.requires_grad() && tensor.is_leaf()),
      "a view of a leaf Variable that requires grad is being used in an in-place operation.");
  checkInPlace(tensor);
  const Wrapper* known = wrapperOf(tensor);  // of a level around
  const auto* level = known ? dynamic_cast<const Level*>(known->memory().level->client) : nullptr;
  if (level) level->checkWritten(tensor, through_view);
}

/// Writes that are recorded are those of one tensor from outside: in this level, and in those around.
void Level::checkShared(const Memory& memory) const {
  if (memory.shared) {
    throw UserError(
        "Within cresset.functionalize, a tensor from outside shares memory with another one that is used too, and is "
        "written where gradients are recorded: pass one of them, and view it within");
  }
  const Level* around = levelOf(frameAround());
  const Entry* owner = around ? ownerOf(memory) : nullptr;
  if (!owner) return;
  const auto entry = around->entries_.find(owner->tensor.unsafeGetTensorImpl());
  const Wrapper* known = wrapperOf(entry == around->entries_.end() ? owner->tensor : entry->second->wrapper);
  if (known && known->memory().level == around->state_) around->checkShared(known->memory());
}

void Level::checkWrites(const c10::OperatorHandle& op, std::span<const IValue> given, std::span<const IValue> wrapped) {
  const auto& arguments = op.schema().arguments();
  bool records = false;
  if (isRecording()) {
    for (const IValue& argument : wrapped) {
      for (const at::Tensor& tensor : tensorsIn(argument)) records |= tensor.requires_grad();
    }
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!isWritten(arguments[i])) continue;
    const std::vector<at::Tensor> before = tensorsIn(given[i]), after = tensorsIn(wrapped[i]);
    for (size_t k = 0; k < after.size(); ++k) {
      const Wrapper* wrapper = wrapperOf(after[k]);
      if (!wrapper) {
        if (isOfTransform(after[k])) continue;
        throw UserError(
            "Within cresset.functionalize, '" + op.schema().name() +
            "' can't write to a tensor that is sparse, quantized or nested: make a new tensor");
      }
      // A wrapper that the operators have which a composite one calls, was checked with that one.
      const bool is_checked = before[k].is_same(after[k]) && by_wrapper_.contains(after[k].unsafeGetTensorImpl());
      if (records && !is_checked) checkWritten(after[k], /*through_view=*/false);
      const bool changes_sizes = op.hasTag(at::Tag::inplace_view);
      if (changes_sizes && by_wrapper_.contains(after[k].unsafeGetTensorImpl()) && !wrapper->memory().follows) {
        throw UserError(
            "Within cresset.functionalize, '" + op.schema().name() +
            "' can't change the sizes, strides or gradient of a tensor from outside where gradients or graphs are "
            "recorded, or "
            "its memory is known elsewhere: call the operator without the underscore");
      }
      if (records && wrapper->memory().foreign && wrapper->part()->repeats) {
        throw UserError(
            "Within cresset.functionalize, a tensor from outside can't be written where gradients are recorded if "
            "several "
            "of its elements are one in memory: write to a clone of it");
      }
      if (records) checkShared(wrapper->memory());
    }
  }
}

/// What torch.tensor makes of its literal before the program gets it: of another dtype, on another device.
bool Level::convertLiteral(const c10::OperatorHandle& op, c10::DispatchKeySet keys, std::vector<IValue>& stack) {
  const auto isLiteral = [&](const IValue& argument) {
    return argument.isTensor() && literals_.contains(argument.toTensor().unsafeGetTensorImpl());
  };
  const size_t count = op.schema().arguments().size();
  if (count == 0 || !isLiteral(stack[stack.size() - count])) return false;
  handOn(op, keys, stack);
  if (stack.back().isTensor())
    literals_.try_emplace(stack.back().toTensor().unsafeGetTensorImpl(), stack.back().toTensor());
  return true;
}

bool Level::takeLiteral(const c10::OperatorHandle& op, c10::DispatchKeySet keys, std::vector<IValue>& stack) {
  if (literals_.empty()) return false;
  if (isMadeForLiteral()) return convertLiteral(op, keys, stack);
  if (op.schema().name() != at::_ops::lift_fresh::name) return false;
  const auto literal = literals_.find(stack.back().toTensor().unsafeGetTensorImpl());
  if (literal == literals_.end()) return false;
  const at::Tensor filled = std::move(literal->second);  // lives until the copy has been made
  literals_.erase(literal);
  at::Tensor wrapper;
  if (state_->copies_views) {
    const Emission emission(*state_);
    callView(op, stack, /*copies=*/true);
    wrapper = wrapFresh(stack.back().toTensor(), state_, makesInferenceTensors());
  } else {
    handOn(op, keys - kTransforms, stack);
    const Emission emission(*state_);
    // Clients below take what they see here for a constant, which nothing may write to.
    wrapper = wrapFresh(at::_ops::clone::call(stack.back().toTensor(), std::nullopt), state_, makesInferenceTensors());
  }
  stack.back() = wrapper;
  // A transform takes it for one of its own tensors, to which its function may write.
  if (keys.has_any(kTransforms)) letPass(op, keysWith(op, keys, wrapper.key_set()), stack);
  return true;
}

bool Level::takeStorage(const c10::OperatorHandle& op, std::vector<IValue>& stack) {
  static const auto* set =
      new c10::OperatorName(at::_ops::set__source_Storage_storage_offset::name, "source_Storage_storage_offset");
  if (op.operator_name() != *set) return false;
  const auto arguments = std::span<IValue>(stack).last(op.schema().arguments().size());
  const at::Tensor target = arguments[0].toTensor();
  Wrapper* wrapper = wrapperOf(target);
  if (!wrapper || wrapper->memory().level != state_ || wrapper->part()->parent || wrapper->memory().foreign ||
      wrapper->memory().written || target.requires_grad() || target.numel() != 0)
    return false;
  at::Tensor tensor;
  {
    const ClientPause pause;
    const at::AutoDispatchBelowADInplaceOrView below;
    tensor = at::empty({0}, target.options());
    at::_ops::set__source_Storage_storage_offset::call(
        tensor, arguments[1].toStorage(), arguments[2].toSymInt(), arguments[3].toSymIntVector(),
        arguments[4].toSymIntVector());
  }
  wrapper->setPart(wrapperOf(enter(tensor).wrapper)->part(), tensor);
  if (!target.is_inference()) target.unsafeGetTensorImpl()->bump_version();
  stack.resize(stack.size() - arguments.size());
  stack.emplace_back(target);
  return true;
}

/// Of a view: the tensor from outside that it is a view of for autograd; null if it is none's.
Level::Entry* Level::ownerInAutograd(const at::Tensor& wrapper) const {
  if (!wrapper.is_view()) return nullptr;
  const auto owner = by_wrapper_.find(wrapper._base().unsafeGetTensorImpl());
  return owner == by_wrapper_.end() ? nullptr : owner->second;
}

c10::SymInt Level::sizeOf(const at::Tensor& tensor, int64_t dim) {
  const Wrapper* wrapper = wrapperOf(tensor);
  if (!wrapper || wrapper->memory().level != state_) return tensor.sym_size(dim);
  const Emission emission(*state_);
  return sizeForClients(current(wrapper->part()), dim);
}

c10::SymInt Level::argumentOf(const at::Tensor& tensor, const std::string& name, int64_t number) {
  const Wrapper* wrapper = wrapperOf(tensor);
  if (!wrapper || wrapper->memory().level != state_ || !wrapper->part()->op) return number;
  const auto index = wrapper->part()->op->schema().argumentIndexWithName(name);
  if (!index) return number;
  const IValue& argument = wrapper->part()->arguments.at(static_cast<size_t>(*index));
  return argument.isSymInt() ? argument.toSymInt() : c10::SymInt(number);
}

at::Tensor Level::knownOutside(const at::Tensor& tensor) {
  const Wrapper* wrapper = wrapperOf(tensor);
  if (!wrapper || wrapper->memory().level != state_) return tensor;
  // What was computed of a part before a write has its sizes, too.
  if (wrapper->part()->parent && wrapper->part()->value.defined()) return wrapper->part()->value;
  const Emission emission(*state_);
  return current(wrapper->part());
}

at::Tensor Level::elementsOf(const at::Tensor& tensor) {
  const Wrapper* wrapper = wrapperOf(tensor);
  const bool is_own = wrapper && wrapper->memory().level == state_;
  if (is_own || entries_.contains(tensor.unsafeGetTensorImpl())) return sync(tensor, /*shares=*/false);
  return tensor;
}

void Level::call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, std::vector<IValue>& stack) {
  try {
    static const auto* replaces =
        new c10::OperatorName(at::_ops::_has_compatible_shallow_copy_type::name, std::string());
    if (op.operator_name() == *replaces) checkReplaced(stack[stack.size() - 2].toTensor());
    run(op, keys, stack);
  } catch (const UserError& error) {
    refusal_ = error.what();  // PyTorch's bindings make a RuntimeError of it
    throw;
  }
}

/// While it lives, what is computed of these tensors alone stays as it is, in the level and in those around, for a
/// composite kernel that reads their elements.
class Level::ReadScope {
 public:
  ReadScope(Level& level, const std::vector<at::Tensor>& tensors) {
    take(level, tensors);
    for (const detail::ClientFrame* frame = level.frameAround(); frame; frame = frame->outer)
      if (Level* around = levelOf(frame)) take(*around, tensors);
  }
  ~ReadScope() {
    while (!before_.empty()) {
      before_.back().first->read_ = std::move(before_.back().second);
      before_.pop_back();
    }
  }
  ReadScope(const ReadScope&) = delete;
  ReadScope& operator=(const ReadScope&) = delete;

 private:
  void take(Level& level, const std::vector<at::Tensor>& tensors) {
    before_.emplace_back(&level, std::exchange(level.read_, tensors));
  }

  std::vector<std::pair<Level*, std::vector<at::Tensor>>> before_;
};

/// Whether the call was one of what a composite kernel reads, which goes past the level.
bool Level::passRead(const c10::OperatorHandle& op, c10::DispatchKeySet keys, std::vector<IValue>& stack) {
  if (read_.empty()) return false;
  const size_t count = op.schema().arguments().size();
  bool any = false;
  for (auto at = stack.end() - static_cast<ptrdiff_t>(count); at != stack.end(); ++at) {
    for (const at::Tensor& tensor : tensorsIn(*at)) {
      const auto isSame = [&](const at::Tensor& other) { return other.is_same(tensor); };
      if (std::none_of(read_.begin(), read_.end(), isSame)) return false;
      any = true;
    }
  }
  if (!any) return false;
  handOn(op, keys, stack);
  for (size_t i = stack.size() - op.schema().returns().size(); i < stack.size(); ++i)
    readTensors(stack[i], [&](const at::Tensor& tensor) { read_.push_back(tensor); });
  return true;
}

/// Whether the call is of a composite kernel that reads elements past the operators, and will write to the result so.
bool Level::isMadeForReading(const c10::OperatorHandle& op) const {
  if (read_.empty()) return false;
  const Operator* known = OperatorTable::get().find(toString(op.operator_name()));
  return known && known->leavesUninitialized();
}

/// Whether neither autograd nor functorch has to see what a composite operator is composed of.
bool Level::canBeCalledWhole(c10::DispatchKeySet keys, std::span<const IValue> arguments) const {
  if (keys.has_any(kTransforms)) return false;
  for (const IValue& argument : arguments) {
    for (const at::Tensor& tensor : tensorsIn(argument)) {
      if (isOfTransform(tensor) || (isRecording() && tensor.requires_grad())) return false;
    }
  }
  return true;
}

/// A composite operator whose kernel reads elements past the operators. Where nothing needs to see what it is composed
/// of, it is called whole, below autograd; else the kernel gets tensors with memory.
void Level::runReading(
    const c10::OperatorHandle& op, c10::DispatchKeySet keys, std::vector<IValue>& stack,
    const std::vector<size_t>& reads) {
  const std::span<IValue> arguments = std::span<IValue>(stack).last(op.schema().arguments().size());
  bool whole = canBeCalledWhole(keys, arguments);
  for (const c10::Argument& result : op.schema().returns()) whole &= result.alias_info() == nullptr;
  if (whole) return letPass(op, keys - c10::autograd_dispatch_keyset_with_ADInplaceOrView, stack);
  std::vector<at::Tensor> read;
  for (const size_t i : reads) {
    eachTensor(arguments[i], [&](at::Tensor& tensor) {
      if (isOfTransform(tensor) || tensor.requires_grad()) return false;
      tensor = elementsForReading(tensor);
      read.push_back(tensor);
      return true;
    });
  }
  const ReadScope scope(*this, read);
  letPass(op, keys, stack);
}

/// Lets a composite operator pass, and clients outside of the level know of what is emitted meanwhile. One with `out=`
/// is called whole if it can be: its kernel may resize what it writes, or write to a view that its schema denies.
void Level::letDecompose(const c10::OperatorHandle& op, c10::DispatchKeySet keys, std::vector<IValue>& stack) {
  const std::span<const IValue> given = std::span<const IValue>(stack).last(op.schema().arguments().size());
  const FunctionalForm* writes = op.schema().is_mutable() ? writesOfCall(op, given) : nullptr;
  const bool casts = !c10::impl::tls_local_dispatch_key_set().excluded_.has_all(
      c10::DispatchKeySet({c10::DispatchKey::AutocastCPU, c10::DispatchKey::AutocastCUDA}));
  if (writes && writes->is_out && writes->op && !refusalOfOutOverload(*writes->op) && !casts &&
      canBeCalledWhole(keys, given))
    return letPass(op, keys - c10::autograd_dispatch_keyset_with_ADInplaceOrView, stack);
  const auto decompose = [&] {
    if (reachesBackend(op, keys)) {
      op.callBoxedForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd, stack);
    } else {
      letPass(op, keys, stack);
    }
  };
  const detail::ClientFrame* own = detail::activeClients();
  if (!own || own->client != this || !own->outer) return decompose();
  const size_t count = op.schema().arguments().size();
  const std::vector<IValue> arguments(stack.end() - static_cast<ptrdiff_t>(count), stack.end());
  runDecomposed(op, arguments, decompose);
}

/// The client that sees the calls that this one makes, or would see them once its scope is closed; null if there is
/// none.
const detail::ClientFrame* Level::frameAround() const {
  const detail::ClientFrame* own = detail::activeClients();
  while (own && own->client != this) own = own->outer;
  return own ? own->outer : detail::activeClients();
}

OperatorClient* Level::outer() const {
  const detail::ClientFrame* frame = frameAround();
  return frame ? frame->client : nullptr;
}

void Level::runWithSizesOf(const at::Tensor& tensor, const std::function<void()>& run) {
  if (OperatorClient* client = outer()) return client->runWithSizesOf(knownOutside(tensor), run);
  run();
}

void Level::runDecomposed(
    const c10::OperatorHandle& op, const std::vector<IValue>& arguments, const std::function<void()>& run) {
  // What an inner level knows are wrappers of this one, as what this one's program knows.
  OperatorClient* client = outer();
  if (!client) return run();
  std::vector<IValue> values = arguments;
  for (IValue& value : values) {
    eachTensor(value, [&](at::Tensor& tensor) {
      const Wrapper* wrapper = wrapperOf(tensor);
      if (!wrapper || wrapper->memory().level != state_) return false;
      tensor = current(wrapper->part());
      return true;
    });
  }
  client->runDecomposed(op, values, run);
}

void setWriteObserver(std::function<void(const at::Tensor&)> observer) {
  writeObserver() = std::move(observer);
}

/// `tensor.data = …` asks first whether it can, and then makes the tensor what it is given: a wrapper.
void Level::checkReplaced(const at::Tensor& tensor) const {
  if (!isFromOutside(tensor)) return;
  throw UserError(
      "Within cresset.functionalize, a tensor from outside can't be given other memory (`x.data = y`, `module.half()`, "
      "…): assign "
      "the elements with `x.copy_(y)`, use y itself, or convert the module before the call");
}

/// make_fx knows the tensors that its function is given. What is called are wrappers' values, which would be constants
/// of its graph.
void Level::refuseInnerTrace() const {
  const void* mode = recordingMode();
  if (!mode || mode == recording_mode_) return;
  throw UserError(
      "Within cresset.functionalize, make_fx can't record (nor torch.func.linearize, which uses it): call "
      "cresset.functionalize within the function that is recorded");
}

/// PyTorch's kernels of tangents compute with tensors without elements, which modes of fake tensors don't take.
void Level::refuseFakeTangents() {
  if (!takesFakeTensorsOnly()) return;
  throw UserError(
      "Within cresset.functionalize, forward mode (torch.func.jvp, jacfwd, hessian, …) can't run with fake tensors: "
      "record with tracing_mode=\"real\"");
}

void Level::announceWrites(const c10::OperatorHandle& op, std::span<const IValue> given) const {
  const auto& arguments = op.schema().arguments();
  for (size_t i = 0; i < arguments.size() && writeObserver(); ++i) {
    if (!isWritten(arguments[i])) continue;
    for (const at::Tensor& tensor : tensorsIn(given[i]))
      if (!isOfTransform(tensor)) writeObserver()(tensor);
  }
}

void Level::run(const c10::OperatorHandle& op, c10::DispatchKeySet keys, std::vector<IValue>& stack) {
  if (takeLiteral(op, keys, stack) || takeStorage(op, stack) || passRead(op, keys, stack)) return;
  const size_t count = op.schema().arguments().size();
  const auto first = stack.end() - static_cast<ptrdiff_t>(count);
  const bool mutates = op.schema().is_mutable();
  bool wrapped = false, tensors = false;
  std::vector<IValue> given;  // if it writes
  c10::SmallVector<const c10::TensorImpl*, 4>
      passed;  // wrappers that a caller below the program has, which gets them again
  c10::SmallVector<const c10::TensorImpl*, 4> lifted_to;  // of an operator that writes
  c10::SmallVector<at::Tensor, 4> views;                  // among them, of tensors from outside
  std::vector<at::Tensor> others;                         // sparse tensors and their like
  c10::DispatchKeySet added;
  // It is recorded nowhere: it takes views, too, that autograd can't make again.
  std::optional<at::AutoGradMode> unrecorded;
  if (op.schema().name() == at::_ops::detach::name) unrecorded.emplace(false);
  const bool has_modes = c10::impl::TorchDispatchModeTLS::any_modes_set();
  for (auto at = first; at != stack.end(); ++at) {
    if (!at->isTensor() && !at->isList()) continue;
    if (mutates && given.empty()) given.assign(first, stack.end());
    eachTensor(*at, [&](at::Tensor& tensor) {
      tensors = true;
      if (has_modes && tangentOf(tensor).defined()) refuseFakeTangents();
      // Autograd raises where an operator that it records takes the tensor: what this one is composed of.
      if (!hasKnownPlace(tensor) && isRecording() && isComposite(op)) return false;
      at::Tensor lifted = lift(tensor);
      if (wrapperOf(lifted)) {
        wrapped = true;
        added = added | lifted.key_set();
        if (mutates) {
          lifted_to.push_back(lifted.unsafeGetTensorImpl());
          if (ownerInAutograd(lifted)) views.push_back(lifted);
        }
      }
      if (!isPlain(tensor) && !isOfTransform(tensor) && !tensor.key_set().has_any(kPython)) others.push_back(tensor);
      const bool is_other = !lifted.is_same(tensor);
      if (!is_other) passed.push_back(lifted.unsafeGetTensorImpl());
      tensor = std::move(lifted);
      return is_other;
    });
  }
  unrecorded.reset();
  const bool literal = !tensors && (isMadeForLiteral() || isMadeForReading(op));
  c10::SmallVector<Entry*, 4> followed;
  if (mutates) {
    for (const c10::TensorImpl* tensor : lifted_to) {
      const auto entry = by_wrapper_.find(tensor);
      if (entry == by_wrapper_.end()) continue;
      followed.push_back(entry->second);
      wrapperOf(entry->second->wrapper)->memory().follows = mayFollow(*entry->second);
    }
  }
  if (has_modes) {
    refuseInnerTrace();
    if (op.schema().name() == at::_ops::_make_dual::name) refuseFakeTangents();
    if (mutates && tensors) announceWrites(op, given);
  }
  if (mutates && tensors) checkWrites(op, given, std::span<const IValue>(stack).last(count));
  if (wrapped) {
    const HiddenFromModes hidden;
    const c10::DispatchKeySet with = keysWith(op, keys, added);
    if (const std::vector<size_t>* reads = readsMemory(op)) {
      runReading(op, with, stack, *reads);
    } else if (isComposite(op)) {
      letDecompose(op, with, stack);
    } else {
      letPass(op, with, stack);
    }
  } else if (
      !tensors && !literal && HiddenFromModes::active() && takesFakeTensorsOnly() && !keys.has_any(kTransforms)) {
    // What a composite operator makes, from which modes are hidden.
    const Emission emission(*state_);
    op.callBoxed(&stack);
  } else if (
      literal ||
      (!keys.has_any(kTransforms) && (!tensors || keys.has(c10::DispatchKey::ZeroTensor) || !others.empty()))) {
    // Kernels for sparse tensors and their like, and that for tensors that are zero without memory, call operators on
    // the parts.
    handOn(op, keys, stack);
  } else {
    letPass(op, keys, stack);
  }
  for (Entry* entry : followed) {
    followPlace(*entry);
    placeOnTape(*entry);
  }
  for (const at::Tensor& view : views) followWrite(view);
  const size_t results = op.schema().returns().size();
  const bool wraps = !tensors && !literal;
  for (size_t i = stack.size() - results; i < stack.size(); ++i) {
    if (!stack[i].isTensor() && !stack[i].isTensorList()) continue;
    eachTensor(stack[i], [&](at::Tensor& tensor) {
      const auto entry = by_wrapper_.find(tensor.unsafeGetTensorImpl());
      if (entry != by_wrapper_.end()) {
        if (std::ranges::find(passed, tensor.unsafeGetTensorImpl()) != passed.end()) return false;
        tensor = entry->second->tensor;
        return true;
      }
      if (literal) literals_[tensor.unsafeGetTensorImpl()] = tensor;
      if (!wrapped && isFromOutside(tensor)) {
        for (const at::Tensor& other : others)
          if (shareStorage(other, tensor)) noteContainer(wrapperOf(enter(tensor).wrapper)->memory(), other);
      }
      if (!wraps || !isFromOutside(tensor) || entries_.contains(tensor.unsafeGetTensorImpl())) return false;
      tellClientsOfWrites(tensor);
      tensor = wrapFresh(tensor, state_, makesInferenceTensors());
      return true;
    });
  }
}

at::Tensor Level::sync(const at::Tensor& tensor, bool shares) {
  if (shares && isFromOutside(tensor) && !wrapperOf(tensor)) {
    // Unpickling makes a tensor of bytes for its storage, which gets to be memory of others.
    c10::StorageImpl* storage = storageOf(tensor);
    if (!by_storage_.contains(storageAround(tensor))) {
      given_away_.try_emplace(
          storage,
          c10::weak_intrusive_ptr<c10::StorageImpl>(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(storage)));
      return tensor;
    }
  }
  at::Tensor wrapped = lift(tensor);
  const Wrapper* wrapper = wrapperOf(wrapped);
  if (!wrapper || wrapper->memory().level != state_) return tensor;
  Memory& memory = wrapper->memory();
  if (shares && state_->copies_views && wrapper->part()->parent) {
    throw UserError(
        "Within cresset.functionalize, the memory of a view can't be given away where views are removed: pass a clone "
        "of it");
  }
  if (shares && !memory.exposed.defined()) {
    if (Entry* owner = ownerOf(memory); owner && memory.shared) {
      at::Tensor whole = memory.around.defined() ? memory.around : wholeStorage(owner->tensor, *state_);
      if (memory.written) {
        const Emission emission(*state_);
        at::_ops::copy_::call(whole, memory.value, false);
      }
      memory.value = whole;
    } else if (owner) {
      copyBack(*owner);
      memory.value = detachedHidden(wholeOf(*owner), *state_);
    }
    memory.exposed = memory.value;
    tellClientsOfWrites(memory.exposed, false);
    ++memory.generation;
  }
  const Emission emission(*state_);
  return current(wrapper->part());
}

// ---- Backends

at::Tensor Level::wrapperOfProgram(const at::Tensor& tensor, const char* function) {
  const at::Tensor wrapper = lift(tensor);
  if (wrapperOf(wrapper) && wrapperOf(wrapper)->memory().level == state_ && !isOfFunctorch(tensor)) return wrapper;
  throw UserError(
      std::string("cresset.functional.") + function +
      " takes a tensor of the functionalized program that runs: none that is sparse, quantized or nested, or belongs "
      "to a "
      "transform of torch.func within");
}

at::Tensor Level::wrap(const at::Tensor& tensor) {
  if (!isFromOutside(tensor))
    throw UserError(
        "cresset.functional.wrap takes a tensor with memory of its own that is not sparse, quantized or nested: one "
        "from "
        "outside of the program, or made under cresset.functional.redispatch_to_next()");
  return wrapFresh(detachedOrCopied(tensor, *state_), state_, makesInferenceTensors());
}

at::Tensor Level::unwrap(const at::Tensor& tensor) {
  return detachedOrCopied(current(wrapperOf(wrapperOfProgram(tensor, "unwrap"))->part()), *state_);
}

void Level::replace(const at::Tensor& tensor, const at::Tensor& value) {
  const at::Tensor wrapper = wrapperOfProgram(tensor, "replace");
  if (at::GradMode::is_enabled() && wrapper.requires_grad()) {
    throw UserError(
        "cresset.functional.replace would lose a gradient: detach the tensor, or call it under torch.no_grad()");
  }
  if (value.scalar_type() != wrapper.scalar_type() || value.sym_sizes() != wrapper.sym_sizes() ||
      value.device() != wrapper.device() || !isFromOutside(value)) {
    throw UserError(
        "cresset.functional.replace takes a value with the dtype, sizes and device of the tensor, and with memory: "
        "from "
        "cresset.functional.unwrap, or made under cresset.functional.redispatch_to_next()");
  }
  const PartPtr& part = wrapperOf(wrapper)->part();
  const Emission emission(*state_);
  part->pending = copyWithStrides(value, current(part).sym_strides());
}

void Level::commitUpdate(const at::Tensor& tensor) {
  const at::Tensor wrapper = wrapperOfProgram(tensor, "commit_update");
  const PartPtr& part = wrapperOf(wrapper)->part();
  if (!part->pending.defined()) return;
  const at::Tensor value = std::move(part->pending);
  part->pending = at::Tensor();
  assign(part, value);
  if (!wrapper.is_inference()) wrapper.unsafeGetTensorImpl()->bump_version();
}

}  // namespace cresset::live
