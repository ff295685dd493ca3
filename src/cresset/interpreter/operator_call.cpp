#include "cresset/interpreter/operator_call.h"

#include <ATen/EmptyTensor.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <unordered_map>

#include "cresset/analysis/fact_rule.h"
#include "cresset/codegen/layout.h"
#include "cresset/codegen/operator_check.h"
#include "cresset/interpreter/plain_tensor.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/new_tensor.h"
#include "cresset/ops/operator_forms.h"
#include "cresset/ops/operator_rows.h"
#include "cresset/ops/own_memory.h"
#include "cresset/support/numerics.h"
#include "cresset/support/options.h"

namespace cresset {

namespace {

using codegen::OperatorKernels;
using codegen::ScalarArgument;
using codegen::Sizes;
using codegen::StridedLayout;

thread_local bool without_kernels = false;
std::atomic<size_t> num_calls{0};

/// Whether elements of the target may be written while those of the operand are read.
bool canWriteBeside(const at::Tensor& target, const at::Tensor& operand) {
  if (target.is_same(operand)) return true;
  const at::MemOverlapStatus overlap = at::get_overlap_status(target, operand);
  return overlap == at::MemOverlapStatus::No ||
         (overlap == at::MemOverlapStatus::Full && target.strides() == operand.strides());
}

at::Tensor cast(const at::Tensor& tensor, at::ScalarType dtype) {
  const at::AutoDispatchBelowADInplaceOrView below;
  return tensor.to(dtype);
}

/// What a kernel is called with.
struct Launch {
  codegen::KernelFunction next, any;
  c10::SmallVector<void*, 4> buffers;
  c10::SmallVector<uint64_t, 4> numbers;
};

/// Over all elements of the last tensor, the result, outermost along its longest stride; the others are broadcast to
/// it.
std::vector<codegen::LoopDim> loopsOver(std::span<const at::Tensor> tensors) {
  const at::Tensor& result = tensors.back();
  std::vector<codegen::LoopDim> dims;
  for (int64_t d = 0; d < result.dim(); ++d) {
    if (result.size(d) == 1) continue;
    codegen::LoopDim dim{result.size(d), {}};
    for (const at::Tensor& tensor : tensors) {
      const int64_t own = d - (result.dim() - tensor.dim());
      const bool is_broadcast = own < 0 || tensor.size(own) == 1;
      dim.strides.push_back(is_broadcast ? 0 : tensor.stride(own) * tensor.itemsize());
    }
    dims.push_back(std::move(dim));
  }
  std::stable_sort(dims.begin(), dims.end(), [](const codegen::LoopDim& a, const codegen::LoopDim& b) {
    return a.strides.back() > b.strides.back();
  });
  return dims;
}

/// Elements that follow each other.
void runRow(const Launch& launch, int64_t size) {
  const auto part = [&](int64_t begin, int64_t end) {
    launch.next(launch.buffers.data(), &size, nullptr, launch.numbers.data(), begin, end);
  };
  if (size < kElementsPerThread || at::in_parallel_region() || at::get_num_threads() == 1) {
    part(0, size);
  } else {
    at::parallel_for(0, size, kElementsPerThread, part);
  }
}

/// Row by row. Which rows, and which parts of them, a thread computes makes no difference to the bits.
void runRows(const Launch& launch, const codegen::LoopNest& nest) {
  const size_t last = nest.sizes.size() - 1, num_buffers = launch.buffers.size();
  const int64_t size = nest.sizes[last];
  int64_t num_rows = 1;
  for (size_t d = 0; d < last; ++d) num_rows *= nest.sizes[d];
  bool follows = true;
  c10::SmallVector<int64_t, 4> strides;
  for (size_t i = 0; i < num_buffers; ++i) {
    strides.push_back(nest.strides[i][last]);
    follows = follows && nest.steps[i][last] == codegen::Step::Next;
  }
  const codegen::KernelFunction function = follows ? launch.next : launch.any;
  const auto part = [&](int64_t first_row, int64_t end_row, int64_t begin, int64_t end) {
    std::vector<void*> buffers(launch.buffers.begin(), launch.buffers.end());
    for (int64_t row = first_row; row < end_row; ++row) {
      for (size_t i = 0; i < num_buffers; ++i) {
        auto* address = static_cast<char*>(launch.buffers[i]);
        int64_t rest = row;
        for (size_t d = last; d-- > 0;) {
          address += rest % nest.sizes[d] * nest.strides[i][d];
          rest /= nest.sizes[d];
        }
        buffers[i] = address;
      }
      function(buffers.data(), &size, strides.data(), launch.numbers.data(), begin, end);
    }
  };
  if (num_rows * size < kElementsPerThread || at::in_parallel_region() || at::get_num_threads() == 1) {
    part(0, num_rows, 0, size);
  } else if (num_rows < at::get_num_threads()) {
    at::parallel_for(0, size, kElementsPerThread, [&](int64_t begin, int64_t end) { part(0, num_rows, begin, end); });
  } else {
    const int64_t grain = std::max<int64_t>(1, kElementsPerThread / size);
    at::parallel_for(0, num_rows, grain, [&](int64_t begin, int64_t end) { part(begin, end, 0, size); });
  }
}

}  // namespace

/// A call that a kernel takes.
struct OperatorCall::Prepared {
  at::ScalarType dtype = at::kFloat;
  OperatorKernels::Form chosen;
  const OperatorKernels::Functions* functions = nullptr;
  c10::SmallVector<const at::Tensor*, 4> tensors;  // as they are given
  c10::SmallVector<size_t, 4> order;               // in which operands decide the result's layout
  c10::SmallVector<at::Tensor, 4> operands;        // of `dtype`
  c10::SmallVector<uint64_t, 4> numbers;
  codegen::ResultRule rule;
  bool is_recorded = false;

  /// A new tensor, or the target; undefined if the sizes don't go together or the target has others.
  at::Tensor compute(const at::Tensor* target) const;
  /// Into a tensor of the dtype, which gets the result's sizes; false if those of the operands don't go together.
  bool computeInto(const at::Tensor& target) const;

 private:
  std::optional<StridedLayout> layout() const;
  /// Into a tensor that has the result's layout; `is_row`: that, and those of the operands, are as isRow says.
  void run(const at::Tensor& result, bool is_row) const;
  Launch launch(const at::Tensor& result) const;
  bool isRow() const;
};

std::optional<StridedLayout> OperatorCall::Prepared::layout() const {
  std::vector<StridedLayout> layouts;
  for (const size_t i : order) layouts.push_back(codegen::layoutOf(operands[i]));
  return codegen::layoutOfResult(layouts, rule);
}

Launch OperatorCall::Prepared::launch(const at::Tensor& result) const {
  Launch launch{functions->next, functions->any, {}, numbers};
  for (const at::Tensor& operand : operands) launch.buffers.push_back(const_cast<void*>(operand.const_data_ptr()));
  launch.buffers.push_back(result.mutable_data_ptr());
  return launch;
}

/// Contiguous tensors of the same sizes: the usual case, for which nothing has to be found out.
bool OperatorCall::Prepared::isRow() const {
  if (rule.has_number) return false;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].is_contiguous() || !tensors[i]->is_contiguous() || operands[i].sizes() != operands[0].sizes())
      return false;
  }
  return true;
}

void OperatorCall::Prepared::run(const at::Tensor& result, bool is_row) const {
  num_calls.fetch_add(1, std::memory_order_relaxed);
  if (is_row) return runRow(launch(result), result.numel());
  if (result.numel() == 0) return;
  std::vector<at::Tensor> buffers(operands.begin(), operands.end());
  buffers.push_back(result);
  const std::vector<at::ScalarType> dtypes(buffers.size(), dtype);
  runRows(launch(result), *codegen::makeLoopNest(loopsOver(buffers), {}, /*contracts=*/false, dtypes));
}

bool OperatorCall::Prepared::computeInto(const at::Tensor& target) const {
  c10::TensorImpl& tensor = *target.unsafeGetTensorImpl();
  const bool is_row = isRow();
  if (is_row) {
    tensor.set_sizes_contiguous(operands[0].sizes());
  } else if (const auto expected = layout()) {
    tensor.set_sizes_and_strides(expected->sizes, expected->strides);
  } else {
    return false;
  }
  makeRoom(target, at::detail::computeStorageNbytes(target.sizes(), target.strides(), target.itemsize()));
  run(target, is_row);
  return true;
}

at::Tensor OperatorCall::Prepared::compute(const at::Tensor* target) const {
  const bool is_row = isRow() && (!target || (target->is_contiguous() && target->sizes() == operands[0].sizes()));
  at::Tensor result;
  if (is_row) {
    result = target
                 ? *target
                 : at::Tensor(at::detail::empty_cpu(operands[0].sizes(), dtype, false, c10::MemoryFormat::Contiguous));
  } else {
    const auto expected = layout();
    if (!expected || (target && target->sizes() != c10::IntArrayRef(expected->sizes))) return {};
    result = target ? *target : at::Tensor(at::detail::empty_strided_cpu(expected->sizes, expected->strides, dtype));
  }
  run(result, is_row);
  return result;
}

std::unique_ptr<const OperatorCall> OperatorCall::make(const Operator& op) {
  const Operator* functional = &op;
  Target target = Target::New;
  if (op.isInPlaceReuse()) {
    functional = OperatorTable::get().find(op.functionalName());
    target = Target::Reuse;
  } else if (op.isMutable()) {
    const FunctionalForm form = functionalForm(op.schema());
    target = form.is_out ? Target::Out : Target::First;
    const size_t written = form.is_out ? op.schema().arguments().size() - 1 : 0;
    functional = form.written == std::vector<size_t>{written} ? form.op : nullptr;
  }
  const OperatorKernels* kernels = functional ? OperatorKernels::of(*functional) : nullptr;
  if (!kernels) return nullptr;
  return std::unique_ptr<const OperatorCall>(new OperatorCall(op, *kernels, target));
}

bool OperatorCall::areWanted() {
  return options::kernels() != KernelMode::Off && !without_kernels && !wantsExactNumerics() && callsReachKernels();
}

const OperatorCall* OperatorCall::of(const Operator& op, std::span<const std::optional<c10::IValue>> known) {
  static auto* mutex = new std::mutex;
  static auto* all = new std::unordered_map<const Operator*, std::unique_ptr<const OperatorCall>>;
  if (!op.isOfDispatcher() || op.schema().returns().size() != 1) return nullptr;
  const OperatorCall* call = nullptr;
  {
    const std::lock_guard lock(*mutex);
    const auto found = all->find(&op);
    call = (found != all->end() ? found : all->emplace(&op, make(op)).first)->second.get();
  }
  return call && call->kernels_.hasOwnBits(known) ? call : nullptr;
}

const OperatorCall* OperatorCall::of(const Operator& op, const Node& node) {
  std::vector<std::optional<c10::IValue>> known;
  const size_t count = std::min(node.inputs().size(), op.schema().arguments().size());
  for (size_t i = 0; i < count; ++i) {
    auto value = toIValue(node.inputs()[i]);
    known.push_back(value && value->isTensor() ? std::nullopt : std::move(value));
  }
  return of(op, known);
}

void OperatorCall::callAten(Stack& stack, size_t num_args) const {
  const c10::OperatorHandle* handle = op_.handle();
  if (with_care_ || !handle) return op_.call(stack, num_args);
  handle->callBoxed(stack);
}

std::optional<at::ScalarType> OperatorCall::dtypeOfResult(Arguments arguments) const {
  const FactRule* rule = FactRule::of(kernels_.op());
  if (!rule) return std::nullopt;
  std::vector<Fact> facts;
  for (const c10::IValue* argument : arguments)
    facts.push_back(
        argument->isTensor() && argument->toTensor().defined() ? Fact::tensor(TensorFacts::of(argument->toTensor()))
                                                               : Fact::of(*argument));
  return rule->evaluate(kernels_.op(), facts)[0].dtype;
}

/// Whether ATen's operator does not raise for the dtypes.
bool OperatorCall::takesDtypes(Arguments arguments) const {
  std::vector<c10::IValue> samples;
  for (const c10::IValue* argument : arguments) samples.push_back(*argument);
  for (c10::IValue& sample : samples) {
    if (sample.isTensor() && sample.toTensor().defined())
      sample = codegen::sampleTensor(static_cast<size_t>(sample.toTensor().dim()), sample.toTensor().scalar_type());
  }
  return codegen::objectionTo(kernels_.op(), samples).empty();
}

bool OperatorCall::prepare(Arguments arguments, Prepared& call) const {
  // What autocast makes of the call is another call.
  if (target_ == Target::New && op_.autocast(at::kCPU) != Autocast::None && at::autocast::is_autocast_enabled(at::kCPU))
    return false;
  const auto form = kernels_.formOf(arguments);
  if (!form) return false;
  std::optional<at::ScalarType> dtype;
  bool is_mixed = false;
  call.chosen = kernels_.form(*form);
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (call.chosen[i]->kind == ScalarArgument::Kind::Element) {
      const at::Tensor& tensor = arguments[i]->toTensor();
      if (!hasPlainMemory(tensor) || carriesTangent(tensor)) return false;
      call.is_recorded = call.is_recorded || isRecorded(tensor);
      is_mixed = is_mixed || tensor.scalar_type() != dtype.value_or(tensor.scalar_type());
      dtype = tensor.scalar_type();
      call.tensors.push_back(&tensor);
      continue;
    }
    if (call.chosen[i]->kind == ScalarArgument::Kind::Number)
      call.numbers.push_back(std::bit_cast<uint64_t>(arguments[i]->toScalar().toDouble()));
    const std::string& name = kernels_.op().schema().arguments()[i].name();
    call.rule.has_number = call.rule.has_number || name == "self" || name == "other";
  }
  if (!dtype) return false;
  if (is_mixed || !c10::isFloatingType(*dtype)) {
    if (!takesDtypes(arguments)) return false;
    dtype = dtypeOfResult(arguments);
  }
  if (!dtype) return false;
  call.dtype = *dtype;
  call.functions = kernels_.find(*form, *dtype);
  if (!call.functions) return false;
  for (const at::Tensor* tensor : call.tensors) {
    const at::ScalarType given = tensor->scalar_type();
    // Eager PyTorch does not round a tensor of one element of another dtype to half precision first.
    if (codegen::registerType(*dtype) != *dtype && given != *dtype && given != at::kBool) return false;
    if (!codegen::isSupported(given)) return false;
    call.operands.push_back(given == *dtype ? *tensor : cast(*tensor, *dtype));
  }
  for (const size_t i : layout_order_) {
    if (call.chosen[i]->kind != ScalarArgument::Kind::Element) continue;
    const auto tensor = std::find(call.tensors.begin(), call.tensors.end(), &arguments[i]->toTensor());
    call.order.push_back(static_cast<size_t>(tensor - call.tensors.begin()));
  }
  call.rule.keeps_layout = kernels_.op().keepsLayout();
  call.rule.makes_contiguous = kernels_.op().makesContiguous();
  return true;
}

bool OperatorCall::callDirectly(Stack& stack, size_t num_args, Prepared& call, bool is_new) const {
  const size_t first = stack.size() - num_args;
  at::Tensor result;
  if (target_ == Target::New) {
    result = call.compute(nullptr);
  } else {
    const at::Tensor& target = stack[target_ == Target::Out ? stack.size() - 1 : first].toTensor();
    const bool is_usual = target.defined() && hasPlainMemory(target) && target.scalar_type() == call.dtype &&
                          !target.is_inference() && !isRecorded(target) && !carriesTangent(target) &&
                          at::has_internal_overlap(target) == at::MemOverlap::No &&
                          std::all_of(call.operands.begin(), call.operands.end(), [&](const at::Tensor& operand) {
                            return is_new || canWriteBeside(target, operand);
                          });
    if (!is_usual) return false;
    result = call.compute(is_new ? nullptr : &target);
    if (is_new && result.defined() && (result.sizes() != target.sizes() || result.strides() != target.strides()))
      return false;
    if (result.defined() && target_ != Target::Reuse) result.unsafeGetTensorImpl()->bump_version();
  }
  if (!result.defined()) return false;
  stack.resize(first);
  stack.emplace_back(std::move(result));
  return true;
}

void OperatorCall::call(Stack& stack, size_t num_args) const {
  if (!areWanted()) return callAten(stack, num_args);
  const size_t first = stack.size() - num_args;
  // What is computed into new memory has no gaps.
  if (target_ == Target::Reuse && !isDense(stack[first].toTensor())) makeOwn(stack[first]);
  const bool is_new = target_ == Target::Reuse && !isOwn(stack[first].toTensor());
  at::Tensor result;
  {
    Prepared call;
    c10::SmallVector<const c10::IValue*, 6> arguments;
    for (size_t i = 0; i < numOperands(); ++i) arguments.push_back(&stack[first + i]);
    if (!prepare(arguments, call)) return callAten(stack, num_args);
    if (!call.is_recorded && callDirectly(stack, num_args, call, is_new)) return;
    result = call.compute(nullptr);
  }
  // ATen's operator says what errors there are, resizes what it writes to and records itself on autograd's tape, which
  // keeps the same memory. The elements are the kernel's.
  callAten(stack, num_args);
  const at::Tensor& recorded = stack.back().toTensor();
  if (!result.defined() || recorded.sizes() != result.sizes()) return;
  const at::AutoDispatchBelowADInplaceOrView below;
  recorded.copy_(result);
}

bool OperatorCall::computeInto(Arguments arguments, at::Tensor& result) const {
  Prepared call;
  return areWanted() && prepare(arguments, call) && !call.is_recorded && result.scalar_type() == call.dtype &&
         call.computeInto(result);
}

size_t numOperatorKernelCalls() {
  return num_calls.load(std::memory_order_relaxed);
}

WithoutOperatorKernels::WithoutOperatorKernels() : before_(without_kernels) {
  without_kernels = true;
}
WithoutOperatorKernels::~WithoutOperatorKernels() {
  without_kernels = before_;
}

}  // namespace cresset
