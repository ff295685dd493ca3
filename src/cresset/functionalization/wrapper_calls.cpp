// The kernel of wrappers: what becomes of an operator that is called with them.
//
// Views become parts, in-place and out= operators the pure operators that compute the same, whose results are assigned.
// An operator without a pure form is called on copies of what it writes. All else is called with the wrappers' values.
#include <ATen/core/jit_type.h>
#include <ATen/ops/_has_same_storage_numel_ops.h>
#include <ATen/ops/_new_zeros_with_same_feature_meta_ops.h>
#include <ATen/ops/_to_copy_ops.h>
#include <ATen/ops/as_strided_ops.h>
#include <ATen/ops/clone_ops.h>
#include <ATen/ops/copy_ops.h>
#include <ATen/ops/new_zeros_ops.h>
#include <ATen/ops/resize_as_ops.h>
#include <ATen/ops/resize_ops.h>
#include <c10/core/ScalarType.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <c10/util/accumulate.h>
#include <c10/util/strides.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "cresset/functionalization/each_tensor.h"
#include "cresset/functionalization/sharing.h"
#include "cresset/functionalization/tape.h"
#include "cresset/functionalization/view_rows.h"
#include "cresset/functionalization/wrapper.h"
#include "cresset/functionalization/writes.h"
#include "cresset/ops/operator_forms.h"
#include "cresset/ops/operator_rows.h"
#include "cresset/ops/tensor_overlap.h"
#include "cresset/support/error.h"

namespace cresset::live {

namespace {

using c10::IValue;

/// Whether elements of both are of one kind, so that strides of one step over elements of the other.
template <class Tensor>
bool haveSameElements(const Tensor& a, const at::Tensor& b) {
  return a.dtype() == b.dtype() && a.is_conj() == b.is_conj() && a.is_neg() == b.is_neg();
}

/// All of a memory, as elements of the wrapper's kind, and a tensor of that layout: the memory, or a view of another
/// dtype of it. Autograd makes a part of `x.real` again by as_strided of that.
std::pair<PartPtr, at::Tensor> wholeInKindOf(const Wrapper& wrapper) {
  std::vector<PartPtr> chain;
  PartPtr root = wrapper.part();
  for (; root->parent; root = root->parent) chain.push_back(root);
  const at::Tensor& whole = root->memory->value;
  if (haveSameElements(wrapper, whole)) return {root, whole};
  const StandInScope scope;
  PartPtr converted = root;
  at::Tensor place = standIn(whole), all = place;
  for (size_t i = chain.size(); i-- > 0;) {
    const at::Tensor before = std::exchange(place, applyView(*chain[i], place, /*copies=*/false));
    if (haveSameElements(place, before)) continue;
    auto part = std::make_shared<Part>(root->memory);
    part->parent = converted;
    part->op = chain[i]->op;
    part->arguments = chain[i]->arguments;
    try {
      all = applyView(*part, all, /*copies=*/false);
    } catch (const c10::Error&) {  // not every tensor has such a view
      throw UserError(
          "Within cresset.functionalize, as_strided of a view with another dtype (or of a conjugate or negative view) "
          "of a part of a tensor can't be made: call it on the tensor that is viewed");
    }
    converted = std::move(part);
  }
  return {converted, all};
}

/// as_strided reaches what the whole memory has. Returns the view's storage offset.
int64_t makeStrided(const std::vector<IValue>& arguments, const Wrapper& wrapper, Part& part) {
  Memory& memory = *part.memory;
  if (memory.relaid) {
    throw UserError(
        "Within cresset.functionalize, as_strided of what was computed of expanded tensors can't be made where views "
        "are removed: its memory may be laid out in another way");
  }
  const auto [parent, whole] = wholeInKindOf(wrapper);
  part.parent = parent;
  const int64_t begin =
      memory.offset * static_cast<int64_t>(memory.value.itemsize()) / static_cast<int64_t>(whole.itemsize());
  part.sizes = arguments[1].toIntVector();
  part.strides = arguments[2].toIntVector();
  const int64_t offset = arguments[3].isNone() ? wrapper.storage_offset() : arguments[3].toInt();
  int64_t last = offset;
  bool empty = false;
  for (size_t d = 0; d < part.sizes.size(); ++d) {
    empty |= part.sizes[d] == 0;
    last += (part.sizes[d] - 1) * part.strides[d];
  }
  int64_t end = begin;
  for (int64_t d = 0; d < whole.dim(); ++d) end += (whole.size(d) - 1) * whole.stride(d);
  if (!empty && (offset < begin || last > end)) {
    throw UserError(
        "Within cresset.functionalize, as_strided can't reach beyond the tensor that it views: pass the tensor that "
        "has all of the memory");
  }
  if (memory.foreign && !memory.flat && !memory.value.is_non_overlapping_and_dense()) {
    throw UserError(
        "Within cresset.functionalize, as_strided of a tensor from outside whose memory is not dense can't be made: "
        "pass the tensor that has all of the memory");
  }
  part.offset = offset - begin;
  return offset;
}

/// Whether writing the result to the target is what the operator does. The result gets the target's dtype.
bool becomes(const at::Tensor& target, at::Tensor& result, bool is_out, const LevelState& level) {
  if (target.sym_sizes() != result.sym_sizes()) return false;
  if (target.device() != result.device()) return false;
  if (target.scalar_type() == result.scalar_type()) return true;
  if (is_out || !c10::canCast(result.scalar_type(), target.scalar_type())) return false;
  const Emission emission(level);
  result = at::_ops::_to_copy::call(
      result, target.scalar_type(), std::nullopt, std::nullopt, std::nullopt, false, std::nullopt);
  return true;
}

/// A copy, if it is memory of what the call was given.
at::Tensor unshared(at::Tensor value, const std::vector<IValue>& given, const LevelState& level) {
  bool shares = false;
  for (const IValue& argument : given) {
    readTensors(argument, [&](const at::Tensor& tensor) {
      shares |= tensor.is_same(value) || (!wrapperOf(tensor) && !wrapperOf(value) && shareStorage(tensor, value));
    });
  }
  if (!shares) return value;
  const Emission emission(level);
  return at::_ops::clone::call(value, std::nullopt);
}

/// The storage offset that a view of the wrapper has. What was written to a part is its value, which begins elsewhere
/// in memory than the part.
c10::SymInt offsetOfView(const Wrapper& wrapper, const at::Tensor& value, const at::Tensor& view) {
  c10::SymInt further = wrapper.sym_storage_offset() - value.sym_storage_offset();
  if (value.itemsize() != view.itemsize())
    further = further * static_cast<int64_t>(value.itemsize()) / static_cast<int64_t>(view.itemsize());
  return view.sym_storage_offset() + further;
}

/// Whether the tensor is made within the program, or the level lets it have other sizes.
bool mayHaveOtherSizes(const Memory& memory) {
  return !memory.foreign || memory.follows;
}

/// … and nothing else in the program is of its memory.
bool isAlone(const Wrapper& wrapper) {
  return !wrapper.part()->parent && mayHaveOtherSizes(wrapper.memory()) && wrapper.part().use_count() == 1;
}

void replaceMemory(Wrapper& wrapper, const at::Tensor& value) {
  Memory& memory = wrapper.memory();
  memory.has_more |= value.sym_numel() < memory.value.sym_numel();
  memory.bytes = memory.bytes.max(value.sym_numel() * static_cast<int64_t>(value.itemsize()));
  memory.value = value;
  memory.offset = 0;
  memory.written = true;
  ++memory.generation;
  wrapper.setPart(wrapper.part(), value);
}

/// How many elements the tensor's storage has in eager PyTorch. Values may be parts, and have less.
c10::SymInt storageElements(const at::Tensor& tensor) {
  return storageBytes(tensor) / static_cast<int64_t>(tensor.itemsize());
}

/// Zeros at the same place of a storage of the same size as a tensor, for its tangent, with dtype and device of
/// another: so forward-mode autograd makes the tangents of views. The first dimensions of that may be what is batched.
at::Tensor zerosAt(
    const at::Tensor& like, const at::Tensor& options, size_t num_batched, const std::shared_ptr<LevelState>& level) {
  c10::SymDimVector sizes(options.sym_sizes().slice(0, num_batched)), strides(num_batched);
  sizes.append(like.sym_sizes().begin(), like.sym_sizes().end());
  strides.append(like.sym_strides().begin(), like.sym_strides().end());
  c10::SymInt elements = storageElements(like);
  for (size_t d = num_batched; d-- > 0;) {
    strides[d] = elements;
    elements = elements * sizes[d];
  }
  const auto zeros = [&](c10::SymIntArrayRef shape) {
    const at::Tensor result =
        at::_ops::new_zeros::call(options, shape, std::nullopt, std::nullopt, std::nullopt, std::nullopt);
    tellClientsOfWrites(result);
    return result;
  };
  const Emission emission(*level);
  const c10::SymInt offset = like.sym_storage_offset();
  const bool copies = copiesViews(*level);
  const at::Tensor value = copies ? copyWithStrides(zeros(sizes), strides)
                                  : at::_ops::as_strided::call(zeros(elements), sizes, strides, offset);
  const at::Tensor tangent = wrapFresh(value, level, makesInferenceTensors());
  Wrapper& wrapper = *wrapperOf(tangent);
  Memory& memory = wrapper.memory();
  if (copies) {
    memory.offset = offset.expect_int();
    wrapper.setPart(wrapper.part(), value, offset);
  }
  memory.bytes = elements * static_cast<int64_t>(value.itemsize());
  memory.has_more = offset + value.sym_numel() < elements;
  return tangent;
}

/// Whether it is this operator.
template <class Known>
bool is(const c10::OperatorHandle& op) {
  static const c10::OperatorHandle known =
      c10::Dispatcher::singleton().findSchemaOrThrow(Known::name, Known::overload_name);
  return op == known;
}

/// Whether the operator returns views of its first argument, though its schema says that they are new memory.
bool isViewDenied(const c10::OperatorHandle& op) {
  static const auto* known = [] {
    auto* denied = new std::vector<c10::OperatorHandle>;
    for (const Operator* row : OperatorTable::get().all()) {
      if (row->mayShareArguments() && row->handle() && isReversibleView(*row) && !mayReturnView(*row))
        denied->push_back(*row->handle());
    }
    return denied;
  }();
  return std::ranges::find(*known, op) != known->end();
}

/// A call of an operator with wrappers: its arguments, their values, and what its results become.
class CallWithWrappers {
 public:
  CallWithWrappers(const c10::OperatorHandle& op, std::vector<IValue>& stack)
      : op_(op),
        schema_(op.schema()),
        stack_(stack),
        arguments_(std::make_move_iterator(firstOf(stack, schema_)), std::make_move_iterator(stack.end())) {
    stack_.erase(firstOf(stack_, schema_), stack_.end());
    for (const IValue& argument : arguments_) {
      readTensors(argument, [&](const at::Tensor& tensor) {
        if (const Wrapper* wrapper = wrapperOf(tensor)) noteLevel(wrapper->memory().level);
      });
    }
  }

 private:
  static std::vector<IValue>::iterator firstOf(std::vector<IValue>& stack, const c10::FunctionSchema& schema) {
    return stack.end() - static_cast<ptrdiff_t>(schema.arguments().size());
  }

 protected:
  /// The innermost level of the arguments that is open.
  void noteLevel(const std::shared_ptr<LevelState>& level) {
    if (!level_ || (level->open && !level_->open)) level_ = level;
    const detail::ClientFrame* innermost = detail::activeClients();
    if (level->open && innermost && innermost->client == level->client) level_ = level;
  }

  Wrapper* own(const at::Tensor& tensor) const {
    Wrapper* wrapper = wrapperOf(tensor);
    return wrapper && wrapper->memory().level == level_ ? wrapper : nullptr;
  }

  /// The arguments with the values of the wrappers.
  std::vector<IValue> values() const {
    std::vector<IValue> result = arguments_;
    for (IValue& value : result) {
      eachTensor(value, [&](at::Tensor& tensor) {
        const Wrapper* wrapper = own(tensor);
        if (!wrapper) return false;
        tensor = current(wrapper->part());
        return true;
      });
    }
    return result;
  }

  /// `recorded`: with values that are on the tape.
  void call(const c10::OperatorHandle& op, std::vector<IValue>& stack, bool recorded = false) const {
    const Emission emission(*level_, recorded);
    op.callBoxed(&stack);
  }

  /// Whether autograd has no kernel for the operator, so that it records what the backend's kernel calls, as one in
  /// Python may do.
  bool isRecordedInside() const {
    if (!at::GradMode::is_enabled() || makesInferenceTensors() ||
        c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::AutogradFunctionality))
      return false;
    bool result = false;
    for (const IValue& argument : arguments_)
      readTensors(argument, [&](const at::Tensor& tensor) { result |= own(tensor) && tensor.requires_grad(); });
    return result;
  }

  /// Puts a value on the tape where the wrapper is. A tensor from outside may be there itself.
  static bool followOnTape(const at::Tensor& wrapper, const at::Tensor& value) {
    if (!wrapper.requires_grad() || value.requires_grad()) return false;
    enterTape(wrapper, value, [](const at::Tensor& gradient) { return gradient; });
    return true;
  }

  /// What stands for a value on the tape. Where modes see what is computed, they have to know it: the value itself,
  /// which autograd may then refuse to have kept.
  at::Tensor toBeRecorded(const at::Tensor& value) const {
    return c10::impl::TorchDispatchModeTLS::any_modes_set() ? value : detachedHidden(value, *level_);
  }

  /// A tensor that the level has, once a wrapper has its place on the tape.
  at::Tensor offTape(const at::Tensor& value) const {
    const at::Tensor result = value.is_view() ? detachedHidden(value, *level_) : toBeRecorded(value);
    if (result.is_same(value)) leaveTape(value);
    return result;
  }

  /// While it lives, values are on the tape where their wrappers are, if `recorded`.
  class OnTape {
   public:
    OnTape(const CallWithWrappers& call, std::vector<IValue>& values, bool recorded) {
      for (size_t i = 0; recorded && i < values.size(); ++i) {
        const std::vector<at::Tensor> wrappers = tensorsIn(call.arguments_[i]);
        size_t at = 0;
        eachTensor(values[i], [&](at::Tensor& value) {
          const at::Tensor& wrapper = wrappers[at++];
          if (!call.own(wrapper)) return false;
          const at::Tensor place = call.toBeRecorded(value);
          if (!followOnTape(wrapper, place)) return false;
          if (place.is_same(value)) placed_.push_back(value);
          value = place;
          return true;
        });
      }
    }
    ~OnTape() {
      for (const at::Tensor& value : placed_) leaveTape(value);
    }
    OnTape(const OnTape&) = delete;
    OnTape& operator=(const OnTape&) = delete;

   private:
    std::vector<at::Tensor> placed_;
  };

  void finish(std::vector<IValue> results) {
    for (IValue& result : results) stack_.push_back(std::move(result));
  }

  /// A result of a call with these values: a wrapper of its own, or that of an argument that was returned.
  bool wrapResult(at::Tensor& result, const std::vector<IValue>& values) const {
    if (wrapperOf(result) && wrapperOf(result)->memory().level == level_) return false;
    const bool is_plain = isPlain(result);
    at::Tensor found, container;
    struct Sharing {
      at::Tensor argument, value;
    };
    std::vector<Sharing> sharing;
    for (size_t i = 0; i < values.size(); ++i) {
      size_t place = 0;
      readTensors(values[i], [&](const at::Tensor& used) {
        if (used.is_same(result)) {
          found = tensorsIn(arguments_[i])[place];
        } else if (shareStorage(used, result)) {
          sharing.push_back({tensorsIn(arguments_[i])[place], used});
          if (!isPlain(used)) container = used;
        }
        ++place;
      });
    }
    if (found.defined()) {
      result = found;
      return true;
    }
    for (const auto& [argument, value] : sharing) {
      Wrapper* wrapper = own(argument);
      if (!wrapper) continue;
      if (is_plain) {
        result = partOf(*wrapper, value, result);
        return true;
      }
      noteHolder(wrapper->memory(), result);
    }
    if (!is_plain) return false;
    if (!sharing.empty() && !container.defined()) result = at::_ops::clone::call(result, std::nullopt);
    tellClientsOfWrites(result);
    const at::Tensor value = result;
    result = wrapFresh(value, level_, makesInferenceTensors());
    if (value.requires_grad()) {
      sharePlace(value, result);
      wrapperOf(result)->memory().value = offTape(value);
    }
    wrapperOf(result)->memory().relaid = isRelaid(result);
    if (container.defined()) noteContainer(wrapperOf(result)->memory(), container);
    return true;
  }

  /// A result that lies in the memory of an argument, which has the value, though the operator's schema denies it.
  at::Tensor partOf(Wrapper& argument, const at::Tensor& value, const at::Tensor& result) const {
    const bool is_followed =
        haveSameElements(argument, result) && !result.unsafeGetTensorImpl()->has_symbolic_sizes_strides() &&
        !value.unsafeGetTensorImpl()->has_symbolic_sizes_strides() && value.strides() == argument.strides();
    if (!is_followed) {
      throw UserError(
          "Within cresset.functionalize, '" + schema_.name() +
          "' can't be called with these arguments: it returns memory of one, which its schema denies. Pass a clone");
    }
    auto part = std::make_shared<Part>(argument.part()->memory);
    part->parent = argument.part();
    part->sizes = result.sizes().vec();
    part->strides = result.strides().vec();
    part->offset = result.storage_offset() - value.storage_offset();
    part->value = copies() ? at::_ops::clone::call(result, std::nullopt) : result;
    part->generation = part->memory->generation;
    const c10::SymInt offset = argument.sym_storage_offset() + part->offset;
    return wrapperFor(std::move(part), result, argument.is_inference(), offset);
  }

  /// Whether the layout of a result may come from that of a copy.
  bool isRelaid(const at::Tensor& result) const {
    if (!copiesViews(*level_)) return false;
    bool may_be = false;
    for (const IValue& argument : arguments_) {
      readTensors(argument, [&](const at::Tensor& tensor) {
        const Wrapper* wrapper = own(tensor);
        may_be |= wrapper && wrapper->memory().relaid;
        for (int64_t d = 0; wrapper && d < tensor.dim(); ++d) may_be |= tensor.size(d) > 1 && tensor.stride(d) == 0;
      });
    }
    if (!may_be) return false;
    const Operator* known = OperatorTable::get().find(toString(op_.operator_name()));
    if (known && known->makesContiguous()) return false;
    const auto strides = schema_.argumentIndexWithName("stride");
    return !strides || !arguments_[static_cast<size_t>(*strides)].isIntList() ||
           result.strides() != c10::IntArrayRef(arguments_[static_cast<size_t>(*strides)].toIntVector());
  }

  bool copies() const { return copiesViews(*level_); }

  std::vector<at::Tensor> tensorsOf(size_t argument) const { return tensorsIn(arguments_[argument]); }

  /// Whether several elements of what is written are, or may be, one in memory.
  bool writesPlaceTwice(const FunctionalForm& writes) const {
    std::vector<const Memory*> memories;
    bool result = false;
    for (const size_t argument : writes.written) {
      for (const at::Tensor& tensor : tensorsOf(argument)) {
        const Wrapper* wrapper = own(tensor);
        if (!wrapper) continue;
        result |= wrapper->part()->repeats;
        result |= std::find(memories.begin(), memories.end(), &wrapper->memory()) != memories.end();
        memories.push_back(&wrapper->memory());
      }
    }
    return result;
  }

  /// Whether the kernel may read elements that it has written: tells if any argument but the written ones is of memory
  /// that is written. Operators whose overlaps hasOverlaps knows read each element before they write it.
  bool readsWhatItWrites(const FunctionalForm& writes, Overlap rule) const {
    bool result = false;
    for (size_t i = 0; i < arguments_.size(); ++i) {
      if (std::ranges::find(writes.written, i) != writes.written.end()) continue;
      const std::vector<at::Tensor> read = tensorsOf(i);
      for (const size_t argument : writes.written) {
        const std::vector<at::Tensor> written = tensorsOf(argument);
        // A call for lists of tensors goes from one element to the next: the pairs of one element are the operator's.
        const bool by_element = arguments_[argument].isTensorList() && arguments_[i].isTensorList();
        if (!by_element && rule > Overlap::PairsOnly) continue;
        for (size_t k = 0; k < read.size(); ++k) {
          const Wrapper* reader = own(read[k]);
          const size_t count = by_element ? std::min(k, written.size()) : written.size();
          for (size_t n = 0; reader && n < count; ++n) {
            result |= own(written[n]) && read[k].numel() > 0 && isOverlapRefused(written[n], read[k], false);
          }
        }
      }
    }
    return result;
  }

  /// Whether what the operator reads for a tensor that it writes overlaps that as its kernel does not allow. Where it
  /// writes lists, that is of other lists what has the same place.
  bool hasOverlaps(const FunctionalForm& writes, Overlap rule) const {
    if (rule == Overlap::Allowed) return false;
    const auto isRefused = [&](const at::Tensor& written, const at::Tensor& read) {
      return own(written) && own(read) && isOverlapRefused(written, read, rule != Overlap::Refused);
    };
    for (size_t i = 0; i < arguments_.size(); ++i) {
      if (std::ranges::find(writes.written, i) != writes.written.end()) continue;
      const std::vector<at::Tensor> read = tensorsOf(i);
      for (const size_t argument : writes.written) {
        const std::vector<at::Tensor> written = tensorsOf(argument);
        const bool by_element = arguments_[argument].isTensorList() && arguments_[i].isTensorList();
        if (!by_element && rule == Overlap::PairsOnly) continue;
        for (size_t k = 0; k < read.size(); ++k) {
          const size_t begin = by_element ? std::min(k, written.size()) : 0;
          const size_t end = by_element ? std::min(k + 1, written.size()) : written.size();
          for (size_t n = begin; n < end; ++n)
            if (isRefused(written[n], read[k])) return true;
        }
      }
    }
    return false;
  }

  /// Numbers among the arguments of a view that was just made, as the clients outside have them: the view may be made
  /// again, and reversed.
  static void keepNumbers(const c10::FunctionSchema& schema, std::vector<IValue>& arguments, const at::Tensor& view) {
    const detail::ClientFrame* clients = detail::activeClients();
    if (!clients) return;
    for (size_t i = 1; i < arguments.size(); ++i) {
      if (!arguments[i].isInt()) continue;
      const int64_t number = arguments[i].toInt();
      const c10::SymInt known = clients->client->argumentOf(view, schema.arguments()[i].name(), number);
      if (known.is_symbolic()) arguments[i] = known;
    }
  }

  /// Whether the targets have the dtypes and sizes of the results, as far as can be known without drawing.
  bool fitsUndrawn(const FunctionalForm& writes, std::vector<IValue> stack) const {
    try {
      const StandInScope scope;
      for (IValue& value : stack) {
        eachTensor(value, [](at::Tensor& tensor) {
          tensor = standIn(tensor);
          return true;
        });
      }
      writes.op->handle()->callBoxed(&stack);
    } catch (const c10::Error&) {
      return true;  // no kernel for tensors without memory, or an error that the call itself raises
    }
    bool fits = true;
    const size_t num_fresh = stack.size() - writes.written.size();
    for (size_t i = 0; i < writes.written.size(); ++i) {
      const std::vector<at::Tensor> targets = tensorsOf(writes.written[i]), results = tensorsIn(stack[num_fresh + i]);
      fits &= std::ranges::equal(targets, results, [](const at::Tensor& target, const at::Tensor& result) {
        return target.scalar_type() == result.scalar_type() && target.sym_sizes() == result.sym_sizes();
      });
    }
    return fits;
  }

  std::vector<IValue> wrapResults(std::vector<IValue> results, const std::vector<IValue>& values) const {
    const Emission emission(*level_);
    for (IValue& result : results) eachTensor(result, [&](at::Tensor& tensor) { return wrapResult(tensor, values); });
    return results;
  }

  /// Raises the versions that no kernel above raises: of what is composed of operators that do (those of lists, and
  /// those with `out=` that are called whole), and of users' operators. Fused optimizers, as they write past operators,
  /// raise none.
  void countWrites(const FunctionalForm& writes) const {
    const auto has = [&](c10::DispatchKey key) { return op_.hasKernelForDispatchKey(key); };
    const bool is_counted = has(c10::DispatchKey::ADInplaceOrView) ||
                            has(c10::DispatchKey::CompositeExplicitAutograd) ||
                            has(c10::DispatchKey::CompositeImplicitAutograd) || !schema_.name().starts_with("aten::");
    // The kernel that has raised them leaves the key out of its own calls.
    if (!is_counted || c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::ADInplaceOrView)) return;
    for (const size_t argument : writes.written) {
      if (!isWritten(schema_.arguments()[argument])) continue;
      for (const at::Tensor& tensor : tensorsOf(argument))
        if (own(tensor) && !(tensor.is_inference() && makesInferenceTensors()))
          tensor.unsafeGetTensorImpl()->bump_version();
    }
  }

  /// Random numbers go to elements in the order of memory, and not always by the same code: a pure form would draw
  /// others for a tensor that is not contiguous.
  bool drawsByLayout(const FunctionalForm& writes) const {
    if (!op_.hasTag(at::Tag::nondeterministic_seeded)) return false;
    for (const size_t argument : writes.written)
      for (const at::Tensor& tensor : tensorsOf(argument))
        if (!tensor.is_contiguous()) return true;
    return false;
  }

  [[noreturn]] void throwWrongResult() const {
    throw UserError(
        "Within cresset.functionalize, '" + schema_.name() +
        "' can't be called with these arguments: its form that returns a new tensor has another dtype or other sizes");
  }

  [[noreturn]] void refuseViews() const {
    throw UserError(
        "Within cresset.functionalize, '" + schema_.name() +
        "' can't write to memory of which several elements are one, or that it reads, too, where views are removed: "
        "pass "
        "clones, or use remove=\"mutations\"");
  }

  /// Whether an out= operator gives the target the sizes of the result, and the strides: those of a tensor that is made
  /// larger are dense.
  bool isResizedTo(const at::Tensor& target, const at::Tensor& result) const {
    const Wrapper* wrapper = own(target);
    return wrapper && isAlone(*wrapper) && target.sym_sizes() != result.sym_sizes() && result.is_contiguous() &&
           target.scalar_type() == result.scalar_type() && target.device() == result.device();
  }

  /// An out= operator gives a tensor that has other sizes those of its result, if nothing else is of its memory.
  void replaceBy(const at::Tensor& target, const at::Tensor& value, bool is_out) const {
    Wrapper* wrapper = own(target);
    if (is_out && target.sym_sizes() != value.sym_sizes() && isAlone(*wrapper)) {
      replaceMemory(*wrapper, value);
    } else {
      assign(wrapper->part(), value);
    }
  }

  const c10::OperatorHandle& op_;
  const c10::FunctionSchema& schema_;
  std::vector<IValue>& stack_;
  std::vector<IValue> arguments_;
  std::shared_ptr<LevelState> level_;
};

void runCall(const c10::OperatorHandle& op, std::vector<IValue>& stack);

/// A call of an operator that writes.
class CallThatWrites : protected CallWithWrappers {
 public:
  using CallWithWrappers::CallWithWrappers;

 protected:
  void write(const FunctionalForm& writes) {
    const Operator* known = OperatorTable::get().find(toString(op_.operator_name()));
    if (known && known->replacesMemory()) {
      throw UserError(
          "Within cresset.functionalize, '" + schema_.name() +
          "' can't be called: it gives a tensor other memory. Use the other tensor itself");
    }
    const Overlap rule = known ? overlapOf(*known) : Overlap::Allowed;
    const bool has_overlaps = hasOverlaps(writes, rule);
    const bool is_entangled = has_overlaps || writesPlaceTwice(writes) || readsWhatItWrites(writes, rule);
    if (is_entangled && known && isForEach(*known) && canWriteElements(writes)) return writeElements(writes);
    TORCH_CHECK(!has_overlaps, kOverlapError);
    std::vector<IValue> fresh;
    if (is_entangled) {
      fresh = writeMemories(writes);
    } else {
      const bool pure = writes.op && writes.op->handle() && !drawsByLayout(writes);
      if (!pure || !writePure(writes, fresh)) fresh = writeCopies(writes);
    }
    countWrites(writes);
    std::vector<IValue> results;
    size_t next = 0;
    for (const c10::Argument& result : schema_.returns()) {
      if (!result.alias_info()) {
        results.push_back(std::move(fresh.at(next++)));
        continue;
      }
      for (const size_t written : writes.written) {
        const c10::AliasInfo* info = schema_.arguments()[written].alias_info();
        if (info && *info == *result.alias_info()) results.push_back(arguments_[written]);
      }
    }
    CRESSET_CHECK(results.size() == schema_.returns().size(), "each result is new or one of the written arguments");
    finish(std::move(results));
  }

  /// Whether a call for each element can take the place of one for lists: all that is written are wrappers, and each
  /// list has an element for each.
  bool canWriteElements(const FunctionalForm& writes) const {
    if (!schema_.returns().empty()) return false;
    const std::vector<at::Tensor> written = tensorsOf(writes.written.at(0));
    return written.size() > 1 && std::ranges::all_of(written, [&](const at::Tensor& tensor) { return own(tensor); }) &&
           std::ranges::all_of(arguments_, [&](const IValue& argument) {
             // One of scalars, of which each element takes one, is not a list.
             return argument.isList() ? argument.toListRef().size() == written.size()
                                      : !argument.isTensor() || argument.toTensor().dim() == 0;
           });
  }

  /// By a call for each element, so that those after it see what it writes.
  void writeElements(const FunctionalForm& writes) {
    for (size_t i = 0; i < tensorsOf(writes.written[0]).size(); ++i) {
      std::vector<IValue> stack = arguments_;
      for (IValue& value : stack) {
        if (!value.isList()) continue;
        const c10::List<IValue> list = value.toList();
        c10::List<IValue> element(list.elementType());
        element.push_back(list.get(i));
        value = element;
      }
      runCall(op_, stack);
    }
    finish({});
  }

 private:
  /// By the operator itself, on views of copies of all that their memories have: elements that are one in memory, or
  /// are read and written, become what eager PyTorch makes of them, in its order, or its error is raised. Returns its
  /// results that are new.
  std::vector<IValue> writeMemories(const FunctionalForm& writes) {
    std::vector<std::pair<Memory*, at::Tensor>> wholes;
    const auto wholeOf = [&](const Memory& memory) {
      return std::find_if(wholes.begin(), wholes.end(), [&](const auto& whole) { return whole.first == &memory; });
    };
    for (const size_t argument : writes.written) {
      for (const at::Tensor& tensor : tensorsOf(argument)) {
        const Wrapper* wrapper = own(tensor);
        if (wrapper && copies() && wrapper->part()->repeats) refuseViews();
        if (wrapper && wholeOf(wrapper->memory()) == wholes.end())
          wholes.emplace_back(&wrapper->memory(), copyOfWhole(wrapper->memory()));
      }
    }
    std::vector<IValue> stack = arguments_;
    for (IValue& value : stack) {
      eachTensor(value, [&](at::Tensor& tensor) {
        const Wrapper* wrapper = own(tensor);
        if (!wrapper) return false;
        const auto whole = wholeOf(wrapper->memory());
        if (whole != wholes.end() && copies() && wrapper->part()->parent) refuseViews();
        tensor = whole == wholes.end() ? current(wrapper->part()) : placeIn(*wrapper->part(), whole->second);
        return true;
      });
    }
    const std::vector<IValue> given = stack;
    call(op_, stack);
    std::vector<std::pair<at::Tensor, at::Tensor>> resized;
    for (const size_t argument : writes.written) {
      const std::vector<at::Tensor> targets = tensorsOf(argument), written = tensorsIn(given[argument]);
      for (size_t i = 0; i < targets.size(); ++i)
        if (own(targets[i]) && targets[i].sym_sizes() != written[i].sym_sizes())
          resized.emplace_back(targets[i], written[i]);
    }
    for (const auto& [memory, whole] : wholes) {
      const bool is_other = std::any_of(resized.begin(), resized.end(), [&, known = memory](const auto& pair) {
        return &own(pair.first)->memory() == known;
      });
      if (!is_other) assignWhole(*memory, whole);
    }
    for (const auto& [target, value] : resized) {
      if (!isAlone(*own(target))) {
        throw UserError(
            "Within cresset.functionalize, '" + schema_.name() +
            "' can't change the sizes of a tensor that is a view or has views: make a new tensor");
      }
      replaceMemory(*own(target), value);
    }
    std::vector<IValue> fresh;
    for (size_t i = 0; i < schema_.returns().size(); ++i)
      if (!schema_.returns()[i].alias_info()) fresh.push_back(stack[i]);
    return wrapResults(std::move(fresh), given);
  }

  /// By the functional form; false if that does not return what the operator would have written.
  bool writePure(const FunctionalForm& writes, std::vector<IValue>& fresh) {
    const std::vector<IValue> given = values();
    std::vector<IValue> stack;
    for (const size_t argument : writes.taken) stack.push_back(given[argument]);
    // Random numbers would be drawn twice, were the call repeated.
    const bool random = op_.hasTag(at::Tag::nondeterministic_seeded);
    if (random && writes.is_out && !fitsUndrawn(writes, stack)) return false;
    call(*writes.op->handle(), stack);
    const size_t num_fresh = stack.size() - writes.written.size();
    std::vector<std::pair<at::Tensor, at::Tensor>> assigned, resized;
    for (size_t i = 0; i < writes.written.size(); ++i) {
      const std::vector<at::Tensor> targets = tensorsOf(writes.written[i]);
      std::vector<at::Tensor> results = tensorsIn(stack[num_fresh + i]);
      if (results.size() != targets.size()) return false;
      for (size_t k = 0; k < targets.size(); ++k) {
        if (writes.is_out && isResizedTo(targets[k], results[k])) {
          resized.emplace_back(targets[k], results[k]);
          continue;
        }
        if (!becomes(targets[k], results[k], writes.is_out, *level_)) {
          if (random) throwWrongResult();
          return false;
        }
        assigned.emplace_back(targets[k], results[k]);
      }
    }
    for (auto& [target, value] : assigned) set(target, value, given);
    for (auto& [target, value] : resized) replaceMemory(*own(target), unshared(value, given, *level_));
    stack.resize(num_fresh);
    fresh = wrapResults(std::move(stack), given);
    return true;
  }

  void set(const at::Tensor& target, at::Tensor value, const std::vector<IValue>& given) const {
    if (const Wrapper* wrapper = own(target)) {
      assign(wrapper->part(), unshared(std::move(value), given, *level_));
    } else {
      const Emission emission(*level_);
      at::Tensor written = target;
      at::_ops::copy_::call(written, value, false);
    }
  }

  /// By the operator itself, on copies of what it writes. Returns its results that are new.
  std::vector<IValue> writeCopies(const FunctionalForm& writes) {
    const bool recorded = isRecordedInside();
    std::vector<IValue> given = values();
    const OnTape on_tape(*this, given, recorded);
    std::vector<IValue> stack = given;
    struct Copy {
      at::Tensor target, value;
      bool is_out;  // beside it others may be written that are read, too
    };
    std::vector<Copy> copies;
    for (const size_t argument : writes.written) {
      size_t at = 0;
      const std::vector<at::Tensor> targets = tensorsOf(argument);
      eachTensor(stack[argument], [&](at::Tensor& tensor) {
        const at::Tensor& target = targets[at++];
        if (!own(target)) return false;
        const Emission emission(*level_);
        // A copy of a view has not the strides that the operator goes by.
        tensor = copyWithStrides(tensor, (copiesViews(*level_) ? target : tensor).sym_strides());
        TORCH_CHECK(
            !recorded || !target.requires_grad() || !target.is_leaf(),
            "a leaf Variable that requires grad is being used in an in-place operation.");
        if (recorded) followOnTape(target, tensor);
        copies.push_back({target, tensor, schema_.arguments()[argument].is_out()});
        return true;
      });
    }
    call(op_, stack, recorded);
    for (const auto& [target, value, is_out] : copies) {
      if (value.requires_grad() && !isEntered(value) && (!target.is_view() || !recordWrite(target, value)))
        sharePlace(value, target);
      replaceBy(target, value.requires_grad() ? offTape(value) : value, is_out);
    }
    std::vector<IValue> fresh;
    for (size_t i = 0; i < schema_.returns().size(); ++i)
      if (!schema_.returns()[i].alias_info()) fresh.push_back(stack[i]);
    return wrapResults(std::move(fresh), given);
  }
};

class Call : CallThatWrites {
 public:
  using CallThatWrites::CallThatWrites;

  void run() {
    CRESSET_CHECK(level_, "the kernel of wrappers is called with one");
    if (!level_->open) {
      runClosed();
    } else if (changesPlace()) {
      changePlace();
    } else if (schema_.name().starts_with("prims::") && isGivenStrides(schema_) && returnsView()) {
      view();  // of prims the schema says that it writes
    } else if (const FunctionalForm* writes = writesOfCall(op_, arguments_)) {
      write(*writes);
    } else if (returnsView()) {
      view();
    } else if (is<at::_ops::_has_same_storage_numel>(op_)) {
      const bool same = storageElements(arguments_[0].toTensor()) == storageElements(arguments_[1].toTensor());
      finish({IValue(same)});
    } else if (is<at::_ops::_new_zeros_with_same_feature_meta>(op_)) {
      makeTangent();
    } else {
      compute();
    }
  }

 private:
  /// The memory of wrappers is that of tensors: called as it is.
  void runClosed() {
    std::vector<std::pair<at::Tensor, at::Tensor>> replaced;
    std::vector<IValue> results = arguments_;
    for (IValue& value : results) {
      eachTensor(value, [&](at::Tensor& tensor) {
        const Wrapper* wrapper = own(tensor);
        if (!wrapper) return false;
        at::Tensor plain = current(wrapper->part());
        replaced.emplace_back(plain, tensor);
        tensor = plain;
        return true;
      });
    }
    call(op_, results);
    for (IValue& result : results) {
      eachTensor(result, [&](at::Tensor& tensor) {
        for (const auto& [plain, wrapper] : replaced) {
          if (!plain.is_same(tensor)) continue;
          tensor = wrapper;
          return true;
        }
        return false;
      });
    }
    finish(std::move(results));
  }

  bool changesPlace() const { return op_.hasTag(at::Tag::inplace_view); }

  /// `transpose_` and its like: another view of the same memory.
  void changePlace() {
    const at::Tensor& tensor = arguments_[0].toTensor();
    Wrapper* wrapper = own(tensor);
    if (wrapper && schema_.name() == at::_ops::resize_::name)
      return resize(*wrapper, arguments_[1].toSymIntVector(), arguments_[2]);
    if (wrapper && schema_.name() == at::_ops::resize_as_::name)
      return resize(*wrapper, arguments_[1].toTensor().sym_sizes().vec(), arguments_[2]);
    const Operator* view = viewForm(schema_);
    if (!wrapper || !view || !view->handle()) {
      throw UserError(
          "Within cresset.functionalize, '" + schema_.name() +
          "' can't be called: it gives a tensor other sizes or memory. Make a new tensor");
    }
    PartPtr part;
    c10::SymInt offset;
    const at::Tensor value = makePart(*view->handle(), *wrapper, -1, part, offset);
    wrapper->setPart(std::move(part), value, offset);
    finish({IValue(tensor)});
  }

  /// `resize_` to sizes that the memory has room for makes another part of it, as as_strided does; else the memory
  /// grows, if nothing else is of it.
  void resize(Wrapper& wrapper, const std::vector<c10::SymInt>& sizes, const IValue& memory_format) {
    const at::Tensor tensor = arguments_[0].toTensor();
    const c10::SymIntArrayRef before = wrapper.sym_sizes();
    const std::string refused = "Within cresset.functionalize, '" + schema_.name() + "' can't ";
    if (memory_format.isNone() && before == c10::SymIntArrayRef(sizes)) return finish({IValue(tensor)});
    if (!mayHaveOtherSizes(wrapper.memory()))
      throw UserError(refused + "change the sizes of a tensor from outside here: make a new tensor");
    if (!memory_format.isNone() && memory_format.toMemoryFormat() != at::MemoryFormat::Contiguous) {
      throw UserError(refused + "change the memory format: make a new tensor");
    }
    if (before == c10::SymIntArrayRef(sizes)) return finish({IValue(tensor)});
    const at::Tensor& whole = wrapper.memory().value;
    if (!wrapper.is_contiguous() || !whole.is_contiguous() || wrapper.memory().has_more) {
      throw UserError(
          refused + "change a tensor whose elements are not the first ones of its memory, in order: make a new tensor");
    }
    const c10::SymInt offset = wrapper.sym_storage_offset() - wrapper.memory().offset;
    if (offset + c10::multiply_integers(sizes) <= whole.sym_numel()) {
      const std::vector<int64_t> fixed = C10_AS_INTARRAYREF_SLOW(sizes).vec();
      auto part = std::make_shared<Part>(wrapper.part()->memory);
      const c10::DimVector strides = c10::contiguous_strides(fixed);
      c10::SymInt begin;
      const at::Tensor value = stridedValue(
          {IValue(tensor), IValue(fixed), IValue(c10::IntArrayRef(strides)), IValue()}, wrapper, *part, begin);
      wrapper.setPart(part, value, begin);
    } else if (!isAlone(wrapper)) {
      throw UserError(refused + "make a tensor larger that is a view or has views: make a new tensor");
    } else {
      const at::Tensor value = current(wrapper.part());
      const Emission emission(*level_);
      replaceMemory(wrapper, at::_ops::resize::call(value, sizes, std::nullopt));
    }
    finish({IValue(tensor)});
  }

  bool returnsView() const {
    if (arguments_.empty() || !arguments_[0].isTensor() || !own(arguments_[0].toTensor())) return false;
    const auto& returns = schema_.returns();
    return isViewDenied(op_) ||
           std::ranges::any_of(returns, [](const c10::Argument& result) { return result.alias_info() != nullptr; });
  }

  /// The part that the view of the first argument is, a tensor with its sizes and strides, and its storage offset.
  at::Tensor makePart(
      const c10::OperatorHandle& op, const Wrapper& wrapper, int64_t index, PartPtr& part, c10::SymInt& offset) {
    part = std::make_shared<Part>(wrapper.part()->memory);
    Memory& memory = *part->memory;
    at::Tensor value;
    if (isGivenStrides(op.schema())) {
      value = stridedValue(arguments_, wrapper, *part, offset);
    } else {
      part->parent = wrapper.part();
      part->op = op;
      part->arguments = values();
      part->index = index;
      const at::Tensor parent = part->arguments[0].toTensor();
      part->arguments[0] = IValue();
      const Emission emission(*level_);
      part->value = applyView(*part, parent, copies());
      part->generation = memory.generation;
      keepNumbers(op.schema(), part->arguments, part->value);
      if (copies()) {
        value = shapesOf(op, part->arguments, {part->value}).at(0);
        offset = value.sym_storage_offset();
      } else {
        value = part->value;
        offset = offsetOfView(wrapper, parent, value);
      }
    }
    return value;
  }

  /// Tensors with the sizes, strides and offsets that the views have in eager PyTorch, which copies don't have.
  std::vector<at::Tensor> shapesOf(
      const c10::OperatorHandle& op, const std::vector<IValue>& arguments,
      const std::vector<at::Tensor>& values) const {
    return shapesOfViews(op, arguments, arguments_[0].toTensor()).value_or(values);
  }

  /// A wrapper of the part, which has the value, with the shape that makePart has returned.
  at::Tensor wrapPart(PartPtr part, const at::Tensor& value, const at::Tensor& shape, const c10::SymInt& offset) const {
    at::Tensor wrapper = wrapperFor(part, value, arguments_[0].toTensor().is_inference(), offset);
    if (!shape.is_same(value)) wrapperOf(wrapper)->setPart(std::move(part), shape, offset);
    return wrapper;
  }

  /// Makes the part what as_strided with these arguments makes of the wrapper. Returns its value.
  at::Tensor stridedValue(
      const std::vector<IValue>& arguments, const Wrapper& wrapper, Part& part, c10::SymInt& offset) const {
    offset = makeStrided(arguments, wrapper, part);
    const at::Tensor parent = current(part.parent);
    const Emission emission(*level_);
    part.value = applyView(part, parent, copies());
    part.generation = part.memory->generation;
    if (!copies()) return part.value;
    const StandInScope scope;
    return applyView(part, standIn(parent), /*copies=*/false);
  }

  void view() {
    const at::Tensor& self = arguments_[0].toTensor();
    const Wrapper& wrapper = *own(self);
    const bool list = schema_.returns()[0].type()->kind() == c10::TypeKind::ListType;
    if (schema_.returns().size() != 1)
      throw UserError(
          "Within cresset.functionalize, '" + schema_.name() + "' can't be called: it returns several views");
    if (!schema_.name().starts_with("aten::") && !schema_.name().starts_with("prims::") && isRecordedInside()) {
      throw UserError(
          "Within cresset.functionalize, '" + schema_.name() +
          "' can't be called where gradients are recorded: it returns a view, and has no kernel for autograd. Register "
          "its kernel as CompositeImplicitAutograd, or pass x.detach()");
    }
    if (!list) {
      PartPtr part;
      c10::SymInt offset;
      const at::Tensor shape = makePart(op_, wrapper, -1, part, offset);
      const at::Tensor value = part->value;
      finish({IValue(wrapPart(std::move(part), value, shape, offset))});
      return;
    }
    std::vector<IValue> kept = values();
    const at::Tensor parent = kept[0].toTensor();
    kept[0] = IValue();
    auto siblings = std::make_shared<Part::Siblings>();
    {
      const Emission emission(*level_);
      siblings->values = viewsOf(op_, kept, parent, copies());
      if (!siblings->values.empty()) keepNumbers(schema_, kept, siblings->values[0]);
    }
    siblings->generation = wrapper.memory().generation;
    const std::vector<at::Tensor> shapes = copies() ? shapesOf(op_, kept, siblings->values) : siblings->values;
    c10::List<at::Tensor> views;
    for (size_t i = 0; i < siblings->values.size(); ++i) {
      auto part = std::make_shared<Part>(wrapper.part()->memory);
      part->parent = wrapper.part();
      part->op = op_;
      part->arguments = kept;
      part->index = static_cast<int64_t>(i);
      part->siblings = siblings;
      part->value = siblings->values[i];
      part->generation = siblings->generation;
      const at::Tensor& value = siblings->values[i];
      const c10::SymInt offset = copies() ? shapes[i].sym_storage_offset() : offsetOfView(wrapper, parent, value);
      views.push_back(wrapPart(std::move(part), value, shapes[i], offset));
    }
    finish({IValue(std::move(views))});
  }

  void compute() {
    const bool recorded = isRecordedInside();
    std::vector<IValue> given = values();
    const OnTape on_tape(*this, given, recorded);
    stack_.insert(stack_.end(), given.begin(), given.end());
    call(op_, stack_, recorded);
    const Emission emission(*level_);
    for (size_t i = stack_.size() - schema_.returns().size(); i < stack_.size(); ++i)
      eachTensor(stack_[i], [&](at::Tensor& tensor) { return wrapResult(tensor, given); });
  }

  void makeTangent() {
    const at::Tensor options = values()[0].toTensor();
    const auto num_batched = static_cast<size_t>(arguments_[2].toInt());
    finish({IValue(zerosAt(arguments_[1].toTensor(), options, num_batched, level_))});
  }
};

void runCall(const c10::OperatorHandle& op, std::vector<IValue>& stack) {
  Call(op, stack).run();
}

void kernel(const c10::OperatorHandle& op, c10::DispatchKeySet, std::vector<IValue>* stack) {
  runCall(op, *stack);
}

}  // namespace

void registerWrapperKernel() {
  static std::once_flag once;
  std::call_once(once, [] {
    // For the life of the process: tensors may outlive all else.
    static auto* registration = new c10::RegistrationHandleRAII(c10::Dispatcher::singleton().registerFallback(
        c10::DispatchKey::Fake, c10::KernelFunction::makeFromBoxedFunction<&kernel>(), "Cresset's functional tensors"));
    (void)registration;
  });
}

}  // namespace cresset::live
