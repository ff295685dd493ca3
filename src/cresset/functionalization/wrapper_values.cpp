// The values of wrappers: reading a part, and what a write to one makes of the whole memory.
#include <ATen/core/jit_type.h>
#include <ATen/ops/_conj_ops.h>
#include <ATen/ops/_neg_view_ops.h>
#include <ATen/ops/as_strided_copy_ops.h>
#include <ATen/ops/as_strided_ops.h>
#include <ATen/ops/as_strided_scatter_ops.h>
#include <ATen/ops/clone_ops.h>
#include <ATen/ops/conj_physical_ops.h>
#include <ATen/ops/copy_ops.h>
#include <ATen/ops/detach_ops.h>
#include <ATen/ops/narrow_ops.h>
#include <ATen/ops/neg_ops.h>
#include <ATen/ops/new_empty_strided_ops.h>
#include <ATen/ops/reshape_ops.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "cresset/functionalization/functionalize.h"
#include "cresset/functionalization/per_operator.h"
#include "cresset/functionalization/sharing.h"
#include "cresset/functionalization/view_rows.h"
#include "cresset/functionalization/wrapper.h"
#include "cresset/interpreter/interpreter.h"
#include "cresset/ops/new_tensor.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_forms.h"
#include "cresset/support/error.h"

namespace cresset::live {

namespace {

/// Of sizes that follow from elements only what is known is asked.
bool isKnown(const c10::SymBool& condition) {
  return condition.guard_or_false(__FILE__, __LINE__);
}

}  // namespace

bool isInjective(const at::Tensor& tensor) {
  if (!tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides() && tensor.is_non_overlapping_and_dense()) return true;
  std::vector<std::pair<c10::SymInt, c10::SymInt>> dims;
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    if (isKnown(tensor.sym_size(d).sym_eq(0))) return true;
    if (!isKnown(tensor.sym_size(d).sym_eq(1))) dims.emplace_back(tensor.sym_stride(d), tensor.sym_size(d));
  }
  std::ranges::sort(dims, [](const auto& a, const auto& b) { return isKnown(a.first.sym_lt(b.first)); });
  c10::SymInt reach = 0;
  for (const auto& [stride, size] : dims) {
    if (isKnown(stride.sym_le(reach))) return false;
    reach = reach + stride * (size - 1);
  }
  return true;
}

namespace {

using CodePtr = std::shared_ptr<const Code>;

/// The inverse of a view; `copies`: of which nothing is a view.
const Code* inverseCode(const c10::OperatorHandle& op, bool copies) {
  static auto* inverses = new PerOperator<CodePtr>([](const Operator& row) -> CodePtr {
    return isReversibleView(row) ? emitCode(inverseOf(row).copy(), row.fullName()) : nullptr;
  });
  static auto* pure = new PerOperator<CodePtr>([](const Operator& row) -> CodePtr {
    if (!isReversibleView(row)) return nullptr;
    const std::shared_ptr<Graph> graph = inverseOf(row).copy();
    const bool whole = removeViews(*graph).empty();
    CRESSET_CHECK(whole, "inverses of views are made of views that can be copies: " + row.fullName());
    return emitCode(graph, row.fullName());
  });
  return (copies ? pure : inverses)->of(op).get();
}

/// What returns the same as a view in new memory: by a rule, or an operator; neither if there is nothing.
struct CopyOfView {
  CodePtr rule;
  const Operator* op = nullptr;
};

const CopyOfView& copyOf(const c10::OperatorHandle& op) {
  static auto* copies = new PerOperator<CopyOfView>([](const Operator& row) -> CopyOfView {
    if (const Graph* rule = copyRuleOf(row)) return {emitCode(rule->copy(), row.fullName())};
    return {nullptr, copyForm(row.schema())};
  });
  return copies->of(op);
}

bool haveSameLayout(const at::Tensor& a, const at::Tensor& b) {
  const auto areEqual = [](c10::SymIntArrayRef one, c10::SymIntArrayRef other) {
    return std::ranges::equal(one, other, [](const auto& x, const auto& y) { return isKnown(x.sym_eq(y)); });
  };
  return areEqual(a.sym_sizes(), b.sym_sizes()) && areEqual(a.sym_strides(), b.sym_strides());
}

/// Whether the strides of tensors of the same sizes differ only where there is nothing to step over.
bool haveSameSteps(const at::Tensor& a, const at::Tensor& b) {
  if (isKnown(a.sym_numel().sym_eq(0))) return true;
  for (int64_t d = 0; d < a.dim(); ++d)
    if (!isKnown(a.sym_size(d).sym_eq(1)) && !isKnown(a.sym_stride(d).sym_eq(b.sym_stride(d)))) return false;
  return true;
}

bool haveSameBits(const at::Tensor& a, const at::Tensor& b) {
  return a.is_conj() == b.is_conj() && a.is_neg() == b.is_neg();
}

/// The value with the layout and bits of the one before.
at::Tensor fitted(at::Tensor value, const at::Tensor& before, bool copies) {
  const auto refuse = [] {
    throw UserError(
        "Within cresset.functionalize, a conjugate or negative view from outside can't be written where views are "
        "removed: pass x.resolve_conj() or x.resolve_neg()");
  };
  if (!haveSameBits(value, before)) {
    if (copies && (before.is_conj() || before.is_neg())) refuse();
    if (value.is_conj() || value.is_neg()) value = at::_ops::clone::call(value, std::nullopt);  // has neither bit
    if (before.is_conj()) value = at::_ops::conj_physical::call(value);
    if (before.is_neg()) value = at::_ops::neg::call(value);
    if (before.is_conj()) value = at::_ops::_conj::call(value);
    if (before.is_neg()) value = at::_ops::_neg_view::call(value);
    if (!haveSameBits(value, before)) refuse();  // by a level around
  }
  if (haveSameLayout(value, before)) return value;
  if (!haveSameSteps(value, before)) return copyWithStrides(value, before.sym_strides());
  if (copies) return value;
  return at::_ops::as_strided::call(value, before.sym_sizes(), before.sym_strides(), std::nullopt);
}

void requireInjective(const at::Tensor& tensor) {
  if (isInjective(tensor)) return;
  throw UserError(
      "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
      "Please clone() the tensor before performing the operation.");
}

/// Runs operators that get sizes of the tensor as plain numbers, and lets clients know.
void runKnowingSizes(const at::Tensor& tensor, const std::function<void()>& run) {
  const detail::ClientFrame* clients = detail::activeClients();
  if (!clients || !tensor.defined()) return run();
  clients->client->runWithSizesOf(tensor, run);
}

/// Whether it is a view of numbers of the other sign or conjugated, also where a level around makes it a copy.
bool changesBits(const Part& part) {
  if (!part.op) return false;
  const std::string& name = part.op->schema().name();
  return name == at::_ops::_conj::name || name == at::_ops::_neg_view::name;
}

/// What the parent becomes when the view of it, which was `before`, becomes `view`.
at::Tensor inverse(const Part& part, at::Tensor parent, const at::Tensor& before, const at::Tensor& view) {
  const bool copies = copiesViews(*part.memory->level);
  // as_strided_scatter takes no others that require gradients, as tensors from outside may.
  if (parent.requires_grad() && !parent.is_contiguous()) parent = at::_ops::detach::call(parent);
  at::Tensor place = before, whole = parent;
  if (copies) {  // where the part is in the parent, a copy does not tell
    const StandInScope scope;
    whole = standIn(parent);
    place = applyView(part, whole, /*copies=*/false);
    requireInjective(place);
  }
  const bool identity = !changesBits(part) && haveSameLayout(place, whole) && haveSameBits(place, whole) &&
                        place.scalar_type() == whole.scalar_type() &&
                        place.sym_storage_offset() == whole.sym_storage_offset();
  if (identity) return view;
  // By sizes that may be symbols, which rules of views take as numbers.
  const bool has_all_in_order = !copies && parent.unsafeGetTensorImpl()->has_symbolic_sizes_strides() &&
                                place.is_contiguous() && whole.is_contiguous() && haveSameBits(place, whole) &&
                                place.scalar_type() == whole.scalar_type() && place.sym_numel() == whole.sym_numel() &&
                                place.sym_storage_offset() == whole.sym_storage_offset();
  if (has_all_in_order) return at::_ops::reshape::call(view, whole.sym_sizes());
  if (const Code* code = part.op ? inverseCode(*part.op, copies) : nullptr) {
    Stack stack = part.arguments;
    stack[0] = parent;
    stack.emplace_back(view);
    if (part.index >= 0) stack.emplace_back(part.index);
    runKnowingSizes(parent, [&] { runCode(*code, stack); });
    return stack.at(0).toTensor();
  }
  // What is known of the part may be what was written to it, which is no view of the parent.
  if (!copies) place = applyView(part, parent, /*copies=*/false);
  if (!haveSameBits(place, whole) || place.scalar_type() != whole.scalar_type()) {
    throw UserError(
        "a write to what '" + (part.op ? part.op->schema().name() : "aten::as_strided") +
        "' returns can't be made one to its argument");
  }
  // PyTorch would resolve a conj or neg view first, in memory where the strides mean something else.
  const auto flipped = [is_conj = parent.is_conj(), is_neg = parent.is_neg()](at::Tensor tensor) {
    if (is_conj) tensor = at::_ops::_conj::call(tensor);
    return is_neg ? at::_ops::_neg_view::call(tensor) : tensor;
  };
  return flipped(at::_ops::as_strided_scatter::call(
      flipped(parent), flipped(view), place.sym_sizes(), place.sym_strides(), place.sym_storage_offset()));
}

void writeThrough(Memory& memory) {
  if (!memory.exposed.defined()) return;
  if (memory.exposed.unsafeGetTensorImpl() == memory.value.unsafeGetTensorImpl()) return;
  at::Tensor target = withoutRepeats(memory.exposed);
  at::_ops::copy_::call(target, withoutRepeats(memory.value), false);
  memory.value = memory.exposed;
}

}  // namespace

namespace {

/// The sizes, as clients have them, and the strides: those of a dense tensor as products of the sizes.
std::pair<std::vector<c10::SymInt>, std::vector<c10::SymInt>> layoutForClients(
    const at::Tensor& value, c10::SymIntArrayRef wanted) {
  std::vector<c10::SymInt> sizes = value.sym_sizes().vec(), strides = wanted.vec();
  const bool has_numbers = c10::asIntArrayRefSlowOpt(sizes) && c10::asIntArrayRefSlowOpt(strides);
  if (!has_numbers || !detail::activeClients()) return {sizes, strides};
  const c10::IntArrayRef size = value.sizes(), stride = C10_AS_INTARRAYREF_SLOW(wanted);
  std::vector<size_t> order(sizes.size());
  for (size_t d = 0; d < order.size(); ++d) {
    order[d] = order.size() - 1 - d;
    sizes[d] = sizeForClients(value, static_cast<int64_t>(d));
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return stride[a] != stride[b] ? stride[a] < stride[b] : size[a] == 1 && size[b] != 1;
  });
  c10::SymInt reach = 1;
  int64_t number = 1;
  for (const size_t d : order) {
    if (stride[d] == number) strides[d] = reach;
    number *= size[d];
    reach = reach * sizes[d];
  }
  return {sizes, strides};
}

}  // namespace

at::Tensor copyWithStrides(const at::Tensor& value, c10::SymIntArrayRef strides) {
  const auto layout = layoutForClients(value, strides);
  const at::Tensor empty = at::_ops::new_empty_strided::call(
      value, layout.first, layout.second, std::nullopt, std::nullopt, std::nullopt, std::nullopt);
  tellClientsOfWrites(empty);
  return at::_ops::copy::call(empty, value, false);
}

void assignWhole(Memory& memory, at::Tensor value) {
  requireUnheld(memory);
  const Emission emission(*memory.level);
  memory.value = std::move(value);
  memory.written = true;
  ++memory.generation;
  writeThrough(memory);
}

c10::SymInt storageBytes(const at::Tensor& tensor) {
  const Wrapper* wrapper = wrapperOf(tensor);
  return wrapper ? wrapper->memory().bytes : tensor.unsafeGetTensorImpl()->unsafe_storage().sym_nbytes();
}

namespace {

/// Of the storage that the tensor is in, one after the other.
at::Tensor elementsOfStorage(const at::Tensor& tensor, bool copies) {
  const c10::SymInt length = storageBytes(tensor) / static_cast<int64_t>(tensor.itemsize());
  const auto view = copies ? &at::_ops::as_strided_copy::call : &at::_ops::as_strided::call;
  return view(tensor, c10::SymIntArrayRef{length}, c10::SymIntArrayRef{c10::SymInt(1)}, 0);
}

}  // namespace

at::Tensor copyOfWhole(const Memory& memory) {
  const Emission emission(*memory.level);
  const at::Tensor& value = memory.value;
  if (isInjective(value)) return copyWithStrides(value, value.sym_strides());
  const at::Tensor storage = elementsOfStorage(value, /*copies=*/false);
  return at::_ops::as_strided::call(
      at::_ops::clone::call(storage, std::nullopt), value.sym_sizes(), value.sym_strides(), value.sym_storage_offset());
}

at::Tensor withoutRepeats(const at::Tensor& tensor) {
  at::Tensor result = tensor;
  if (tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) return result;
  for (int64_t d = 0; d < tensor.dim(); ++d)
    if (tensor.stride(d) == 0 && tensor.size(d) > 1) result = at::_ops::narrow::call(result, d, 0, 1);
  return result;
}

at::Tensor placeIn(const Part& part, const at::Tensor& whole) {
  std::vector<const Part*> chain;
  for (const Part* at = &part; at->parent; at = at->parent.get()) chain.push_back(at);
  const Emission emission(*part.memory->level);
  at::Tensor place = whole;
  for (size_t i = chain.size(); i-- > 0;) place = applyView(*chain[i], place, /*copies=*/false);
  return place;
}

bool copiesViews(const LevelState& level) {
  return level.open && level.copies_views;
}

void callView(const c10::OperatorHandle& op, std::vector<c10::IValue>& stack, bool copies) {
  if (!copies) return op.callBoxed(&stack);
  const CopyOfView& copy = copyOf(op);
  if (copy.rule) {
    Stack arguments(stack.end() - static_cast<ptrdiff_t>(op.schema().arguments().size()), stack.end());
    stack.erase(stack.end() - static_cast<ptrdiff_t>(arguments.size()), stack.end());
    runCode(*copy.rule, arguments);
    stack.insert(stack.end(), arguments.begin(), arguments.end());
    return;
  }
  if (!copy.op || !copy.op->handle()) {
    throw UserError(
        "Within cresset.functionalize, '" + op.schema().name() +
        "' can't be called where views are removed: there is no operator that returns the same in new memory");
  }
  copy.op->handle()->callBoxed(&stack);
}

namespace {

/// A copy of a view with the strides that eager PyTorch's operators give what they compute of the view: so that all
/// that is computed is laid out as in eager PyTorch, which decides what `contiguous` and `reshape` copy.
at::Tensor laidOutAs(const at::Tensor& copy, const at::Tensor& view) {
  const std::vector<int64_t> strides = preservedStrides(view);
  bool same = true;
  for (size_t d = 0; d < strides.size() && copy.numel() > 0; ++d)
    same &= copy.sizes()[d] == 1 || copy.strides()[d] == strides[d];
  return same ? copy : copyWithStrides(copy, c10::fromIntArrayRefSlow(strides));
}

at::Tensor strided(const Part& part, const at::Tensor& parent, bool copies) {
  const auto call = copies ? &at::_ops::as_strided_copy::call : &at::_ops::as_strided::call;
  return call(
      parent, c10::fromIntArrayRefSlow(part.sizes), c10::fromIntArrayRefSlow(part.strides),
      parent.sym_storage_offset() + part.offset);
}

}  // namespace

std::vector<at::Tensor> viewsOf(
    const c10::OperatorHandle& op, const std::vector<c10::IValue>& arguments, const at::Tensor& parent, bool copies) {
  Stack stack = arguments;
  stack[0] = parent;
  if (parent.is_meta()) {  // a stand-in; its kernels take plain numbers
    for (c10::IValue& value : stack) {
      if (value.isSymInt()) value = value.toInt();
      if (!value.isSymIntList()) continue;
      c10::List<int64_t> numbers;
      for (const c10::SymInt& number : value.toSymIntVector()) numbers.push_back(number.guard_int(__FILE__, __LINE__));
      value = numbers;
    }
  }
  callView(op, stack, copies);
  std::vector<at::Tensor> views = stack.at(0).isTensor() ? std::vector{stack[0].toTensor()} : stack[0].toTensorVector();
  if (!copies) return views;
  if (const auto shapes = shapesOfViews(op, arguments, parent))
    for (size_t i = 0; i < views.size(); ++i) views[i] = laidOutAs(views[i], shapes->at(i));
  return views;
}

std::optional<std::vector<at::Tensor>> shapesOfViews(
    const c10::OperatorHandle& op, const std::vector<c10::IValue>& arguments, const at::Tensor& parent) {
  try {
    const StandInScope scope;
    return viewsOf(op, arguments, standIn(parent), /*copies=*/false);
  } catch (const c10::NotImplementedError&) {
    return std::nullopt;
  }
}

at::Tensor applyView(const Part& part, const at::Tensor& parent, bool copies) {
  if (part.op) {
    std::vector<at::Tensor> views;
    // Where the view was made before, sizes among its arguments may be those that it had.
    runKnowingSizes(part.value, [&] { views = viewsOf(*part.op, part.arguments, parent, copies); });
    return views.at(static_cast<size_t>(std::max<int64_t>(part.index, 0)));
  }
  at::Tensor view = strided(part, parent, copies);
  if (!copies) return view;
  const auto shape = [&] {
    const StandInScope scope;
    return strided(part, standIn(parent), /*copies=*/false);
  }();
  return laidOutAs(view, shape);
}

at::Tensor current(const PartPtr& part) {
  return current(part, copiesViews(*part->memory->level));
}

at::Tensor current(const PartPtr& part, bool copies) {
  Memory& memory = *part->memory;
  if (part->pending.defined()) return part->pending;
  if (!memory.level->open && !std::exchange(memory.settled, true))
    ++memory.generation;  // what was written to a part was kept as its value: from now on, it is memory of the whole
  // What has the memory, too, may have written to it since.
  if (memory.exposed.defined() && copies) ++memory.generation;
  std::vector<Part*> stale;
  Part* fresh = part.get();
  while (fresh->parent && !(fresh->value.defined() && fresh->generation == memory.generation)) {
    stale.push_back(fresh);
    fresh = fresh->parent.get();
  }
  at::Tensor value = fresh->parent ? fresh->value : memory.value;
  if (stale.empty()) return value;
  const Emission emission(*memory.level);
  for (size_t i = stale.size(); i-- > 0;) {
    Part& next = *stale[i];
    if (next.siblings) {
      if (next.siblings->generation != memory.generation || next.siblings->values.empty()) {
        next.siblings->values = viewsOf(*next.op, next.arguments, value, copies);
        next.siblings->generation = memory.generation;
      }
      value = next.siblings->values.at(static_cast<size_t>(next.index));
    } else {
      value = applyView(next, value, copies);
    }
    next.value = value;
    next.generation = memory.generation;
  }
  return value;
}

void assign(const PartPtr& part, at::Tensor value) {
  Memory& memory = *part->memory;
  const Emission emission(*memory.level);
  const bool copies = copiesViews(*memory.level);
  part->pending = at::Tensor();
  requireUnheld(memory);
  at::Tensor before = current(part);
  requireInjective(before);
  if (value.sym_sizes() != before.sym_sizes()) {
    throw UserError(
        "Within cresset.functionalize, an operator can't change the sizes of a tensor that it writes: make a new "
        "tensor");
  }
  // What may be memory of another value must not become this one's: the other could be written when the level is
  // closed.
  value = fitted(std::move(value), before, copies);
  struct Step {
    Part* part;
    at::Tensor value;
  };
  std::vector<Step> steps;
  for (Part* at = part.get();; at = at->parent.get()) {
    steps.push_back({at, value});
    if (!at->parent) break;
    const at::Tensor parent = current(at->parent);
    value = fitted(inverse(*at, parent, before, value), parent, copies);
    before = parent;
  }
  memory.value = steps.back().value;
  memory.written = true;
  ++memory.generation;
  if (memory.exposed.defined()) {
    writeThrough(memory);
    return;
  }
  for (const Step& step : steps) {
    if (!step.part->parent) continue;
    step.part->value = step.value;
    step.part->generation = memory.generation;
  }
}

at::Tensor wholeStorage(const at::Tensor& tensor, const LevelState& level) {
  at::Tensor whole = detachedHidden(tensor, level);
  if (wrapperOf(tensor) || whole.is_same(tensor)) {
    const Emission emission(level);
    return elementsOfStorage(whole, /*copies=*/false);
  }
  const std::vector<int64_t> sizes{static_cast<int64_t>(tensor.storage().nbytes() / tensor.itemsize())}, strides{1};
  whole.unsafeGetTensorImpl()->set_sizes_and_strides(c10::IntArrayRef(sizes), c10::IntArrayRef(strides), 0);
  return whole;
}

namespace {

/// Makes the part the same view of its parent that `like` is of its own.
void takeView(Part& part, const Part& like) {
  part.op = like.op;
  part.arguments = like.arguments;
  part.index = like.index;
  part.sizes = like.sizes;
  part.strides = like.strides;
  part.offset = like.offset;
}

}  // namespace

PartPtr partLike(const PartPtr& like, const PartPtr& whole) {
  std::vector<const Part*> chain;
  for (const Part* part = like.get(); part->parent; part = part->parent.get()) chain.push_back(part);
  PartPtr result = whole;
  for (size_t i = chain.size(); i-- > 0;) {
    auto part = std::make_shared<Part>(whole->memory);
    part->parent = std::move(result);
    takeView(*part, *chain[i]);
    part->repeats = chain[i]->repeats;
    result = std::move(part);
  }
  return result;
}

void shareAround(const PartPtr& root, const PartPtr& known) {
  CRESSET_CHECK(!root->parent, "only the whole of a memory becomes a part of a larger one");
  Memory& memory = *root->memory;
  const at::Tensor before = memory.value;
  PartPtr whole_around = known;
  while (whole_around->parent) whole_around = whole_around->parent;
  const Memory& memory_around = *known->memory;
  memory.around = wrapperFor(std::move(whole_around), memory_around.value, before.is_inference());
  memory.value = memory.around;
  memory.shared = true;
  memory.offset = memory_around.offset;
  memory.has_more = memory_around.has_more;
  ++memory.generation;
  if (const PartPtr part = partLike(known, std::make_shared<Part>(root->memory)); part->parent) {
    root->parent = part->parent;
    takeView(*root, *part);
  }
  if (memory.exposed.defined()) {
    memory.exposed = memory.value;
  } else if (memory.written) {
    assign(root, before);
  }
}

void flatten(const PartPtr& root, const at::Tensor& tensor) {
  Memory& memory = *root->memory;
  if (root->parent) {
    throw UserError(
        "Within cresset.functionalize, a tensor from outside was given other sizes or strides, and another one from "
        "outside shares its memory: pass one of them, and view it within");
  }
  CRESSET_CHECK(!memory.shared, "only the whole of a memory becomes a part of a storage");
  const Emission emission(*memory.level);
  const at::Tensor before = memory.value;
  if (memory.exposed.defined()) {
    memory.exposed = memory.value = wholeStorage(tensor, *memory.level);
  } else {
    // A tensor of which elements are one in memory is written in a copy of all of its storage (copyOfWhole).
    const bool has_storage = root->repeats || !memory.written;
    const at::Tensor flat = elementsOfStorage(has_storage ? before : tensor, copiesViews(*memory.level));
    memory.value = has_storage ? flat
                               : at::_ops::as_strided_scatter::call(
                                     flat, before, tensor.sym_sizes(), tensor.sym_strides(), tensor.storage_offset());
  }
  memory.shared = true;
  memory.offset = 0;
  ++memory.generation;
  root->parent = std::make_shared<Part>(root->memory);
  root->sizes = tensor.sizes().vec();
  root->strides = tensor.strides().vec();
  root->offset = tensor.storage_offset();
  root->value = before;
  root->generation = memory.generation;
}

}  // namespace cresset::live
