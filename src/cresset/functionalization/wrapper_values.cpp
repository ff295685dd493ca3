// The values of wrappers: reading a part, and what a write to one makes of the whole memory.
#include <ATen/core/jit_type.h>
#include <ATen/ops/_conj_ops.h>
#include <ATen/ops/_neg_view_ops.h>
#include <ATen/ops/as_strided_ops.h>
#include <ATen/ops/as_strided_scatter_ops.h>
#include <ATen/ops/conj_physical_ops.h>
#include <ATen/ops/copy_ops.h>
#include <ATen/ops/neg_ops.h>
#include <ATen/ops/new_empty_strided_ops.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "cresset/functionalization/view_rows.h"
#include "cresset/functionalization/wrapper.h"
#include "cresset/interpreter/interpreter.h"
#include "cresset/ops/operator.h"
#include "cresset/support/error.h"

namespace cresset::live {

namespace {

/// The inverse of a view as code; null if it has none.
const Code* inverseCode(const c10::OperatorHandle& op) {
  static std::mutex mutex;
  static auto* known = new std::unordered_map<c10::OperatorName, std::shared_ptr<const Code>>;
  const std::lock_guard lock(mutex);
  const auto [place, is_new] = known->try_emplace(op.operator_name());
  if (is_new) {
    const Operator* row = OperatorTable::get().find(toString(op.operator_name()));
    if (row && isReversibleView(*row)) place->second = emitCode(inverseOf(*row).copy(), row->fullName());
  }
  return place->second.get();
}

bool haveSameLayout(const at::Tensor& a, const at::Tensor& b) {
  return a.sym_sizes() == b.sym_sizes() && a.sym_strides() == b.sym_strides();
}

/// Whether the strides of tensors of the same sizes differ only where there is nothing to step over.
bool haveSameSteps(const at::Tensor& a, const at::Tensor& b) {
  if (a.sym_numel() == 0) return true;
  for (int64_t d = 0; d < a.dim(); ++d)
    if (a.sym_size(d) != 1 && a.sym_stride(d) != b.sym_stride(d)) return false;
  return true;
}

bool haveSameBits(const at::Tensor& a, const at::Tensor& b) {
  return a.is_conj() == b.is_conj() && a.is_neg() == b.is_neg();
}

/// Whether each element has an index of its own. Says false where that is hard to know.
bool isInjective(const at::Tensor& tensor) {
  std::vector<std::pair<c10::SymInt, c10::SymInt>> dims;
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    if (tensor.sym_size(d) == 0) return true;
    if (tensor.sym_size(d) != 1) dims.emplace_back(tensor.sym_stride(d), tensor.sym_size(d));
  }
  std::sort(dims.begin(), dims.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  c10::SymInt reach = 0;
  for (const auto& [stride, size] : dims) {
    if (stride <= reach) return false;
    reach = reach + stride * (size - 1);
  }
  return true;
}

/// The value with the layout and bits of the one before.
at::Tensor fitted(at::Tensor value, const at::Tensor& before) {
  if (!haveSameBits(value, before)) {
    if (value.is_conj() != before.is_conj()) {
      value = at::_ops::conj_physical::call(value);
      if (before.is_conj()) value = at::_ops::_conj::call(value);
    }
    if (value.is_neg() != before.is_neg()) {
      value = at::_ops::neg::call(value);
      if (before.is_neg()) value = at::_ops::_neg_view::call(value);
    }
    CRESSET_CHECK(haveSameBits(value, before), "a new value has the conj and neg bits of the old");
  }
  if (haveSameLayout(value, before)) return value;
  if (haveSameSteps(value, before))
    return at::_ops::as_strided::call(value, before.sym_sizes(), before.sym_strides(), std::nullopt);
  const at::Tensor empty = at::_ops::new_empty_strided::call(
      before, before.sym_sizes(), before.sym_strides(), value.scalar_type(), std::nullopt, std::nullopt, std::nullopt);
  return at::_ops::copy::call(empty, value, false);
}

/// What the parent becomes when the view of it, which was `before`, becomes `view`.
at::Tensor inverse(const Part& part, const at::Tensor& parent, const at::Tensor& before, const at::Tensor& view) {
  const bool identity = haveSameLayout(before, parent) && haveSameBits(before, parent) &&
                        before.scalar_type() == parent.scalar_type() &&
                        before.sym_storage_offset() == parent.sym_storage_offset();
  if (identity) return view;
  if (const Code* code = part.op ? inverseCode(*part.op) : nullptr) {
    Stack stack = part.arguments;
    stack[0] = parent;
    stack.emplace_back(view);
    if (part.index >= 0) stack.emplace_back(part.index);
    runCode(*code, stack);
    return stack.at(0).toTensor();
  }
  if (!haveSameBits(before, parent) || before.scalar_type() != parent.scalar_type()) {
    throw UserError(
        "a write to what '" + (part.op ? part.op->schema().name() : "aten::as_strided") +
        "' returns can't be made one to its argument");
  }
  // What is known of the part may be what was written to it, which is no view of the parent.
  const at::Tensor place = applyView(part, parent);
  return at::_ops::as_strided_scatter::call(
      parent, view, place.sym_sizes(), place.sym_strides(), place.sym_storage_offset());
}

void requireInjective(const at::Tensor& tensor) {
  if (isInjective(tensor)) return;
  throw UserError(
      "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
      "Please clone() the tensor before performing the operation.");
}

void writeThrough(Memory& memory) {
  if (!memory.exposed.defined()) return;
  if (memory.exposed.unsafeGetTensorImpl() == memory.value.unsafeGetTensorImpl()) return;
  at::_ops::copy_::call(memory.exposed, memory.value, false);
  memory.value = memory.exposed;
}

}  // namespace

at::Tensor applyView(const Part& part, const at::Tensor& parent) {
  if (!part.op) {
    return at::_ops::as_strided::call(
        parent, c10::fromIntArrayRefSlow(part.sizes), c10::fromIntArrayRefSlow(part.strides),
        parent.storage_offset() + part.offset);
  }
  Stack stack = part.arguments;
  stack[0] = parent;
  part.op->callBoxed(&stack);
  if (part.index < 0) return stack.at(0).toTensor();
  return stack.at(0).toTensorVector().at(static_cast<size_t>(part.index));
}

at::Tensor current(const PartPtr& part) {
  Memory& memory = *part->memory;
  if (!memory.level->open && !std::exchange(memory.settled, true))
    ++memory.generation;  // what was written to a part was kept as its value: from now on, it is memory of the whole
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
        Stack stack = next.arguments;
        stack[0] = value;
        next.op->callBoxed(&stack);
        next.siblings->values = stack.at(0).toTensorVector();
        next.siblings->generation = memory.generation;
      }
      value = next.siblings->values.at(static_cast<size_t>(next.index));
    } else {
      value = applyView(next, value);
    }
    next.value = value;
    next.generation = memory.generation;
  }
  return value;
}

void assign(const PartPtr& part, at::Tensor value) {
  Memory& memory = *part->memory;
  const Emission emission(*memory.level);
  at::Tensor before = current(part);
  requireInjective(before);
  if (value.sym_sizes() != before.sym_sizes()) {
    throw UserError(
        "Within cresset.functionalize, an operator can't change the sizes of a tensor that it writes: make a new "
        "tensor");
  }
  // What may be memory of another value must not become this one's: the other could be written when the level is
  // closed.
  value = fitted(std::move(value), before);
  struct Step {
    Part* part;
    at::Tensor value;
  };
  std::vector<Step> steps;
  for (Part* at = part.get();; at = at->parent.get()) {
    steps.push_back({at, value});
    if (!at->parent) break;
    const at::Tensor parent = current(at->parent);
    value = fitted(inverse(*at, parent, before, value), parent);
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

void flatten(const PartPtr& root, const at::Tensor& tensor) {
  Memory& memory = *root->memory;
  CRESSET_CHECK(!root->parent && !memory.flat, "only the whole of a memory becomes a part of a storage");
  const Emission emission(*memory.level);
  const int64_t length = static_cast<int64_t>(tensor.storage().nbytes() / tensor.itemsize());
  const at::Tensor flat = at::_ops::as_strided::call(
      tensor, c10::SymIntArrayRef{c10::SymInt(length)}, c10::SymIntArrayRef{c10::SymInt(1)}, 0);
  const at::Tensor before = memory.value;
  memory.value = memory.written ? at::_ops::as_strided_scatter::call(
                                      flat, before, tensor.sym_sizes(), tensor.sym_strides(), tensor.storage_offset())
                                : flat;
  memory.flat = true;
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
