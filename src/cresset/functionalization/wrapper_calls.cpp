// The kernel of wrappers: what becomes of an operator that is called with them.
//
// Views become parts, in-place and out= operators the pure operators that compute the same, whose results are assigned.
// An operator without a pure form is called on copies of what it writes. All else is called with the wrappers' values.
#include <ATen/core/jit_type.h>
#include <ATen/ops/_conj_ops.h>
#include <ATen/ops/_has_same_storage_numel_ops.h>
#include <ATen/ops/_neg_view_ops.h>
#include <ATen/ops/_new_zeros_with_same_feature_meta_ops.h>
#include <ATen/ops/as_strided_copy_ops.h>
#include <ATen/ops/as_strided_ops.h>
#include <ATen/ops/clone_ops.h>
#include <ATen/ops/new_zeros_ops.h>
#include <ATen/ops/resize_as_ops.h>
#include <ATen/ops/resize_ops.h>
#include <c10/util/accumulate.h>
#include <c10/util/strides.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "cresset/functionalization/call_that_writes.h"
#include "cresset/functionalization/call_with_wrappers.h"
#include "cresset/functionalization/each_tensor.h"
#include "cresset/functionalization/level.h"
#include "cresset/functionalization/view_rows.h"
#include "cresset/functionalization/wrapper.h"
#include "cresset/functionalization/writes.h"
#include "cresset/ops/operator_forms.h"
#include "cresset/ops/operator_rows.h"
#include "cresset/support/error.h"

namespace cresset::live {

namespace {

/// The tensor of the elements that it shows: copies of conjugate and negative views have these.
at::Tensor withoutBits(at::Tensor tensor) {
  if (tensor.is_conj()) tensor = at::_ops::_conj::call(tensor);
  return tensor.is_neg() ? at::_ops::_neg_view::call(tensor) : tensor;
}

/// All of a memory, as elements of the wrapper's kind, and a tensor of that layout: the memory, or a view of another
/// dtype of it. Autograd makes a part of `x.real` again by as_strided of that.
std::pair<PartPtr, at::Tensor> wholeInKindOf(const Wrapper& wrapper) {
  const bool copies = copiesViews(*wrapper.memory().level);
  std::vector<PartPtr> chain;
  PartPtr root = wrapper.part();
  for (; root->parent; root = root->parent) chain.push_back(root);
  const at::Tensor& whole = root->memory->value;
  if (!copies && haveSameElements(wrapper, whole)) return {root, whole};
  const StandInScope scope;
  PartPtr converted = root;
  at::Tensor place = standIn(whole), all = place;
  for (size_t i = chain.size(); i-- > 0;) {
    const at::Tensor before = std::exchange(place, applyView(*chain[i], place, /*copies=*/false));
    const bool is_converted = !haveSameElements(place, before);
    if (copies) place = withoutBits(std::move(place));
    if (!is_converted) continue;
    auto part = std::make_shared<Part>(root->memory);
    part->parent = converted;
    part->op = chain[i]->op;
    part->arguments = chain[i]->arguments;
    try {
      all = applyView(*part, all, /*copies=*/false);
      if (copies) all = withoutBits(std::move(all));
    } catch (const c10::Error&) {  // not every tensor has such a view
      throw UserError(
          "Within cresset.functionalize, as_strided of a view with another dtype (or of a conjugate or negative view) "
          "of a part of a tensor can't be made: call it on the tensor that is viewed");
    }
    converted = std::move(part);
  }
  return {converted, converted == root ? whole : all};
}

/// as_strided reaches what the whole memory has. Returns the view's storage offset.
int64_t makeStrided(const std::vector<IValue>& arguments, const Wrapper& wrapper, Part& part) {
  Memory& memory = *part.memory;
  const bool has_numbers = (arguments[1].isIntList() && arguments[2].isIntList()) &&
                           (arguments[3].isNone() || arguments[3].isInt()) && !wrapper.has_symbolic_sizes_strides() &&
                           !memory.value.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
  if (!has_numbers) {
    throw UserError(
        "Within cresset.functionalize, as_strided can't be called where sizes are symbolic: use views by dimensions "
        "(`narrow`, `unfold`, `view`), or fixed sizes");
  }
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
    if (memory.foreign && !memory.shared && dynamic_cast<Level&>(*memory.level->client).takeStorageOf(memory))
      return makeStrided(arguments, wrapper, part);
    throw UserError(
        "Within cresset.functionalize, as_strided can't reach beyond the tensor that it views: pass the tensor that "
        "has all of the memory");
  }
  const bool is_flat = memory.shared && !memory.around.defined();
  if (memory.foreign && !is_flat && !memory.value.is_non_overlapping_and_dense()) {
    if (!memory.shared && dynamic_cast<Level&>(*memory.level->client).takeStorageOf(memory))
      return makeStrided(arguments, wrapper, part);
    throw UserError(
        "Within cresset.functionalize, as_strided of a tensor from outside whose memory is not dense can't be made: "
        "pass the tensor that has all of the memory");
  }
  part.offset = offset - begin;
  return offset;
}

/// The storage offset that a view of the wrapper has. What was written to a part is its value, which begins elsewhere
/// in memory than the part.
c10::SymInt offsetOfView(const Wrapper& wrapper, const at::Tensor& value, const at::Tensor& view) {
  c10::SymInt further = wrapper.sym_storage_offset() - value.sym_storage_offset();
  if (value.itemsize() != view.itemsize())
    further = further * static_cast<int64_t>(value.itemsize()) / static_cast<int64_t>(view.itemsize());
  return view.sym_storage_offset() + further;
}

/// How many elements the tensor's storage has in eager PyTorch. Values may be parts, and have less.
c10::SymInt storageElements(const at::Tensor& tensor) {
  return storageBytes(tensor) / static_cast<int64_t>(tensor.itemsize());
}

/// Zeros at the same place of a storage of the same size and dtype as a tensor, for its tangent, on the device of
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
        at::_ops::new_zeros::call(options, shape, like.scalar_type(), std::nullopt, std::nullopt, std::nullopt);
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

/// A call of any operator.
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
    } else if (is<at::_ops::as_strided_copy>(op_) && readsWrapperOfNumbers()) {
      copyStrided();
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

  bool readsWrapperOfNumbers() const {
    const Wrapper* wrapper = own(arguments_[0].toTensor());
    return wrapper && !wrapper->has_symbolic_sizes_strides();
  }

  /// The value of a wrapper may have less memory than the tensor has in eager PyTorch, or be laid out in another way.
  void copyStrided() {
    const Wrapper& wrapper = *own(arguments_[0].toTensor());
    Part part(wrapper.part()->memory);
    c10::SymInt offset;
    stridedValue(arguments_, wrapper, part, offset);
    const Emission emission(*level_);
    const at::Tensor copy = copies() ? part.value : at::_ops::clone::call(part.value, std::nullopt);
    finish({IValue(wrapFresh(copy, level_, makesInferenceTensors()))});
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

void kernel(const c10::OperatorHandle& op, c10::DispatchKeySet, std::vector<IValue>* stack) {
  runCall(op, *stack);
}

}  // namespace

void runCall(const c10::OperatorHandle& op, std::vector<IValue>& stack) {
  Call(op, stack).run();
}

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
