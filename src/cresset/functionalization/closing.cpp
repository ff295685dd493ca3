// The end of a level: tensors from outside get what was written to them, and wrappers become tensors.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/as_strided_ops.h>
#include <ATen/ops/clone_ops.h>
#include <ATen/ops/copy_ops.h>
#include <ATen/ops/detach_ops.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "cresset/functionalization/level.h"
#include "cresset/functionalization/tape.h"
#include "cresset/support/error.h"

namespace cresset::live {

namespace {

namespace autograd = torch::autograd;

}  // namespace

/// Whether the program has written to it where gradients are recorded.
bool Level::hasTapeOfItsOwn(const Entry& entry) const {
  return entry.wrapper.requires_grad() && !isEntered(entry.wrapper);
}

void Level::copyBack(Entry& entry) {
  const Wrapper& wrapper = *wrapperOf(entry.wrapper);
  at::Tensor value, target = wholeOf(entry);
  {
    const Emission emission(*state_);
    value = entry.whole.defined() ? wrapper.memory().value : current(wrapper.part());
    if (wrapper.memory().reaches_beyond) {
      value = wrapper.memory().value;
      target = wholeStorage(entry.tensor, *state_);
    }
  }
  if (value.is_same(target)) return;
  std::optional<HandingOn> outward;
  if (detail::activeClients() && detail::activeClients()->client == this) outward.emplace();
  const bool counted = !entry.tensor.is_inference();
  const uint64_t version = counted ? entry.tensor.unsafeGetTensorImpl()->version_counter().current_version() : 0;
  // Tangents are tensors of their own, which are written likewise. What transforms around the call know of the write,
  // they know from the program.
  const c10::AutoFwGradMode no_tangents(false);
  const c10::impl::ExcludeDispatchKeyGuard past_transforms(kTransforms);
  std::optional<c10::InferenceMode> inference;
  if (!counted) inference.emplace(true);
  if (hasTapeOfItsOwn(entry) && entry.tensor.is_view()) {
    // Autograd makes it a write to what the tensor is a view of.
    entry.is_copied_on_tape = true;
    at::Tensor source = detachedOrCopied(value, *state_);
    sharePlace(entry.wrapper, source);
    const at::AutoGradMode on(true);
    at::_ops::copy_::call(entry.tensor, source, false);
  } else {
    const at::AutoGradMode off(false);
    target = withoutRepeats(target);
    // Graphs that are recorded may run where gradients are recorded, of leaves, too.
    if (target.requires_grad() && isWatched()) target = at::_ops::detach::call(target);
    at::_ops::copy_::call(target, withoutRepeats(value), false);
  }
  // The program's own writes have raised it; what was kept after them is not what this copy changes.
  if (counted) {
    c10::VariableVersion counter = entry.tensor.unsafeGetTensorImpl()->version_counter();
    counter.set_version(static_cast<int64_t>(version));
  }
}

/// Gives a tensor that was written where gradients are recorded the place on the tape that this makes. What is computed
/// of a view from now on is computed of the view, so its wrapper begins there. False if a view gets its place with its
/// elements, when the level is closed.
bool Level::placeOnTape(Entry& entry) {
  if (!hasTapeOfItsOwn(entry)) return true;
  if (entry.tensor.is_view()) {
    {
      const detail::ActiveClients active(clientsOf(entry.tensor));
      if (!recordWrite(entry.tensor, entry.wrapper)) return false;
    }
    link(entry);
  } else {
    sharePlace(entry.wrapper, entry.tensor);
    entry.requires_grad = true;
    entry.node = entry.tensor.grad_fn().get();
  }
  tellPlaceAround(entry.tensor);
  return true;
}

/// Levels around compute with the new place of a tensor from outside of this one from now on: of one that is from
/// outside of them, too, or of what their program has.
void Level::tellPlaceAround(const at::Tensor& tensor) {
  const detail::ClientFrame* frame = frameAround();
  Level* around = levelOf(frame);
  if (!around) return;
  const detail::ActiveClients active(frame);
  if (const auto known = around->entries_.find(tensor.unsafeGetTensorImpl()); known != around->entries_.end()) {
    around->link(*known->second);
    around->tellPlaceAround(tensor);
  } else if (const Wrapper* wrapper = wrapperOf(tensor); wrapper && wrapper->memory().level == around->state_) {
    around->followWrite(tensor);
  }
}

/// After a write to the wrapper was recorded that no operator of this level has made.
void Level::followWrite(const at::Tensor& wrapper) {
  Entry* owner = ownerInAutograd(wrapper);
  if (owner && hasTapeOfItsOwn(*owner) && placeOnTape(*owner) && owner->tensor.is_view()) forgetPlace(wrapper);
}

/// After close: what the level around computes with for a tensor from outside of it. A tensor that shares its memory
/// with that one would be another one from outside.
at::Tensor Level::inLevelAround(const at::Tensor& tensor) const {
  const Level* level = around();
  if (!level) return tensor;
  const auto known = level->entries_.find(tensor.unsafeGetTensorImpl());
  return known == level->entries_.end() ? tensor : known->second->wrapper;
}

void Level::close() {
  CRESSET_CHECK(state_->open, "a level is closed once");
  // What torch.tensor has filled, only the level has: its wrappers' memory is like that of any other result.
  std::erase_if(in_order_, [&](const Entry* entry) {
    const bool unseen = literals_.contains(entry->tensor.unsafeGetTensorImpl()) && entry->tensor.use_count() == 2;
    Memory& memory = wrapperOf(entry->wrapper)->memory();
    if (!unseen || !memory.written || memory.shared || memory.exposed.defined()) return false;
    memory.foreign = false;
    by_wrapper_.erase(entry->wrapper.unsafeGetTensorImpl());
    return true;
  });
  std::exception_ptr failure;
  // All values first: a copy changes what another tensor's value may be a view of.
  for (Entry* entry : in_order_) {
    Memory& memory = wrapperOf(entry->wrapper)->memory();
    if (!memory.written || memory.exposed.defined()) continue;
    try {
      checkMemory(*entry);
    } catch (...) {
      state_->open = false;
      throw;
    }
    current(wrapperOf(entry->wrapper)->part());
  }
  for (Entry* entry : in_order_) {
    Memory& memory = wrapperOf(entry->wrapper)->memory();
    if (!memory.written || memory.exposed.defined()) continue;
    if (entry->tensor.is_meta() && !isWatched()) continue;  // has no elements, and nothing records the copy
    try {
      copyBack(*entry);
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  state_->open = false;
  for (Entry* entry : in_order_) {
    Memory& memory = wrapperOf(entry->wrapper)->memory();
    if (memory.shared) continue;
    memory.value = detachedHidden(inLevelAround(wholeOf(*entry)), *state_);
    ++memory.generation;
  }
  for (Entry* entry : in_order_) {
    Memory& memory = wrapperOf(entry->wrapper)->memory();
    if (!memory.shared || !memory.written) continue;
    memory.value = memory.around.defined() ? memory.around : wholeStorage(inLevelAround(entry->tensor), *state_);
    ++memory.generation;
    memory.written = false;
  }
  for (Entry* entry : in_order_) {
    if (!entry->is_copied_on_tape) placeOnTape(*entry);
    const at::Tensor tangent = tangentOf(entry->wrapper);
    if (tangent.defined() && !tangentOf(entry->tensor).defined())
      setTangent(entry->tensor, leave(tangent), /*replaces=*/true);
    if (!entry->tensor.is_leaf() || !entry->tensor.requires_grad()) continue;
    const at::Tensor gradient = entry->tensor.grad();
    if (gradient.defined() && wrapperOf(gradient)) entry->tensor.mutable_grad() = leave(gradient);
  }
  if (failure) std::rethrow_exception(failure);
}

/// The tensor that a wrapper is which is no view in autograd, on the tape where the wrapper is.
at::Tensor Level::leaveBase(const at::Tensor& wrapper) {
  if (const auto entry = by_wrapper_.find(wrapper.unsafeGetTensorImpl()); entry != by_wrapper_.end())
    return entry->second->tensor;
  at::Tensor& left = left_[wrapper.unsafeGetTensorImpl()];
  if (left.defined()) return left;
  // A view may have to be made again after a write to its base: it does not know yet that it is no leaf.
  const bool is_on_tape = wrapper.requires_grad() && (wrapper.is_view() || !wrapper.is_leaf());
  if (wrapper.requires_grad() && !is_on_tape) {
    throw UserError(
        "cresset.functionalize can't return a tensor that was made inside and on which `requires_grad` was set: "
        "gradients would not reach it. Make it outside, or return it detached");
  }
  const PartPtr& part = wrapperOf(wrapper)->part();
  Memory& memory = *part->memory;
  const bool is_copy = state_->copies_views && part->parent;
  if (is_copy) {
    left = copyOf(*part);
  } else if (state_->copies_views) {
    left = detachedOrCopied(memory.value, *state_);
  } else if (part->parent || memory.foreign || memory.left) {
    left = detached(current(part));
  } else {
    memory.left = true;
    left = memory.value;
    memory.value = detached(left);
  }
  if (!is_copy && !left.is_inference() && !wrapper.is_inference())
    left.unsafeGetTensorImpl()->set_version_counter(wrapper.unsafeGetTensorImpl()->version_counter());
  if (is_on_tape) sharePlace(wrapper, left);
  return left;
}

/// The elements of a part in memory of their own, without a view on the way.
at::Tensor Level::copyOf(const Part& whole) const {
  std::vector<const Part*> chain;
  const Part* part = &whole;
  for (; part->parent; part = part->parent.get()) chain.push_back(part);
  at::Tensor value = part->memory->value;
  if (const Entry* owner = part->memory->shared ? nullptr : ownerOf(*part->memory)) value = wholeOf(*owner);
  const Emission emission(*state_);
  for (size_t i = chain.size(); i-- > 0;) value = applyView(*chain[i], value, /*copies=*/true);
  return value;
}

/// The tensor from outside that the memory stands for; null if it is none's.
Level::Entry* Level::ownerOf(const Memory& memory) const {
  if (!memory.foreign) return nullptr;
  const auto found = std::find_if(in_order_.begin(), in_order_.end(), [&](const Entry* entry) {
    return &wrapperOf(entry->wrapper)->memory() == &memory;
  });
  return found == in_order_.end() ? nullptr : *found;
}

namespace {

/// The views that lead from the base to the part, the last first; nothing if it is no part of the base.
std::optional<std::vector<const Part*>> viewsBetween(const Part* base, const PartPtr& part) {
  std::vector<const Part*> chain;
  for (const Part* at = part.get(); base && at; at = at->parent.get()) {
    if (at == base) return chain;
    chain.push_back(at);
  }
  return std::nullopt;
}

std::optional<std::vector<const Part*>> viewsBetween(const at::Tensor& base, const PartPtr& part) {
  const Wrapper* whole = wrapperOf(base);
  return viewsBetween(whole ? whole->part().get() : nullptr, part);
}

/// Whether a view was made where no gradients are recorded. Recorded views of it are views made so, too.
bool isUnrecorded(const at::Tensor& view) {
  return wasMadeWithoutTape(view) && !autograd::impl::get_autograd_meta(view)->grad_fn_;
}

/// The view of `base` that the tensor, which is a view in autograd, is of its own base.
at::Tensor viewAgain(const at::Tensor& tensor, at::Tensor base, const std::vector<const Part*>& chain) {
  const at::AutoGradMode mode(!isUnrecorded(tensor) && (tensor.requires_grad() || !base.requires_grad()));
  for (size_t i = chain.size(); i-- > 0;) base = applyView(*chain[i], base, /*copies=*/false);
  return chain.empty() ? detached(base) : base;
}

/// Whether as_strided of a tensor in the place of `base` makes the view again, which is known to be one of its memory.
bool isStridedPartOf(const at::Tensor& base, const at::Tensor& view) {
  return base.scalar_type() == view.scalar_type() && base.is_conj() == view.is_conj() &&
         base.is_neg() == view.is_neg() && !base.unsafeGetTensorImpl()->has_symbolic_sizes_strides() &&
         !view.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
}

/// The same of a view for which no chain is known, as other tensors from outside share its base's memory.
at::Tensor stridedViewAgain(const at::Tensor& tensor, const at::Tensor& base) {
  const at::AutoGradMode mode(!isUnrecorded(tensor) && (tensor.requires_grad() || !base.requires_grad()));
  return at::_ops::as_strided::call(base, tensor.sym_sizes(), tensor.sym_strides(), tensor.sym_storage_offset());
}

}  // namespace

/// Whether wrappers become tensors when the level is closed: what is around it, if anything, only sees operators.
bool Level::settles() const {
  return !detail::activeClients();
}

/// Whether a mode or a client around the level, which is closed, sees operators.
bool Level::isWatched() const {
  return c10::impl::TorchDispatchModeTLS::any_modes_set() || detail::activeClients();
}

/// Whether views that are kept become copies: what sees operators sees none that returns memory of an argument.
bool Level::settlesByCopies() const {
  return state_->copies_views && isWatched();
}

/// Makes a wrapper a tensor, if it can be one. One that is a view of a tensor from outside becomes a view of it for
/// autograd.
bool Level::settle(const at::Tensor& tensor) {
  Wrapper& wrapper = *wrapperOf(tensor);
  const c10::impl::ExcludeDispatchKeyGuard plain(kTransforms);
  at::Tensor outside;
  const bool copies = settlesByCopies();
  if (tensor.is_view() && !copies) {
    const auto owner = by_wrapper_.find(tensor._base().unsafeGetTensorImpl());
    const auto chain =
        owner == by_wrapper_.end() ? std::nullopt : viewsBetween(at::Tensor(tensor._base()), wrapper.part());
    if (chain) {
      outside = viewAgain(tensor, owner->second->tensor, *chain);
    } else if (
        owner != by_wrapper_.end() && wrapper.memory().shared && isStridedPartOf(owner->second->tensor, tensor)) {
      outside = stridedViewAgain(tensor, owner->second->tensor);
    }
  }
  if (!wrapper.settle(copies)) return false;
  if (outside.defined()) rebaseView(tensor, outside);
  return true;
}

/// The level in whose program this one was opened.
Level* Level::around() const {
  return levelOf(detail::activeClients());
}

/// Makes a wrapper one of the level around, of the memory for which it stands there. It keeps its place on the tape,
/// and becomes a view of what it is a view of there. False, and the wrapper as it was, if that is not known.
bool Level::handOver(const at::Tensor& tensor, Level& around) {
  Wrapper& wrapper = *wrapperOf(tensor);
  if (wrapper.memory().level == around.state_) return true;
  // What the level around has taken for a tensor from outside is the value of a memory there.
  if (wrapper.memory().level != state_ || around.entries_.contains(tensor.unsafeGetTensorImpl())) return false;
  const c10::impl::ExcludeDispatchKeyGuard plain(kTransforms | c10::autocast_dispatch_keyset);
  at::Tensor standing;
  bool is_rebased = false;
  if (const auto entry = by_wrapper_.find(tensor.unsafeGetTensorImpl()); entry != by_wrapper_.end()) {
    standing = inLevelAround(entry->second->tensor);
  } else if (tensor.is_view()) {
    const at::Tensor base(tensor._base());
    const auto owner = by_wrapper_.find(base.unsafeGetTensorImpl());
    is_rebased = owner != by_wrapper_.end();
    if (!is_rebased && !handOver(base, around)) return false;
    const auto before = handed_over_.find(base.unsafeGetTensorImpl());
    const auto chain = viewsBetween(
        before == handed_over_.end() ? wrapperOf(base)->part().get() : before->second.get(), wrapper.part());
    if (!chain) return false;
    standing = viewAgain(tensor, is_rebased ? owner->second->tensor : base, *chain);
  } else {
    const at::AutoDispatchBelowADInplaceOrView below;
    standing = around.lift(current(wrapper.part()));
  }
  const Wrapper* known = wrapperOf(standing);
  if (!known || known->memory().level != around.state_) return false;
  handed_over_[tensor.unsafeGetTensorImpl()] = wrapper.part();
  wrapper.adopt(known->part(), standing);
  if (is_rebased) rebaseView(tensor, standing);
  return true;
}

void Level::handOverAll(Level& around) {
  is_handed_over_ = true;
  for (const at::Tensor& wrapper : livingWrappers(*state_)) {
    if (!by_wrapper_.contains(wrapper.unsafeGetTensorImpl())) handOver(wrapper, around);
  }
  // Those of which others are views.
  for (const at::Tensor& wrapper : livingWrappers(*state_)) handOver(wrapper, around);
}

void Level::visitStanding(const std::function<void(const at::Tensor&, const at::Tensor&)>& visit) const {
  // Those from outside first: others are views of them.
  for (const Entry* entry : in_order_) {
    const Memory& memory = wrapperOf(entry->wrapper)->memory();
    if (!memory.shared) visit(memory.value, entry->tensor);
    visit(entry->wrapper, entry->tensor);
  }
  for (const at::Tensor& wrapper : livingWrappers(*state_))
    if (!by_wrapper_.contains(wrapper.unsafeGetTensorImpl())) visit(wrapper, current(wrapperOf(wrapper)->part()));
}

void Level::settle() {
  if (Level* level = around()) handOverAll(*level);
  if (!settles()) return;
  for (const at::Tensor& wrapper : livingWrappers(*state_)) {
    if (!by_wrapper_.contains(wrapper.unsafeGetTensorImpl())) settle(wrapper);
  }
  // Those of which others are views.
  for (const at::Tensor& wrapper : livingWrappers(*state_)) settle(wrapper);
  for (const auto& [impl, known] : standing_)
    if (Wrapper* nested = wrapperOf(known.first)) nested->settle(settlesByCopies());
}

at::Tensor Level::leaveFunctorch(const at::Tensor& tensor) {
  const at::Tensor inner = withoutTransforms(tensor);
  const Wrapper* wrapper = wrapperOf(inner);
  if (isOfNested(wrapper)) standing_[inner.unsafeGetTensorImpl()].first = inner;  // settled with this level's own
  if (!wrapper || wrapper->memory().level != state_) return tensor;
  const bool is_copy = state_->copies_views && (inner.is_view() || wrapper->part()->parent);
  if (settles() && !is_copy && !by_wrapper_.contains(inner.unsafeGetTensorImpl()) && settle(inner)) return tensor;
  // The level around knows for what the wrapper stands, and for what its tangent does.
  Level* level = around();
  if (level && !is_handed_over_) handOverAll(*level);
  if (level && !is_copy && (!inner.requires_grad() || wrapper->memory().level == level->state_)) return tensor;
  // The wrapper's kernel makes the copy, of what is a tensor by now; modes see that one.
  const HiddenFromModes hidden;
  return at::_ops::clone::call(tensor, std::nullopt);
}

at::Tensor Level::leave(const at::Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  if (isOfFunctorch(tensor)) return leaveFunctorch(tensor);
  if (const at::Tensor standing = standingFor(tensor); !standing.is_same(tensor)) return leave(standing);
  const Wrapper* wrapper = wrapperOf(tensor);
  if (!wrapper || wrapper->memory().level != state_) return tensor;
  if (const auto entry = by_wrapper_.find(tensor.unsafeGetTensorImpl()); entry != by_wrapper_.end())
    return entry->second->tensor;
  if (const auto known = results_.find(tensor.unsafeGetTensorImpl()); known != results_.end()) return known->second;
  const bool is_copy = state_->copies_views && (tensor.is_view() || wrapper->part()->parent);
  // What sees operators knows their results, not the wrapper.
  if (!isWatched() && !is_copy && settle(tensor)) return tensor;
  at::Tensor value;
  if (!tensor.is_view() || state_->copies_views) {
    value = leaveBase(tensor);
  } else if (const auto chain = viewsBetween(at::Tensor(tensor._base()), wrapper->part())) {
    // A view is made again of its base, so that autograd knows it as one.
    value = viewAgain(tensor, leaveBase(at::Tensor(tensor._base())), *chain);
    if (value.requires_grad() && !isUnrecorded(tensor)) sharePlace(tensor, value);
    if (wasMadeWithoutTape(tensor)) markMadeWithoutTape(value);
    if (!hasKnownPlace(tensor)) forgetPlace(value);  // autograd raises where it is used
  } else if (
      wrapper->memory().shared && !tensor.requires_grad() && isStridedPartOf(at::Tensor(tensor._base()), tensor)) {
    value = stridedViewAgain(tensor, leaveBase(at::Tensor(tensor._base())));
  } else if (!tensor.requires_grad()) {
    value = detached(current(wrapper->part()));
  } else {
    throw UserError(
        "cresset.functionalize can't return this view, which requires gradients and whose base has other sizes or "
        "shares memory with a tensor from outside by now: return a clone of it");
  }
  const at::Tensor tangent = tangentOf(tensor);
  if (tangent.defined() && !tangentOf(value).defined()) setTangent(value, leave(tangent), /*replaces=*/false);
  results_[tensor.unsafeGetTensorImpl()] = value;
  return value;
}

}  // namespace cresset::live
